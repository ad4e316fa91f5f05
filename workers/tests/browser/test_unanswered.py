"""A page whose document is never answered is told of by what it waited for, since nothing of it could load."""

from collections.abc import Iterator

import pytest

from workers.measurement.failure import Failure, FailureKind, Stage
from workers.tests.browser.conftest import Load, failed
from workers.tests.servers import LOOPBACK, Peer, Script, Server, answering, redirect, silent_port
from workers.tests.waiting import undisturbed

TIMEOUT_S = 3


def _silent(peer: Peer) -> None:
    peer.gone.wait()


@pytest.fixture
def silent() -> Iterator[Server]:
    """Takes connections, and never says a word."""
    with Server(_silent) as server:
        yield server


def _told(load: Load, url: str) -> Failure:
    return failed(load(url, timeout_us=TIMEOUT_S * 1_000_000)).failure


def _leading_to(url: str, *, after_s: float = 0) -> Server:
    return Server(answering(redirect(url), after_s=after_s))


@undisturbed
def test_a_server_that_answers_no_connection(load: Load) -> None:
    with silent_port() as port:
        told = _told(load, f"http://{LOOPBACK}:{port}/?token=secret")
    assert (told.kind, told.stage) == (FailureKind.CONNECT_TIMEOUT, Stage.CONNECT)
    assert told.detail.endswith(f": {LOOPBACK}:{port}/ waited for {TIMEOUT_S} s")


@undisturbed
def test_a_server_that_shakes_no_hands(load: Load, silent: Server) -> None:
    told = _told(load, f"https://{LOOPBACK}:{silent.port}/")
    assert (told.kind, told.stage) == (FailureKind.TLS_TIMEOUT, Stage.TLS)


def _hangs_up(peer: Peer) -> None:
    peer.sock.recv(65536)
    peer.reset()


@undisturbed
@pytest.mark.parametrize(
    ("script", "kind"), [(_silent, FailureKind.TLS_TIMEOUT), (_hangs_up, FailureKind.CONNECTION_RESET)]
)
def test_where_one_address_leads_nowhere_the_other_ones_handshake_is_told_of(
    load: Load, script: Script, kind: FailureKind
) -> None:
    """The name has both loopback addresses, and Chrome's log tells of no end of a dial that it leaves behind."""
    with Server(script) as server, silent_port("::1", server.port):
        told = _told(load, f"https://localhost:{server.port}/")
    assert (told.kind, told.stage) == (kind, Stage.TLS)


@undisturbed
def test_a_server_that_does_not_answer_a_request(load: Load, silent: Server) -> None:
    told = _told(load, silent.url())
    assert (told.kind, told.stage) == (FailureKind.RESPONSE_TIMEOUT, Stage.WAIT)


@undisturbed
def test_where_a_page_leads_is_what_is_told_of(load: Load, silent: Server) -> None:
    with _leading_to(silent.url("/next")) as first:
        told = _told(load, first.url())
    assert told.kind is FailureKind.RESPONSE_TIMEOUT
    assert f": {LOOPBACK}:{silent.port}/next waited for" in told.detail


@undisturbed
def test_what_began_to_be_waited_for_at_the_end_is_not_what_took_the_time(load: Load, silent: Server) -> None:
    with _leading_to(silent.url("/next"), after_s=TIMEOUT_S * 0.7) as first:
        assert _told(load, first.url()).kind is FailureKind.PAGE_TIMEOUT
