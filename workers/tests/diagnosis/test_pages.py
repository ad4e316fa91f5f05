"""A page's hosts: told where their connections hold the first paint up, silent where nobody waits for them."""

from dataclasses import replace
from time import thread_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.diagnosis.page.case import PageCase
from workers.diagnosis.page.one_connection import sooner_over_one_us
from workers.measurement.connection import Connection, Header
from workers.measurement.finding import Finding, FindingId, Severity
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ResourceType, TimingSource, Waterfall
from workers.tests.builders import build_connection, build_page, span
from workers.tests.diagnosis.page_sketch import diagnosed

_EXTRA, _H2 = FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX, FindingId.HTTP_H2_MISSING
_MAIN, _STATIC, _ELSEWHERE = "www.example.org", "static.example.org", "fonts.example.net"


def opened(number: int, host: str, start_ms: float, **changes: Any) -> Connection:
    """A connection that takes 20, 80 and 80 ms to open."""
    values: dict[str, Any] = {
        "dns": span(start_ms, start_ms + 20),
        "connect": span(start_ms + 20, start_ms + 100),
        "tls": span(start_ms + 100, start_ms + 180),
    }
    return build_connection(**({"number": number, "host": host} | values | changes))


def asked(number: int, host: str, connection: int, start_ms: float, end_ms: float, *, blocks: bool = True) -> Request:
    return Request(
        number=number,
        url=f"https://{host}/{number}",
        method="GET",
        resource_type=ResourceType.STYLESHEET,
        timing=Timing(start_us=round(start_ms * 1000), end_us=round(end_ms * 1000)),
        timing_source=TimingSource.NETLOG,
        status=200,
        connection=connection,
        render_blocking=blocks,
    )


def page(*rest: Request, connections: tuple[Connection, ...] = ()) -> PageMeasurement:
    """The document comes after 300 ms over its own connection; the rest follows."""
    document = asked(1, _MAIN, 1, 0, 300, blocks=False)
    return PageMeasurement(
        waterfall=Waterfall(requests=(document, *rest), connections=(opened(1, _MAIN, 0), *connections)),
        vitals=Vitals(),
        document=1,
    )


def told(measured: PageMeasurement, id: FindingId = _EXTRA) -> Finding | None:
    return next((one for one in diagnosed(measured).findings if one.id is id), None)


def test_a_page_that_asks_its_own_host_alone_is_left_alone() -> None:
    assert not diagnosed(page(asked(2, _MAIN, 1, 310, 400))).findings
    assert not diagnosed(build_page()).findings


def test_a_style_sheet_on_another_host_waits_for_its_connection() -> None:
    measured = page(asked(2, _STATIC, 2, 310, 600), connections=(opened(2, _STATIC, 310),))
    found = told(measured)
    assert found is not None
    assert (found.host, found.severity, found.saving_us) == (_STATIC, Severity.MEDIUM, 180_000)


def test_it_saves_no_more_than_until_the_next_thing_that_blocks() -> None:
    own = asked(3, _MAIN, 1, 310, 540)
    found = told(page(asked(2, _STATIC, 2, 310, 600), own, connections=(opened(2, _STATIC, 310),)))
    assert found is not None
    assert found.saving_us == 60_000


def test_what_nothing_waits_for_holds_nothing_up() -> None:
    image = asked(2, _STATIC, 2, 310, 600, blocks=False)
    assert told(page(image, connections=(opened(2, _STATIC, 310),))) is None
    early = opened(2, _STATIC, 100, preconnected=True)
    assert told(page(asked(2, _STATIC, 2, 310, 600), connections=(early,))) is None


def test_a_near_host_is_no_matter() -> None:
    near = build_connection(number=2, host=_STATIC, dns=None, connect=span(310, 320), tls=span(320, 335))
    assert told(page(asked(2, _STATIC, 2, 310, 600), connections=(near,))) is None


def test_others_hosts_are_not_the_owners_to_change_unless_he_says_so() -> None:
    measured = page(asked(2, _ELSEWHERE, 2, 310, 600), connections=(opened(2, _ELSEWHERE, 310),))
    assert told(measured) is None
    findings = diagnosed(measured, is_own=lambda host: host.startswith("fonts.")).findings
    assert [one.host for one in findings] == [_ELSEWHERE]


def test_a_second_handshake_to_one_host_over_http2_is_lost_multiplexing() -> None:
    again = opened(2, _MAIN, 310, dns=None)
    found = told(page(asked(2, _MAIN, 2, 310, 600), connections=(again,)))
    assert found is not None
    assert (found.host, found.saving_us) == (_MAIN, 160_000)
    assert told(page(asked(2, _MAIN, 2, 310, 600), connections=(opened(2, _MAIN, 310, resumed=True),))) is None
    assert told(page(asked(2, _MAIN, 2, 310, 600), connections=(opened(2, _MAIN, 310, resumed=None),))) is None


