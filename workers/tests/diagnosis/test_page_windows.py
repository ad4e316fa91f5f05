"""A picture that is asked for sooner, or of another host, finds another window, and takes other round trips to come."""

from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.connection import Connection
from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import MAIN, evidence_of, open_questions, picture, row, sketch, style, told

LATE, EXTRA = FindingId.PAGE_LCP_LATE, FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX
FAR: dict[str, Any] = {"host": MAIN, "rtt_us": 200_000}
HERO_BYTES, SHEET_BYTES = 64_500, 12_140
# What the sheet takes of a line that carries no more than the picture was seen to, and took of it since it was due.
SHARED_US, TOOK_US = 28_000, 35_000


def _page(*rest: Request, document_bytes: int = 5_000, lcp_ms: float) -> PageMeasurement:
    """200 ms away, the document had come after 880 ms."""
    far = build_connection(number=1, dns=span(0, 5), connect=span(5, 205), tls=span(205, 410), **FAR)
    document = row(1, ResourceType.DOCUMENT, 0, 880, path="", transferred_bytes=document_bytes)
    vitals = {"lcp_us": round(lcp_ms * 1000), "lcp_url": f"https://{MAIN}/hero.png", "dom_interactive_us": 890_000}
    page = sketch(*rest, fcp_ms=1_000, vitals=vitals, document=document)
    connections = (far, *page.waterfall.connections[1:])
    return replace(page, waterfall=replace(page.waterfall, connections=connections))


def _with(connection: Connection, page: PageMeasurement) -> PageMeasurement:
    connections = (*page.waterfall.connections, connection)
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
    assert (found and found.saving_us) == 242_000 - TOOK_US


@pytest.mark.parametrize("changes", [{"connection": 2}, {"protocol": "http/1.1", "connection": 2}])
def test_a_connection_of_its_own_has_a_window_of_its_own(changes: dict[str, object]) -> None:
    own = build_connection(number=2, dns=span(1_127, 1_128), connect=span(1_128, 1_328), tls=None, **FAR)
    page = _with(own, _page(_sheet(), _hero(1_127, 1_535, 1_938, **changes), lcp_ms=1_972))
    found = told(page, LATE)
    assert (found and found.saving_us) == 242_000


def test_a_document_that_was_larger_had_made_the_window_grow_for_the_hint_too() -> None:
    found = told(_page(_sheet(), _hero(1_127, 1_335, 1_538), document_bytes=60_000, lcp_ms=1_572), LATE)
    assert (found and found.saving_us) == pytest.approx(242_000 - TOOK_US, abs=4_000)


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


def _moved(first_ms: float = 1_690, end_ms: float = 2_095, lcp_ms: float = 2_125, **changes: Any) -> PageMeasurement:
    """A picture that the document named, of a host to which a connection opened in 605 ms, in two further flights."""
    away = FAR | {"host": f"img.{MAIN}"} | changes
    own = build_connection(number=2, dns=span(885, 890), connect=span(890, 1_090), tls=span(1_090, 1_490), **away)
    hero = _hero(885, first_ms, end_ms, connection=2, host=f"img.{MAIN}", initiator_url=f"https://{MAIN}/")
    page = _with(own, _page(_sheet(), hero, lcp_ms=lcp_ms))
    return replace(page, vitals=replace(page.vitals, lcp_url=hero.url))


def test_a_largest_picture_that_waits_for_its_own_host_gains_that_over_the_documents_connection() -> None:
    """Less what the sheet takes of the line."""
    found = told(_moved(), EXTRA)
    assert found is not None
    assert (found.saving_us, found.host) == (605_000 - 31_000, f"img.{MAIN}")
    assert (evidence_of(found)["blocks_rendering"], evidence_of(found)["lcp_ms"]) == (False, 2_125.0)


def test_it_gains_no_more_than_lies_between_the_first_and_the_largest_paint() -> None:
    page = _moved()
    found = told(replace(page, vitals=replace(page.vitals, fcp_us=2_000_000)), EXTRA)
    assert (found and found.saving_us) == 125_000


def test_a_server_that_is_nearer_or_sends_more_at_once_than_the_documents_may_be_as_quick_as_that() -> None:
    """It came 410 ms after its connection was there. Over the document's it would in 600."""
    found = told(_moved(first_ms=1_690, end_ms=1_900, lcp_ms=1_930), EXTRA)
    assert (found and found.saving_us) == 605_000 - 190_000
    assert told(_moved(first_ms=1_500, end_ms=1_510, lcp_ms=1_540, rtt_us=5_000), EXTRA) is None


def test_a_document_over_http_1_1_has_no_connection_to_share() -> None:
    page = _moved()
    document, *rest = page.waterfall.requests
    first, *others = page.waterfall.connections
    alone = replace(first, protocol="http/1.1")
    waterfall = replace(page.waterfall, requests=(document, *rest), connections=(alone, *others))
    assert told(replace(page, waterfall=waterfall), EXTRA) is None


def test_a_host_that_a_hint_connects_to_has_nobody_wait() -> None:
    assert told(replace(_moved(), hints=(f"img.{MAIN}",)), EXTRA) is None


def test_whether_a_paint_that_came_long_after_its_picture_waited_for_the_host_is_left_open() -> None:
    page = _moved(lcp_ms=2_900)
    assert told(page, EXTRA) is None
    assert EXTRA in open_questions(page)


@pytest.mark.parametrize(("document_bytes", "is_told"), [(12_000, False), (15_000, True)])
def test_an_answer_makes_the_window_grow_to_twice_its_size_at_most(document_bytes: int, is_told: bool) -> None:
    """After one of 12 kB the sheet and the picture take three flights, after one of 15 kB two, as the picture did."""
    found = told(_page(_sheet(), _hero(1_127, 1_335, 1_538), document_bytes=document_bytes, lcp_ms=1_572), LATE)
    assert (found is not None) is is_told


def test_the_largest_answer_that_had_come_counts_and_takes_no_part_of_what_comes_then() -> None:
    """All that the picture needs fits into the window that a document of 200 kB has left."""
    icon = row(4, ResourceType.IMAGE, 300, 700, path="icon.png", transferred_bytes=900)
    found = told(_page(_sheet(), icon, _hero(1_127, 1_335, 1_340), document_bytes=200_000, lcp_ms=1_374), LATE)
    assert (found and found.saving_us) == pytest.approx(242_000 - TOOK_US, abs=4_000)


def test_what_is_asked_for_behind_the_picture_takes_no_part_of_its_window() -> None:
    later = row(4, ResourceType.SCRIPT, 1_200, 1_900, path="later.js", transferred_bytes=900_000, render_blocking=False)
    page = _page(_sheet(), _hero(1_127, 1_335, 1_538), later, document_bytes=60_000, lcp_ms=1_572)
    found = told(page, LATE)
    assert (found and found.saving_us) == 242_000 - TOOK_US
