"""How long fonts that are asked for ahead hold the first paint up, which nothing else gains then."""

from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.finding import FindingId
from workers.measurement.waterfall import Request, ResourceType, RowFlag
from workers.tests.diagnosis.page_sketch import IN_BODY, row, sketch, style, told

BLOCKING = FindingId.PAGE_RENDER_BLOCKING
HEAD, BODY = (1, 100), (1, 200)


def font(end_ms: float, *, asked_ms: float = 310, **changes: Any) -> Request:
    values = {"flags": (RowFlag.PRELOAD,), "initiator_at": HEAD} | changes
    return row(2, ResourceType.FONT, asked_ms, end_ms, **values)


def saving_ms(preloaded: Request, *, sheet_ms: float = 700, fcp_ms: float = 720) -> float | None:
    """What a style sheet costs beside it; the document has come at 300 ms."""
    found = told(sketch(preloaded, style(3, 310, sheet_ms), fcp_ms=fcp_ms, body_from=BODY), BLOCKING)
    return None if found is None else (found.saving_us or 0) / 1000


@pytest.mark.parametrize(("come_ms", "told_ms"), [(320, 380), (350, 350), (390, 310), (450, 300), (699, 300)])
def test_without_what_blocks_the_paint_would_wait_a_tenth_of_a_second_for_fonts(come_ms: float, told_ms: float) -> None:
    """In the lab 101 ms are told of 100 where a font came 60 ms later than the document, and 205 before."""
    assert saving_ms(font(come_ms)) == told_ms


def test_a_font_that_comes_later_still_is_waited_for_with_and_without_what_blocks() -> None:
    assert saving_ms(font(1_400), fcp_ms=815) == 400


def test_a_paint_that_a_font_held_up_came_of_what_blocked_all_the_same() -> None:
    """It was left open before: the paint came 75 ms after the style sheet. In the lab 189 ms of 192."""
    assert saving_ms(font(770), fcp_ms=775) == 370


def test_nothing_is_held_up_so_late_into_a_load() -> None:
    assert saving_ms(font(2_000), sheet_ms=1_600, fcp_ms=1_620) == 1_600 - 400


@pytest.mark.parametrize("asked_ms", [310, 698])
@pytest.mark.parametrize("changes", [{"flags": (RowFlag.PRELOAD, RowFlag.FRAME)}, {"initiator_at": (1, 300)}])
def test_what_a_frame_or_the_body_preloads_holds_nothing_up(changes: dict[str, Any], asked_ms: float) -> None:
    """Also where it was asked for as soon as the document was read, while a style sheet was on its way: in the lab
    100 ms were told of three such fonts, without which the page was painted no sooner."""
    assert saving_ms(font(790, asked_ms=asked_ms, **changes)) == 400


def test_a_font_that_had_come_is_waited_for_beside_one_that_was_not() -> None:
    late = replace(font(1_050, asked_ms=704, initiator_at=None), number=4)
    found = told(sketch(font(390), style(3, 310, 700), late, fcp_ms=723, body_from=BODY), BLOCKING)
    assert found is not None
    assert found.saving_us == 310_000


def test_a_font_that_a_text_needed_when_all_that_blocks_had_come_holds_nothing_up() -> None:
    assert saving_ms(font(790, asked_ms=705, flags=())) == 400


def test_a_font_that_no_text_can_have_needed_yet_is_asked_for_by_a_script_and_holds_the_paint_up() -> None:
    """In the lab 206 ms were told of 100."""
    assert saving_ms(font(390, flags=())) == 310


def test_what_headers_preload_holds_the_paint_up_too() -> None:
    assert saving_ms(font(390, initiator_at=None)) == 310


def test_what_the_parser_stops_at_in_the_body_fonts_were_waited_for_meanwhile() -> None:
    script = row(3, ResourceType.SCRIPT, 300, 700, initiator_at=(1, 210), **IN_BODY)
    page = sketch(font(1_400), script, fcp_ms=720, body_from=BODY, shows_from=(1, 250))
    found = told(page, BLOCKING)
    assert found is not None
    assert found.saving_us == 300_000
