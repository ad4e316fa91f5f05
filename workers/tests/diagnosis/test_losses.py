"""Packets that were lost, and what only looks like it."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.probe import path
from workers.diagnosis.probe.diagnose import RULES
from workers.measurement.evidence import Direction, ProbeEvidence, TcpState, Trial, TrialEvidence
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import Confidence, NotJudgedReason
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import facts, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, connection, probe

# What came behind a lost packet waited in the kernel until that had been sent again.
LOST: dict[str, Any] = {"tcp_ended": TcpState(out_of_order_packets=3), "scheduling_lag_us": 81_000}
# What was only overtaken came at once.
OVERTAKEN: dict[str, Any] = {"tcp_ended": TcpState(out_of_order_packets=3), "scheduling_lag_us": 2_000}
# What the handshake of these servers takes.
_SHAKEN_SEGMENTS = 3


def lossy(count: int, total: int, **loss: Any) -> ProbeEvidence:
    whole = connection(Path(), Server())
    hurt = replace(whole, **loss)
    return probe([*[hurt] * count, *[whole] * (total - count)])


def test_loss_in_two_connections_of_five_is_the_ways() -> None:
    assert facts(found(path.RULES, lossy(2, 5, **LOST))[Id.TCP_LOSS])["seen"] == "2 of 5"


def test_a_hole_that_is_never_filled_is_no_loss_however_late_our_process_was() -> None:
    never = TcpState(min_rtt_us=80_000, rcv_mss_bytes=881, adv_mss_bytes=1448, out_of_order_packets=1)
    late = failure(FailureKind.TLS_TIMEOUT, "nothing came")
    evidence = lossy(2, 2, tcp_ended=never, scheduling_lag_us=81_000, failure=late, ended_us=9_000_000)
    assert Id.TCP_LOSS not in found(path.RULES, evidence)


def test_packets_in_another_order_are_no_loss() -> None:
    evidence = lossy(5, 5, **OVERTAKEN)
    assert not found(path.RULES, evidence)
    assert Id.TCP_LOSS not in left_open(path.RULES, evidence)


def test_what_a_late_process_sees_is_no_loss() -> None:
    whole = connection(Path(), Server())
    late = replace(whole, scheduling_lag_us=60_000)
    evidence = probe([replace(whole, **LOST), replace(whole, **LOST), late, late])
    assert not found(path.RULES, evidence)
    assert left_open(path.RULES, evidence)[Id.TCP_LOSS] is NotJudgedReason.LATE_CLOCK


def delivered(segments: int, body_bytes: int = 20_000, **changes: Any) -> TrialEvidence:
    """Handshake, tickets and answer, which need nineteen segments: so many came."""
    whole = connection(Path(), Server(body_bytes=body_bytes), Trial.CLASSICAL)
    return replace(whole, tcp_ended=TcpState(data_segments_in=segments, out_of_order_packets=3), **changes)


@pytest.mark.parametrize(("segments", "told"), [(19, True), (20, True), (21, False), (25, False)])
def test_what_came_twice_had_not_been_lost(segments: int, told: bool) -> None:
    """A packet so late that the server sends it again comes all the same."""
    undisturbed = delivered(19, scheduling_lag_us=1_000)
    undisturbed = replace(undisturbed, tcp_ended=TcpState(data_segments_in=19))
    evidence = probe([*[delivered(segments, scheduling_lag_us=81_000)] * 3, undisturbed])
    assert (Id.TCP_LOSS in found(path.RULES, evidence)) is told
    if not told:
        assert left_open(path.RULES, evidence)[Id.TCP_LOSS] is NotJudgedReason.UNSTEADY


def test_many_small_packets_are_a_servers_way_of_writing_where_undisturbed_connections_have_them_too() -> None:
    lossy = delivered(25, scheduling_lag_us=81_000)
    undisturbed = replace(lossy, tcp_ended=TcpState(data_segments_in=25), scheduling_lag_us=1_000)
    told = found(path.RULES, probe([lossy, lossy, lossy, undisturbed]))[Id.TCP_LOSS]
    assert told.confidence is Confidence.HIGH


@pytest.mark.parametrize(("segments", "confidence"), [(20, Confidence.HIGH), (25, Confidence.LOW)])
def test_loss_is_unsure_where_more_came_than_needed_and_no_undisturbed_connection_tells_why(
    segments: int, confidence: Confidence
) -> None:
    """The server's packets may be small, or may have come too late each time, and then twice."""
    lossy = delivered(segments, scheduling_lag_us=81_000)
    assert found(path.RULES, probe([lossy] * 3))[Id.TCP_LOSS].confidence is confidence


