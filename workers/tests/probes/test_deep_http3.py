"""Deep probes of sites that announce HTTP/3: that speak it, that keep silent over UDP, and that say it by name."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from workers.measurement.evidence import Depth, HttpsRecord, ProbeEvidence, Trial
from workers.measurement.failure import FailureKind
from workers.measurement.finding import FindingId
from workers.measurement.messages import ProbeMeasurement
from workers.probes import trial as trials
from workers.tests.http3_server import Talk, answering, http3_server
from workers.tests.probes.conftest import Lab
from workers.tests.servers import LOOPBACK, Server, keeping, response
from workers.tests.waiting import undisturbed

NAME = "www.example.test"


@pytest.fixture
def named(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setattr(trials, "PAUSE_NS", 50_000_000)
    lab.zone.a[NAME] = [LOOPBACK]
    return lab


@contextmanager
def silence() -> Iterator[int]:
    """A UDP port where everything that comes is left unread."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((LOOPBACK, 0))
        yield sock.getsockname()[1]


def site(named: Lab, *headers: str) -> Server:
    return Server(keeping(response(headers=headers)), context=named.authority.context(NAME))


def deep(named: Lab, server: Server) -> tuple[ProbeEvidence, ProbeMeasurement]:
    measurement = named.measure(server.url(host=NAME), depth=Depth.DEEP)
    assert measurement.evidence is not None
    return measurement.evidence, measurement


def told(measurement: ProbeMeasurement) -> tuple[bool, bool]:
    """Whether HTTP/3 is found fault with, and whether it was not judged."""
    diagnosis = measurement.diagnosis
    assert diagnosis is not None
    found = any(one.id is FindingId.HTTP_H3 for one in diagnosis.findings)
    return found, any(one.id is FindingId.HTTP_H3 for one in diagnosis.not_judged)


@undisturbed
def test_a_site_that_announces_http3_is_asked_over_it(named: Lab) -> None:
    asked: list[dict[str, str]] = []

    def conduct(talk: Talk) -> None:
        asked.append(talk.request)
        answering(b"hello")(talk)

    with (
        http3_server(conduct, named.authority, named.directory, NAME) as port,
        site(named, f'Alt-Svc: h3=":{port}"; ma=60') as server,
    ):
        evidence, measurement = deep(named, server)
    (trial,) = evidence.of(Trial.HTTP3)
    assert trial.failure is None
    assert trial.handshake is not None
    assert (trial.handshake.protocol, trial.handshake.faults) == ("h3", ())
    assert evidence.certificates[trial.handshake.chain[0]].names == (NAME,)
    assert (trial.exchanges[0].status, trial.exchanges[0].body_bytes) == (200, 5)
    assert asked[0][":authority"].startswith(NAME)
    assert evidence.quic_passes is True
    assert told(measurement) == (False, False)


@undisturbed
def test_a_certificate_that_only_quic_shows_and_browsers_refuse_is_told(named: Lab) -> None:
    with (
        http3_server(answering(), named.authority, named.directory, "another.test") as port,
        site(named, f'Alt-Svc: h3=":{port}"; ma=60') as server,
    ):
        evidence, measurement = deep(named, server)
    assert {one.failure for one in evidence.of(Trial.HTTP3)} == {None}
    assert told(measurement) == (True, False)


def test_silence_is_a_fault_of_the_site_only_once_another_was_reached(named: Lab) -> None:
    with silence() as port, site(named, f'Alt-Svc: h3=":{port}"; ma=60') as server:
        evidence, measurement = deep(named, server)
        failures = [one.failure.kind for one in evidence.of(Trial.HTTP3) if one.failure is not None]
        assert failures == [FailureKind.CONNECT_TIMEOUT] * 3
        assert evidence.quic_passes is False
        assert told(measurement) == (False, True)
        with (
            http3_server(answering(), named.authority, named.directory, NAME) as other_port,
            site(named, f'Alt-Svc: h3=":{other_port}"') as other,
        ):
            deep(named, other)
        evidence, measurement = deep(named, server)
    assert evidence.quic_passes is True
    assert told(measurement) == (True, False)


def test_a_name_can_announce_http3_before_any_answer(named: Lab) -> None:
    with site(named) as server:
        # The HTTPS record of another port than 443 has a name of its own, and says that h3 is at that port.
        named.zone.https[f"_{server.port}._https.{NAME}"] = ["1 . alpn=h3"]
        evidence, measurement = deep(named, server)
    (name,) = evidence.names
    assert name.https == HttpsRecord(protocols=("h3",), ttl_s=60)
    failures = {one.failure.kind for one in evidence.of(Trial.HTTP3) if one.failure is not None}
    assert failures == {FailureKind.CONNECT_REFUSED}
    assert told(measurement) == (True, False)
