"""TLS that ends with an error right behind something that could be read: in one packet with it, over HTTP/2."""

import os
import socket
from contextlib import suppress

import pytest
from hyperframe.frame import DataFrame

from workers.measurement.evidence import Depth
from workers.measurement.failure import FailureKind, Stage
from workers.measurement.messages import Failed, Kind, Measured, PairMeasurement
from workers.measurement.pair import PairTarget
from workers.pairs import PairEngine
from workers.tests.builders import build_request
from workers.tests.probes.conftest import NAME, Lab
from workers.tests.probes.deep_probes import evidence_of
from workers.tests.probes.http2_site import SETTINGS, http2_context
from workers.tests.probes.http2_talk import head
from workers.tests.servers import Peer, Script, Server

# A record that nobody has encrypted, so that it cannot be opened.
SPOILT = b"\x17\x03\x03\x00\x20" + b"\xaa" * 32


def spoiling(answer: bytes) -> Script:
    """Answers, and sends the spoilt record along with it."""

    def script(peer: Peer) -> None:
        peer.sock.recv(65536)
        peer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        peer.send(SETTINGS + answer)
        os.write(peer.sock.fileno(), SPOILT)
        peer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        with suppress(OSError):
            peer.sock.recv(1)

    return script


WHOLE = head(end=True)
HALF = head() + DataFrame(1, b"hello").serialize()


@pytest.mark.parametrize("depth", list(Depth))
def test_half_an_answer_is_told_with_what_ended_it(named: Lab, depth: Depth) -> None:
    with Server(spoiling(HALF), context=http2_context(named.authority.context(NAME))) as server:
        failed, _ = named.fail(server.url(host=NAME), depth=depth)
    assert (failed.failure.kind, failed.failure.stage) == (FailureKind.TLS_FAILED, Stage.DOWNLOAD)
    assert "decryption failed" in failed.failure.detail


def test_a_whole_answer_counts_and_the_connection_is_not_kept(named: Lab) -> None:
    with Server(spoiling(WHOLE), context=http2_context(named.authority.context(NAME))) as server:
        outcome = named.probe(server.url(host=NAME), depth=Depth.DEEP)
    assert isinstance(outcome, Measured)
    asked = [one for one in evidence_of(outcome).trials if one.exchanges]
    assert asked
    assert all(one.failure is None and len(one.exchanges) == 1 for one in asked)


def test_a_pair_whose_connection_ended_so_has_no_reused_round(named: Lab) -> None:
    context = http2_context(named.authority.context(NAME))
    with (
        Server(spoiling(WHOLE), context=context) as one,
        Server(spoiling(WHOLE), context=context) as other,
        PairEngine(named.settings) as engine,
    ):
        urls = [server.url(host=NAME) for server in (one, other)]
        outcome = engine.pair(build_request(kind=Kind.PAIR, url=urls[0], other=PairTarget(url=urls[1])))
    assert not isinstance(outcome, Failed), outcome
    assert isinstance(outcome.measurement, PairMeasurement)
    assert [(one.reused, one.status) for one in outcome.measurement.exchanges] == [(False, 200), (False, 200)]
    assert outcome.measurement.not_kept