@pytest.mark.parametrize(
    ("mode", "site", "wanted", "expected"),
    [
        ("cors", "same-site", "font", False),
        ("cors", "cross-site", "script", False),
        ("no-cors", "cross-site", "empty", False),
        ("no-cors", "same-site", "image", True),
        ("cors", "same-origin", "empty", True),
    ],
)
def test_browsers_ask_without_credentials_over_a_connection_of_its_own(
    mode: str, site: str, wanted: str, expected: bool
) -> None:
    values = {"Sec-Fetch-Mode": mode, "sec-fetch-site": site, "sec-fetch-dest": wanted}
    sent = tuple(Header(name=name, value=value) for name, value in values.items())
    sheet = asked(2, _STATIC, 2, 310, 600, blocks=False)
    apart, again = (
        replace(asked(number, _STATIC, number, 610, 900, blocks=False), request_headers=sent) for number in (3, 4)
    )
    connections = (opened(2, _STATIC, 310), opened(3, _STATIC, 610), opened(4, _STATIC, 610))
    assert (told(page(sheet, apart, connections=connections)) is not None) is expected
    assert told(page(sheet, apart, again, connections=connections)) is not None


def test_a_connection_that_carried_nothing_is_not_counted() -> None:
    assert told(page(asked(2, _MAIN, 1, 310, 400), connections=(opened(2, _MAIN, 310, requests=0),))) is None


@pytest.mark.parametrize(("count", "expected"), [(2, False), (3, True)])
def test_http1_may_use_two_connections(count: int, expected: bool) -> None:
    connections = tuple(opened(number, _STATIC, 310, protocol="http/1.1", dns=None) for number in range(2, 2 + count))
    requests = [asked(number, _STATIC, number, 310, 600, blocks=False) for number in range(2, 2 + count)]
    assert (told(page(*requests, connections=connections)) is not None) is expected


def test_many_requests_over_http1_lack_http2_and_say_so_once() -> None:
    connections = tuple(opened(number, _STATIC, 310, protocol="http/1.1") for number in range(2, 8))
    requests = [asked(number, _STATIC, number, 310, 900) for number in range(2, 8)]
    measured = page(*requests, connections=connections)
    found = told(measured, _H2)
    assert found is not None
    # Over one connection all six would have waited for that one just as long.
    assert (found.severity, found.saving_us) == (Severity.MEDIUM, None)
    assert told(measured) is None


def test_http2_saves_what_a_paint_waited_for_further_connections() -> None:
    starts = [310, 310, 310, 310, 310, 560]
    ways = enumerate(starts, start=2)
    connections = tuple(opened(number, _STATIC, start, protocol="http/1.1") for number, start in ways)
    early = [asked(number, _STATIC, number, 310, 600) for number in range(2, 7)]
    last = asked(7, _STATIC, 7, 560, 900)
    found = told(page(*early, last, connections=connections), _H2)
    assert found is not None
    assert found.saving_us == 180_000
    unawaited = asked(7, _STATIC, 7, 560, 900, blocks=False)
    found = told(page(*early, unawaited, connections=connections), _H2)
    assert found is not None
    assert found.saving_us is None


def test_a_second_handshake_beside_the_first_costs_no_more_than_the_first() -> None:
    first, again = opened(2, _STATIC, 310), opened(3, _STATIC, 330, dns=None)
    rows = (asked(2, _STATIC, 2, 310, 560), asked(3, _STATIC, 3, 330, 600))
    found = told(replace(page(*rows, connections=(first, again)), hints=(_STATIC,)))
    assert found is not None
    assert found.saving_us == 0


def test_requests_that_share_another_hosts_connection_open_none() -> None:
    assert told(page(asked(2, _STATIC, 1, 310, 600))) is None


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 900), st.integers(0, 900), st.booleans()), max_size=9))
def test_a_page_is_never_said_to_save_more_than_it_took(rows: list[tuple[int, int, int, bool]]) -> None:
    hosts = {1: _MAIN, 2: _STATIC, 3: _STATIC, 4: "cdn.example.org"}
    connections = tuple(opened(number, hosts[number], 100 * number) for number in (2, 3, 4))
    requests = [
        asked(place, hosts[number], number, start, start + length, blocks=blocks)
        for place, (number, start, length, blocks) in enumerate(rows, 2)
    ]
    diagnosis = diagnosed(page(*requests, connections=connections))
    longest_us = max([300_000, *(one.timing.end_us or 0 for one in requests)])
    assert all(0 <= (one.saving_us or 0) <= longest_us for one in diagnosis.findings)
    assert len({(one.id, one.host) for one in diagnosis.findings}) == len(diagnosis.findings)


