"""Servers that send their page drop by drop, or rest in the middle of it."""

from dataclasses import replace
from statistics import median

import pytest

from workers.diagnosis.probe import answers, transport
from workers.measurement.evidence import (
    Direction,
    ProbeEvidence,
    Transfer,
    Trial,
    TrialEvidence,
)
from workers.measurement.finding import Confidence, NotJudgedReason
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import facts, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.postponing import postponed
from workers.tests.diagnosis.servers import Server, connection, deep

RULES = answers.RULES
QUICK_US, SLOW_US = 50_000, 650_000


def test_a_page_in_drops_costs_all_its_pauses() -> None:
    dripping, whole = (
        deep(Path(rtt_ms=20), Server(body_bytes=10_000, trickle=trickle)) for trickle in ((500, 60_000), None)
    )
    finding = found(RULES, dripping)[Id.HTTP_BODY_STALL]
    assert finding.saving_us == pytest.approx(whole_us(dripping) - whole_us(whole), rel=0.01)
    assert facts(finding)["pauses"] == 20
    assert Id.HTTP_BODY_STALL not in found(RULES, whole)


@pytest.mark.parametrize(
    ("rtt_ms", "body_bytes", "trickle"),
    [(80, 20_000, (2_000, 100_000)), (80, 60_000, (3_000, 50_000)), (40, 60_000, (8_000, 120_000))],
)
def test_pauses_behind_the_first_window_are_the_servers_where_too_little_was_under_way(
    rtt_ms: int, body_bytes: int, trickle: tuple[int, int]
) -> None:
    pieces, whole = (deep(Path(rtt_ms=rtt_ms), Server(body_bytes=body_bytes, trickle=one)) for one in (trickle, None))
    finding = found(RULES, pieces)[Id.HTTP_BODY_STALL]
    assert finding.saving_us == pytest.approx(whole_us(pieces) - whole_us(whole), rel=0.01)


@pytest.mark.parametrize("pause_ms", [160, 220, 290, 440, 480, 600, 900])
@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
def test_a_pause_is_told_for_what_it_costs_beside_the_round_trips_that_are_needed_anyway(
    rtt_ms: int, pause_ms: int
) -> None:
    stall = (5_000, pause_ms * 1000)
    paused, whole = (deep(Path(rtt_ms=rtt_ms), Server(body_bytes=20_000, body_stall=one)) for one in (stall, None))
    real_us = whole_us(paused) - whole_us(whole)
    finding = found(RULES, paused).get(Id.HTTP_BODY_STALL)
    assert (finding is not None) is (real_us > 50_000)
    assert finding is None or finding.saving_us == pytest.approx(real_us, rel=0.01)


def test_tickets_and_settings_take_segments_of_the_window_that_a_page_with_a_pause_begins_with() -> None:
    page = Server(body_bytes=38_000, settings_bytes=80)
    stalled = replace(page, body_stall=(19_000, 400_000))
    (quick,), (slow,) = ([connection(Path(), server).exchanges[0]] for server in (page, stalled))
    real_us = (slow.ended_us or 0) - slow.asked_us - ((quick.ended_us or 0) - quick.asked_us)
    told = found(RULES, deep(Path(), stalled))[Id.HTTP_BODY_STALL]
    assert told.saving_us == pytest.approx(real_us, rel=0.03)


@pytest.mark.parametrize(("record_bytes", "body_bytes"), [(3_500, 30_000), (3_000, 30_000), (5_000, 32_000)])
@pytest.mark.parametrize("rtt_ms", [40, 80])
def test_records_that_leave_in_segments_of_their_own_fill_a_window_that_is_not_small(
    rtt_ms: int, record_bytes: int, body_bytes: int
) -> None:
    """As Go sends them: ten segments then hold as much as seven whole ones would."""
    page = Server(
        records_apart=True, record_bytes=record_bytes, tickets_bytes=144, head_bytes=239, body_bytes=body_bytes
    )
    paused, smooth = (deep(Path(rtt_ms=rtt_ms), replace(page, body_stall=one)) for one in ((1_500, 300_000), None))
    told = found(RULES, paused)[Id.HTTP_BODY_STALL]
    assert told.saving_us == pytest.approx(whole_us(paused) - whole_us(smooth), rel=0.05)


