"""Flights, turns and gaps on simulated paths."""

from dataclasses import replace

import pytest

from workers.diagnosis.case import Case
from workers.diagnosis.probe import answers, handshakes, path, records, transport
from workers.diagnosis.probe.flights import Flight, Turn, answer_turn, handshake_turns
from workers.diagnosis.probe.gaps import Ruler, ruler_of
from workers.diagnosis.probe.round_trips import handshake_round_trips
from workers.diagnosis.probe.slow_start import rounds
from workers.diagnosis.probe.weighing import is_blind, is_late
from workers.diagnosis.probe.windows import (
    known_window,
    usual_setting,
    usual_window_after,
    window_for,
    window_of,
)
from workers.measurement.evidence import Depth, Direction, Transfer, Trial, TrialEvidence
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.tests.diagnosis.judging import found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, connection, deep

FAR = Path(rtt_ms=380)
PAGE = Server(body_bytes=20_000, record_bytes=16_384)
RULES = (*path.RULES, *transport.RULES, *handshakes.RULES, *records.RULES, *answers.RULES)


def first_answer(trial: TrialEvidence, number: int = 0) -> Turn:
    turn = answer_turn(trial, trial.exchanges[number])
    assert turn is not None
    return turn


@pytest.mark.parametrize(
    ("server", "trial", "flights"),
    [
        (Server(), Trial.FULL, 1),
        (Server(), Trial.TLS12, 2),
        (Server(), Trial.TLS12_TICKET, 1),
        (Server(handshake_bytes=18_500), Trial.FULL, 2),
        (Server(handshake_bytes=18_500), Trial.TLS12, 3),
    ],
)
def test_handshakes_take_as_many_round_trips_as_flights(server: Server, trial: Trial, flights: int) -> None:
    made = connection(FAR, server, trial)
    assert handshake_round_trips(made) == flights
    rtt_us = ruler_of(made).rtt_us
    assert rtt_us is not None
    assert made.handshake is not None
    assert made.handshake.network_us == pytest.approx(flights * rtt_us, abs=0.02 * rtt_us)


def test_a_handshake_that_did_not_end_has_no_round_trips() -> None:
    trial = connection(FAR, Server())
    assert trial.handshake is not None
    cut = replace(trial, handshake=replace(trial.handshake, ended_us=None))
    assert handshake_round_trips(cut) is None
    assert handshake_round_trips(replace(trial, handshake=None)) is None


def test_a_large_answer_stops_when_the_window_is_full() -> None:
    trial = connection(FAR, replace(PAGE, version="TLSv1.2"))
    (gap,) = first_answer(trial).gaps()
    assert gap.bytes_before == 14_480
    assert gap.duration_us == pytest.approx(380_000, rel=0.01)
    assert not first_answer(trial, 1).gaps()


def test_an_idle_restart_stops_again() -> None:
    assert first_answer(connection(replace(FAR, idle_restart=True), PAGE), 2).gaps()


@pytest.mark.parametrize("window", [2, 3, 4, 10])
def test_the_window_is_counted_over_tls12(window: int) -> None:
    seen = window_of(connection(replace(FAR, iw=window), replace(PAGE, handshake_bytes=900), Trial.TLS12_TICKET))
    assert seen is not None
    assert usual_setting(seen.segments) == window


def test_a_server_of_small_packets_has_a_window_of_ten_all_the_same() -> None:
    """As behind a tunnel that lets no larger ones through; ours may be larger."""
    narrow, page = replace(FAR, mss=524), replace(PAGE, record_bytes=4096, handshake_bytes=1000)
    evidence = deep(narrow, page)
    assert Id.TCP_IW_SMALL not in found(RULES, evidence)
    assert known_window(Case(evidence=evidence)) == pytest.approx(10, abs=1)
    small = deep(replace(narrow, iw=4), page)
    assert Id.TCP_IW_SMALL in found(RULES, small)


@pytest.mark.parametrize("window", [16, 20, 32])
def test_a_larger_window_is_at_least_what_came(window: int) -> None:
    seen = window_of(connection(replace(FAR, iw=window), PAGE))
    assert seen is not None
    assert seen.at_least
    assert seen.segments > 13


def test_a_case_knows_its_window_by_two_connections() -> None:
    assert known_window(Case(evidence=deep(FAR, PAGE, trials=[Trial.FULL]))) is None
    assert known_window(Case(evidence=deep(replace(FAR, iw=4), PAGE))) == pytest.approx(4, abs=1)