@pytest.mark.parametrize(
    ("disturbed", "confidence"),
    [
        ((3, 3, 3, 3, 3, 3), Confidence.LOW),
        ((3, 3, 3, 3, 3, 4), Confidence.LOW),
        ((3, 1, 5, 3, 2, 8), Confidence.HIGH),
        ((3, 3, 3, 3, 3, 0), Confidence.HIGH),
        ((3, 3, 3, 3, 3), Confidence.HIGH),
    ],
)
def test_loss_is_unsure_where_the_same_happens_in_each_connection(
    disturbed: tuple[int, ...], confidence: Confidence
) -> None:
    """As where one packet comes later by a round trip each time: chance hits each time another one."""
    lossy = delivered(20, scheduling_lag_us=81_000)
    trials = [
        replace(lossy, tcp_ended=TcpState(out_of_order_packets=count), scheduling_lag_us=81_000 if count else 1_000)
        for count in disturbed
    ]
    assert found(path.RULES, probe(trials))[Id.TCP_LOSS].confidence is confidence


def test_nearby_only_what_was_said_again_is_lost_for_certain() -> None:
    whole = connection(Path(rtt_ms=2), Server())
    order = replace(whole, tcp_ended=TcpState(out_of_order_packets=3), scheduling_lag_us=5_000)
    again = replace(whole, tcp_ended=TcpState(total_retransmits=1))
    twice = replace(whole, tcp_ended=TcpState(total_retransmits=1, dsack_dups=1))
    assert left_open(path.RULES, probe([order] * 5))[Id.TCP_LOSS] is NotJudgedReason.RTT_SHORT
    assert Id.TCP_LOSS in found(path.RULES, probe([again] * 5))
    assert Id.TCP_LOSS not in found(path.RULES, probe([twice] * 5))


def test_what_was_said_again_for_a_queue_is_left_open() -> None:
    queued = TcpState(total_retransmits=1, rtt_us=150_000, rttvar_us=105_000)
    evidence = lossy(5, 5, tcp_ended=queued)
    assert left_open(path.RULES, evidence)[Id.TCP_LOSS] is NotJudgedReason.UNSTEADY


def filled_hole() -> TrialEvidence:
    whole = connection(Path(), Server(body_bytes=20_000), Trial.CLASSICAL)
    ended = [one.at_us for one in whole.transfers][-1]
    sent = max(one.at_us for one in whole.transfers if one.direction is Direction.SENT)
    flights = (
        replace(whole.transfers[-1], at_us=sent + 80_000, size_bytes=1448),
        replace(whole.transfers[-1], at_us=max(ended, sent + 160_000), size_bytes=19_000),
    )
    shaken = tuple(one for one in whole.transfers if one.at_us <= sent)
    cut = replace(whole.records[-1], at_us=flights[0].at_us, end_us=flights[-1].at_us)
    return replace(
        whole,
        transfers=(*shaken, *flights),
        records=(*whole.records[:-1], cut),
        exchanges=(replace(whole.exchanges[0], ended_us=flights[-1].at_us),),
        tcp_ended=TcpState(out_of_order_packets=9),
    )


def test_a_filled_hole_brings_more_than_slow_start_lets_follow() -> None:
    assert Id.TCP_LOSS in found(path.RULES, probe([filled_hole()] * 3))


def test_what_a_server_sends_that_thought_for_a_round_trip_is_no_filled_hole() -> None:
    """Its tickets came at once, and packets overtook each other."""
    thinking = connection(Path(), Server(body_bytes=12_000, think_us=(76_000,)))
    assert thinking.tcp_ended is not None
    mixed = replace(thinking, tcp_ended=replace(thinking.tcp_ended, out_of_order_packets=9), scheduling_lag_us=2_000)
    assert Id.TCP_LOSS not in found(path.RULES, probe([mixed] * 4))


def test_what_a_small_window_lets_follow_is_no_filled_hole() -> None:
    """It counts packets: behind three, of which the last is small, come six full ones."""
    hole = filled_hole()
    *shaken, early, late = hole.transfers
    grown = (replace(early, size_bytes=2 * 1448 + 250), replace(late, size_bytes=6 * 1448))
    assert Id.TCP_LOSS not in found(path.RULES, probe([replace(hole, transfers=(*shaken, *grown))] * 3))


def followed_by(before: list[int], behind: list[int], apart_us: int, **changes: Any) -> TrialEvidence:
    """Packets of these sizes, a silence of a round trip within a record, and others so far apart."""
    hole = filled_hole()
    *shaken, early, late = hole.transfers
    first = [replace(early, at_us=early.at_us + number, size_bytes=size) for number, size in enumerate(before)]
    then = [replace(late, at_us=late.at_us + n * apart_us, size_bytes=size) for n, size in enumerate(behind)]
    ended = replace(hole.exchanges[0], ended_us=then[-1].at_us)
    cut = replace(hole.records[-1], end_us=then[-1].at_us)
    return replace(
        hole, transfers=(*shaken, *first, *then), exchanges=(ended,), records=(*hole.records[:-1], cut), **changes
    )


