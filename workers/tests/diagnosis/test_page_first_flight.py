"""Files whose first record no first flight holds: fewer bytes make them readable a round trip sooner."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.page.case import case_of
from workers.diagnosis.page.needless_bytes import picture_sooner_us
from workers.measurement.connection import Pause
from workers.measurement.finding import Finding, FindingId
from workers.measurement.page_view import PlainText, ShownPicture
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.builders import build_connection, pause
from workers.tests.diagnosis.page_sketch import MAIN, picture, row, sketch, style, told

# With round trips of 150 ms a first flight is here at 450 ms, and the next one at 600.
FULL = pause(450, 600, 5_800)


def sizes(size_bytes: int) -> dict[str, int]:
    return {"transferred_bytes": size_bytes + 200, "body_bytes": size_bytes}


def sheet(number: int = 2, size_bytes: int = 20_000, **changes: Any) -> Request:
    """Asked for at 300 ms; none of it can be read before 600."""
    return style(number, 300, 600, **(sizes(size_bytes) | {"first_ms": 600} | changes))


def found(*rows: Request, gzip_bytes: int, pauses: Sequence[Pause] = (FULL,), fcp_ms: float = 620) -> Finding | None:
    """Told of a page of style sheets, with its document where that comes first."""
    texts = tuple(PlainText(request=one.number, body_bytes=one.body_bytes or 0, gzip_bytes=gzip_bytes) for one in rows)
    document: dict[str, Any] = {"document": rows[0]} if rows[0].resource_type is ResourceType.DOCUMENT else {}
    page = sketch(*rows[len(document) :], fcp_ms=fcp_ms, texts=texts, **document)
    connection = build_connection(host=MAIN, rtt_us=150_000, pauses=tuple(pauses))
    return told(
        replace(page, waterfall=replace(page.waterfall, connections=(connection,))), FindingId.PAGE_UNCOMPRESSED
    )


def saving_us(one: Finding | None) -> int | None:
    return None if one is None else one.saving_us


@pytest.mark.parametrize(
    ("size_bytes", "gzip_bytes", "gained_us"),
    [(20_000, 10_000, 150_000), (20_000, 11_304, 150_000), (20_000, 11_305, None), (13_900, 7_000, None)],
)
def test_a_text_that_one_flight_holds_comes_a_round_trip_sooner(
    size_bytes: int, gzip_bytes: int, gained_us: int | None
) -> None:
    """Measured with nginx and Chromium, a style sheet of 20 kB: 148 ms gained, and none were told. What one flight held
    before waited for something else."""
    assert saving_us(found(sheet(size_bytes=size_bytes), gzip_bytes=gzip_bytes)) == gained_us


@pytest.mark.parametrize(("gzip_bytes", "gained_us"), [(8_488, 150_000), (8_489, 0)])
@pytest.mark.parametrize("is_document", [True, False])
def test_a_flight_holds_no_more_than_it_did(is_document: bool, gzip_bytes: int, gained_us: int) -> None:
    """Tickets and settings are packets of it too. Measured with nginx 1.26, 11.7 kB of a document came ahead; of a
    compressed one of 10.8 kB 8.7 came, and 152 ms were told, none gained."""
    document = row(1, ResourceType.DOCUMENT, 0, 600, first_ms=600, path="", **sizes(20_000))
    rows = (document, style(2, 602, 760, first_ms=755)) if is_document else (sheet(),)
    one = found(*rows, gzip_bytes=gzip_bytes, pauses=(pause(450, 600, 8_800),), fcp_ms=780 if is_document else 620)
    assert (saving_us(one) or 0) // 1_000 * 1_000 == gained_us


@pytest.mark.parametrize(("gzip_bytes", "gained_us"), [(8_100, 150_000), (8_600, 0)])
def test_a_flight_of_small_packets_holds_what_it_did(gzip_bytes: int, gained_us: int) -> None:
    """In half of the loads only 8.6 kB of the document came ahead, as of the compressed one."""
    one = found(sheet(), gzip_bytes=gzip_bytes, pauses=(pause(450, 600, 11_600),))
    assert (saving_us(one) or 0) // 1_000 * 1_000 == gained_us


def test_a_server_that_halts_for_a_moment_does_not_make_its_window_smaller() -> None:
    halted = (pause(450, 459, 11_600), pause(459, 600, 10_100))
    assert saving_us(found(sheet(), gzip_bytes=6_000, pauses=halted)) == 150_000


def test_where_little_came_ahead_it_waited_for_no_window() -> None:
    """A head that its server sent at once, before it had made the rest."""
    assert (saving_us(found(sheet(), gzip_bytes=2_000, pauses=(pause(450, 600, 19_900),))) or 0) < 1_000


def test_a_server_that_thought_for_as_long_gains_nothing() -> None:
    """Then nothing came before the first byte."""
    assert (saving_us(found(sheet(), gzip_bytes=10_000, pauses=())) or 0) < 1_000


@pytest.mark.parametrize(("gzip_bytes", "gained_us"), [(7_000, 150_000), (9_000, None)])
def test_what_shares_a_window_must_fit_it_together(gzip_bytes: int, gained_us: int | None) -> None:
    two = (sheet(2, 18_000), sheet(3, 18_000))
    assert saving_us(found(*two, gzip_bytes=gzip_bytes)) == gained_us


def test_over_http1_each_has_a_window_of_its_own() -> None:
    two = (sheet(2, protocol="http/1.1"), sheet(3, protocol="http/1.1"))
    assert saving_us(found(*two, gzip_bytes=10_000)) == 150_000


@pytest.mark.parametrize("head_ms", [600, 450])
@pytest.mark.parametrize(("asked_ms", "gained_us"), [(602, 150_000), (455, 0)])
def test_all_that_a_document_names_is_asked_for_sooner_where_it_is_read_sooner(
    head_ms: int, asked_ms: int, gained_us: int
) -> None:
    """Measured, a document and a style sheet of 20 kB each: 144 ms gained, and 2 were told. The head of the answer may
    come with the first flight, as a record of its own. What was asked for before the document stood still comes as it
    did."""
    document = row(1, ResourceType.DOCUMENT, 0, 604, first_ms=min(head_ms, asked_ms), path="", **sizes(20_000))
    kept = style(2, asked_ms, 760, first_ms=755)
    assert (saving_us(found(document, kept, gzip_bytes=10_000, fcp_ms=780)) or 0) // 2_000 * 2_000 == gained_us


def test_a_small_document_whose_last_packet_came_late_waited_for_no_window() -> None:
    """Recorded of nginx, which holds a small segment back until what went before is acknowledged."""
    document = row(1, ResourceType.DOCUMENT, 0, 600, first_ms=600, path="", **sizes(10_000))
    kept = style(2, 602, 760, first_ms=755)
    assert saving_us(found(document, kept, gzip_bytes=4_000, fcp_ms=780)) is None


@pytest.mark.parametrize(("fewer_bytes", "gained_us"), [(26_000, 150_000), (25_000, 0)])
def test_a_picture_comes_in_fewer_flights_too(fewer_bytes: int, gained_us: int) -> None:
    page = sketch(picture(2, 300, 600, first_ms=600), fcp_ms=320)
    connection = build_connection(host=MAIN, rtt_us=150_000, pauses=(FULL,))
    case = case_of(replace(page, waterfall=replace(page.waterfall, connections=(connection,))))
    assert case is not None
    assert picture_sooner_us(case, page.waterfall.requests[1], fewer_bytes) == gained_us


@pytest.mark.parametrize(("shown_ppm", "is_told"), [(300_000, True), (354_000, False)])
@pytest.mark.parametrize("is_largest", [True, False])
def test_a_small_picture_is_too_large_where_the_largest_paint_waits_for_it(
    shown_ppm: int, is_told: bool, is_largest: bool
) -> None:
    """Measured with one of 19 kB of which 12 are wasted: 140 ms gained, and none were told."""
    hero = picture(2, 300, 600, first_ms=600, transferred_bytes=19_500, body_bytes=19_300)
    vitals = {"lcp_us": 620_000, "lcp_url": hero.url if is_largest else None}
    places = (ShownPicture(request=2, width=170, height=113, shown_ppm=shown_ppm),)
    page = sketch(hero, fcp_ms=320, vitals=vitals, pictures=places)
    connection = build_connection(host=MAIN, rtt_us=150_000, pauses=(FULL,))
    page = replace(page, waterfall=replace(page.waterfall, connections=(connection,)))
    one = told(page, FindingId.PAGE_IMAGE_OVERSIZED)
    assert saving_us(one) == (150_000 if is_told and is_largest else None)
