"""How many bytes each answer brought, as the network log tells of connections and streams."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.captures_page import NetlogCapture
from workers.measurement.compute.devtools.reading import read_devtools
from workers.measurement.compute.netlog.events import names_of
from workers.measurement.compute.netlog.nouns import NetHop
from workers.measurement.compute.netlog.reading import read_netlog
from workers.measurement.compute.page.join import join
from workers.measurement.compute.page.page import compute_page
from workers.measurement.waterfall import Request
from workers.tests.measurement.log_files import log_of
from workers.tests.shapes import golden

Event = dict[str, Any]
# Frames of data, of which each has a head of nine bytes (RFC 9113, 4.1).
_FRAME_HEAD_BYTES = 9


def hop_of(shape: str, end: str) -> NetHop:
    return next(hop for hop in log_of(shape).hops if hop.url.endswith(end))


def row_of(shape: str, end: str) -> Request:
    rows = compute_page(golden.load(shape)).measurement.waterfall.requests
    return next(row for row in rows if row.url.endswith(end))


@pytest.mark.parametrize(
    "shape",
    ["six-h1", "plain-h1", "clear-h1", "closed-each-time-h1", "one-connection-h2", "forced-h3", "alt-svc-h3", "beacon"],
)
def test_where_devtools_counts_a_whole_answer_the_log_counts_the_same(shape: str) -> None:
    capture, log = golden.load(shape), log_of(shape)
    exchanges = [one for one in read_devtools(capture.events).exchanges if one.redirected_to is None]
    both = [
        (hop.received_bytes, exchange.transferred_bytes)
        for exchange, hop in ((exchanges[index], hop) for index, hop in join(exchanges, log.hops).items())
        if hop.received_bytes is not None and exchange.transferred_bytes is not None
    ]
    assert both
    assert [ours for ours, _ in both] == [theirs for _, theirs in both]


@pytest.mark.parametrize(
    ("shape", "end", "size"),
    [
        ("early-hints", "/a.css", 65),
        ("early-hint-under-way", "/a.css", 65),
        ("shared-worker", "/s.js", 88),
        ("shared-worker", "/data.json", 55),
        ("service-worker", "/sw.js", 393),
        ("worker", "/w.js", 88),
        ("worker", "/lib.js", 48),
        ("worker-moved", "/new.js", 63),
        ("worklet", "/b.js", 47),
    ],
)
def test_what_a_worker_or_an_early_hint_asked_for_has_its_bytes(shape: str, end: str, size: int) -> None:
    assert row_of(shape, end).transferred_bytes == size


def test_a_redirect_is_counted_with_all_that_its_answer_brought() -> None:
    """DevTools counts its head, behind which an empty frame ends the answer."""
    assert row_of("redirect-to-another-host", "two.test/").transferred_bytes == 34 + _FRAME_HEAD_BYTES


def test_a_request_that_was_answered_twice_is_left_to_devtools() -> None:
    """Credentials were asked for first: the row has both answers."""
    assert hop_of("login-given", "/secret").transactions == 2
    assert row_of("login-given", "/secret").transferred_bytes == 79


def test_what_is_still_open_is_counted_as_far_as_it_came() -> None:
    row = row_of("event-stream", "/events")
    assert row.timing.end_us is None
    assert row.body_bytes is not None
    assert row.transferred_bytes is not None
    assert row.transferred_bytes > row.body_bytes


def test_a_socket_has_no_size_since_its_messages_are_no_answer() -> None:
    assert row_of("websocket", "/talk").transferred_bytes is None


SESSION, SOCKET = 7, 5


class Told:
    """A log of one connection that carries HTTP/2, on which the first stream's request is for /1, and so on."""

    def __init__(self) -> None:
        log = golden.load("one-connection-h2").netlog
        assert log is not None
        self._constants: Mapping[str, Any] = log.constants
        self._events: list[Event] = []
        self._add("SOCKET_ALIVE", SOCKET, phase="BEGIN")
        self._add("TCP_CONNECT_ATTEMPT", SOCKET, phase="BEGIN")
        self._add("TCP_CONNECT_ATTEMPT", SOCKET, phase="END")
        self._add("HTTP2_SESSION_INITIALIZED", SESSION, source_dependency={"id": SOCKET})

    def _add(self, name: str, source: int, phase: str = "NONE", **params: Any) -> None:
        number = self._constants["logEventPhase"][f"PHASE_{phase}"]
        self._events.append(
            {
                "params": params,
                "phase": number,
                "source": {"id": source},
                "time": str(1000 + len(self._events)),
                "type": self._constants["logEventTypes"][name],
            }
        )

    def asks(self, stream: int) -> None:
        source = 100 + stream
        self._add("URL_REQUEST_START_JOB", source, "BEGIN", url=f"https://two.test/{stream}")
        self._add("HTTP_TRANSACTION_SEND_REQUEST", source, "BEGIN")
        self._add("HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS", source)
        self._add("HTTP2_SESSION_SEND_HEADERS", SESSION, source_dependency={"id": source}, stream_id=stream)
        self._add("HTTP_TRANSACTION_SEND_REQUEST", source, "END")

    def reads(self, size: int, *frames: tuple[str, int]) -> None:
        """One read and the frames in it: their kinds and their streams."""
        self._add("SOCKET_BYTES_RECEIVED", SOCKET, byte_count=size)
        for kind, stream in frames:
            self._add(f"HTTP2_SESSION_RECV_{kind}", SESSION, stream_id=stream, headers=[":status: 200"])

    def hints(self, size: int, stream: int) -> None:
        self._add("SOCKET_BYTES_RECEIVED", SOCKET, byte_count=size)
        self._add("HTTP2_SESSION_RECV_HEADERS", SESSION, stream_id=stream, headers=[":status: 103"])

    def gives_up(self, stream: int) -> None:
        self._add("CANCELLED", 100 + stream)

    def sizes(self, over: tuple[int, ...] = (1, 3, 5)) -> dict[str, int | None]:
        """Once these are over."""
        for stream in over:
            self._add("REQUEST_ALIVE", 100 + stream, "END")
        lines = [json.dumps(event, sort_keys=True, separators=(",", ":")).encode() for event in self._events]
        log = read_netlog(names_of(self._constants), lines)
        return {hop.url.rpartition("/")[2]: hop.received_bytes for hop in log.hops}


