"""What one connection of a probe leaves behind, seen against real servers."""

import ssl
import time

import pytest

from workers.measurement.evidence import Depth, Direction, ProbeEvidence, Trial, TrialEvidence
from workers.measurement.failure import FailureKind
from workers.measurement.messages import ProbeMeasurement
from workers.measurement.timing import phases_of
from workers.tests.ports import closed_port
from workers.tests.probes.conftest import Lab
from workers.tests.servers import BROWSERS_GROUP, Peer, Server, answering, finish, response
from workers.tests.waiting import undisturbed

NAME = "www.example.test"


def evidence_of(measurement: ProbeMeasurement) -> ProbeEvidence:
    assert measurement.evidence is not None
    return measurement.evidence


def only_trial(measurement: ProbeMeasurement) -> TrialEvidence:
    (trial,) = evidence_of(measurement).trials
    return trial


@pytest.mark.parametrize(("version", "group"), [("TLSv1_2", "x25519"), ("TLSv1_3", BROWSERS_GROUP)])
def test_a_light_probe_keeps_what_it_saw_of_its_connection(named: Lab, version: str, group: str) -> None:
    context = named.authority.context(NAME)
    context.maximum_version = ssl.TLSVersion[version]
    with Server(answering(response(b"x" * 20_000)), context=context) as server:
        measurement = named.measure(server.url(host=NAME))
    evidence, trial = evidence_of(measurement), only_trial(measurement)
    assert (evidence.depth, evidence.host, evidence.secure) == (Depth.LIGHT, NAME, True)
    assert evidence.names[0].addresses == ("127.0.0.1",)
    assert trial.trial is Trial.FULL
    assert trial.failure is None
    assert trial.kernel_clock
    handshake = trial.handshake
    assert handshake is not None
    assert (handshake.version, handshake.group, handshake.resumed) == (version.replace("_", "."), group, False)
    assert handshake.hello_bytes > 1500
    assert handshake.hello_retry is False
    assert handshake.tickets == (1 if version == "TLSv1_2" else 2)
    assert handshake.chain == (0,)
    assert evidence.certificates[0].names == (NAME,)
    assert evidence.certificates[0].issued_by is None
    sizes = [record.length_bytes for record in trial.records if record.application]
    assert len(sizes) == 2
    assert sizes[0] > 16_384
    assert trial.tcp_ended is not None
    assert trial.tcp_ended.out_of_order_packets == 0


def test_transfers_come_in_the_order_of_time_and_add_up(named: Lab) -> None:
    with Server(answering(response(b"x" * 200_000)), context=named.authority.context(NAME)) as server:
        measurement = named.measure(server.url(host=NAME))
    trial = only_trial(measurement)
    assert [one.at_us for one in trial.transfers] == sorted(one.at_us for one in trial.transfers)
    received = [one.size_bytes for one in trial.transfers if one.direction is Direction.RECEIVED]
    assert sum(received) == measurement.connections[0].received_bytes
    assert trial.transfers[0].direction is Direction.SENT
    assert trial.handshake is not None
    assert trial.transfers[0].size_bytes == trial.handshake.hello_bytes


def test_a_group_that_has_to_be_agreed_on_first_is_a_retried_hello(named: Lab) -> None:
    context = named.authority.context(NAME)
    context.set_ecdh_curve("secp384r1")
    with Server(answering(response()), context=context) as server:
        handshake = only_trial(named.measure(server.url(host=NAME))).handshake
    assert handshake is not None
    assert handshake.hello_retry is True
    assert handshake.group == "secp384r1"


@undisturbed
def test_a_large_record_that_comes_in_two_parts_can_be_read_only_after_the_second(named: Lab) -> None:
    context = named.authority.context(NAME)
    sent_ns: list[int] = []

    def script(peer: Peer) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        while True:
            try:
                request = tls.read(65536)
                break
            except ssl.SSLWantReadError:
                if outgoing.pending:
                    peer.send(outgoing.read())
                incoming.write(peer.sock.recv(65536))
        assert request
        peer.send(outgoing.read())
        tls.write(response(b"x" * 12_000))
        answer = outgoing.read()
        sent_ns.append(time.monotonic_ns())
        peer.send(answer[:4000])
        peer.pause(0.12)
        peer.send(answer[4000:])
        sent_ns.append(time.monotonic_ns())
        peer.sock.recv(65536)

    with Server(script) as server:
        measurement = named.measure(server.url(host=NAME).replace("http:", "https:"))
    (exchange,) = only_trial(measurement).exchanges
    assert exchange.first_application_us is not None
    assert exchange.first_readable_us is not None
    most_us = (sent_ns[1] - sent_ns[0]) / 1000 + 1000
    assert 119_000 <= exchange.first_readable_us - exchange.first_application_us <= most_us
    assert exchange.sent_us is not None
    wait_us = phases_of(measurement.hops[0].timing).wait_us
    assert wait_us is not None
    assert abs(wait_us - (exchange.first_readable_us - exchange.sent_us)) <= 1
    record = next(record for record in only_trial(measurement).records if record.application)
    assert record.end_us is not None
    assert record.end_us - record.at_us >= 119_000


@undisturbed
def test_tickets_before_the_answer_are_its_first_raw_bytes_and_no_more(named: Lab) -> None:
    with Server(answering(response(), after_s=0.1), context=named.authority.context(NAME)) as server:
        (exchange,) = only_trial(named.measure(server.url(host=NAME))).exchanges
    assert exchange.first_raw_us is not None
    assert exchange.first_application_us is not None
    assert exchange.first_application_us - exchange.first_raw_us >= 80_000


def test_interim_answers_are_kept_by_their_status(lab: Lab) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
    with Server(answering(early + response())) as server:
        (exchange,) = only_trial(lab.measure(server.url())).exchanges
    assert exchange.interim == (103,)
    assert exchange.status == 200
    assert exchange.first_application_us == exchange.first_readable_us


def test_a_connection_that_was_refused_is_evidence_too(lab: Lab) -> None:
    _, measurement = lab.fail(f"http://127.0.0.1:{closed_port()}/")
    trial = only_trial(measurement)
    assert trial.failure is not None
    assert trial.failure.kind is FailureKind.CONNECT_REFUSED
    assert trial.connect_us is None
    assert trial.transfers == ()


def test_a_hello_that_kills_the_server_is_said_again_without_the_hybrid_key_share(named: Lab) -> None:
    """As boxes on the way do that cannot take a ClientHello of two packets."""
    context = named.authority.context(NAME)

    def script(peer: Peer) -> None:
        hello = peer.sock.recv(65536)
        if len(hello) > 1400:
            peer.reset()
            return
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        incoming.write(hello)
        while True:
            try:
                tls.read(65536)
                break
            except ssl.SSLWantReadError:
                if outgoing.pending:
                    peer.send(outgoing.read())
                incoming.write(peer.sock.recv(65536))
        tls.write(response())
        peer.send(outgoing.read())
        finish(peer)

    with Server(script) as server:
        measurement = named.measure(server.url(host=NAME).replace("http:", "https:"))
    full, classical = evidence_of(measurement).trials
    assert (full.trial, classical.trial) == (Trial.FULL, Trial.CLASSICAL)
    assert full.failure is not None
    assert full.failure.kind is FailureKind.CONNECTION_RESET
    assert full.handshake is not None
    assert full.handshake.version is None
    assert classical.handshake is not None
    assert classical.handshake.version == "TLSv1.3"
    assert classical.handshake.hello_bytes < 700
    assert measurement.hops[0].timing.dns is not None
    assert len(measurement.hops) == 1
