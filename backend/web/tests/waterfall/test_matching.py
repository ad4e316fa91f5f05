from dataclasses import replace

import pytest

from backend.runs import differences
from backend.runs.differences import items_of, partners_of, without_versions
from backend.web.tests.measurements import page
from backend.web.units import ABSENT
from backend.web.waterfall.matching import changes_of, matched
from backend.web.waterfall.rows import Chart, Row, page_chart

CHART = page_chart(page(12))


def with_rows(*rows: Row) -> Chart:
    return replace(CHART, rows=rows)


def row(number: int, **changes: object) -> Row:
    return replace(CHART.rows[1], **({"number": number, "url": "https://shop.example/a.js"} | changes))  # type: ignore[arg-type]  # of any field


def partners(chart: Chart) -> list[tuple[int, int | None]]:
    return [(one.number, one.match) for one in chart.rows]


def differing(chart: Chart) -> list[int]:
    return [one.number for one in chart.rows if "differs" in one.traits]


def test_a_page_beside_itself_has_no_differences() -> None:
    first, second = matched(CHART, CHART)
    assert partners(first) == partners(second) == [(one.number, one.number) for one in CHART.rows]
    assert differing(first) == differing(second) == []


def test_the_same_address_asked_for_twice_is_matched_in_order() -> None:
    first, second = matched(with_rows(row(1), row(2)), with_rows(row(7), row(8), row(9)))
    assert partners(first) == [(1, 7), (2, 8)]
    assert partners(second) == [(7, 1), (8, 2), (9, None)]
    assert second.rows[2].notes[0] == "only here"


def test_what_a_release_renamed_is_the_same_request_and_says_so() -> None:
    old = row(1, url="https://shop.example/app.3f2a9c1b.js?v=41")
    new = row(4, url="https://shop.example/app.91ac00de.js?v=42")
    first, second = matched(with_rows(old), with_rows(new))
    assert (partners(first), partners(second)) == ([(1, 4)], [(4, 1)])
    assert "other version" in first.rows[0].notes
    assert differing(first) == []


def test_an_equal_address_goes_before_another_version() -> None:
    url = "https://shop.example/app.js?v="
    left = with_rows(row(1, url=f"{url}1"), row(2, url=f"{url}2"))
    right = with_rows(row(1, url=f"{url}2"), row(2, url=f"{url}1"))
    assert partners(matched(left, right)[0]) == [(1, 2), (2, 1)]


def test_an_equal_address_is_the_same_request_whatever_a_tool_says_that_it_was_for() -> None:
    url = "https://shop.example/app.js?v="
    left = with_rows(row(1, url=f"{url}1", kind="fetch"))
    right = with_rows(row(1, url=f"{url}2", kind="fetch"), row(2, url=f"{url}1", kind="document"))
    assert partners(matched(left, right)[0]) == [(1, 2)]
    both = row(1, kind="other"), row(2, kind="fetch")
    assert partners(matched(with_rows(*both), with_rows(*reversed(both)))[0]) == [(1, 1), (2, 2)]


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({"total_us": 119_000}, False),
        ({"total_us": 121_000}, True),
        ({"total_us": None}, True),
        ({"size_bytes": 50_900}, False),
        ({"size_bytes": 60_000}, True),
        ({"size_bytes": None}, False),
        ({"status": "500"}, True),
        ({"status": ABSENT}, False),
    ],
)
def test_a_row_differs_by_status_size_or_time_beyond_the_usual(changes: dict[str, object], *, differs: bool) -> None:
    usual = {"total_us": 100_000, "size_bytes": 50_000, "status": "200"}
    first, second = matched(with_rows(row(1, **usual)), with_rows(row(1, **(usual | changes))))
    assert (differing(first) == [1]) is (differing(second) == [1]) is differs


def test_changes_are_counted_from_the_first_to_the_second() -> None:
    gone, slower, broken = row(1, url="https://a/"), row(2, url="https://b/", total_us=10), row(3, url="https://c/")
    first = with_rows(gone, slower, broken)
    second = with_rows(replace(slower, total_us=90_000), replace(broken, status="500"), row(5, url="https://d/"))
    changes = changes_of(*matched(first, second))
    assert (changes.only_first, changes.only_second, changes.slower, changes.faster, changes.status) == (1, 1, 1, 0, 1)


def test_what_never_ended_is_neither_longer_nor_shorter() -> None:
    ended, open_ended = with_rows(row(1, total_us=100_000)), with_rows(row(1, total_us=None))
    for first, second in ((ended, open_ended), (open_ended, ended)):
        changes = changes_of(*matched(first, second))
        assert (changes.slower, changes.faster) == (0, 0)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a/x.js?v=1", "https://a/x.js?v=2", True),
        ("https://a/x.js?id=1", "https://a/x.js?id=2", False),
        ("https://a/v1.2/x.js", "https://a/v1.3/x.js", True),
        ("https://a/hero-large.png", "https://a/hero-small.png", False),
        ("https://a/x-0011aabb.css", "https://a/x-2233ccdd.css", True),
        ("https://a/x.js", "https://b/x.js", False),
        ("http://[broken/?v=1", "http://[broken/?v=1", True),
    ],
)
def test_versions_are_left_out_of_addresses(one: str, other: str, *, same: bool) -> None:
    assert (without_versions(one) == without_versions(other)) is same


def test_programs_are_told_the_same_of_two_pages_as_people() -> None:
    one = page(12)
    changed = {3: 503, 4: None}
    rows = [replace(each, status=changed.get(each.number, each.status)) for each in one.waterfall.requests[:-1]]
    pages = one, replace(one, waterfall=replace(one.waterfall, requests=tuple(rows)))
    first, second = (items_of(each) or () for each in pages)
    told = differences.changes_of(first, second, partners_of(first, second))
    assert told == changes_of(*matched(*(page_chart(each) for each in pages)))
    assert (told.only_first, told.status) == (1, 1)
