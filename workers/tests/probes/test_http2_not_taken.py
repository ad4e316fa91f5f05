"""Servers of HTTP/2 that allow no requests, for good or for a moment (RFC 9113, 6.5.2)."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from h2.errors import ErrorCodes
from hpack import Encoder
from hyperframe.frame import DataFrame, HeadersFrame, RstStreamFrame, SettingsFrame

from workers.measurement.failure import Blame, FailureKind, Stage
from workers.probes.request_fields import request_fields
from workers.tests.probes.conftest import Lab
from workers.tests.probes.http2_site import alone, http2_context, in_frames
from workers.tests.probes.http2_talk import TARGET, Talk
from workers.tests.servers import Peer, Script, Server, finish
from workers.tests.waiting import undisturbed

NAME = "www.example.test"


def server_of(lab: Lab, talk: Script) -> Server:
    return Server(alone(talk, in_frames), context=http2_context(lab.authority.context(NAME)))


def allowing(most: int) -> bytes:
    return SettingsFrame(0, settings={SettingsFrame.MAX_CONCURRENT_STREAMS: most}).serialize()


def shut(peer: Peer) -> None:
    """Allows no request, and says so."""
    peer.send(allowing(0))
    with suppress(OSError):
        while peer.sock.recv(65536):
            pass


def shut_and_refusing(peer: Peer) -> None:
    peer.send(allowing(0))
    peer.sock.recv(65536)
    peer.send(RstStreamFrame(1, error_code=ErrorCodes.REFUSED_STREAM).serialize())
    finish(peer)


@pytest.mark.parametrize("talk", [shut, shut_and_refusing])
@undisturbed
def test_a_server_that_allows_no_requests_is_told_as_such(named: Lab, talk: Script) -> None:
    with server_of(named, talk) as server:
        failed, _ = named.fail(server.url(host=NAME), timeout_us=2_000_000)
    assert (failed.failure.kind, failed.failure.stage) == (FailureKind.REQUEST_NOT_TAKEN, Stage.WAIT)
    assert failed.failure.blame is Blame.TARGET
    assert "MAX_CONCURRENT_STREAMS 0" in failed.failure.detail


@pytest.mark.parametrize("refuses", [True, False])
def test_a_server_that_allows_requests_a_moment_later_is_measured(named: Lab, refuses: bool) -> None:
    """One that did not refuse the first request answers it; one that did is asked again."""

    def talk(peer: Peer) -> None:
        peer.send(allowing(0))
        peer.sock.recv(65536)
        if refuses:
            peer.send(RstStreamFrame(1, error_code=ErrorCodes.REFUSED_STREAM).serialize())
        peer.pause(0.1)
        peer.send(allowing(100))
        head = HeadersFrame(3 if refuses else 1, Encoder().encode([(":status", "200")]), flags=["END_HEADERS"])
        if refuses:
            asked = b""
            while HeadersFrame(3).serialize()[5:9] not in asked:
                asked += peer.sock.recv(65536)
        peer.send(head.serialize() + DataFrame(head.stream_id, b"hello", flags=["END_STREAM"]).serialize())
        finish(peer)

    with server_of(named, talk) as server:
        measurement = named.measure(server.url(host=NAME))
    (hop,) = measurement.hops
    assert hop.status == 200
    assert hop.timing.wait is not None
    assert hop.timing.wait.end_us - hop.timing.wait.start_us >= 100_000


def test_what_is_asked_next_waits_until_it_is_allowed() -> None:
    talk = Talk()
    talk.answer(b"bye")
    talk.deliver()
    talk.client.hear(allowing(0))
    talk.client.ask_again(request_fields(TARGET, (), "agent/1"))
    assert talk.client.not_taken
    assert not any(one[3] == 1 for one in frames(talk.client.outgoing()))
    talk.client.feed(allowing(1))
    assert not talk.client.not_taken
    assert [one[5:9] for one in frames(talk.client.outgoing()) if one[3] == 1] == [b"\0\0\0\3"]


def frames(data: bytes) -> Iterator[bytes]:
    while data:
        end = 9 + int.from_bytes(data[:3])
        yield data[:end]
        data = data[end:]
