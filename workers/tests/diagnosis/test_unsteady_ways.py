"""What a server does is told on ways whose round trips differ, and what such a way does is not put down to a server."""

from statistics import median

import pytest

from workers.diagnosis.probe import transport
from workers.measurement.evidence import ProbeEvidence, Trial
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep

RULES = transport.RULES
SPLIT = Server(head_apart=True)
WAYS = pytest.mark.parametrize(("rtt_ms", "jitter"), [(20, 0.2), (80, 0.06), (80, 0.2), (250, 0.06)])
SEEDS = (0, 100, 200, 300)


def delayed_us(evidence: ProbeEvidence) -> float:
    firsts = (trial.exchanges[0] for trial in evidence.of(Trial.DELAYED_ACK))
    return median((first.ended_us or 0) - (first.sent_us or 0) for first in firsts)


@WAYS
def test_nagle_costs_a_round_trip_on_an_unsteady_way_too(rtt_ms: float, jitter: float) -> None:
    for seed in SEEDS:
        held, free = (deep(Path(rtt_ms=rtt_ms, jitter=jitter, nagle=one, seed=seed), SPLIT) for one in (True, False))
        saving_us = found(RULES, held)[Id.TCP_NAGLE_DELAYED_ACK].saving_us
        assert saving_us == pytest.approx(delayed_us(held) - delayed_us(free), rel=0.1)
        assert Id.TCP_NAGLE_DELAYED_ACK not in found(RULES, free)


@pytest.mark.parametrize("body_bytes", [700, 4_000])
def test_nagle_is_left_open_where_round_trips_differ_by_as_much_as_they_are_long(body_bytes: int) -> None:
    for seed in SEEDS:
        evidence = deep(
            Path(rtt_ms=20, jitter=0.7, nagle=True, seed=seed), Server(head_apart=True, body_bytes=body_bytes)
        )
        assert Id.TCP_NAGLE_DELAYED_ACK in {*found(RULES, evidence), *left_open(RULES, evidence)}


@WAYS
@pytest.mark.parametrize("iw", [2, 3, 4])
def test_a_small_window_on_an_unsteady_way_is_not_nagle(rtt_ms: float, jitter: float, iw: int) -> None:
    for seed in SEEDS:
        evidence = deep(Path(rtt_ms=rtt_ms, jitter=jitter, iw=iw, seed=seed), Server(body_bytes=5_500))
        assert Id.TCP_NAGLE_DELAYED_ACK not in found(RULES, evidence)


@WAYS
@pytest.mark.parametrize("share", [0.9, 1.0, 1.1])
def test_a_server_that_rests_for_about_a_round_trip_on_an_unsteady_way_is_not_nagle(
    rtt_ms: float, jitter: float, share: float
) -> None:
    resting = Server(body_stall=(3_400, round(share * rtt_ms * 1000)))
    for seed in SEEDS:
        evidence = deep(Path(rtt_ms=rtt_ms, jitter=jitter, seed=seed), resting)
        assert Id.TCP_NAGLE_DELAYED_ACK not in found(RULES, evidence)