@pytest.fixture
def told() -> Told:
    told = Told()
    for stream in (1, 3, 5):
        told.asks(stream)
    return told


def test_answers_one_after_the_other_have_what_was_read_of_each(told: Told) -> None:
    told.reads(30, ("HEADERS", 1))
    told.reads(120, ("DATA", 1), ("DATA", 1))
    told.reads(45, ("HEADERS", 3), ("DATA", 3))
    assert told.sizes() == {"1": 150, "3": 45, "5": None}


def test_a_frame_that_comes_in_pieces_is_counted_with_what_it_is_of(told: Told) -> None:
    told.reads(30, ("HEADERS", 1))
    told.reads(5)
    told.reads(45, ("HEADERS", 3))
    assert told.sizes() == {"1": 30, "3": 50, "5": None}


def test_of_answers_that_come_in_one_read_nobody_knows_which_is_how_large(told: Told) -> None:
    told.reads(30, ("HEADERS", 1), ("HEADERS", 3))
    told.reads(70, ("DATA", 3))
    told.reads(20, ("HEADERS", 5))
    assert told.sizes() == {"1": None, "3": None, "5": 20}


def test_of_answers_that_take_turns_nobody_knows_where_one_read_ends(told: Told) -> None:
    """A read may end in the middle of a frame of the next."""
    told.reads(30, ("HEADERS", 1))
    told.reads(70, ("HEADERS", 3))
    told.reads(90, ("DATA", 1))
    told.reads(20, ("HEADERS", 5))
    assert told.sizes() == {"1": None, "3": None, "5": 20}


def test_what_came_of_an_answer_that_was_given_up_or_goes_on_is_counted(told: Told) -> None:
    told.asks(1)
    told.reads(60, ("HEADERS", 1))
    told.reads(1000, ("DATA", 1))
    told.gives_up(1)
    told.asks(3)
    told.reads(50, ("HEADERS", 3))
    told.asks(5)
    assert told.sizes(over=(1,)) == {"1": 1060, "3": 50, "5": None}


def test_frames_of_the_connection_itself_are_no_answers(told: Told) -> None:
    told.reads(30, ("HEADERS", 1))
    told.reads(22, ("SETTINGS_ACK", 0))
    told.reads(99, ("WINDOW_UPDATE", 0), ("DATA", 1))
    told.reads(20, ("HEADERS", 3))
    assert told.sizes() == {"1": None, "3": 20, "5": None}


def test_what_an_early_hint_names_comes_before_the_answer_and_is_counted(told: Told) -> None:
    told.hints(46, 1)
    told.reads(70, ("HEADERS", 3), ("DATA", 3))
    told.reads(90, ("HEADERS", 1))
    assert told.sizes() == {"1": None, "3": 70, "5": None}


def lines_without(log: NetlogCapture, name: str) -> NetlogCapture:
    """As a Chrome that does not write these events."""
    types = {kind: number for kind, number in log.constants["logEventTypes"].items() if kind != name}
    return replace(log, constants={**log.constants, "logEventTypes": types})


def sizes_of(log: NetlogCapture) -> Iterator[int | None]:
    return (hop.received_bytes for hop in read_netlog(names_of(log.constants), log.lines).hops)


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ("one-connection-h2", "HTTP2_SESSION_RECV_HEADERS"),
        ("one-connection-h2", "HTTP2_SESSION_RECV_DATA"),
        ("forced-h3", "QUIC_SESSION_STREAM_FRAME_RECEIVED"),
    ],
)
def test_a_log_that_does_not_tell_of_frames_gives_no_sizes(shape: str, name: str) -> None:
    log = golden.load(shape).netlog
    assert log is not None
    assert any(sizes_of(log))
    assert not any(sizes_of(lines_without(log, name)))
