from dataclasses import replace

import pytest

from backend.web.tests.measurements import page
from backend.web.waterfall.rows import page_chart
from backend.web.waterfall.wanted import WINDOW_ROWS, Wanted, sorted_rows, wanted_of, window_of

ROWS = page_chart(page(30)).rows
MANY = page_chart(page(2_000)).rows


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (Wanted(), 30),
        (Wanted(text="HERO.avif"), 5),
        (Wanted(text="404"), 1),
        (Wanted(text="err_connection"), 1),
        (Wanted(host="www.shop.example"), 8),
        (Wanted(kind="font", host="cdn.shop.example"), 3),
        (Wanted(text="nowhere"), 0),
        (Wanted(only="failed"), 2),
        (Wanted(only="third-party", text="404"), 0),
    ],
)
def test_a_filter_finds_by_address_status_type_and_host(wanted: Wanted, count: int) -> None:
    assert sum(wanted.wants(row) for row in ROWS) == count


def test_connections_are_not_chosen_by_the_host_of_requests() -> None:
    assert wanted_of({"view": "connections", "host": "cdn.shop.example"}).host == ""


def test_a_filter_finds_a_name_as_it_is_shown() -> None:
    row = replace(ROWS[0], name="画像.png", url="https://www.shop.example/%E7%94%BB%E5%83%8F.png")
    assert Wanted(text="画像").wants(row)
    assert Wanted(text="%e7%94%bb").wants(row)


def test_few_rows_are_all_in_the_page_and_the_unwanted_hidden() -> None:
    window = window_of(ROWS, Wanted(text="404"))
    assert (len(window.rows), len(window.hidden), window.matching, window.complete) == (30, 29, 1, True)
    assert window.next is None


def test_many_rows_come_in_windows() -> None:
    first = window_of(MANY, Wanted())
    assert (first.first, first.last, first.previous, first.next, first.complete) == (1, WINDOW_ROWS, None, 101, False)
    last = window_of(MANY, Wanted(first=1_901))
    assert (last.first, last.last, last.previous, last.next) == (1_901, 2_000, 1_801, None)


def test_a_window_beyond_the_end_is_the_last_row() -> None:
    assert len(window_of(MANY, Wanted(first=999_999)).rows) == 1


def test_many_rows_of_which_none_match_are_an_empty_window() -> None:
    window = window_of(MANY, Wanted(text="nowhere"))
    assert (window.rows, window.matching, window.next) == ((), 0, None)


@pytest.mark.parametrize("first", ["", "0", "-3", "x", "9" * 30, "²"])
def test_an_address_may_hold_anything(first: str) -> None:
    nonsense = {"from": first, "q": "x" * 9_000, "view": "no", "sort": "x", "only": "y", "hide": "z", "zoom": "1-nan"}
    assert wanted_of(nonsense) == Wanted(text="x" * 200)


@pytest.mark.parametrize("zoom", ["", "5", "9-3", "--", "1-", "a-b", "1-inf", "1-1e12", "1e2-1e3", "1_0-2_0"])
def test_what_is_no_stretch_of_time_zooms_nothing(zoom: str) -> None:
    assert wanted_of({"zoom": zoom}).zoom is None


def test_a_stretch_may_lie_before_zero() -> None:
    assert wanted_of({"zoom": "-300--100.5"}).zoom == (-300_000, -100_500)


def test_the_address_keeps_zoom_order_and_hidden_lines() -> None:
    wanted = wanted_of({"zoom": "-1-12.5", "sort": "-size", "hide": "lcp,load,evil"})
    assert (wanted.zoom, wanted.sort, wanted.hide) == ((-1_000, 12_500), "-size", ("lcp", "load"))
    assert wanted.query == "sort=-size&zoom=-1-12.5&hide=lcp%2Cload"
    assert wanted.query_with(sort="", hide="") == "zoom=-1-12.5"


def test_what_was_left_open_is_sorted_by_how_long_it_was() -> None:
    hung = replace(ROWS[0], number=99, total_us=None, open_us=5_620_000)
    assert next(row.number for row in sorted_rows([*ROWS, hung], "-time")) == 99


def test_rows_are_sorted_with_those_last_that_have_no_value() -> None:
    by_size = [row.size_bytes for row in sorted_rows([*ROWS, replace(ROWS[0], size_bytes=None)], "-size")]
    assert by_size[-1] is None
    assert by_size[:-1] == sorted((row.size_bytes or 0 for row in ROWS), reverse=True)
    assert [row.number for row in window_of(ROWS, Wanted(sort="-number")).rows] == list(range(30, 0, -1))


def test_the_query_holds_what_differs_from_the_usual() -> None:
    wanted = wanted_of({"q": " a&b ", "view": "connections", "from": "301"})
    assert wanted.query == "q=a%26b&view=connections&from=301"
    assert wanted_of({}).query == ""