def test_what_a_hostile_server_says_of_hints_is_read_at_once() -> None:
    page = build_page()
    document, *others = page.waterfall.requests
    hostile = replace(document, response_headers=(Header(name="link", value="<" * 100_000),))
    waterfall = replace(page.waterfall, requests=(hostile, *others))
    began = thread_time()
    assert PageCase(page=replace(page, waterfall=waterfall), own=bool).hinted == frozenset()
    assert thread_time() - began < 1


# What a browser works on eight requests and their answers, for which it waited anyway over several connections.
_HANDLED_US = 8 * 3_000


def through_two(*, size_bytes: int, took_ms: float) -> PageMeasurement:
    """Eight style sheets that the page wanted at 310 ms, over two connections that were open at 490: each is sent once
    the one before it has come, and thought about for 50 ms."""
    connections = tuple(opened(number, _STATIC, 310, protocol="http/1.1") for number in (2, 3))
    rows = []
    for place in range(8):
        sent_ms = 490 + place // 2 * (50 + took_ms)
        first_ms, end_ms = sent_ms + 50, sent_ms + 50 + took_ms
        timing = Timing(
            start_us=310_000,
            end_us=round(end_ms * 1000),
            send=span(sent_ms, sent_ms),
            wait=span(sent_ms, first_ms),
            download=span(first_ms, end_ms),
        )
        row = asked(place + 2, _STATIC, place % 2 + 2, 310, end_ms)
        rows.append(replace(row, timing=timing, transferred_bytes=size_bytes))
    return page(*rows, connections=connections)


def test_http2_saves_what_a_paint_waited_for_connections_to_be_free() -> None:
    found = told(through_two(size_bytes=1_000, took_ms=1), _H2)
    assert found is not None
    # All would have been sent at 490 ms: three times the 50 ms for which each was thought about.
    assert found.saving_us == pytest.approx(150_000 - _HANDLED_US, rel=0.05)


@pytest.mark.parametrize(("place", "saved_ms"), [(7, 150), (5, 100), (0, None)])
def test_http2_saves_what_the_largest_picture_waited_for_a_connection_to_be_free(
    place: int, saved_ms: int | None
) -> None:
    measured = through_two(size_bytes=1_000, took_ms=1)
    document, *rows = measured.waterfall.requests
    shown = [replace(row, render_blocking=False, resource_type=ResourceType.IMAGE) for row in rows]
    lcp_us = (shown[place].timing.end_us or 0) + 15_000
    seen = Vitals(fcp_us=340_000, lcp_us=lcp_us, lcp_url=shown[place].url)
    found = told(
        replace(measured, waterfall=replace(measured.waterfall, requests=(document, *shown)), vitals=seen), _H2
    )
    assert found is not None
    handled_us = 3_000 * (place + 1)
    assert found.saving_us == (saved_ms and pytest.approx(saved_ms * 1_000 - handled_us, rel=0.05))


@pytest.mark.parametrize(("blocks", "expected"), [(True, 160_000), (False, None)])
def test_few_requests_lack_http2_where_the_first_paint_waited_for_it(blocks: bool, expected: int | None) -> None:
    """The second file waits for a connection of 160 ms while the first one's is at work."""
    connections = (
        opened(1, _MAIN, 0, protocol="http/1.1"),
        opened(2, _MAIN, 310, protocol="http/1.1", dns=None, connect=span(310, 390), tls=span(390, 470)),
    )
    rows = (asked(2, _MAIN, 1, 310, 400, blocks=blocks), asked(3, _MAIN, 2, 310, 560, blocks=blocks))
    measured = page(*rows)
    found = told(replace(measured, waterfall=replace(measured.waterfall, connections=connections)), _H2)
    assert (found and found.saving_us) == expected


def test_http2_saves_no_time_in_which_the_line_was_full() -> None:
    """Two connections share a line of 200 bytes a millisecond, which eight files fill for 800 ms; in between it was
    idle for three times 50 ms."""
    found = told(through_two(size_bytes=20_000, took_ms=200), _H2)
    assert found is not None
    assert found.saving_us == pytest.approx(150_000 - _HANDLED_US, rel=0.05)


def test_http2_saves_nothing_where_records_that_are_read_as_a_whole_filled_the_line() -> None:
    """Twelve files of a record each, over a line of 200 bytes a millisecond and six connections: none is read before
    its last byte has come, and each came behind others that were on the line as well."""
    connections = tuple(opened(number, _STATIC, 310, protocol="http/1.1") for number in range(2, 8))
    ends_ms = [511 + 75 * (place + 1) for place in range(12)]
    rows = []
    for place, end_ms in enumerate(ends_ms):
        sent_ms = 490 if place < 6 else ends_ms[place - 6]
        timing = Timing(
            start_us=310_000,
            end_us=end_ms * 1000,
            send=span(sent_ms, sent_ms),
            wait=span(sent_ms, end_ms - 1),
            download=span(end_ms - 1, end_ms),
        )
        row = asked(place + 2, _STATIC, place % 6 + 2, 310, end_ms)
        rows.append(replace(row, timing=timing, transferred_bytes=15_000))
    found = told(page(*rows, connections=connections), _H2)
    assert found is not None
    assert found.saving_us is None


