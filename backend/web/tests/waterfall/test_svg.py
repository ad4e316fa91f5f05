import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from backend.web.tests.measurements import eventful_page, hanging_page, page
from backend.web.waterfall.board import board_of
from backend.web.waterfall.film import FILM_SLOTS, slots_of
from backend.web.waterfall.rows import page_chart
from backend.web.waterfall.shapes import INSTANT
from backend.web.waterfall.side_by_side import Side, board_of_two
from backend.web.waterfall.svg import COLOURS, DASHES, MAX_ROWS, PAD, PLOT, WIDTH, svg_of
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import PageState
from workers.measurement.page_view import RepeatView
from workers.measurement.timing import Span, Timing

TOKENS = Path(__file__).parents[4] / "frontend" / "src" / "styles" / "tokens.css"
NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")]


def with_urls(url: str) -> PageMeasurement:
    measured = page(5)
    rows = tuple(replace(row, url=url) for row in measured.waterfall.requests)
    return replace(measured, waterfall=replace(measured.waterfall, requests=rows))


def test_colours_are_those_of_the_pages_in_light() -> None:
    light = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6})", TOKENS.read_text()))
    assert {name: light[name] for name in COLOURS} == COLOURS


def test_the_picture_has_rows_lines_strips_and_a_legend() -> None:
    found = texts(svg_of(board_of(eventful_page(20), {}), "Shop from Eu"))
    assert {"Shop from Eu", "Largest paint 840 ms", "Long tasks", "Waiting (first byte)", "404"} <= set(found)


def test_what_hung_is_dashed_in_the_picture_and_in_its_legend() -> None:
    svg = svg_of(board_of(hanging_page(), {}), "Shop")
    dashed = [one for one in ElementTree.fromstring(svg).iter(f"{NAMESPACE}rect") if one.get("stroke-dasharray")]
    assert [one.get("fill") for one in dashed] == ["none", "none"]
    assert {"Still open", ">5.62 s"} <= set(texts(svg))


def test_it_shows_what_the_address_asks_for() -> None:
    svg = svg_of(board_of(page(30), {"q": "404", "zoom": "300-500"}), "Shop")
    assert "1 of 30 rows, 300 ms to 500 ms: text 404" in texts(svg)
    assert "Load 937 ms" not in texts(svg)
    plots = list(ElementTree.fromstring(svg).iter(f"{NAMESPACE}svg"))[1:]
    assert len(plots) == 1
    assert not (plots[0].get("viewBox") or "").startswith("0 0 100")


def test_a_row_without_a_length_is_an_instant_as_high_as_a_phase() -> None:
    measured = page(3)
    first, second, third = measured.waterfall.requests
    rows = (first, replace(second, timing=Timing(start_us=100_000, end_us=100_000)), third)
    svg = svg_of(board_of(replace(measured, waterfall=replace(measured.waterfall, requests=rows)), {}), "Shop")
    plot = list(ElementTree.fromstring(svg).iter(f"{NAMESPACE}svg"))[2]
    (mark,) = plot.iter(f"{NAMESPACE}rect")
    assert (mark.get("y"), mark.get("height")) == tuple(map(str, INSTANT))
    assert mark.get("stroke")


def test_what_is_chosen_is_told_in_the_words_of_the_page() -> None:
    second = page(20)
    view = RepeatView(state=PageState.WARM_CACHE, waterfall=second.waterfall, vitals=second.vitals, document=1)
    chosen = {"only": "third-party", "sort": "-time", "zoom": "300-500", "visit": "repeat"}
    told = texts(svg_of(board_of(replace(page(30), repeat=view), chosen), "Shop"))[1]
    assert told.endswith(" of 20 rows of the repeat view, 300 ms to 500 ms: only third party, order the longest first")


def test_what_was_asked_for_and_is_not_there_is_not_told() -> None:
    found = texts(svg_of(board_of(page(30), {"visit": "repeat", "zoom": "90000-99000"}), "Shop"))
    assert not any("rows" in text for text in found)
    connections = texts(svg_of(board_of(page(30), {"view": "connections"}), "Shop"))
    assert "4 of 4 rows by connection" in connections


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://www.shop.example/b.js?token=secret123&q=1", "b.js?token=(redacted)&q=(redacted)"),
        ("https://www.shop.example/a:b?key=secret123", "a:b?key=(redacted)"),
        ("https://www.shop.example/a.js;jsessionid=secret123", "a.js;jsessionid=(redacted)"),
        ("https://www.shop.example/a.js", "a.js"),
    ],
)
def test_values_in_addresses_are_masked_as_in_an_archive(url: str, name: str) -> None:
    svg = svg_of(board_of(with_urls(url), {}), "Shop")
    assert "secret123" not in svg
    assert name in [text.strip() for text in texts(svg)]


