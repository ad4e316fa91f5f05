"""A server whose window is taken back by a rest, and that pauses itself in every answer: what of its waits is whose."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from workers.diagnosis.probe import transport
from workers.measurement.evidence import ProbeEvidence, Trial, TrialEvidence
from workers.measurement.finding import Confidence, Finding, NotJudgedReason
from workers.measurement.finding import FindingId as Id
from workers.tests.diagnosis.judging import cost, found, left_open
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.postponing import postponed
from workers.tests.diagnosis.servers import Server, deep

RULES = transport.RULES
ANYWHERE = pytest.mark.parametrize("rtt_ms", [20, 80, 380])
PAGE = Server(body_bytes=38_000)


def restart_of(path: Path, server: Server) -> tuple[Finding | None, float, ProbeEvidence]:
    """The finding, and how much sooner the same server would have answered had it kept its window."""
    rested, kept = (deep(replace(path, idle_restart=one), server) for one in (True, False))
    assert Id.TCP_IDLE_RESTART not in found(RULES, kept)
    return found(RULES, rested).get(Id.TCP_IDLE_RESTART), cost(rested, "after idle") - cost(kept, "after idle"), rested


@ANYWHERE
@pytest.mark.parametrize("iw", [3, 10])
@pytest.mark.parametrize("think_us", [300, 90_000])
def test_a_rest_costs_its_round_trips_on_any_way(rtt_ms: float, iw: int, think_us: int) -> None:
    finding, real_us, _ = restart_of(Path(rtt_ms=rtt_ms, iw=iw, grows_whole=True), replace(PAGE, think_us=(think_us,)))
    assert finding is not None
    assert finding.confidence is Confidence.HIGH
    assert finding.saving_us == pytest.approx(real_us, rel=0.1)


@ANYWHERE
@pytest.mark.parametrize("until", [None, 40, 50, 68])
@pytest.mark.parametrize("body_bytes", [60_000, 100_000, 140_000])
def test_a_window_that_held_up_the_answer_before_the_rest_may_be_any_after_it(
    rtt_ms: float, until: int | None, body_bytes: int
) -> None:
    """Where slow start has ended it is hardly larger by then: with it the answer would have waited all the same."""
    path = Path(rtt_ms=rtt_ms, slow_start_until=until, grows_whole=True)
    large = replace(PAGE, record_bytes=16_384, body_bytes=body_bytes)
    finding, real_us, rested = restart_of(path, large)
    held_up = cost(rested, "again") > 1.5 * path.rtt_us
    if held_up:
        assert finding is None
        assert left_open(RULES, rested)[Id.TCP_IDLE_RESTART] is NotJudgedReason.UNSTEADY
    else:
        assert finding is not None
        assert finding.confidence is Confidence.HIGH
        assert finding.saving_us == pytest.approx(real_us, rel=0.1)
    assert held_up is (until is not None and until < body_bytes / path.mss)


@ANYWHERE
@pytest.mark.parametrize("iw", [3, 10])
def test_nor_is_it_known_where_the_window_grew_while_it_was_used_alone(rtt_ms: float, iw: int) -> None:
    """As those of Node's 100 KB, which took two round trips after a rest as well with what was left of their window."""
    rested = deep(Path(rtt_ms=rtt_ms, iw=iw, idle_restart=True), PAGE)
    assert Id.TCP_IDLE_RESTART not in found(RULES, rested)
    assert left_open(RULES, rested)[Id.TCP_IDLE_RESTART] is NotJudgedReason.UNSTEADY


def test_what_one_connection_shows_of_a_window_that_holds_up_others_is_told() -> None:
    """Windows of one server grow as they happen to: of Node's three connections one had room for all of 100 KB."""
    large, path = replace(PAGE, body_bytes=100_000), Path(idle_restart=True, grows_whole=True)
    held = replace(path, slow_start_until=55)
    evidence = deep(held, large)
    others = (one for one in deep(path, large).trials if one.trial is Trial.FULL)
    mixed = replace(evidence, trials=(next(others), *evidence.trials[1:]))
    finding = found(RULES, mixed)[Id.TCP_IDLE_RESTART]
    assert finding.confidence is Confidence.MEDIUM
    assert finding.saving_us == pytest.approx(2 * path.rtt_us, rel=0.01)


