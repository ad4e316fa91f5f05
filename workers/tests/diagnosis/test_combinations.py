"""Two faults of one server at once: each is told for what it is and costs, and neither is taken for a third."""

from dataclasses import replace
from statistics import median

import pytest

from workers.diagnosis.diagnose import RULES
from workers.measurement.evidence import ProbeEvidence, Trial
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.tests.diagnosis.judging import found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep

PAGE = Server(body_bytes=20_000)


def whole_us(evidence: ProbeEvidence) -> float:
    """What the first answer of a new connection took from the request on."""
    firsts = [trial.exchanges[0] for trial in evidence.of(Trial.FULL)]
    return median((first.ended_us or 0) - (first.sent_us or 0) for first in firsts)


@pytest.mark.parametrize("share", [0.9, 0.95, 1.1])
def test_thinking_for_a_round_trip_and_then_pausing_as_long_is_no_small_window(share: float) -> None:
    """Behind the tickets of TLS 1.3 both look like a window that is full."""
    pause_us = round(share * 268_000)
    evidence = deep(Path(rtt_ms=268), replace(PAGE, think_us=(250_000,), body_stall=(5_000, pause_us)))
    assert Id.TCP_IW_SMALL not in found(RULES, evidence)
    assert left_open(RULES, evidence)[Id.TCP_IW_SMALL] is NotJudgedReason.UNSTEADY


@pytest.mark.parametrize("think_ms", [120, 300])
def test_a_small_window_is_told_of_a_server_that_thinks_and_for_itself_alone(think_ms: int) -> None:
    server = replace(PAGE, body_bytes=40_000, handshake_bytes=900, think_us=(think_ms * 1000,))
    small, usual = (deep(Path(rtt_ms=100, iw=iw), server) for iw in (3, 10))
    assert found(RULES, small)[Id.TCP_IW_SMALL].saving_us == pytest.approx(whole_us(small) - whole_us(usual), rel=0.1)
    assert Id.TCP_IW_SMALL not in found(RULES, usual)


@pytest.mark.parametrize("think_ms", [0, 90, 250])
def test_a_pause_costs_what_it_costs_however_long_the_server_thought_before(think_ms: int) -> None:
    server = replace(PAGE, think_us=(think_ms * 1000,))
    paused = deep(Path(rtt_ms=336), replace(server, body_stall=(9_000, 530_000)))
    real_us = whole_us(paused) - whole_us(deep(Path(rtt_ms=336), server))
    assert found(RULES, paused)[Id.HTTP_BODY_STALL].saving_us == pytest.approx(real_us, rel=0.03)


def test_a_small_window_says_nothing_of_records_where_there_are_none() -> None:
    secured = deep(Path(iw=4), PAGE, trials=[Trial.TLS12] * 4)
    plain = tuple(replace(one, trial=Trial.FULL, handshake=None, records=()) for one in secured.trials)
    evidence = replace(secured, secure=False, trials=plain)
    assert Id.TCP_IW_SMALL in found(RULES, evidence)
    assert Id.TLS_RECORD_OVERFLOW not in left_open(RULES, evidence)
