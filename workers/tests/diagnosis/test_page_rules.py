"""What is said of a page, and above all what is not: situations that look like a fault and are none."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.page.returning import lifetime_s
from workers.measurement.connection import Header
from workers.measurement.finding import FindingId, Severity
from workers.measurement.page_options import PageState, Protocol
from workers.measurement.page_view import PlainText, RepeatView, ShownPicture
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom, Waterfall
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import (
    KEPT,
    MAIN,
    diagnosed,
    evidence_of,
    picture,
    row,
    sketch,
    style,
    told,
)

UNCACHED, UNCOMPRESSED = FindingId.PAGE_UNCACHED, FindingId.PAGE_UNCOMPRESSED
STRANGER = "cdn.example.net"


# Bytes


def test_a_text_that_nothing_waits_for_is_told_for_its_bytes_alone() -> None:
    script = row(2, ResourceType.SCRIPT, 310, 900, transferred_bytes=60_200, body_bytes=60_000)
    page = sketch(script, fcp_ms=340, texts=(PlainText(request=2, body_bytes=60_000, gzip_bytes=15_000),))
    found = told(page, UNCOMPRESSED)
    assert found is not None
    assert (found.severity, found.saving_us, evidence_of(found)["saved_bytes"]) == (Severity.LOW, None, 45_000)


def test_a_text_on_a_narrow_line_gains_what_the_line_takes_for_the_bytes_and_no_round_trip_beside() -> None:
    """Of a megabyte a second: from its second flight on, 21.4 ms after the first, the line is full."""
    sizes = {"transferred_bytes": 60_000, "body_bytes": 60_000}
    document = row(1, ResourceType.DOCUMENT, 0, 300 + 21.4 + 45.52, path="", first_ms=300, **sizes)
    texts = (PlainText(request=1, body_bytes=60_000, gzip_bytes=30_000),)
    found = told(sketch(document=document, fcp_ms=380, texts=texts), UNCOMPRESSED)
    assert found is not None
    assert found.saving_us == pytest.approx(30_000, rel=0.01)


@pytest.mark.parametrize(("took_ms", "saving_ms"), [(75, 75 - 2 * 21.4), (20, 10)])
def test_a_picture_that_came_in_flights_gains_those_that_do_not_come(took_ms: float, saving_ms: float) -> None:
    """240 kB take four after the first, or one less, where the window begins small; 60 kB take two of 21.4 ms."""
    sizes = {"transferred_bytes": 240_000, "body_bytes": 240_000}
    shown = picture(2, 310, 350 + took_ms, first_ms=350, path="a.png", **sizes)
    pictures = (ShownPicture(request=2, width=600, height=400, shown_ppm=250_000),)
    vitals = {"lcp_us": round(360_000 + took_ms * 1000), "lcp_url": shown.url}
    found = told(sketch(shown, fcp_ms=320, vitals=vitals, pictures=pictures), FindingId.PAGE_IMAGE_OVERSIZED)
    assert found is not None
    assert found.saving_us == pytest.approx(saving_ms * 1000, abs=1)


def test_a_picture_that_came_at_once_gains_nothing_for_fewer_bytes() -> None:
    shown = picture(2, 310, 350, first_ms=350, path="a.png")
    pictures = (ShownPicture(request=2, width=900, height=600, shown_ppm=100_000),)
    vitals = {"lcp_us": 380_000, "lcp_url": shown.url}
    found = told(sketch(shown, fcp_ms=345, vitals=vitals, pictures=pictures), FindingId.PAGE_IMAGE_OVERSIZED)
    assert found is not None
    assert found.saving_us is None


@pytest.mark.parametrize(
    "changes",
    [
        {"headers": KEPT | {"content-encoding": "br"}, "transferred_bytes": 15_000},
        {"headers": KEPT | {"content-encoding": "zstd"}, "transferred_bytes": 15_000},
        {"mime_type": "image/webp"},
        {"mime_type": "font/woff2"},
        {"mime_type": "text/event-stream"},
        {"status": 206},
        {"host": STRANGER},
        {"body_bytes": 1_900, "transferred_bytes": 2_000},
        # Something on the way compressed what the server calls plain.
        {"transferred_bytes": 15_000},
    ],
)
def test_what_is_compressed_or_need_not_be_is_left_alone(changes: dict[str, Any]) -> None:
    sizes = {"transferred_bytes": 90_200, "body_bytes": 90_000}
    script = row(2, ResourceType.SCRIPT, 310, 900, **(sizes | changes))
    assert told(sketch(script, fcp_ms=340), UNCOMPRESSED) is None


# Visitors who come again

_EXPIRES = {"expires": "Sun, 22 Nov 2026 12:00:00 GMT", "date": "Sat, 21 Nov 2026 12:00:00 GMT"}


@pytest.mark.parametrize(
    ("headers", "lifetime"),
    [
        ({"cache-control": "max-age=31536000, immutable"}, 31_536_000),
        ({"cache-control": "public, max-age=600, max-age=900"}, 600),
        ({"cache-control": "max-age=60, stale-while-revalidate=86400"}, 86_460),
        ({"cache-control": "max-age=60, must-revalidate, stale-while-revalidate=86400"}, 60),
        ({"cache-control": "private, no-store"}, 0),
        ({"cache-control": 'max-age=600, no-cache="set-cookie"'}, 600),
        ({"pragma": "no-cache", "cache-control": "max-age=600"}, 0),
        ({"cache-control": "s-maxage=600"}, 0),
        # What Chromium makes of these was seen in its second views: it passes over an age that is no plain number.
        ({"cache-control": 'max-age="600"'}, 0),
        ({"cache-control": "max-age = 600"}, 0),
        ({"cache-control": "max-age=600.5"}, 0),
        ({"cache-control": "max-age=-1", **_EXPIRES}, 86_400),
        ({"cache-control": f"max-age={'9' * 5_000}"}, 2**31),
        ({"cache-control": "Max-Age=600"}, 600),
        ({"cache-control": "max-age=600", "vary": "*"}, 0),
        ({"cache-control": "max-age=600", "vary": "Accept-Encoding, *"}, 0),
        ({"cache-control": "max-age=600", "vary": "Cookie"}, 600),
        # A cache on the way kept it for longer than a browser may.
        ({"cache-control": "max-age=600, s-maxage=86400", "age": "700"}, 0),
        ({"cache-control": "max-age=600", "age": "599"}, 600),
        ({"cache-control": "max-age=60, stale-while-revalidate=600", "age": "100"}, 660),
        ({"expires": "Sun, 22 Nov 2026 12:00:00 GMT"}, None),
        ({"expires": "0"}, 0),
        ({"etag": '"x"'}, 0),
        ({"vary": "*", "cache-control": "max-age=600"}, 0),
        ({"cache-control": "max-age=-1"}, 0),
        ({"expires": "Sun, 22 Nov 2026 12:00:00 GMT", "date": "Sat, 21 Nov 2026 12:00:00 GMT"}, 86_400),
        ({"expires": "0", "date": "Sat, 21 Nov 2026 12:00:00 GMT"}, 0),
        ({"last-modified": "Wed, 11 Nov 2026 12:00:00 GMT", "date": "Sat, 21 Nov 2026 12:00:00 GMT"}, 86_400),
        (
            {
                "last-modified": "Wed, 11 Nov 2026 12:00:00 GMT",
                "date": "Sat, 21 Nov 2026 12:00:00 GMT",
                "cache-control": "must-revalidate",
            },
            0,
        ),
        ({}, None),
    ],
)
def test_a_browser_keeps_an_answer_as_long_as_it_is_told_to(headers: dict[str, str], lifetime: int | None) -> None:
    assert lifetime_s(picture(2, 310, 500, headers=headers)) == lifetime


def test_what_is_kept_for_minutes_is_told_of_the_next_day_and_not_of_the_second_view() -> None:
    kept = style(2, 310, 700, headers={"cache-control": "max-age=600"}, transferred_bytes=60_200)
    page = sketch(kept, fcp_ms=720, repeat=_again())
    found = told(page, UNCACHED)
    assert found is not None
    assert "seen_in_repeat_view" not in evidence_of(found)
    # As long as the file took.
    assert found.saving_us == 390_000


@pytest.mark.parametrize(("kept_s", "is_told"), [(86_399, True), (86_400, False)])
def test_what_may_be_kept_for_a_day_is_there_when_its_visitor_comes_again(kept_s: int, is_told: bool) -> None:
    sheet = style(2, 310, 700, headers={"cache-control": f"max-age={kept_s}"}, transferred_bytes=60_200)
    assert (told(sketch(sheet, fcp_ms=720), UNCACHED) is not None) is is_told


@pytest.mark.parametrize(("sent_bytes", "is_told"), [(49_999, False), (50_000, True)])
def test_what_no_paint_waits_for_is_told_from_fifty_kilobytes_on(sent_bytes: int, is_told: bool) -> None:
    shown = picture(2, 310, 700, headers={"cache-control": "no-store"}, transferred_bytes=sent_bytes)
    assert (told(sketch(shown, fcp_ms=340), UNCACHED) is not None) is is_told


@pytest.mark.parametrize(("body_bytes", "is_told"), [(999, False), (1_000, True)])
def test_a_picture_of_less_than_a_kilobyte_counts_visits(body_bytes: int, is_told: bool) -> None:
    shown = picture(2, 310, 700, headers={"cache-control": "no-store"}, transferred_bytes=60_000, body_bytes=body_bytes)
    assert (told(sketch(shown, fcp_ms=340), UNCACHED) is not None) is is_told


NOT_KEPT: dict[str, Any] = {"headers": {"cache-control": "no-store"}, "transferred_bytes": 60_200}


@pytest.mark.parametrize("changes", [{"method": "POST"}, {"status": 206}, {"status": 404}])
def test_what_browsers_keep_for_nobody_misses_no_cache(changes: dict[str, Any]) -> None:
    assert told(sketch(style(2, 310, 700, **NOT_KEPT), fcp_ms=720), UNCACHED) is not None
    assert told(sketch(style(2, 310, 700, **NOT_KEPT | changes), fcp_ms=720), UNCACHED) is None


def test_a_small_style_sheet_is_no_picture_that_counts_visits() -> None:
    assert told(sketch(style(2, 310, 700, **NOT_KEPT, body_bytes=900), fcp_ms=720), UNCACHED) is not None


@pytest.mark.parametrize(
    ("headers", "policy"),
    [
        ({"cache-control": "no-store", "age": "7"}, "no-store, Age: 7"),
        ({"cache-control": "no-store", "expires": "0"}, "no-store"),
        ({"expires": "0"}, "Expires: 0"),
        ({"server": "nginx"}, "no Cache-Control"),
    ],
)
def test_what_is_said_of_keeping_a_file_stands_beside_it(headers: dict[str, str], policy: str) -> None:
    found = told(sketch(style(2, 310, 700, **NOT_KEPT | {"headers": headers}), fcp_ms=720), UNCACHED)
    assert found is not None
    assert evidence_of(found)["files"] == (f"2 2, {policy}",)


def test_what_must_not_be_stored_is_sent_again_as_a_whole_though_it_has_a_validator() -> None:
    headers = {"cache-control": "no-store", "etag": '"1"'}
    found = told(sketch(style(2, 310, 700, **NOT_KEPT | {"headers": headers}), fcp_ms=720), UNCACHED)
    assert found is not None
    assert evidence_of(found)["again_bytes"] == 60_200
    asked = {"cache-control": "no-cache", "etag": '"1"'}
    found = told(sketch(style(2, 310, 700, **NOT_KEPT | {"headers": asked}), fcp_ms=720), UNCACHED)
    assert found is not None
    assert "again_bytes" not in evidence_of(found)


def test_no_new_visitors_time_is_of_high_severity_nor_is_any_counted_where_the_paint_came_of_something_else() -> None:
    found = told(sketch(style(2, 310, 700, **NOT_KEPT), fcp_ms=720), UNCACHED)
    assert found is not None
    assert (found.saving_us, found.severity) == (390_000, Severity.MEDIUM)
    elsewhere = told(sketch(style(2, 310, 700, **NOT_KEPT), fcp_ms=3_000), UNCACHED)
    assert elsewhere is not None
    assert (elsewhere.saving_us, elsewhere.severity) == (None, Severity.LOW)


def test_what_was_asked_for_again_costs_what_the_second_view_waited() -> None:
    asked = style(2, 310, 700, headers={"cache-control": "no-cache"}, transferred_bytes=60_200)
    found = told(sketch(asked, fcp_ms=720, repeat=_again(style(2, 110, 250))), UNCACHED)
    assert found is not None
    assert evidence_of(found)["seen_in_repeat_view"] is True
    # From its disk it has the file 15 ms after it asks for it.
    assert found.saving_us == 250_000 - 110_000 - 15_000


def test_what_a_service_worker_asked_for_again_costs_what_the_page_waited_for_that() -> None:
    asked = style(2, 310, 700, headers={"cache-control": "no-cache"}, transferred_bytes=60_200)
    given = style(2, 110, 252, connection=None, served_from=ServedFrom.SERVICE_WORKER)
    fetched = row(3, ResourceType.FETCH, 110, 250, path="2", status=304, flags=(RowFlag.SERVICE_WORKER,))
    found = told(sketch(asked, fcp_ms=720, repeat=_again(given, fetched)), UNCACHED)
    assert found is not None
    assert found.saving_us == 252_000 - 110_000 - 15_000


@pytest.mark.parametrize(("sent_bytes", "saving_us"), [(10_000, 121_000), (60_200, 121_000 - 21_400)])
def test_a_question_whether_a_large_file_has_changed_waits_for_no_second_flight(
    sent_bytes: int, saving_us: int
) -> None:
    """The first byte of a record that no first flight holds comes a round trip of 21.4 ms later."""
    headers = {"cache-control": "no-cache", "etag": '"1"'}
    sheet = style(2, 310, 700, first_ms=431, headers=headers, transferred_bytes=sent_bytes)
    found = told(sketch(sheet, fcp_ms=720), UNCACHED)
    assert found is not None
    assert found.saving_us == saving_us


@pytest.mark.parametrize(
    ("changes", "opening_us"),
    [({}, 180_000), ({"tls_round_trips": 2}, 140_000), ({"tls_round_trips": 2, "resumed": True}, 180_000)],
)
def test_who_comes_again_waits_for_the_connection_of_another_host_again(
    changes: dict[str, object], opening_us: int
) -> None:
    """Once more, TLS 1.2 resumes its session in one flight of the server's instead of two."""
    host = f"static.{MAIN}"
    opening = {"dns": span(310, 330), "connect": span(330, 370), "tls": span(370, 490), "rtt_us": 40_000}
    away = build_connection(number=2, host=host, **(opening | {"tls_round_trips": 1} | changes))
    kept = {"headers": {"cache-control": "no-store"}, "host": host, "connection": 2}
    sheet = replace(
        style(2, 310, 700, **kept), timing=replace(style(2, 310, 700).timing, send=None, wait=span(490, 690))
    )
    found = told(sketch(sheet, fcp_ms=720, connections=(away,)), UNCACHED)
    assert found is not None
    assert found.saving_us == opening_us + 210_000