@ANYWHERE
@pytest.mark.parametrize("stop_rtt", [2.1, 2.5, 2.9])
def test_round_trips_that_pass_while_the_server_pauses_anyway_are_no_saving(rtt_ms: float, stop_rtt: float) -> None:
    """It has written its last bytes only by then: before that nothing is lost by a window that grows again."""
    stopping = replace(PAGE, stops=((33_000, round(stop_rtt * rtt_ms * 1000)),))
    finding, real_us, rested = restart_of(Path(rtt_ms=rtt_ms, iw=3), stopping)
    if finding is None:
        assert real_us < 0.25 * rtt_ms * 1000
        assert Id.TCP_IDLE_RESTART in left_open(RULES, rested)
    else:
        assert finding.saving_us == pytest.approx(real_us, rel=0.1)


@ANYWHERE
def test_a_server_that_writes_more_slowly_than_any_window_lets_it_loses_nothing_by_a_rest(rtt_ms: float) -> None:
    paced = replace(PAGE, body_bytes=90_000, stops=((1300, round(rtt_ms * 1000 / 16)),) * 65)
    finding, real_us, _ = restart_of(Path(rtt_ms=rtt_ms, iw=3), paced)
    assert abs(real_us) < 0.1 * rtt_ms * 1000
    assert finding is None


@ANYWHERE
def test_where_the_answer_before_it_may_have_waited_too_a_rest_costs_what_is_certain(rtt_ms: float) -> None:
    """It stopped at its own window as well, behind a pause of the server."""
    stopping = replace(PAGE, body_bytes=142_000, handshake_bytes=900, stops=((6_000, 4_500 * round(rtt_ms)),))
    finding, real_us, _ = restart_of(Path(rtt_ms=rtt_ms, iw=3), stopping)
    assert finding is not None
    assert finding.confidence is Confidence.MEDIUM
    assert 0 < (finding.saving_us or 0) <= 1.01 * real_us


@ANYWHERE
@pytest.mark.parametrize("stop_rtt", [0.9, 1.07, 1.12])
def test_a_pause_of_the_server_of_nearly_a_round_trip_is_no_wait_for_its_window(rtt_ms: float, stop_rtt: float) -> None:
    stopping = Server(tickets_bytes=0, body_bytes=15_520, stops=((7_495, round(stop_rtt * rtt_ms * 1000)),))
    finding, real_us, _ = restart_of(Path(rtt_ms=rtt_ms, iw=3, mss=1220), stopping)
    assert finding is not None
    assert finding.confidence is Confidence.MEDIUM
    assert 0 < (finding.saving_us or 0) <= 1.01 * real_us


@ANYWHERE
@pytest.mark.parametrize("pause_rtt", [0.7, 1.3, 2.5])
@pytest.mark.parametrize("exchange", [1, 2])
@pytest.mark.parametrize("iw", [3, 10])
def test_a_pause_of_one_answer_alone_adds_nothing_to_what_a_rest_costs(
    rtt_ms: float, pause_rtt: float, exchange: int, iw: int
) -> None:
    """In the middle of the one before the rest, or of the one after it."""
    clean = deep(Path(rtt_ms=rtt_ms, iw=iw, idle_restart=True, grows_whole=True), PAGE)
    by_us = round(pause_rtt * rtt_ms * 1000)
    once = replace(clean, trials=tuple(map(paused_in(exchange, by_us), clean.trials)))
    certain_us, told = found(RULES, clean)[Id.TCP_IDLE_RESTART].saving_us or 0, found(RULES, once)
    if Id.TCP_IDLE_RESTART in told:
        assert told[Id.TCP_IDLE_RESTART].confidence is Confidence.MEDIUM
        assert (told[Id.TCP_IDLE_RESTART].saving_us or 0) <= 1.01 * certain_us


def paused_in(exchange: int, by_us: int) -> Callable[[TrialEvidence], TrialEvidence]:
    def paused(trial: TrialEvidence) -> TrialEvidence:
        if trial.trial is not Trial.FULL:
            return trial
        asked = trial.exchanges[exchange]
        came = sorted(one.at_us for one in trial.transfers if asked.asked_us < one.at_us <= (asked.ended_us or 0))
        return postponed(trial, came[len(came) // 2], by_us)

    return paused