@pytest.mark.parametrize(("window", "count"), [(10, 2), (4, 3), (3, 3), (2, 3), (20, 1)])
def test_twenty_kilobytes_take_so_many_rounds(window: int, count: int) -> None:
    assert rounds(20_000, 1448, window) == count


def test_bytes_belong_to_the_write_that_can_have_caused_them() -> None:
    """Tickets that a server sends without being asked come just after our request has left."""
    trial = connection(FAR, Server())
    sent_us = trial.exchanges[0].sent_us
    assert sent_us is not None
    early = replace(trial.transfers[1], at_us=sent_us + 1_000, size_bytes=500)
    eager = replace(trial, transfers=tuple(sorted((*trial.transfers, early), key=lambda one: one.at_us)))
    assert first_answer(eager).size_bytes == first_answer(trial).size_bytes


def test_what_was_dropped_is_not_taken_for_silence() -> None:
    trial = connection(FAR, PAGE)
    last = trial.transfers[-1]
    cut = replace(trial, transfers=(*trial.transfers[:8], last), truncated=True)
    assert handshake_turns(cut) == handshake_turns(trial)
    turn = first_answer(cut)
    assert turn.cut
    assert not turn.gaps()


@pytest.mark.parametrize(
    ("size", "flushed"), [(4096, True), (5544, True), (8192, True), (14_232, True), (5792, False), (700, False)]
)
def test_flushed_buffers_are_known_by_their_size(size: int, flushed: bool) -> None:
    assert Ruler(rtt_us=80_000, mss=1448).is_flushed(size) is flushed


@pytest.mark.parametrize(("us", "near"), [(68_000, True), (92_000, True), (67_000, False), (93_000, False)])
def test_a_round_trip_is_one_within_fifteen_percent(us: int, near: bool) -> None:
    assert Ruler(rtt_us=80_000, mss=1448).near(us) is near


@pytest.mark.parametrize(
    ("ms", "again", "twice"),
    [
        (100, True, False),
        (165, False, False),
        (200, True, False),
        (240, False, False),
        (300, True, False),
        (360, False, False),
        (400, True, False),
        (450, False, False),
        (540, False, False),
        (570, False, True),
        (660, False, True),
        (750, False, True),
        (780, False, False),
    ],
)
def test_a_last_segment_is_sent_again_by_its_probe_or_by_its_timer_and_then_by_one_of_twice_as_long(
    ms: int, again: bool, twice: bool
) -> None:
    """After two round trips, and 200 ms more where it was alone; else after three, or 200 ms beyond one."""
    ruler = Ruler(rtt_us=100_000, mss=1448)
    assert ruler.may_be_repeated(1_000 * ms) is again
    assert ruler.may_be_repeated_twice(1_000 * ms) is twice


@pytest.mark.parametrize(
    ("rtt_ms", "jitter_ms", "off_ms", "exact", "may_be"),
    [
        (20, 0, 0.9, True, True),
        (20, 0, 1.1, False, False),
        (300, 0, -5.9, True, True),
        (300, 0, 6.1, False, False),
        (100, 20, -19, False, True),
        (100, 20, 39, False, True),
        (100, 20, -21, False, False),
        (100, 20, 41, False, False),
        (100, 31, 20, False, False),
    ],
)
def test_exactly_a_round_trip_is_what_clocks_and_a_way_that_is_fairly_steady_make_of_one(
    rtt_ms: int, jitter_ms: int, off_ms: float, exact: bool, may_be: bool
) -> None:
    """A way on which round trips differ by a good part of one has no such thing."""
    ruler = Ruler(rtt_us=1_000 * rtt_ms, mss=1448, jitter_us=1_000 * jitter_ms)
    us = 1_000 * (rtt_ms + off_ms)
    assert (ruler.is_exact(us), ruler.may_be_exact(us)) == (exact, may_be)


def test_a_late_clock_of_our_own_proves_nothing() -> None:
    evidence = deep(FAR, PAGE)
    late = replace(
        evidence,
        trials=tuple(replace(one, kernel_clock=False, scheduling_lag_us=20_000) for one in evidence.trials),
    )
    assert is_late(late.trials[0])
    assert left_open(RULES, late)[Id.TLS_RECORD_OVERFLOW] is NotJudgedReason.LATE_CLOCK
    assert not is_late(replace(evidence.trials[0], scheduling_lag_us=20_000))


