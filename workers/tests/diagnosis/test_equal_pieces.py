"""Servers that send their page in small pieces of one size, which the kernel takes for full segments after a while."""

from dataclasses import replace

import pytest

from workers.diagnosis.probe import answers, transport
from workers.diagnosis.probe.flights import mss_of, packet_time_us
from workers.measurement.evidence import ProbeEvidence, TcpState, Trial, TrialEvidence
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.tests.diagnosis.judging import cost, facts, found, left_open
from workers.tests.diagnosis.path import MSS, Path
from workers.tests.diagnosis.servers import Server, deep

RULES = (*answers.RULES, *transport.RULES)
# What the kernel said of four pieces of 1 KB in records of their own, over connections of one request and of three.
PIECE_BYTES = 1_046
PIECES, WHOLE = Server(body_bytes=4_096, trickle=(1_024, 300_000)), Server(body_bytes=4_096)
RTTS_MS = pytest.mark.parametrize("rtt_ms", [20, 40, 80])


@RTTS_MS
def test_pieces_of_one_size_cost_all_their_pauses(rtt_ms: int) -> None:
    pieces, whole = in_pieces(deep(Path(rtt_ms=rtt_ms), PIECES)), deep(Path(rtt_ms=rtt_ms), WHOLE)
    finding = found(RULES, pieces)[Id.HTTP_BODY_STALL]
    assert facts(finding)["pauses"] == 4
    assert finding.saving_us == pytest.approx(cost(pieces, "whole") - cost(whole, "whole"), rel=0.01)
    assert Id.HTTP_BODY_STALL not in {*found(RULES, whole), *left_open(RULES, whole)}


@RTTS_MS
def test_a_last_piece_that_rests_as_long_as_the_others_is_not_held_back(rtt_ms: int) -> None:
    """Also where that is what a client that acknowledges late would add to a round trip."""
    pieces = in_pieces(deep(Path(rtt_ms=rtt_ms), PIECES))
    assert Id.TCP_NAGLE_DELAYED_ACK not in found(RULES, pieces)
    assert left_open(RULES, pieces).get(Id.TCP_NAGLE_DELAYED_ACK) in {None, NotJudgedReason.UNSTEADY}


def test_a_server_that_thinks_as_long_as_an_end_is_held_hides_nothing_of_that() -> None:
    """Before its answer it does not send by pieces."""
    held = deep(Path(nagle=True), Server(head_apart=True, think_us=(122_000,)))
    assert Id.TCP_NAGLE_DELAYED_ACK in found(transport.RULES, held)


def test_a_segment_that_came_once_fits_through_the_way() -> None:
    (trial,) = in_pieces(deep(Path(), PIECES, trials=[Trial.FULL])).trials
    assert mss_of(trial) == MSS
    assert packet_time_us(trial) < 10


@pytest.mark.parametrize(("piece_bytes", "handshake_bytes"), [(1_024, 1_200), (1_024, 900), (800, 900)])
@RTTS_MS
def test_pieces_are_no_full_segments_where_the_handshake_has_not_had_any_either(
    rtt_ms: int, piece_bytes: int, handshake_bytes: int
) -> None:
    """The kernel has seen none then, at any time; but each ends where a record does."""
    whole = Server(handshake_bytes=handshake_bytes, body_bytes=12 * piece_bytes)
    pieces = replace(whole, trickle=(piece_bytes, 300_000))
    evidence = deep(Path(rtt_ms=rtt_ms), pieces)
    largest = (max(handshake_bytes, piece_bytes + 22), piece_bytes + 22)
    evidence = replace(evidence, trials=tuple(_seen_as(trial, *largest) for trial in evidence.trials))
    assert {mss_of(trial) for trial in evidence.of(Trial.FULL)} == {MSS}
    finding = found(RULES, evidence)[Id.HTTP_BODY_STALL]
    real_us = cost(evidence, "whole") - cost(deep(Path(rtt_ms=rtt_ms), whole), "whole")
    assert finding.saving_us == pytest.approx(real_us, rel=0.03)


@pytest.mark.parametrize("record_bytes", [1_400, 4_096, 16_384])
def test_segments_of_a_narrower_way_are_full_where_they_leave_records_open(record_bytes: int) -> None:
    way = Path(mss=1_348)
    (trial,) = deep(way, Server(body_bytes=20_000, record_bytes=record_bytes), trials=[Trial.FULL]).trials
    assert mss_of(trial) == 1_348


def in_pieces(evidence: ProbeEvidence) -> ProbeEvidence:
    return replace(evidence, trials=tuple(map(_taken_for_segments, evidence.trials)))


def _taken_for_segments(trial: TrialEvidence) -> TrialEvidence:
    """After the handshake the kernel knew full segments, at the end it takes the pieces for such."""
    return _seen_as(trial, MSS, PIECE_BYTES)


def _seen_as(trial: TrialEvidence, secured_bytes: int, ended_bytes: int) -> TrialEvidence:
    """With what the kernel took for a full segment after the handshake, and at the end."""
    ended = trial.tcp_ended or TcpState()
    return replace(
        trial,
        tcp_secured=replace(ended, rcv_mss_bytes=secured_bytes, received_bytes=None, data_segments_in=None),
        tcp_ended=replace(ended, rcv_mss_bytes=ended_bytes),
    )
