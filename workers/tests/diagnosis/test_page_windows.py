"""A picture that is asked for sooner finds a smaller window on its connection, and takes more round trips to come."""

from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import MAIN, open_questions, picture, row, sketch, style, told

LATE = FindingId.PAGE_LCP_LATE
FAR: dict[str, Any] = {"host": MAIN, "rtt_us": 200_000}
HERO_BYTES, SHEET_BYTES = 64_500, 12_140
# What the sheet takes of a line that carries no more than the picture was seen to.
SHARED_US = 28_000


def _page(*rest: Request, document_bytes: int = 5_000, lcp_ms: float) -> PageMeasurement:
    """200 ms away, the document had come after 880 ms."""
    far = build_connection(number=1, dns=span(0, 5), connect=span(5, 205), tls=span(205, 410), **FAR)
    document = row(1, ResourceType.DOCUMENT, 0, 880, path="", transferred_bytes=document_bytes)
    vitals = {"lcp_us": round(lcp_ms * 1000), "lcp_url": f"https://{MAIN}/hero.png", "dom_interactive_us": 890_000}
    page = sketch(*rest, fcp_ms=1_000, vitals=vitals, document=document)
    connections = (far, *page.waterfall.connections[1:])
    return replace(page, waterfall=replace(page.waterfall, connections=connections))


def _sheet() -> Request:
    return style(3, 885, 1_121, first_ms=1_090, path="a.css", transferred_bytes=SHEET_BYTES, render_blocking=False)


def _hero(start_ms: float, first_ms: float, end_ms: float, **changes: object) -> Request:
    values = {"path": "hero.png", "initiator_url": _sheet().url, "transferred_bytes": HERO_BYTES} | changes
    return picture(2, start_ms, end_ms, first_ms=first_ms, **values)


def test_what_came_over_the_connection_meanwhile_had_made_the_window_grow() -> None:
    """The picture came in two flights of 200 ms, and would in three with its sheet: of 242 ms 45 are left."""
    page = _page(_sheet(), _hero(1_127, 1_335, 1_538), lcp_ms=1_572)
    assert told(page, LATE) is None
    assert LATE in open_questions(page)


def test_a_picture_that_came_as_slowly_as_it_would_then_gains_all_that_it_was_late() -> None:
    """Less what its sheet takes of the line."""
    found = told(_page(_sheet(), _hero(1_127, 1_335, 1_738), lcp_ms=1_772), LATE)
    assert (found and found.saving_us) == 242_000 - SHARED_US


@pytest.mark.parametrize("changes", [{"connection": 2}, {"protocol": "http/1.1", "connection": 2}])
def test_a_connection_of_its_own_has_a_window_of_its_own(changes: dict[str, object]) -> None:
    own = build_connection(number=2, dns=span(1_127, 1_128), connect=span(1_128, 1_328), tls=None, **FAR)
    page = _page(_sheet(), _hero(1_127, 1_535, 1_938, **changes), lcp_ms=1_972)
    page = replace(page, waterfall=replace(page.waterfall, connections=(*page.waterfall.connections, own)))
    found = told(page, LATE)
    assert (found and found.saving_us) == 242_000


def test_a_document_that_was_larger_had_made_the_window_grow_for_the_hint_too() -> None:
    found = told(_page(_sheet(), _hero(1_127, 1_335, 1_538), document_bytes=60_000, lcp_ms=1_572), LATE)
    assert (found and found.saving_us) == 242_000


@pytest.mark.parametrize(("first_ms", "gained_us"), [(2_085, 992_000 - SHARED_US), (2_280, 992_000)])
def test_after_a_rest_the_window_is_as_small_as_at_the_beginning(first_ms: float, gained_us: int) -> None:
    """Its first flight may hold no whole record, and the first byte comes with the second."""
    script = row(4, ResourceType.SCRIPT, 885, 1_875, connection=3, host="cdn.example.net", path="tags.js")
    found = told(_page(_sheet(), script, _hero(1_877, first_ms, 2_482, initiator_url=script.url), lcp_ms=2_512), LATE)
    assert (found and found.saving_us) == gained_us


def test_a_server_that_keeps_its_window_after_a_rest_is_no_slower_for_it() -> None:
    script = row(4, ResourceType.SCRIPT, 885, 1_875, connection=3, host="cdn.example.net", path="tags.js")
    found = told(_page(_sheet(), script, _hero(1_877, 2_085, 2_095, initiator_url=script.url), lcp_ms=2_125), LATE)
    assert found is not None
    assert found.saving_us is not None
    assert found.saving_us <= 992_000 - 380_000