@pytest.mark.parametrize(
    ("headers", "saving_us"),
    [
        ({"cache-control": "max-age=31536000"}, 190_000),
        ({"cache-control": "no-cache", "etag": '"1"'}, None),
        ({"cache-control": "max-age=600"}, None),
        ({}, None),
    ],
)
def test_who_waits_for_a_strangers_file_again_gains_no_more_than_what_is_left(
    headers: dict[str, str], saving_us: int | None
) -> None:
    """Measured: a style sheet that may be kept brought no second view sooner, beside a script that may not."""
    short = {"headers": {"cache-control": "max-age=600"}, "transferred_bytes": 5_000}
    script = {"host": "tags.example.net", "path": "s.js", "render_blocking": True, "headers": headers}
    stranger = row(3, ResourceType.SCRIPT, 310, 600, **script)
    found = told(sketch(style(2, 310, 500, **short), stranger, fcp_ms=620), UNCACHED)
    assert (found and found.saving_us) == saving_us


def test_beside_a_strangers_file_that_comes_again_sooner_the_rest_is_gained() -> None:
    short = {"headers": {"cache-control": "max-age=600"}, "transferred_bytes": 5_000}
    script = {"host": "tags.example.net", "path": "s.js", "render_blocking": True, "headers": {"expires": "0"}}
    stranger = row(3, ResourceType.SCRIPT, 310, 400, **script)
    found = told(sketch(style(2, 310, 500, **short), stranger, fcp_ms=520), UNCACHED)
    assert (found and found.saving_us) == 100_000