@pytest.mark.parametrize(("apart_us", "told"), [(10, True), (5_000, False)])
def test_what_a_server_that_paces_sends_one_after_the_other_is_no_filled_hole(apart_us: int, told: bool) -> None:
    """Linux with bbr goes on as it is acknowledged, for more than twice as many packets as before."""
    paced = followed_by([13_032], [2896] * 14, apart_us)
    assert (Id.TCP_LOSS in found(path.RULES, probe([paced] * 4))) is told
    if not told:
        # Nor is it known that nothing got lost: a hole that a few packets lay behind looks no other way.
        assert left_open(path.RULES, probe([paced] * 4))[Id.TCP_LOSS] is NotJudgedReason.PACED


@pytest.mark.parametrize("before", [[510, 192, 1448], [702, 1448], [2150]])
def test_small_packets_fill_a_small_window_as_large_ones_do(before: list[int]) -> None:
    """Tickets, a head and the beginning of a page, however many of them were read in one go: six may follow."""
    came = TcpState(out_of_order_packets=2, data_segments_in=_SHAKEN_SEGMENTS + 3 + 6)
    small = followed_by(before, [1448] * 6, 20, tcp_ended=came)
    assert Id.TCP_LOSS not in found(path.RULES, probe([small] * 4))


@pytest.mark.parametrize(("lag_rtt", "told"), [(0.2, True), (0.6, True), (1.2, False)])
def test_a_hole_is_one_unless_our_own_process_was_late_by_a_round_trip(lag_rtt: float, told: bool) -> None:
    late = connection(Path(), Server(), scheduling_lag_us=round(lag_rtt * 80_000))
    evidence = probe([*[filled_hole()] * 3, *[late] * 3])
    assert (Id.TCP_LOSS in found(path.RULES, evidence)) is told
    if not told:
        assert left_open(path.RULES, evidence)[Id.TCP_LOSS] is NotJudgedReason.LATE_CLOCK


@pytest.mark.parametrize(("count", "total"), [(1, 2), (2, 6)])
def test_less_loss_is_left_open(count: int, total: int) -> None:
    evidence = lossy(count, total, **LOST)
    assert left_open(path.RULES, evidence)[Id.TCP_LOSS] is NotJudgedReason.NOT_REPEATED


def test_a_lost_syn_costs_its_second() -> None:
    evidence = lossy(2, 4, syn_retransmits=1, syn_rtt_us=None, connect_us=1_080_000)
    assert found(path.RULES, evidence)[Id.TCP_LOSS].saving_us == 1_000_000


def slow_to_connect(rtt_ms: int, retransmits: int, connect_ms: int, **state: Any) -> TrialEvidence:
    """Its SYN was said again, which Linux counts with all else that was."""
    whole = connection(Path(rtt_ms=rtt_ms), Server(handshake_bytes=18_000))
    assert whole.tcp_ended is not None
    again = {"total_retransmits": retransmits} | state
    return replace(
        whole,
        syn_retransmits=retransmits,
        syn_rtt_us=None if retransmits else rtt_ms * 1000,
        connect_us=connect_ms * 1000,
        tcp_connected=TcpState(total_retransmits=retransmits),
        tcp_ended=replace(whole.tcp_ended, **again),
    )


@pytest.mark.parametrize("retransmits", [1, 2])
def test_on_a_way_of_more_than_a_second_a_syn_is_said_again_though_nothing_was_lost(retransmits: int) -> None:
    far = retransmits * 1_100
    answered, lost, later = (
        probe([slow_to_connect(far, retransmits, connect_ms, **more)] * 4)
        for connect_ms, more in ((far, {}), (far + retransmits * 1_000, {}), (far, {"total_retransmits": 3}))
    )
    assert Id.TCP_LOSS not in {*found(RULES, answered), *left_open(RULES, answered)}
    assert Id.TLS_CHAIN_EXCEEDS_IW in found(RULES, answered)
    for evidence in (lost, later):
        assert Id.TCP_LOSS in found(RULES, evidence)
        assert left_open(RULES, evidence)[Id.TLS_CHAIN_EXCEEDS_IW] is NotJudgedReason.LOSS


def test_a_syn_that_stood_in_a_queue_for_a_second_is_not_known_to_be_lost() -> None:
    """As long as others of the same way waited: of these the kernel knows for how long."""
    queued = [slow_to_connect(300, 1, 1_500), slow_to_connect(400, 1, 1_700), slow_to_connect(200, 1, 1_250)]
    others = [slow_to_connect(wait_ms, 0, wait_ms) for wait_ms in (20, 400, 900)]
    evidence = probe([*queued, *others])
    assert Id.TCP_LOSS not in found(path.RULES, evidence)
    assert left_open(path.RULES, evidence)[Id.TCP_LOSS] is NotJudgedReason.UNSTEADY
