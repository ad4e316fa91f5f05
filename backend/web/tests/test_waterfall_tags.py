import json
from dataclasses import asdict, replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from backend.web.templatetags.waterfall import big_bar, waterfall_legend, waterfall_marks, waterfall_rows
from backend.web.tests import measurements
from backend.web.waterfall.rows import Chart, page_chart
from backend.web.waterfall.wanted import Wanted, window_of

GOLDEN = Path(__file__).parents[3] / "frontend" / "tests" / "golden" / "rows.json"


@pytest.fixture
def chart() -> Chart:
    return page_chart(measurements.page(30))


def test_server_and_script_draw_the_same_rows(chart: Chart) -> None:
    evil = replace(chart.rows[0], name="<b>&'\"", url="https://x/?a=1&b=<script>", note="it's")
    rows = [*chart.rows[:13], chart.rows[17], evil]
    cases = [
        {"row": asdict(row), "selected": row.number == 2, "html": waterfall_rows(window_of([row], Wanted()), 2, "q=a")}
        for row in rows
    ]
    assert json.loads(GOLDEN.read_text()) == json.loads(json.dumps(cases))


def test_rows_are_well_formed_and_escape_what_the_page_wrote(chart: Chart) -> None:
    evil = replace(chart.rows[0], name='"><script>alert(1)</script>', host="<img src=x>", spoken='" onload="x')
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
        + big_bar(chart.rows[0].bars)
    )
    assert "style=" not in html
    assert "javascript:" not in html


def test_hidden_rows_stay_in_the_page(chart: Chart) -> None:
    html = waterfall_rows(window_of(chart.rows, Wanted(text="404")))
    assert html.count("<tr") == 30
    assert html.count(" hidden>") == 29


def test_lines_carry_labels_for_every_moment(chart: Chart) -> None:
    texts = [element.text for element in ElementTree.fromstring(waterfall_marks(chart)).iter("text")]
    assert texts == ["0", "500 ms", "1 s", *(mark.text for mark in chart.marks)]


def test_the_legend_names_every_phase_by_colour_and_height() -> None:
    items = ElementTree.fromstring(waterfall_legend()).findall("li")
    heights = [item.find("svg/rect").get("height") for item in items]  # type: ignore[union-attr]  # absent fails as well
    assert heights == ["4", "10", "10", "10", "10", "14"]