@pytest.mark.parametrize("pause_ms", [200, 330])
@pytest.mark.parametrize("window", [3, 4])
def test_a_pause_that_a_small_window_hides_costs_nothing_although_it_comes_again(window: int, pause_ms: int) -> None:
    """What it has parted is acknowledged in parts, and so is all that these let out, a round trip later each."""
    far, server = Path(rtt_ms=600, iw=window), Server(body_bytes=20_000)
    paused, whole = (deep(far, replace(server, body_stall=one)) for one in ((300, pause_ms * 1000), None))
    assert whole_us(paused) == pytest.approx(whole_us(whole), rel=0.01)
    assert Id.HTTP_BODY_STALL not in found(RULES, paused)


def test_short_pauses_before_a_full_window_cost_as_much_as_the_long_one_behind_them() -> None:
    """Pieces of a page fill the window in small packets: the last waits for a round trip, and the first for theirs.
    That is so if the page comes in one go; should its pieces still leave one by one, it is less."""
    far, server = Path(rtt_ms=300), Server(body_bytes=12_000, version="TLSv1.2")
    trickling = deep(far, replace(server, trickle=(3_000, 40_000)))
    evidence = replace(trickling, trials=tuple(map(ending_later, trickling.trials)))
    told = found(RULES, evidence)[Id.HTTP_BODY_STALL]
    assert told.saving_us == pytest.approx(whole_us(evidence) - whole_us(deep(far, server)), rel=0.12)
    assert told.confidence is Confidence.MEDIUM


@pytest.mark.parametrize("after_bytes", [200, 1_500, 8_000])
@pytest.mark.parametrize(
    ("body_bytes", "confidence"), [(32_000, Confidence.HIGH), (40_000, Confidence.MEDIUM), (48_000, Confidence.HIGH)]
)
def test_a_saving_is_not_certain_where_a_round_trip_hangs_on_what_pieces_leave_of_their_segments(
    body_bytes: int, confidence: Confidence, after_bytes: int
) -> None:
    """Head, a piece and the rest apart: should they still take a segment each, 40 kB need a third flight."""
    page = Server(head_apart=True, head_bytes=190, handshake_bytes=1_200, tickets_bytes=144, body_bytes=body_bytes)
    paused, unpaused = (deep(Path(), replace(page, body_stall=(after_bytes, us))) for us in (300_000, 0))
    told = found(RULES, paused)[Id.HTTP_BODY_STALL]
    assert told.confidence is confidence
    if confidence is Confidence.HIGH:
        assert told.saving_us == pytest.approx(whole_us(paused) - whole_us(unpaused), rel=0.02)


@pytest.mark.parametrize(
    ("way", "server", "confidence"),
    [
        # A window of 32 that no pause has shown: with the usual one the page would need a round trip more.
        (Path(rtt_ms=380, iw=32), Server(body_bytes=28_000, body_stall=(143, 678_000)), Confidence.MEDIUM),
        # The first pause begins where a packet ends by chance, and may be the way's.
        (
            Path(rtt_ms=20),
            Server(tickets_bytes=0, body_bytes=6_000, stops=((2_874, 306_000), (872, 266_000), (808, 176_000))),
            Confidence.MEDIUM,
        ),
        # Nearly as much as three flights take: a segment or two more, and a fourth is needed.
        (Path(rtt_ms=380), Server(body_bytes=97_000, body_stall=(634, 553_000)), Confidence.MEDIUM),
        (Path(rtt_ms=380), Server(body_bytes=75_000, body_stall=(634, 553_000)), Confidence.HIGH),
    ],
)
def test_what_a_pause_costs_is_said_with_certainty_only_where_no_round_trip_hangs_on_what_is_not_known(
    way: Path, server: Server, confidence: Confidence
) -> None:
    told = found(RULES, deep(way, server))[Id.HTTP_BODY_STALL]
    assert told.confidence is confidence
    if confidence is Confidence.HIGH:
        whole = deep(way, replace(server, body_stall=None))
        assert told.saving_us == pytest.approx(whole_us(deep(way, server)) - whole_us(whole), rel=0.02)


