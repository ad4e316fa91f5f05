"""Servers that keep connections of HTTP/1.1 and close those of HTTP/2, which browsers use, and the other way round."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from workers.diagnosis.probe.answers import keepalive_off
from workers.measurement.evidence import ProbeEvidence, Trial
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason, Severity
from workers.tests.diagnosis.judging import facts, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, connection, deep

RULES = (keepalive_off,)
OVER_HTTP2 = Server(settings_bytes=33)


def probe_of(kept: Sequence[bool | None], *, keeps_http1: bool = True, path: Path | None = None) -> ProbeEvidence:
    """A deep probe of a server that speaks both; whether each connection of HTTP/2 was kept for a second request."""
    path = path or Path()
    usual = deep(path, Server(keeps=keeps_http1))
    asked = [connection(path, OVER_HTTP2, Trial.HTTP2) for _ in kept]
    told = [
        replace(trial, exchanges=(replace(trial.exchanges[0], kept=one), *trial.exchanges[1:]))
        for trial, one in zip(asked, kept, strict=True)
    ]
    return replace(usual, trials=(*usual.trials, *told))


@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
def test_one_that_closes_connections_of_http2_alone_costs_browsers_an_opening_for_each_request(rtt_ms: int) -> None:
    finding = found(RULES, probe_of([False] * 3, path=Path(rtt_ms=rtt_ms)))[Id.HTTP_KEEPALIVE_OFF]
    assert finding.severity is Severity.HIGH
    assert facts(finding)["alpn"] == "h2"
    assert facts(finding)["seen"] == "3 of 3"
    assert finding.saving_us == pytest.approx(2_000 * rtt_ms, rel=0.1)


@pytest.mark.parametrize("kept", [[True], [True] * 3, []])
def test_of_one_that_keeps_both_nothing_is_told(kept: Sequence[bool]) -> None:
    assert not found(RULES, probe_of(kept))
    assert not left_open(RULES, probe_of(kept))


@pytest.mark.parametrize("kept", [[False], [False, False], [False, True, False]])
def test_what_was_not_seen_each_of_three_times_is_left_open(kept: Sequence[bool]) -> None:
    assert not found(RULES, probe_of(kept))
    assert left_open(RULES, probe_of(kept)) == {Id.HTTP_KEEPALIVE_OFF: NotJudgedReason.NOT_REPEATED}


def test_where_nobody_looked_it_is_left_open() -> None:
    assert not found(RULES, probe_of([None]))
    assert left_open(RULES, probe_of([None])) == {Id.HTTP_KEEPALIVE_OFF: NotJudgedReason.NOT_MEASURED}


def test_one_that_closes_both_is_told_once_and_spares_nobody() -> None:
    finding = found(RULES, probe_of([False] * 3, keeps_http1=False))[Id.HTTP_KEEPALIVE_OFF]
    assert finding.severity is Severity.HIGH
    assert "alpn" not in facts(finding)


def test_one_that_closes_connections_of_http1_alone_spares_browsers() -> None:
    told = found(RULES, probe_of([True], keeps_http1=False))
    assert told[Id.HTTP_KEEPALIVE_OFF].severity is Severity.LOW
