"""A text that waits for its font, which a style sheet had to name first."""

from dataclasses import replace
from typing import Any

from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import ResourceType, RowFlag, ServedFrom
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import MAIN, evidence_of, open_questions, picture, row, sketch, style, told

FONT_LATE, PRECONNECT = FindingId.PAGE_FONT_LATE, FindingId.PAGE_PRECONNECT_MISSING
STRANGER = "fonts.example.net"


def _page(lcp_ms: float = 730, fcp_ms: float = 520, **font: Any) -> PageMeasurement:
    """Styles that came at 500 ms name a font, and its text appears when that has come."""
    sheet = style(2, 310, 500, path="a.css")
    face = row(3, ResourceType.FONT, 505, 700, **({"initiator_url": sheet.url, "transferred_bytes": 5_000} | font))
    return sketch(sheet, face, fcp_ms=fcp_ms, vitals={"lcp_us": round(lcp_ms * 1000), "lcp_element": "p"})


def test_a_font_that_a_style_sheet_names_comes_as_much_sooner_as_a_hint_is_read() -> None:
    found = told(_page(), FONT_LATE)
    assert found is not None
    assert (found.saving_us, found.rows) == (195_000, (3,))
    assert evidence_of(found)["asked_by"] == f"https://{MAIN}/a.css"
    assert (evidence_of(found)["asked_at_ms"], evidence_of(found)["could_be_asked_at_ms"]) == (505.0, 310.0)


def test_its_text_is_shown_no_sooner_than_the_first_paint() -> None:
    found = told(_page(fcp_ms=640), FONT_LATE)
    assert (found and found.saving_us) == 90_000
    assert told(_page(fcp_ms=690), FONT_LATE) is None


def test_a_font_that_was_asked_for_early_is_not_late() -> None:
    page = _page()
    face = row(3, ResourceType.FONT, 315, 700, transferred_bytes=5_000)
    waterfall = replace(page.waterfall, requests=(*page.waterfall.requests[:2], face))
    assert told(replace(page, waterfall=waterfall), FONT_LATE) is None


def test_one_that_a_hint_had_asked_for_comes_out_of_memory_when_the_style_sheet_names_it() -> None:
    assert told(_page(served_from=ServedFrom.MEMORY_CACHE, connection=None), FONT_LATE) is None


def test_the_font_of_a_frame_is_for_the_frames_own_text() -> None:
    page = _page(flags=(RowFlag.FRAME,))
    assert told(page, FONT_LATE) is None
    assert FONT_LATE not in open_questions(page)


def test_the_font_of_a_stranger_is_for_a_hint_to_its_connection_alone() -> None:
    opening = build_connection(number=2, host=STRANGER, dns=span(505, 515), connect=span(515, 555), tls=span(555, 600))
    page = _page(host=STRANGER, connection=2)
    connections = (*page.waterfall.connections, opening)
    page = replace(page, waterfall=replace(page.waterfall, connections=connections))
    assert told(page, FONT_LATE) is None
    found = told(page, PRECONNECT)
    assert (found and found.saving_us) == 95_000


def test_a_hint_for_a_font_of_the_owners_other_host_opens_its_connection_too() -> None:
    host = f"static.{MAIN}"
    opening = build_connection(number=2, host=host, dns=span(505, 515), connect=span(515, 555), tls=span(555, 600))
    page = _page(host=host, connection=2)
    connections = (*page.waterfall.connections, opening)
    page = replace(page, waterfall=replace(page.waterfall, connections=connections))
    found = told(page, FONT_LATE)
    assert (found and found.saving_us) == 195_000
    assert told(page, PRECONNECT) is None


def test_a_font_beside_the_largest_picture_is_nobodys_concern() -> None:
    page = _page()
    hero = picture(4, 310, 690, path="hero.png")
    vitals = replace(page.vitals, lcp_url=hero.url, lcp_element="img")
    waterfall = replace(page.waterfall, requests=(*page.waterfall.requests, hero))
    page = replace(page, waterfall=waterfall, vitals=vitals)
    assert told(page, FONT_LATE) is None
    assert FONT_LATE not in open_questions(page)
