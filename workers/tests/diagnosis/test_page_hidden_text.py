"""A text that is there, and hidden until its font has come."""

from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.finding import Finding, FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request, ResourceType, RowFlag
from workers.tests.builders import span
from workers.tests.diagnosis.page_sketch import evidence_of, picture, row, sketch, style, told

HIDDEN, FONT_LATE = FindingId.PAGE_TEXT_HIDDEN, FindingId.PAGE_FONT_LATE


def page(*rest: Request, font_ms: float = 310, vitals: dict[str, Any] | None = None, **changes: Any) -> PageMeasurement:
    """Painted for the first time at 340 ms; a font that comes at 700 ms has the largest text appear."""
    flags = changes.pop("flags", ())
    face = row(2, ResourceType.FONT, font_ms, 700, flags=flags, **changes.pop("face", {}))
    seen = {"lcp_us": 720_000, "lcp_element": "h1"} | (vitals or {})
    return sketch(face, *rest, fcp_ms=340, vitals=seen, **({"text_waits": True} | changes))


def saving_ms(found: Finding | None) -> float | None:
    return None if found is None else (found.saving_us or 0) / 1000


def test_a_text_that_waits_for_its_font_is_hidden_from_the_first_paint_on() -> None:
    """In the lab 1064 ms of 1070."""
    found = told(page(), HIDDEN)
    assert found is not None
    assert (found.saving_us, found.rows) == (360_000, (2,))
    assert (evidence_of(found)["first_paint_ms"], evidence_of(found)["lcp_ms"]) == (340.0, 720.0)


@pytest.mark.parametrize("waits", [False, None])
def test_where_a_font_says_otherwise_or_nobody_looked_nothing_is_hidden(waits: bool | None) -> None:
    assert told(page(text_waits=waits), HIDDEN) is None


def test_a_picture_waits_for_no_font() -> None:
    hero = picture(3, 310, 700, path="hero.png")
    shown = page(hero, vitals={"lcp_url": hero.url})
    assert told(shown, HIDDEN) is None


def test_what_a_hint_for_the_font_gains_is_told_of_that_alone() -> None:
    """The font would come 195 ms sooner, which leaves 85 ms for the text."""
    sheet = style(2, 310, 500, path="a.css")
    face = row(3, ResourceType.FONT, 505, 700, initiator_url=sheet.url, transferred_bytes=5_000)
    late = sketch(sheet, face, fcp_ms=520, vitals={"lcp_us": 730_000}, text_waits=True)
    assert saving_ms(told(late, FONT_LATE)) == 195
    assert told(late, HIDDEN) is None
    early = sketch(sheet, face, fcp_ms=420, vitals={"lcp_us": 730_000}, text_waits=True)
    assert (saving_ms(told(early, FONT_LATE)) or 0) + (saving_ms(told(early, HIDDEN)) or 0) <= 310


def test_a_text_was_there_when_its_font_was_asked_for() -> None:
    assert saving_ms(told(page(font_ms=500), HIDDEN)) == 150


def test_of_a_font_that_a_hint_asked_for_that_says_nothing() -> None:
    assert saving_ms(told(page(font_ms=320, flags=(RowFlag.PRELOAD,)), HIDDEN)) == 360


@pytest.mark.parametrize("kind", [ResourceType.SCRIPT, ResourceType.FETCH])
def test_a_text_that_a_script_may_have_made_was_there_when_that_had_come(kind: ResourceType) -> None:
    assert saving_ms(told(page(row(3, kind, 310, 550)), HIDDEN)) == 100
    # What strangers bring counts visits, and makes no page.
    assert saving_ms(told(page(row(3, kind, 310, 550, host="stats.example.net")), HIDDEN)) == 360


def test_a_text_that_may_have_come_with_the_last_of_the_document_was_there_then() -> None:
    document = row(1, ResourceType.DOCUMENT, 0, 500, path="", first_ms=300)
    assert saving_ms(told(page(document=document), HIDDEN)) == 150
    coming = row(1, ResourceType.DOCUMENT, 0, 900, path="", first_ms=300)
    assert told(page(document=coming), HIDDEN) is None


def test_a_text_is_shown_no_sooner_than_the_page_is_at_no_task() -> None:
    assert saving_ms(told(page(vitals={"long_tasks": (span(330, 600),)}), HIDDEN)) == 100


def test_a_font_that_failed_hides_its_text_as_long() -> None:
    found = told(page(face={"status": 404}), HIDDEN)
    assert found is not None
    assert (found.saving_us, evidence_of(found)["status"]) == (360_000, 404)


def given_up(lcp_ms: float, *rest: Request, asked_ms: float = 310, end_ms: float | None = 4_000) -> Finding | None:
    """The largest text is painted while its font is on its way."""
    face = row(2, ResourceType.FONT, asked_ms, end_ms or 9_000)
    if end_ms is None:
        face = replace(face, timing=replace(face.timing, download=None, end_us=None))
    vitals = {"lcp_us": round(lcp_ms * 1000), "lcp_element": "h1"}
    return told(sketch(face, *rest, fcp_ms=340, vitals=vitals, text_waits=True), HIDDEN)


@pytest.mark.parametrize("end_ms", [4_000, None])
@pytest.mark.parametrize("lcp_ms", [2_012, 3_322])
def test_a_text_that_is_shown_in_another_font_when_its_time_was_over_was_hidden_until_then(
    lcp_ms: float, end_ms: float | None
) -> None:
    """Two seconds into the load, or three after its font was asked for; in the lab 1640 ms of 1632, 3004 of 3000."""
    found = given_up(lcp_ms, end_ms=end_ms)
    assert found is not None
    assert (saving_ms(found), found.rows) == (lcp_ms - 340, (2,))
    assert evidence_of(found).get("came_at_ms") == end_ms


@pytest.mark.parametrize("lcp_ms", [1_990, 2_100, 2_900, 3_300, 3_400])
def test_a_text_that_is_shown_at_any_other_time_did_not_wait_until_its_own_was_over(lcp_ms: float) -> None:
    assert given_up(lcp_ms) is None


def test_a_font_that_had_come_before_or_was_asked_for_later_is_not_waited_for() -> None:
    assert given_up(2_012, end_ms=1_900) is None
    assert given_up(2_012, asked_ms=2_020) is None


@pytest.mark.parametrize("kind", [ResourceType.SCRIPT, ResourceType.FETCH])
def test_a_text_that_a_script_may_have_made_when_the_time_was_over_did_not_wait(kind: ResourceType) -> None:
    assert given_up(2_012, row(3, kind, 310, 1_990)) is None
    assert saving_ms(given_up(2_012, row(3, kind, 310, 900))) == 2_012 - 900 - 50


def test_a_text_that_came_late_was_hidden_from_then_on_until_its_time_was_over() -> None:
    assert saving_ms(given_up(2_012, asked_ms=1_500)) == 2_012 - 1_500 - 50