def test_connections_that_differ_by_a_round_trip_are_no_mean_of_both() -> None:
    """A little unsteadiness, and a window has grown to a packet less: two of four need a flight more without the pause
    too."""
    page = Server(version="TLSv1.2", handshake_bytes=4_345, head_bytes=191, body_bytes=45_037, think_us=(629_723,))
    way = Path(rtt_ms=380, jitter=0.02, seed=159)
    paused, smooth = deep(way, replace(page, body_stall=(4_623, 459_354))), deep(way, page)
    told = found(RULES, paused)[Id.HTTP_BODY_STALL]
    assert told.saving_us == pytest.approx(whole_us(paused) - whole_us(smooth), rel=0.03)
    assert told.confidence is Confidence.MEDIUM


@pytest.mark.parametrize(("rtt_ms", "pause_ms"), [(200, 160), (200, 190), (250, 190), (300, 220)])
def test_a_pause_that_may_hide_in_a_round_trip_of_its_pieces_is_not_certain(rtt_ms: float, pause_ms: int) -> None:
    """In one go the page would come so much sooner, in the same pieces no sooner at all."""
    page = Server(head_apart=True, head_bytes=190, handshake_bytes=1_200, tickets_bytes=144, body_bytes=40_000)
    paused, unpaused = (deep(Path(rtt_ms=rtt_ms), replace(page, body_stall=(200, ms * 1_000))) for ms in (pause_ms, 0))
    assert whole_us(paused) - whole_us(unpaused) < 50_000
    told = found(RULES, paused).get(Id.HTTP_BODY_STALL)
    assert told is None or told.confidence is Confidence.MEDIUM


def ending_later(trial: TrialEvidence) -> TrialEvidence:
    """The end of its first answer waited for the acknowledgement of a whole piece."""
    ended_us = trial.exchanges[0].ended_us or 0
    return postponed(trial, ended_us - 100_000, 50_000)


def test_pieces_that_fill_packets_by_chance_pause_as_long_as_the_others() -> None:
    """The first brings the head too, so that it ends within a packet. Its pause is the server's, and so are those that
    are as long."""
    far, server = Path(rtt_ms=150), Server(body_bytes=14_000, version="TLSv1.2")
    trickling = deep(far, replace(server, trickle=(3 * 1_448 - 22 * 2, 280_000)))
    saving_us = found(RULES, trickling)[Id.HTTP_BODY_STALL].saving_us
    assert saving_us == pytest.approx(whole_us(trickling) - whole_us(deep(far, server)), rel=0.03)


@pytest.mark.parametrize("pauses_ms", [(157, 217, 136, 216), (166, 205, 155, 173), (214, 157, 161)])
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_pauses_of_about_a_round_trip_are_the_servers_beside_one_that_surely_is(
    pauses_ms: tuple[int, ...], version: str
) -> None:
    far, server = Path(rtt_ms=150), Server(body_bytes=20_000, version=version)
    stops = tuple((2_100, pause_ms * 1000) for pause_ms in pauses_ms)
    stopping, whole = deep(far, replace(server, stops=stops)), deep(far, server)
    saving_us = found(RULES, stopping)[Id.HTTP_BODY_STALL].saving_us
    assert saving_us == pytest.approx(whole_us(stopping) - whole_us(whole), rel=0.05)


@pytest.mark.parametrize(
    ("rtt_ms", "body_bytes", "pauses_ms"),
    [(380, 150_000, (200, 207, 161)), (250, 20_000, (135, 199, 125)), (250, 60_000, (135, 199, 125))],
)
def test_flights_that_pauses_have_parted_are_no_small_window(
    rtt_ms: int, body_bytes: int, pauses_ms: tuple[int, ...]
) -> None:
    """What follows them is acknowledged in parts, and comes in parts; together it is more than a small window."""
    far, server = Path(rtt_ms=rtt_ms), Server(body_bytes=body_bytes, version="TLSv1.2")
    stops = tuple((2_100, pause_ms * 1000) for pause_ms in pauses_ms)
    stopping, whole = deep(far, replace(server, stops=stops)), deep(far, server)
    saving_us = found(RULES, stopping)[Id.HTTP_BODY_STALL].saving_us
    assert saving_us == pytest.approx(whole_us(stopping) - whole_us(whole), rel=0.05)