def test_names_of_connections_are_told_as_they_are() -> None:
    found = texts(svg_of(board_of(page(5), {"view": "connections"}), "Shop"))
    assert "www.shop.example" in [text.strip() for text in found]


def test_remarks_of_a_row_stand_in_it_and_what_blocks_is_marked() -> None:
    measured = eventful_page(20)
    blocking = [row for row in page_chart(measured).rows if row.tint == "blocking"]
    picture = ElementTree.fromstring(svg_of(board_of(measured, {}), "Shop"))
    remarks = [one for one in picture.iter(f"{NAMESPACE}tspan") if "\N{BLACK DIAMOND} blocks" in (one.text or "")]
    stripes = [one for one in picture.iter(f"{NAMESPACE}rect") if one.get("fill") == COLOURS["warn"]]
    assert len(remarks) >= len(stripes) == len(blocking) > 0


@pytest.mark.parametrize(
    ("name", "shown"), [("画" * 40, "画" * 16 + "…"), ("a" * 40, "a" * 33 + "…"), ("画.png", "画.png")]
)
def test_a_name_in_wide_letters_ends_before_the_columns_beside_it(name: str, shown: str) -> None:
    svg = svg_of(board_of(with_urls(f"https://www.shop.example/{name}"), {}), "Shop")
    assert [text.strip() for text in texts(svg)].count(shown) == 5


def test_what_is_too_narrow_to_be_seen_has_an_outline_as_on_the_page() -> None:
    first, second = page(2).waterfall.requests
    wait = Span(start_us=5_000, end_us=5_010)
    tiny = replace(second, timing=Timing(start_us=5_000, end_us=5_010, wait=wait))
    measured = replace(page(2), waterfall=replace(page(2).waterfall, requests=(first, tiny)))
    picture = ElementTree.fromstring(svg_of(board_of(measured, {}), "Shop"))
    (bar,) = [one for one in picture.iter(f"{NAMESPACE}rect") if float(one.get("width", "1")) < 0.01]
    assert (bar.get("stroke"), bar.get("vector-effect")) == (COLOURS["phase-wait"], "non-scaling-stroke")


def test_lines_are_dashed_as_on_the_page() -> None:
    styles = (TOKENS.parent / "waterfall-axis.css").read_text()
    dashed = dict(re.findall(r"\.wf-mark\.m-([\w-]+) \{\s*stroke-dasharray: ([\d ]+);", styles))
    assert dashed == DASHES
    assert f'stroke-dasharray="{dashed["lcp"]}"' in svg_of(board_of(page(5), {}), "Shop")


def test_two_waterfalls_are_one_picture() -> None:
    board = board_of_two((Side(name="A: old", measurement=page(5)), Side(name="B: new", measurement=page(6))), {})
    assert {"A: old", "B: new"} <= set(texts(svg_of(board, "Two")))


@pytest.mark.parametrize(
    "url", ["https://shop.example/<script>alert(1)</script>&\"'", "https://shop.example/\u202e\x00\x0b\ud800\ufffe", ""]
)
def test_whatever_a_page_asks_for_the_picture_is_well_formed_and_runs_nothing(url: str) -> None:
    svg = svg_of(board_of(with_urls(url), {}), "Shop")
    names = {element.tag.removeprefix(NAMESPACE) for element in ElementTree.fromstring(svg.encode()).iter()}
    assert names <= {"svg", "g", "rect", "path", "text", "tspan"}


@pytest.mark.parametrize("requests", [0, 1, MAX_ROWS + 20])
def test_any_number_of_rows_is_bounded(requests: int) -> None:
    measured = page(requests) if requests else replace(page(1), waterfall=replace(page(1).waterfall, requests=()))
    found = texts(svg_of(board_of(measured, {}), "Shop"))
    assert ("and 20 more rows" in found) is (requests > MAX_ROWS)


def test_the_film_stands_over_the_time_it_shows_and_is_in_the_file_once() -> None:
    board = board_of(eventful_page(20), {}, "data:image/webp;base64,AAAA")
    picture = ElementTree.fromstring(svg_of(board, "Shop"))
    assert svg_of(board, "Shop").count("data:image/webp") == 1
    slots = [one for one in picture.iter(f"{NAMESPACE}svg") if one.find(f"{NAMESPACE}use") is not None]
    film = board.pictures[0].film
    assert film is not None
    shown = slots_of(film, board.pictures[0].view)
    assert len(slots) == len(shown) > 1
    place = (WIDTH - PLOT - PAD) / FILM_SLOTS
    for one, slot in zip(slots, shown, strict=True):
        x, width, height = (float(one.get(name, "")) for name in ("x", "width", "height"))
        assert PLOT + slot.place * place <= x + 0.01 < x + width <= PLOT + (slot.place + 1) * place + 0.01
        assert width / height == pytest.approx(film.width / film.height, rel=0.01)
    assert "<use" not in svg_of(board_of(eventful_page(20), {}, "/film"), "Shop")
