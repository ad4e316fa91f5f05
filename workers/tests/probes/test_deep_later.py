"""Servers that do well once and harm later connections: evidence, in bounded time and memory."""

import os
import time
from itertools import count

import pytest

from workers.measurement.compute.probe.trial_plan import MAX_CONNECTIONS
from workers.measurement.evidence import Depth, Direction, Trial, TrialEvidence
from workers.measurement.messages import Measured
from workers.tests.probes.conftest import NAME, Lab
from workers.tests.probes.deep_probes import counted, evidence_of
from workers.tests.servers import Peer, Script, Server, keeping, response


def then(first: Script, later: Script) -> Script:
    """One connection is served well, those after it otherwise."""
    served = count()

    def script(peer: Peer) -> None:
        (first if next(served) == 0 else later)(peer)

    return script


def rubbish(peer: Peer) -> None:
    peer.sock.recv(65536)
    peer.send(os.urandom(3000))
    peer.sock.recv(65536)


def silence(peer: Peer) -> None:
    peer.pause(20)


def reset(peer: Peer) -> None:
    peer.sock.recv(65536)
    peer.reset()


def dripping(peer: Peer) -> None:
    """A handshake record of which a byte comes now and then."""
    peer.send(bytes.fromhex("1603033fff"))
    while not peer.gone.is_set():
        peer.send(b"\x02")
        peer.pause(0.02)


def empty_records(peer: Peer) -> None:
    peer.sock.recv(65536)
    while not peer.gone.is_set():
        peer.send(bytes.fromhex("1603030000") * 4000)


def warnings(peer: Peer) -> None:
    peer.sock.recv(65536)
    while not peer.gone.is_set():
        peer.send(bytes.fromhex("15030300020164") * 2000)


def endless_certificate(peer: Peer) -> None:
    """A handshake message of 16 MB, as it were."""
    peer.sock.recv(65536)
    peer.send(bytes.fromhex("16030340000bffffff"))
    while not peer.gone.is_set():
        peer.send(b"\0" * 16379 + bytes.fromhex("1603034000"))


@pytest.mark.parametrize(
    "later",
    [rubbish, silence, reset, dripping, empty_records, warnings, endless_certificate],
    ids=lambda one: one.__name__,
)
def test_whatever_a_server_does_to_later_connections_is_evidence_and_ends_in_time(named: Lab, later: Script) -> None:
    context = named.authority.context(NAME)

    def well(peer: Peer) -> None:
        with context.wrap_socket(peer.sock, server_side=True) as secured:
            keeping(response())(Peer(secured, peer.gone))

    # A busy machine may need longer than that for the first, which is not what is tried here.
    for timeout_us in (300_000, 1_000_000, 3_000_000):
        before = time.monotonic()
        with Server(then(well, later)) as server:
            url = server.url(host=NAME).replace("http:", "https:")
            outcome = named.probe(url, depth=Depth.DEEP, timeout_us=timeout_us)
        if isinstance(outcome, Measured):
            break
    assert isinstance(outcome, Measured), outcome
    evidence = evidence_of(outcome)
    assert evidence.trials[0].failure is None
    assert all(one.failure is not None for one in evidence.trials[1:])
    assert {Trial.RESUMED, Trial.TLS12, Trial.HTTP2} <= counted(evidence).keys()
    assert all(received_bytes(one) < 512 * 1024 for one in evidence.trials)
    assert time.monotonic() - before < max(60, MAX_CONNECTIONS * timeout_us / 1e6)


def received_bytes(trial: TrialEvidence) -> int:
    return sum(one.size_bytes for one in trial.transfers if one.direction is Direction.RECEIVED)
