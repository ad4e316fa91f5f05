"""Answers whose full packets vanish on the way while small ones come through."""

from dataclasses import replace

import pytest

from workers.diagnosis.case import Case
from workers.diagnosis.probe.full_packets import fell_silent, is_stuck, vanish_on_the_way
from workers.measurement.evidence import Direction, TcpState, Transfer, Trial, TrialEvidence
from workers.measurement.failure import FailureKind, failure
from workers.tests.diagnosis.servers import probe

SAID_US = 1_000_000
STUCK = TrialEvidence(
    trial=Trial.FULL,
    started_us=0,
    connect_us=80_000,
    syn_rtt_us=80_000,
    transfers=(Transfer(at_us=SAID_US, direction=Direction.RECEIVED, size_bytes=600),),
    tcp_ended=TcpState(rcv_mss_bytes=881, adv_mss_bytes=1448, snd_mss_bytes=1448, out_of_order_packets=1),
    ended_us=SAID_US + 3_500_001,
    failure=failure(FailureKind.TLS_TIMEOUT),
)


def with_state(trial: TrialEvidence, **changes: int | None) -> TrialEvidence:
    assert trial.tcp_ended is not None
    return replace(trial, tcp_ended=replace(trial.tcp_ended, **changes))


def test_a_hole_that_was_never_filled_and_no_full_packet_make_an_answer_stuck() -> None:
    assert is_stuck(STUCK)
    assert not is_stuck(with_state(STUCK, out_of_order_packets=0))
    assert not is_stuck(replace(STUCK, failure=None))
    assert not is_stuck(replace(STUCK, tcp_ended=None))


@pytest.mark.parametrize(("rtt_us", "patience_us"), [(80_000, 3_500_000), (380_000, 16 * 380_000)])
def test_a_lost_packet_has_its_time_to_be_sent_again(rtt_us: int, patience_us: int) -> None:
    waited = replace(STUCK, syn_rtt_us=rtt_us, ended_us=SAID_US + patience_us)
    assert not fell_silent(waited)
    assert fell_silent(replace(waited, ended_us=SAID_US + patience_us + 1))
    assert not fell_silent(replace(waited, ended_us=None))


@pytest.mark.parametrize(
    ("ours", "theirs", "largest_full"), [(1448, 1448, 1409), (1448, 1348, 1309), (1348, 1448, 1309), (None, None, 1409)]
)
def test_a_full_packet_is_what_both_sides_said_less_options(
    ours: int | None, theirs: int | None, largest_full: int
) -> None:
    said = with_state(STUCK, adv_mss_bytes=ours, snd_mss_bytes=theirs)
    assert not is_stuck(with_state(said, rcv_mss_bytes=largest_full))
    assert is_stuck(with_state(said, rcv_mss_bytes=largest_full - 1))
    assert is_stuck(with_state(said, rcv_mss_bytes=None))


def test_they_vanish_on_the_way_where_one_was_stuck_and_none_came_in_any_connection() -> None:
    came, quick = with_state(STUCK, rcv_mss_bytes=1448), replace(STUCK, ended_us=SAID_US)
    assert vanish_on_the_way(Case(evidence=probe([STUCK, quick])))
    assert not vanish_on_the_way(Case(evidence=probe([STUCK, came])))
    assert not vanish_on_the_way(Case(evidence=probe([quick, quick])))
    assert vanish_on_the_way(Case(evidence=probe([STUCK, replace(STUCK, connect_us=None, tcp_ended=None)])))
