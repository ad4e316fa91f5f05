import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from backend.web.templatetags.waterfall import (
    big_bar,
    waterfall_head,
    waterfall_labels,
    waterfall_legend,
    waterfall_marks,
    waterfall_rows,
)
from backend.web.tests import measurements
from backend.web.waterfall.axis import box_of, part_of
from backend.web.waterfall.connections import connection_chart
from backend.web.waterfall.data import chart_data, document, film_data
from backend.web.waterfall.film import film_html
from backend.web.waterfall.rows import Chart, page_chart
from backend.web.waterfall.wanted import Wanted, wanted_of, window_of

GOLDEN = Path(__file__).parents[3] / "frontend" / "tests" / "golden"
ZOOMS = ("", "380-560", "0-12.5", "900-9000", "-3-900", "5000-9000", "-9--4")


@pytest.fixture
def chart() -> Chart:
    return page_chart(measurements.page(30))


def row_cases(chart: Chart) -> list[dict[str, object]]:
    evil = replace(chart.rows[0], name="<b>&'\"", url="https://x/?a=1&b=<script>", notes=("it's", "blocks rendering"))
    hung = page_chart(measurements.hanging_page()).rows[2]
    rows = [*chart.rows[:13], chart.rows[17], evil, hung, *connection_chart(measurements.page(30)).rows]
    return [
        {
            "row": data,
            "selected": row.number == 2,
            "box": box,
            "html": waterfall_rows(window_of([row], Wanted()), 2, "q=a", box),
        }
        for row, box in zip(rows, ["0 100", "20.5 30"] * len(rows), strict=False)
        for data in [document(chart_data(replace(chart, rows=(row,)), with_rows=True))["rows"][0]]  # type: ignore[index]
    ]


def view_cases() -> dict[str, object]:
    page = measurements.eventful_page(20)
    chart, film = page_chart(page), film_data(page.film, "/runs/1/film")
    assert film is not None
    views = []
    for zoom in ZOOMS:
        view = part_of(chart.axis, wanted_of({"zoom": zoom}).zoom)
        marks, labels = (
            layer(chart, view).partition(">")[2].removesuffix("</svg>") for layer in (waterfall_marks, waterfall_labels)
        )
        drawn = {"marks": marks, "labels": labels, "film": film_html(film, view)}
        views.append({"zoom": zoom, "box": box_of(chart.axis, view), **drawn})
    return {"data": document(chart_data(chart, with_rows=False, film=film)), "views": views}


def test_server_and_script_draw_the_same_rows(chart: Chart) -> None:
    assert json.loads((GOLDEN / "rows.json").read_text()) == json.loads(json.dumps(row_cases(chart)))


def test_server_and_script_draw_the_same_lines_pictures_and_parts() -> None:
    assert json.loads((GOLDEN / "views.json").read_text()) == json.loads(json.dumps(view_cases()))


def test_rows_are_well_formed_and_escape_what_the_page_wrote(chart: Chart) -> None:
    evil = replace(
        chart.rows[0], name='"><script>alert(1)</script>', host="<img src=x>", spoken='" onload="x', notes=("<i>",)
    )
    html = waterfall_rows(window_of([evil], Wanted()), None, 'q="><b>')
    (row,) = ElementTree.fromstring(f"<tbody>{html}</tbody>")
    assert row.find("th/a").text == evil.name  # type: ignore[union-attr]  # absent fails as well
    assert "<script" not in html
    assert "<img" not in html


def test_no_style_attribute_that_the_policy_would_refuse(chart: Chart) -> None:
    html = (
        waterfall_rows(window_of(chart.rows, Wanted()))
        + waterfall_marks(chart)
        + waterfall_legend()
        + waterfall_head("request", Wanted(), waterfall_labels(chart))
        + big_bar(chart.rows[0].bars)
    )
    assert "style=" not in html
    assert "javascript:" not in html


def test_hidden_rows_stay_in_the_page(chart: Chart) -> None:
    html = waterfall_rows(window_of(chart.rows, Wanted(text="404")))
    assert html.count("<tr") == 30
    assert html.count(" hidden>") == 29


def test_lines_carry_labels_for_every_moment(chart: Chart) -> None:
    texts = [element.text for element in ElementTree.fromstring(waterfall_labels(chart)).iter("text")]
    assert texts == ["0", "500 ms", "1 s", *(mark.text for mark in chart.marks)]


def test_lines_that_are_hidden_are_not_drawn(chart: Chart) -> None:
    for layer in (waterfall_marks, waterfall_labels):
        html = layer(chart, None, ("lcp", "fcp"))
        assert "m-lcp" not in html
        assert "m-load" in html


def test_headings_sort_down_and_up_and_then_as_it_was() -> None:
    for sort, following, said in (("", "-size", ""), ("-size", "size", "descending"), ("size", "", "ascending")):
        (row,) = ElementTree.fromstring(f"<x>{waterfall_head('request', Wanted(sort=sort, text='a'))}</x>")
        cell = next(one for one in row if one.get("class") == "wf-size")
        link = cell.find("a")
        assert link is not None
        assert link.get("href") == ("?q=a&sort=" + following if following else "?q=a")
        assert (cell.get("aria-sort") or "") == said


@pytest.mark.parametrize(("sort", "link", "said"), [("name", 0, "ascending"), ("-host", 1, "descending")])
def test_of_two_things_that_share_a_heading_the_one_it_is_sorted_by_is_marked(sort: str, link: int, said: str) -> None:
    (row,) = ElementTree.fromstring(f"<x>{waterfall_head('request', Wanted(sort=sort))}</x>")
    cell = next(one for one in row if one.get("class") == "wf-name")
    assert cell.get("aria-sort") == said
    assert [one.get("data-order") for one in cell.iter("a")] == [said if place == link else None for place in (0, 1)]


def test_the_legend_names_every_phase_by_colour_and_height() -> None:
    items = ElementTree.fromstring(waterfall_legend()).findall("li")
    heights = [item.find("svg/rect").get("height") for item in items]  # type: ignore[union-attr]  # absent fails as well
    assert heights == ["4", "10", "10", "10", "10", "14", "2", "10"]
