"""What a document that was never answered waited for, by Chrome's log."""

import pytest

from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import NetHop, NetSocket, Opener, Stretch
from workers.measurement.compute.page.waiting import Waiting, ended_at, waiting_of
from workers.measurement.failure import Stage

ASKED_MS, UNTIL_MS = 1_000, 11_000
ORIGIN = "https://shop.example:443"


def log_of(*sockets: NetSocket, dns: Stretch | None = None, origin: str = ORIGIN) -> NetworkLog:
    opener = Opener(sockets=[socket.source for socket in sockets], dns=dns or Stretch(), origin=origin)
    return NetworkLog(sockets={socket.source: socket for socket in sockets}, openers={1: opener})


def socket_of(
    source: int = 7,
    *,
    connect: tuple[int, int | None],
    tls: tuple[int, int | None] | None = None,
    failed: bool = False,
    opener: int | None = None,
) -> NetSocket:
    shaken = Stretch() if tls is None else Stretch(*tls)
    return NetSocket(source, connect[0], opener, connect=Stretch(*connect), tls=shaken, connect_error=failed)


def waited(log: NetworkLog, hop: NetHop | None = None) -> tuple[Stage, int] | None:
    """The stage, and the milliseconds."""
    found = waiting_of(hop or NetHop(5, "https://shop.example/", "GET", ASKED_MS), log, UNTIL_MS * 1000)
    return None if found is None else (found.stage, found.waited_us // 1000)


def test_a_search_for_the_name_that_has_no_end() -> None:
    assert waited(log_of(dns=Stretch(1_002, None))) == (Stage.DNS, 9_998)


def test_what_ends_with_the_browser_had_no_end() -> None:
    assert waited(log_of(socket_of(connect=(1_100, UNTIL_MS)), dns=Stretch(1_002, 1_100))) == (Stage.CONNECT, 9_900)


def test_of_several_connections_the_first_counts_and_one_that_was_refused_does_not() -> None:
    refused = socket_of(6, connect=(1_050, 1_060), failed=True)
    log = log_of(refused, socket_of(7, connect=(1_100, None)), socket_of(8, connect=(1_350, None)))
    assert waited(log) == (Stage.CONNECT, 9_900)


def test_where_hands_are_shaken_it_is_not_the_other_connection_that_is_waited_for() -> None:
    log = log_of(socket_of(6, connect=(1_100, None)), socket_of(7, connect=(1_350, 1_400), tls=(1_400, None)))
    assert waited(log) == (Stage.TLS, 9_600)


def test_a_connection_that_was_dialled_ahead_is_waited_for_since_the_document_was_asked_for() -> None:
    assert waited(log_of(socket_of(connect=(500, None)))) == (Stage.CONNECT, UNTIL_MS - ASKED_MS)


@pytest.mark.parametrize(
    "log",
    [
        pytest.param(NetworkLog(), id="nothing is known"),
        pytest.param(log_of(socket_of(connect=(1_100, None)), origin="https://cdn.example:443"), id="another's"),
        pytest.param(
            log_of(socket_of(6, connect=(1_100, 1_200), tls=(1_200, 1_300)), socket_of(connect=(1_100, None))),
            id="a connection was there",
        ),
    ],
)
def test_where_the_log_does_not_show_it_nothing_is_said(log: NetworkLog) -> None:
    assert waited(log) is None


def test_what_was_sent_waits_for_its_answer_and_what_was_answered_for_nothing() -> None:
    log = log_of(socket_of(connect=(1_100, None)))
    hop = NetHop(5, "https://shop.example/", "GET", ASKED_MS, send=Stretch(1_500, 1_500))
    assert waited(log, hop) == (Stage.WAIT, 9_500)
    hop.head_ms = 2_000
    assert waited(log, hop) is None


# Chrome's numbers (net/base/net_error_list.h).
RESET, TIMED_OUT = -101, -7


def ended(error: int, *tried: NetSocket) -> Stage | None:
    """Of a request that ended with that error at the end."""
    hop = NetHop(5, "https://shop.example/", "GET", ASKED_MS, ended_ms=UNTIL_MS, net_error=error)
    return ended_at(hop, tried)


def dialled(until_ms: int | None, *, failed: bool = True) -> NetSocket:
    return socket_of(6, connect=(1_100, until_ms), failed=failed)


def shaken(until_ms: int | None, error: int | None = None) -> NetSocket:
    socket = socket_of(7, connect=(1_350, 1_400), tls=(1_400, until_ms))
    socket.tls_facts = {} if error is None else {"net_error": error}
    return socket


@pytest.mark.parametrize(
    ("error", "tried", "stage"),
    [
        pytest.param(TIMED_OUT, [], Stage.CONNECT, id="nobody was dialled"),
        pytest.param(TIMED_OUT, [dialled(UNTIL_MS)], Stage.CONNECT, id="dialled to the end"),
        pytest.param(TIMED_OUT, [shaken(None)], Stage.TLS, id="hands were shaken to the end"),
        pytest.param(RESET, [dialled(1_400), shaken(UNTIL_MS, RESET)], Stage.TLS, id="who was left behind counts not"),
        pytest.param(RESET, [shaken(2_000, RESET)], Stage.TLS, id="the request ends later than its connection"),
        pytest.param(TIMED_OUT, [shaken(2_000, RESET), dialled(UNTIL_MS)], Stage.CONNECT, id="dialled for longer"),
        pytest.param(TIMED_OUT, [shaken(2_000, RESET), dialled(None)], Stage.CONNECT, id="and no end of it is told"),
        pytest.param(RESET, [shaken(UNTIL_MS, RESET), dialled(UNTIL_MS)], Stage.TLS, id="its own error ends both"),
        pytest.param(RESET, [shaken(UNTIL_MS - 9, RESET), dialled(None)], Stage.TLS, id="its own error, and some time"),
        pytest.param(TIMED_OUT, [shaken(None), dialled(UNTIL_MS)], None, id="both were under way"),
        pytest.param(TIMED_OUT, [shaken(UNTIL_MS, RESET), dialled(UNTIL_MS)], None, id="with another's error"),
    ],
)
def test_what_ended_a_request_is_what_its_last_connection_was_at(
    error: int, tried: list[NetSocket], stage: Stage | None
) -> None:
    assert ended(error, *tried) is stage


def test_who_was_left_behind_for_another_address_ended_nothing_although_no_end_of_it_is_told() -> None:
    """As Chrome 156 logs IPv6 that leads nowhere, and a handshake over IPv4 that is cut off, twice."""
    first = socket_of(1, connect=(1_002, None), opener=3)
    cut = socket_of(2, connect=(1_302, 1_302), tls=(1_302, 2_311), opener=3)
    again = socket_of(4, connect=(2_312, None), opener=3)
    silent = socket_of(5, connect=(2_613, 2_613), tls=(2_613, None), opener=3)
    assert ended(TIMED_OUT, first, cut, again, silent) is Stage.TLS
    assert ended(TIMED_OUT, first, cut, again) is Stage.CONNECT
    assert ended(TIMED_OUT, first, silent) is Stage.TLS


def test_a_wait_is_told_in_microseconds() -> None:
    log = log_of(dns=Stretch(1_002, None))
    hop = NetHop(5, "https://shop.example/", "GET", ASKED_MS)
    assert waiting_of(hop, log, 11_000_123) == Waiting(stage=Stage.DNS, waited_us=9_998_123)