def test_a_pause_right_behind_a_full_window_is_left_open() -> None:
    """It is longer than a round trip, and not so long that it could be none."""
    evidence = deep(Path(rtt_ms=170), Server(body_bytes=20_000, body_stall=(14_000, 250_000), version="TLSv1.2"))
    assert Id.HTTP_BODY_STALL not in found(RULES, evidence)
    assert left_open(RULES, evidence)[Id.HTTP_BODY_STALL] is NotJudgedReason.UNSTEADY


def test_pieces_that_come_as_slowly_as_a_round_trip_are_no_small_window() -> None:
    evidence = deep(Path(rtt_ms=80), Server(body_bytes=60_000, trickle=(3_000, 90_000)))
    rules = (*answers.RULES, *transport.RULES)
    assert not found(rules, evidence)
    open_ones = left_open(rules, evidence)
    assert open_ones[Id.TCP_IW_SMALL] is open_ones[Id.HTTP_BODY_STALL] is NotJudgedReason.UNSTEADY


def test_drops_of_more_than_a_packet_are_not_taken_for_a_narrow_link() -> None:
    evidence = deep(Path(rtt_ms=20), Server(body_bytes=10_000, trickle=(2_000, 300_000)))
    assert found(RULES, evidence)[Id.HTTP_BODY_STALL].saving_us == pytest.approx(1_500_000, rel=0.1)


def test_drops_of_which_each_is_one_read_are_not_taken_for_a_narrow_link_either() -> None:
    evidence = deep(Path(rtt_ms=20), Server(body_bytes=10_000, trickle=(2_000, 300_000)))
    read_late = replace(evidence, trials=tuple(_together(one) for one in evidence.trials))
    assert found(RULES, read_late)[Id.HTTP_BODY_STALL].saving_us == pytest.approx(1_500_000, rel=0.1)


def _together(trial: TrialEvidence) -> TrialEvidence:
    """With what came within two milliseconds read in one go."""
    reads: list[Transfer] = []
    for one in trial.transfers:
        if reads and one.direction is reads[-1].direction is Direction.RECEIVED and one.at_us - reads[-1].at_us < 2_000:
            reads[-1] = replace(one, size_bytes=reads[-1].size_bytes + one.size_bytes)
        else:
            reads.append(one)
    return replace(trial, transfers=tuple(reads), scheduling_lag_us=2_000)


def test_a_narrow_link_makes_no_drops() -> None:
    evidence = deep(Path(rtt_ms=20, rate_bytes_s=6_000), Server(body_bytes=10_000))
    assert Id.HTTP_BODY_STALL not in found(RULES, evidence)


def whole_us(evidence: ProbeEvidence) -> float:
    firsts = (trial.exchanges[0] for trial in evidence.of(Trial.FULL))
    return median((first.ended_us or 0) - (first.first_application_us or 0) for first in firsts)


def test_drops_of_a_round_trip_may_be_the_ways_and_a_few_are_none() -> None:
    assert not found(RULES, deep(Path(rtt_ms=60), Server(body_bytes=10_000, trickle=(500, 60_000))))
    assert not found(RULES, deep(Path(rtt_ms=20), Server(body_bytes=1_000, trickle=(500, 60_000))))


@pytest.mark.parametrize("jitter", [0.5, 2.0])
def test_an_unsteady_way_makes_no_drops(jitter: float) -> None:
    for seed in range(8):
        evidence = deep(Path(rtt_ms=20, jitter=jitter, seed=100 * seed), Server(body_bytes=300_000))
        assert Id.HTTP_BODY_STALL not in found(RULES, evidence)
