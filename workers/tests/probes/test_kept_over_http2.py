"""Whether a server keeps connections of HTTP/2 for the next request, where it keeps those of HTTP/1.1."""

from collections.abc import Callable

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import RequestReceived

from workers.diagnosis.probe.answers import keepalive_off
from workers.diagnosis.probe.protocols import h2_missing
from workers.measurement.evidence import ProbeEvidence, Trial
from workers.measurement.failure import FailureKind
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import found
from workers.tests.probes.conftest import NAME, Lab
from workers.tests.probes.deep_probes import deep
from workers.tests.probes.http2_site import Site, alone
from workers.tests.servers import Peer, Script, Server, keeping, response

RULES = (keepalive_off, h2_missing)
Again = Callable[[Peer, H2Connection, int], None]


def hanging_up(peer: Peer, h2: H2Connection, _: int) -> None:
    peer.sock.close()


def leaving(peer: Peer, h2: H2Connection, stream: int) -> None:
    h2.close_connection(last_stream_id=stream - 2)
    peer.send(h2.data_to_send())
    peer.sock.close()


def leaving_in_good_manners(peer: Peer, h2: H2Connection, stream: int) -> None:
    """What crossed the good-bye is answered."""
    answer(peer, h2, stream)
    h2.close_connection(last_stream_id=stream)
    peer.send(h2.data_to_send())


def refusing(peer: Peer, h2: H2Connection, stream: int) -> None:
    h2.reset_stream(stream, ErrorCodes.REFUSED_STREAM)
    peer.send(h2.data_to_send())


def nonsense(peer: Peer, h2: H2Connection, _: int) -> None:
    peer.send(b"\xff" * 100)


def answer(peer: Peer, h2: H2Connection, stream: int) -> None:
    h2.send_headers(stream, [(":status", "200")])
    h2.send_data(stream, b"hello", end_stream=True)
    peer.send(h2.data_to_send())


def answering_once(again: Again) -> Script:
    """The first request of each connection; what becomes of the next ones is told."""

    def script(peer: Peer) -> None:
        h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        h2.initiate_connection()
        peer.send(h2.data_to_send())
        while peer.sock.fileno() >= 0 and (data := peer.sock.recv(65536)):
            for event in h2.receive_data(data):
                if isinstance(event, RequestReceived):
                    stream = event.stream_id or 0
                    (answer if stream == 1 else again)(peer, h2, stream)

    return script


def evidence_of(lab: Lab, talk: Script) -> ProbeEvidence:
    """Of a server that speaks HTTP/1.1 too, and keeps its connections."""
    context = lab.authority.context(NAME)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with Server(alone(talk, keeping(response())), context=context) as server:
        return deep(lab, server.url(host=NAME))


@pytest.mark.parametrize("talk", [Site(most=1).talk, answering_once(hanging_up), answering_once(leaving)])
def test_a_server_that_closes_only_connections_of_http2_is_told(named: Lab, talk: Script) -> None:
    evidence = evidence_of(named, talk)
    trials = evidence.of(Trial.HTTP2)
    assert len(trials) >= 3
    assert all([one.kept for one in trial.exchanges] == [False] and trial.failure is None for trial in trials)
    assert found(RULES, evidence).keys() == {Id.HTTP_KEEPALIVE_OFF}


@pytest.mark.parametrize("talk", [Site().talk, Site(most=2).talk, answering_once(leaving_in_good_manners)])
def test_a_server_that_answers_again_keeps_its_connections(named: Lab, talk: Script) -> None:
    evidence = evidence_of(named, talk)
    assert {trial.exchanges[0].kept for trial in evidence.of(Trial.HTTP2)} == {True}
    assert not found(RULES, evidence)


def test_a_further_request_that_is_refused_says_nothing_of_the_connection(named: Lab) -> None:
    evidence = evidence_of(named, answering_once(refusing))
    assert all([one.kept for one in trial.exchanges] == [None] for trial in evidence.of(Trial.HTTP2))
    assert not found(RULES, evidence)


def test_a_further_answer_that_makes_no_sense_is_not_taken_for_none_at_all(named: Lab) -> None:
    evidence = evidence_of(named, answering_once(nonsense))
    failures = [trial.failure for trial in evidence.of(Trial.HTTP2)]
    assert len(failures) >= 3
    assert {one.kind for one in failures if one is not None} == {FailureKind.RESPONSE_INVALID}
    assert not found(RULES, evidence)
