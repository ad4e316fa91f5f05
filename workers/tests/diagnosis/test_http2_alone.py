"""Servers that speak HTTP/2 alone: what is true of others is true of them, and nothing that is HTTP/1.1's is told."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import answers, handshakes, protocols, records, transport
from workers.measurement.evidence import Trial
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import Severity
from workers.tests.diagnosis.judging import found
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import DEEP, Server, deep

RULES = (*handshakes.RULES, *transport.RULES, *answers.RULES, *records.RULES, protocols.h2_missing)
TRIALS = (*DEEP, Trial.RESUMED, Trial.RESUMED, Trial.HTTP2)
ALONE = Server(settings_bytes=80, head_apart=True)


@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
@pytest.mark.parametrize("body_bytes", [700, 20_000, 150_000])
@pytest.mark.parametrize("version", ["TLSv1.3", "TLSv1.2"])
def test_of_a_faultless_one_nothing_is_told(rtt_ms: int, body_bytes: int, version: str) -> None:
    server = replace(ALONE, body_bytes=body_bytes, version=version)
    assert not found(RULES, deep(Path(rtt_ms=rtt_ms), server, trials=TRIALS))


@pytest.mark.parametrize("rtt_ms", [20, 80])
def test_settings_that_come_at_once_hide_no_thinking(rtt_ms: int) -> None:
    told = found(RULES, deep(Path(rtt_ms=rtt_ms), replace(ALONE, think_us=(700_000,)), trials=TRIALS))
    assert told.keys() == {Id.HTTP_THINK_TIME}
    assert told[Id.HTTP_THINK_TIME].saving_us == pytest.approx(650_000, rel=0.02)


def test_one_that_closes_each_connection_spares_no_browser() -> None:
    """Elsewhere browsers, who would use HTTP/2, may keep theirs."""
    told = found(RULES, deep(Path(), replace(ALONE, keeps=False), trials=TRIALS))
    assert told.keys() == {Id.HTTP_KEEPALIVE_OFF}
    assert told[Id.HTTP_KEEPALIVE_OFF].severity is Severity.HIGH