def test_http2_saves_less_where_its_one_connection_begins_slowly() -> None:
    """80 kB are two flights more over a new connection, of 21.4 ms each, where they took three times 55 ms more."""
    found = told(through_two(size_bytes=10_000, took_ms=5), _H2)
    assert found is not None
    assert found.saving_us == pytest.approx(3 * 55_000 + 5_000 - 2 * 21_400 - _HANDLED_US, rel=0.05)


def test_http2_saves_nothing_where_large_answers_share_one_window_that_begins_small() -> None:
    """320 kB are four flights more over one connection, and were three over two of them, each of which grew."""
    connections = tuple(opened(number, _STATIC, 310, protocol="http/1.1") for number in range(2, 10))
    rows = []
    for number in range(2, 10):
        timing = Timing(
            start_us=310_000,
            end_us=780_000,
            send=span(490, 490),
            wait=span(490, 600),
            download=span(600, 780),
        )
        row = asked(number, _STATIC, number, 310, 780)
        rows.append(replace(row, timing=timing, transferred_bytes=40_000))
    found = told(page(*rows, connections=connections), _H2)
    assert found is not None
    assert (found.severity, found.saving_us) == (Severity.MEDIUM, None)


def test_small_answers_over_one_connection_take_packets_of_their_own() -> None:
    """Of thirty at 600 bytes ten come at once, as many as a new connection may send packets, and the others with the
    next round trip, although all of them would fit into the first."""
    ends = _ends_over_one(30, size_bytes=600)
    assert max(ends) - min(ends) > 80_000
    assert sum(end_us - min(ends) > 40_000 for end_us in ends) == 20
    ends = _ends_over_one(10, size_bytes=600)
    assert max(ends) - min(ends) < 40_000


def test_what_just_fits_into_four_flights_takes_a_fifth() -> None:
    """Frames and records take room too, and windows do not quite double: 24 answers of 8.4 kB are 144 packets, and 10,
    20, 40 and 80 would be 150."""
    for size_bytes, flights in ((6_000, 4), (8_400, 5)):
        ends = _ends_over_one(24, size_bytes=size_bytes)
        assert (max(ends) - min(ends) - 24 * 3_000) / 80_000 == pytest.approx(flights - 1, abs=0.5)


def _ends_over_one(count: int, *, size_bytes: int) -> list[int]:
    """When each comes over one connection whose round trip is 80 ms, where all came at 1000 ms over others, and would
    have been asked for 500 ms sooner."""
    timing = Timing(start_us=0, end_us=1_001_000, send=span(900, 900), wait=span(900, 1000), download=span(1000, 1001))
    rows = [
        replace(asked(number, _STATIC, number, 0, 1001), timing=timing, transferred_bytes=size_bytes)
        for number in range(count)
    ]
    sooner = sooner_over_one_us(rows, dict.fromkeys(range(count), 500_000), 80_000, {})
    return [1_001_000 - gained_us for gained_us in sooner.values()]


def test_many_requests_over_one_connection_lack_nothing_that_http2_would_spare() -> None:
    one = opened(2, _STATIC, 310, protocol="http/1.1")
    rows = [asked(number, _STATIC, 2, 310, 500 + 40 * number) for number in range(2, 10)]
    assert told(page(*rows, connections=(one,)), _H2) is None


@pytest.mark.parametrize(("opening_ms", "severity"), [(199, Severity.MEDIUM), (201, Severity.HIGH)])
def test_the_lack_of_http2_weighs_as_much_as_it_costs(opening_ms: int, severity: Severity) -> None:
    """All but the first of two connections is spared."""
    connections = (
        opened(1, _MAIN, 0, protocol="http/1.1"),
        opened(2, _MAIN, 310, protocol="http/1.1", dns=None, connect=span(310, 400), tls=span(400, 310 + opening_ms)),
    )
    measured = page(asked(2, _MAIN, 1, 310, 400), asked(3, _MAIN, 2, 310, 700))
    found = told(replace(measured, waterfall=replace(measured.waterfall, connections=connections)), _H2)
    assert found is not None
    assert (found.severity, found.saving_us) == (severity, opening_ms * 1000)
    assert {fact.name: fact.value for fact in found.evidence}["connections_saved"] == 1