@pytest.mark.parametrize(("validator", "asks"), [("etag", True), ("last-modified", False)])
def test_what_fits_no_other_request_is_asked_for_by_its_tag_alone(validator: str, asks: bool) -> None:
    headers = {"cache-control": "max-age=600", "vary": "*", validator: '"1"'}
    found = told(sketch(style(2, 310, 700, headers=headers, transferred_bytes=60_200), fcp_ms=720), UNCACHED)
    assert found is not None
    assert ("again_bytes" not in evidence_of(found)) is asks


def test_pictures_that_count_visits_are_meant_to_come_again() -> None:
    never = {"cache-control": "no-store"}
    pixel = picture(2, 310, 400, headers=never, body_bytes=43, transferred_bytes=300)
    large = style(3, 310, 900, headers=never, transferred_bytes=60_200, render_blocking=False)
    found = told(sketch(pixel, large, fcp_ms=340), UNCACHED)
    assert found is not None
    assert found.rows == (3,)


def test_a_service_workers_own_script_is_meant_to_be_asked_for_each_time() -> None:
    """However long it may be kept browsers ask for it again, and under another name it would be another one."""
    asked = row(2, ResourceType.SCRIPT, 310, 400, headers={"cache-control": "no-cache"}, transferred_bytes=60_200)
    script = replace(asked, request_headers=(Header(name="Service-Worker", value="script"),))
    assert told(sketch(asked, fcp_ms=340), UNCACHED) is not None
    assert told(sketch(script, fcp_ms=340), UNCACHED) is None


