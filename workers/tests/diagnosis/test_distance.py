"""How far a server is, and what makes it seem farther."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.probe import path
from workers.measurement.evidence import ProbeEvidence, TcpState, Trial, TrialEvidence
from workers.measurement.finding import Confidence, NotJudgedReason, Severity
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import facts, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.postponing import postponed
from workers.tests.diagnosis.servers import Server, connection, deep, light, probe


def far(rtt_ms: float, **changes: Any) -> ProbeEvidence:
    return deep(Path(rtt_ms=rtt_ms), Server(**changes))


@pytest.mark.parametrize(("rtt_ms", "severity"), [(101, Severity.MEDIUM), (201, Severity.HIGH)])
def test_a_server_is_far_from_a_hundred_milliseconds_on(rtt_ms: float, severity: Severity) -> None:
    finding = found(path.RULES, far(rtt_ms))[Id.TCP_RTT_HIGH]
    assert finding.severity is severity
    assert finding.saving_us == pytest.approx((rtt_ms - 30) * 1000 * 3, rel=0.01)
    assert facts(finding)["round_trips"] == 3


def test_a_server_that_is_near_enough_is_not_far() -> None:
    assert not found(path.RULES, far(99))


def test_tls12_pays_the_distance_four_times() -> None:
    assert facts(found(path.RULES, far(150, version="TLSv1.2"))[Id.TCP_RTT_HIGH])["round_trips"] == 4


@pytest.mark.parametrize("pause_ms", [100, 205, 700])
def test_a_server_that_pauses_in_its_handshake_makes_no_distance_longer(pause_ms: int) -> None:
    finding = found(path.RULES, far(150, stall=(1_000, pause_ms * 1000))).get(Id.TCP_RTT_HIGH)
    assert pause_ms > 500 or finding is not None
    assert finding is None or facts(finding)["round_trips"] == 3


@pytest.mark.parametrize("jitter", [0, 0.2, 0.6])
@pytest.mark.parametrize(("handshake_bytes", "round_trips"), [(9_000, 3), (18_500, 4)])
def test_a_chain_that_needs_a_round_trip_more_does_so_on_an_unsteady_way_too(
    jitter: float, handshake_bytes: int, round_trips: int
) -> None:
    for seed in range(5):
        way = Path(rtt_ms=150, jitter=jitter, seed=100 * seed)
        finding = found(path.RULES, deep(way, Server(handshake_bytes=handshake_bytes)))[Id.TCP_RTT_HIGH]
        assert facts(finding)["round_trips"] == round_trips


def test_a_visit_over_tls12_that_browsers_do_not_make_lengthens_no_visit() -> None:
    """Where packets got lost in all but one of the others, there are more of those."""
    way, server = Path(rtt_ms=150), Server()
    whole, old = connection(way, server), connection(way, replace(server, version="TLSv1.2"), Trial.TLS12)
    hurt = replace(whole, tcp_ended=TcpState(out_of_order_packets=3))
    finding = found(path.RULES, probe([whole, hurt, hurt, old, old, old]))[Id.TCP_RTT_HIGH]
    assert facts(finding)["round_trips"] == 3
    assert facts(finding)["ttfb_ms"] == pytest.approx(450, rel=0.02)
    assert facts(found(path.RULES, probe([hurt, hurt, old, old, old]))[Id.TCP_RTT_HIGH])["round_trips"] == 3
    assert facts(found(path.RULES, probe([old, old]))[Id.TCP_RTT_HIGH])["round_trips"] == 4


def test_distance_is_no_cause_where_the_server_takes_most_of_the_time() -> None:
    assert not found(path.RULES, far(150, think_us=(600_000,)))


def test_what_we_take_between_two_round_trips_ourselves_hides_no_distance() -> None:
    quick = far(150)
    busy = replace(quick, trials=tuple(resting_before_it_asks(one, 900_000) for one in quick.trials))
    told, same = (facts(found(path.RULES, one)[Id.TCP_RTT_HIGH]) for one in (busy, quick))
    assert told == same
    assert told["ttfb_ms"] == pytest.approx(450, rel=0.02)


def resting_before_it_asks(trial: TrialEvidence, pause_us: int) -> TrialEvidence:
    """All that comes after the handshake, so much later."""
    assert trial.handshake is not None
    return postponed(trial, trial.handshake.ended_us or 0, pause_us)


def test_a_distance_of_our_own_making_is_nobodys_fault() -> None:
    for kept in (True, False):
        evidence = replace(far(300), profile_verified=kept)
        assert left_open(path.RULES, evidence)[Id.TCP_RTT_HIGH] is NotJudgedReason.SHAPED


def test_one_connection_is_enough_for_the_distance_but_less_sure() -> None:
    finding = found(path.RULES, light(Path(rtt_ms=300), Server()))[Id.TCP_RTT_HIGH]
    assert finding.confidence is Confidence.MEDIUM
