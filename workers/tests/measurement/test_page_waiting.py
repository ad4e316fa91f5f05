"""What a document that was never answered waited for, by Chrome's log."""

import pytest

from workers.measurement.compute.netlog_nouns import NetHop, NetSocket, Opener, Stretch
from workers.measurement.compute.network_log import NetworkLog
from workers.measurement.compute.page_waiting import Waiting, waiting_of
from workers.measurement.failure import Stage

ASKED_MS, UNTIL_MS = 1_000, 11_000
ORIGIN = "https://shop.example:443"


def log_of(*sockets: NetSocket, dns: Stretch | None = None, origin: str = ORIGIN) -> NetworkLog:
    opener = Opener(sockets=[socket.source for socket in sockets], dns=dns or Stretch(), origin=origin)
    return NetworkLog(sockets={socket.source: socket for socket in sockets}, openers={1: opener})


def socket_of(
    source: int = 7, *, connect: tuple[int, int | None], tls: tuple[int, int | None] | None = None, failed: bool = False
) -> NetSocket:
    shaken = Stretch() if tls is None else Stretch(*tls)
    return NetSocket(source, connect[0], connect=Stretch(*connect), tls=shaken, connect_error=failed)


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


def test_a_wait_is_told_in_microseconds() -> None:
    log = log_of(dns=Stretch(1_002, None))
    hop = NetHop(5, "https://shop.example/", "GET", ASKED_MS)
    assert waiting_of(hop, log, 11_000_123) == Waiting(stage=Stage.DNS, waited_us=9_998_123)