def test_what_a_service_worker_keeps_needs_no_other_cache() -> None:
    """It fetches for later what the page has asked for, and what it was asked for it may only have passed on."""
    short = {"headers": {"cache-control": "max-age=600"}, "transferred_bytes": 60_200, "path": "a.css"}
    page = sketch(style(2, 310, 700, **short), fcp_ms=720)
    ahead = row(3, ResourceType.OTHER, 800, 810, path="a.css", flags=(RowFlag.SERVICE_WORKER,))
    given = row(4, ResourceType.STYLESHEET, 900, 920, path="a.css", served_from=ServedFrom.SERVICE_WORKER)
    assert told(page, UNCACHED) is not None
    assert told(sketch(*page.waterfall.requests[1:], ahead, fcp_ms=720), UNCACHED) is None
    assert told(sketch(*page.waterfall.requests[1:], ahead, given, fcp_ms=720), UNCACHED) is not None
    assert told(replace(page, repeat=_again(given)), UNCACHED) is None
    assert told(replace(page, repeat=_again(given, ahead)), UNCACHED) is not None


def _again(*rest: Request) -> RepeatView:
    """A second view, whose document came after 100 ms and whose first paint after 260 ms."""
    document = row(1, ResourceType.DOCUMENT, 0, 100, path="")
    return RepeatView(
        state=PageState.WARM_CACHE,
        waterfall=Waterfall(requests=(document, *rest), connections=()),
        vitals=Vitals(fcp_us=260_000 if rest else 120_000),
        document=1,
    )


# Protocols


@pytest.mark.parametrize(("only", "expected"), [(None, True), (Protocol.H1, False)])
def test_a_browser_that_may_speak_nothing_else_blames_no_server_for_it(only: Protocol | None, expected: bool) -> None:
    connections = tuple(
        build_connection(number=n, host=MAIN, protocol="http/1.1", dns=None, connect=span(310, 390), tls=span(390, 470))
        for n in range(2, 7)
    )
    rows = [picture(n, 310, 600, connection=n, protocol="http/1.1") for n in range(2, 7)]
    page = sketch(*rows, fcp_ms=340, connections=connections, only_protocol=only)
    first, *others = page.waterfall.connections
    old = [build_connection(number=1, host=MAIN, protocol="http/1.1", connect=first.connect, tls=first.tls), *others]
    seen = sketch(*rows, fcp_ms=340, connections=tuple(old), only_protocol=only)
    ids = {one.id for one in diagnosed(seen).findings}
    ids &= {FindingId.HTTP_H2_MISSING, FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX}
    assert bool(ids) is expected