def test_a_late_look_may_hide_a_cause_but_not_disprove_it() -> None:
    """Three connections show it; in the fourth both flights were read at once."""
    evidence = deep(FAR, PAGE, trials=[Trial.FULL] * 4)
    healthy = connection(FAR, replace(PAGE, record_bytes=4096))
    hidden = replace(healthy, scheduling_lag_us=300_000)
    assert is_blind(hidden)
    seen = replace(evidence, trials=(*evidence.trials[:3], hidden))
    assert Id.TLS_RECORD_OVERFLOW in found(RULES, seen)
    told = replace(evidence, trials=(*evidence.trials[:3], healthy))
    assert left_open(RULES, told)[Id.TLS_RECORD_OVERFLOW] is NotJudgedReason.NOT_REPEATED


def read_at_once(trial: TrialEvidence) -> TrialEvidence:
    """All of the server's handshake came with one read, which has the stamp of its last packet: nothing tells that we
    were late for the first."""
    shake = trial.handshake
    assert shake is not None
    assert shake.ended_us is not None
    inside = [one for one in trial.transfers if one.direction is Direction.RECEIVED and one.at_us <= shake.ended_us]
    whole = Transfer(
        at_us=shake.ended_us, direction=Direction.RECEIVED, size_bytes=sum(one.size_bytes for one in inside)
    )
    rest = [one for one in trial.transfers if one not in inside]
    return replace(trial, transfers=tuple(sorted((*rest, whole), key=lambda one: one.at_us)))


def test_flights_of_a_handshake_that_came_with_one_read_hide_a_cause_but_do_not_disprove_it() -> None:
    long = Server(handshake_bytes=18_500)
    evidence = deep(FAR, long, trials=[Trial.FULL] * 4)
    merged = replace(evidence, trials=(*evidence.trials[:3], read_at_once(evidence.trials[3])))
    assert Id.TLS_CHAIN_EXCEEDS_IW in found(RULES, merged)


def test_a_server_that_is_slow_each_time_is_no_late_look_of_ours() -> None:
    """A chain that fits, and a long wait before it."""
    slow = deep(FAR, Server(sign_us=380_000), trials=[Trial.FULL] * 4)
    once = replace(slow, trials=tuple(map(read_at_once, slow.trials)))
    assert Id.TLS_CHAIN_EXCEEDS_IW not in left_open(RULES, once)


def test_a_spread_answer_leaves_the_window_open() -> None:
    paced = deep(Path(rtt_ms=20, rate_bytes_s=400_000), PAGE)
    assert left_open(RULES, paced)[Id.TCP_IW_SMALL] is NotJudgedReason.PACED


def test_no_evidence_no_words() -> None:
    evidence = deep(FAR, PAGE, trials=[])
    assert not found(RULES, evidence)
    assert evidence.depth is Depth.DEEP


def test_a_large_answer_behind_a_long_handshake_is_not_called_small() -> None:
    """The handshake has opened the window, and no session was resumed that would show it as it begins."""
    server = Server(handshake_bytes=9000, body_bytes=60_000)
    assert left_open(RULES, deep(FAR, server, trials=[Trial.FULL] * 3))[Id.TCP_IW_SMALL] is NotJudgedReason.NOT_MEASURED


def test_a_window_that_small_packets_let_grow_is_not_taken_for_a_larger_one() -> None:
    """Tickets, settings and the first part are acknowledged during a pause, so that eleven packets follow at once."""
    first = Flight(start_us=0, end_us=0, size_bytes=4_698)
    rest = Flight(start_us=420_000, end_us=420_100, size_bytes=16_400)
    ruler = Ruler(rtt_us=262_000, mss=1_448)
    assert window_for(Turn(asked_us=-262_000, flights=(first, rest)), ruler) == 10
    larger = replace(rest, size_bytes=20_000)
    assert window_for(Turn(asked_us=-262_000, flights=(first, larger)), ruler) == 16


def test_what_a_long_handshake_let_the_window_grow_to_is_not_taken_for_a_larger_one() -> None:
    """Of seven packets that were acknowledged it is fourteen; thirteen follow a pause at once."""
    first = Flight(start_us=0, end_us=0, size_bytes=1_368)
    rest = Flight(start_us=448_000, end_us=448_100, size_bytes=18_960)
    ruler = Ruler(rtt_us=380_000, mss=1_448)
    turn = Turn(asked_us=-380_000, flights=(first, rest))
    assert window_for(turn, ruler, usual=usual_window_after(connection(FAR, Server(handshake_bytes=9_400)))) == 14
    assert window_for(turn, ruler) == 16
