"""What a gate makes of the time of the day: a busy hour and a nightly job are none of the release's doing."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import exp, log, pi, sin

import numpy as np
import pytest

from backend.analysis.gate import judge
from backend.analysis.gate_drift import at_its_end
from backend.analysis.gate_estimate import sides
from backend.analysis.gate_hours import Already, of_this_hour
from backend.analysis.gate_noise import noise_of
from backend.analysis.gate_types import Comparison, Hours, Judged, Plan, Rule, Verdict
from backend.analysis.noise import Floats
from backend.analysis.settings import DAY_S, HOUR_S

REGIONS = ("fra", "iad", "sin")
RULE = Rule(metric="ttfb_ms", max_change_pct=10)
EVERY_S, RUNS = 300.0, 12
# The release goes out a little after two.
DEPLOY = 20_000 * DAY_S + 2 * HOUR_S + 420

AS_BEFORE = "It was as high in the hour before the release. If that was its rollout, tell of the deploy as that begins."

# What is added to the logarithm at an instant.
Shape = Callable[[float], float]


def busy_at_two(at: float) -> float:
    return 0.2 * sin(2 * pi * (at % DAY_S - 2 * HOUR_S) / DAY_S + pi / 2)


def nightly_job(at: float) -> float:
    return log(1.4) if 2 * HOUR_S <= at % DAY_S < 2.5 * HOUR_S else 0.0


def slower_all_day(at: float) -> float:
    return 0.1 * (at - DEPLOY) / DAY_S


def quicker_all_day(at: float) -> float:
    return -slower_all_day(at)


def slower_all_day_and_busy_at_two(at: float) -> float:
    return slower_all_day(at) + busy_at_two(at)


def quiet(at: float) -> float:
    return 0.0


def gate(
    shape: Shape,
    *,
    slower: float = 1.0,
    knows_hours: bool = True,
    seed: int = 1,
    deploy: float = DEPLOY,
    rule: Rule = RULE,
    every_s: float = EVERY_S,
    later_h: float = 0,
) -> Judged:
    rng = np.random.default_rng(seed)
    times = [float(at) for at in np.arange(deploy - DAY_S, deploy, every_s)]
    fresh_at = [deploy + later_h * HOUR_S + 30 + 5 * place for place in range(RUNS)]

    def measured(instants: Sequence[float]) -> dict[str, Sequence[float | None]]:
        return {region: [200 * exp(shape(at) + rng.normal(0, 0.05)) for at in instants] for region in REGIONS}

    history, fresh = measured(times), measured(fresh_at)
    after = {region: [value and value * slower for value in series] for region, series in fresh.items()}
    last = int(HOUR_S / every_s)
    hours = Hours(
        times=dict.fromkeys(REGIONS, times),
        at=fresh_at[RUNS // 2],
        lately={region: series[-last:] for region, series in history.items()},
        lately_until=deploy,
    )
    comparison = Comparison(rule=rule, history=history, fresh=after, hours=hours if knows_hours else None)
    return judge([comparison], Plan(confidence=0.95)).rules[0]


@pytest.mark.parametrize("seed", range(10))
def test_a_healthy_release_at_the_busy_hour_passes(seed: int) -> None:
    assert gate(busy_at_two, seed=seed).verdict is Verdict.PASS


@pytest.mark.parametrize("seed", range(10))
def test_a_slower_release_at_the_busy_hour_fails(seed: int) -> None:
    assert gate(busy_at_two, slower=1.2, seed=seed).verdict is Verdict.FAIL


@pytest.mark.parametrize("seed", range(10))
def test_where_the_hours_are_not_known_a_busy_hour_is_left_open(seed: int) -> None:
    assert gate(busy_at_two, knows_hours=False, seed=seed).verdict is not Verdict.FAIL


@pytest.mark.parametrize("seed", range(10))
def test_a_nightly_job_fails_no_release_and_the_reason_is_said(seed: int) -> None:
    result = gate(nightly_job, seed=seed)
    assert (result.verdict, result.reason) == (
        Verdict.INCONCLUSIVE,
        "It was as high at this time the day before.",
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_nightly_job_fails_none_when_clocks_were_set_in_the_night_either(seed: int) -> None:
    """In Berlin the job begins at three: at two in UTC before the night of 2026-03-29, and at one after it."""
    deploy = datetime(2026, 3, 29, 1, 7, tzinfo=UTC).timestamp()

    def job_by_the_clock(at: float) -> float:
        begins = 1 if at >= deploy - HOUR_S / 2 else 2
        return log(1.4) if begins * HOUR_S <= at % DAY_S < (begins + 0.5) * HOUR_S else 0.0

    result = gate(job_by_the_clock, seed=seed, deploy=deploy)
    assert (result.verdict, result.reason) == (
        Verdict.INCONCLUSIVE,
        "It was as high at this time the day before.",
    )


@pytest.mark.parametrize("later_h", [6, 12, 30])
def test_a_busy_hour_before_a_release_is_no_excuse_for_it_when_it_is_asked_about_hours_later(later_h: float) -> None:
    assert gate(busy_at_two, slower=1.2, later_h=later_h).verdict is Verdict.FAIL
    assert gate(busy_at_two, later_h=later_h).verdict is Verdict.PASS


def test_what_was_slow_before_a_release_at_a_quiet_hour_excuses_it_also_at_the_busy_one() -> None:
    quiet_hour = DEPLOY + 12 * HOUR_S

    def slower_since_an_hour(at: float) -> float:
        return busy_at_two(at) + (log(1.25) if at >= quiet_hour - 1.2 * HOUR_S else 0.0)

    result = gate(slower_since_an_hour, deploy=quiet_hour, later_h=12)
    assert (result.verdict, result.reason) == (
        Verdict.INCONCLUSIVE,
        AS_BEFORE,
    )


@pytest.mark.parametrize("later_h", [6, 23.9, 24, 24.1, 30, 54])
def test_the_day_before_is_that_before_the_release_however_late_it_is_asked_about(later_h: float) -> None:
    """The job comes at the time of asking, be it the day after the release."""
    deploy = DEPLOY - later_h * HOUR_S
    result = gate(nightly_job, deploy=deploy, later_h=later_h)
    assert (result.verdict, result.reason) == (
        Verdict.INCONCLUSIVE,
        "It was as high at this time the day before.",
    )
    assert gate(nightly_job, deploy=deploy, later_h=later_h, slower=1.6).verdict is Verdict.FAIL


def test_of_what_was_as_slow_without_the_release_nobody_knows_how_many_runs_would_decide() -> None:
    found = gate(nightly_job).found
    assert found is not None
    assert found.extra_runs_to_decide is None


def test_what_is_far_slower_than_the_nightly_job_fails_all_the_same() -> None:
    assert gate(nightly_job, slower=1.6).verdict is Verdict.FAIL


@pytest.mark.parametrize("seed", range(10))
def test_a_quiet_day_changes_nothing(seed: int) -> None:
    assert gate(quiet, seed=seed).verdict is Verdict.PASS
    assert gate(quiet, slower=1.2, seed=seed).verdict is Verdict.FAIL


@pytest.mark.parametrize("since_h", [1.2, 2, 4, 6, 12, 18])
@pytest.mark.parametrize("seed", range(3))
def test_what_became_slower_before_the_release_is_not_its_doing(since_h: float, seed: int) -> None:
    result = gate(lambda at: log(1.5) if at >= DEPLOY - since_h * HOUR_S else 0.0, seed=seed)
    assert (result.verdict, result.reason) == (
        Verdict.INCONCLUSIVE,
        AS_BEFORE,
    )


def at_hour(times: Floats, logs: Floats, at: float) -> Floats:
    """The history of one region, of which some runs lack the metric, as it would be at an instant."""
    values = [None if place % 7 == 3 else float(np.exp(value)) for place, value in enumerate(logs)]
    comparison = Comparison(
        rule=RULE, history={"fra": values}, fresh={"fra": [200.0] * 3}, hours=Hours(times={"fra": list(times)}, at=at)
    )
    both = sides(comparison.history, comparison.fresh, offset=0.0, least_fresh=3, least_history=10)
    (moved,) = of_this_hour(comparison, both, offset=0.0)[0].history
    return moved


@pytest.mark.parametrize(("count", "hours", "is_moved"), [(56, 24.0, True), (55, 24.0, False), (60, 20.0, False)])
def test_of_few_runs_or_less_than_a_day_no_wave_is_known(count: int, hours: float, is_moved: bool) -> None:
    times = DEPLOY - np.linspace(hours, 0.1, count) * HOUR_S
    wave = np.array([5 + busy_at_two(at) for at in times])
    moved = at_hour(times, wave, DEPLOY)
    left = np.delete(wave, np.arange(3, count, 7))
    assert np.array_equal(moved, left) is not is_moved
    if is_moved:
        # Each run goes by its own time, also where runs before it lack the metric.
        assert moved == pytest.approx(np.full(moved.size, 5 + busy_at_two(DEPLOY)), abs=0.01)


def test_what_came_hours_from_this_time_of_the_day_excuses_nothing() -> None:
    """Of the day before only a job is known that ended two hours before this time of the day."""
    times = [DEPLOY - DAY_S - 3 * HOUR_S + 600 * place for place in range(6)]
    times += [DEPLOY - 20 * HOUR_S + 600 * place for place in range(118)]
    history: list[float | None] = [400.0 + place % 5 if place < 6 else 200.0 + place % 7 for place in range(124)]
    fresh: list[float | None] = [300.0 + place for place in range(12)]
    hours = Hours(times={"fra": times}, at=DEPLOY)
    comparison = Comparison(rule=RULE, history={"fra": history}, fresh={"fra": fresh}, hours=hours)
    assert judge([comparison], Plan(confidence=0.95)).rules[0].verdict is Verdict.FAIL


def test_what_became_no_slower_needs_no_excuse() -> None:
    """As open as it is, since half a per cent is too little to see."""
    result = gate(quiet, slower=0.99, rule=Rule(metric="ttfb_ms", max_change_pct=0.5))
    assert result.found is not None
    assert result.found.pct is not None
    assert result.found.pct.value < 0
    assert (result.verdict, result.reason) == (Verdict.INCONCLUSIVE, "")


@pytest.mark.parametrize("shape", [slower_all_day, quicker_all_day, slower_all_day_and_busy_at_two])
@pytest.mark.parametrize("seed", range(8))
def test_a_site_that_drifts_all_day_is_held_against_what_it_had_come_to(shape: Shape, seed: int) -> None:
    assert gate(shape, seed=seed).verdict is Verdict.PASS
    slower = gate(shape, slower=1.2, seed=seed)
    assert slower.verdict is Verdict.FAIL
    assert slower.found is not None
    assert slower.found.pct is not None
    assert slower.found.pct.value == pytest.approx(20, abs=5)


def along(hours: float) -> tuple[list[Floats], list[Floats]]:
    """The times and logarithms of two regions that drift by a tenth a day, a run each ten minutes."""
    times: list[Floats] = [DEPLOY + np.arange(0.0, hours * HOUR_S, 600.0) + delay for delay in (0, 300)]
    return times, [(made - DEPLOY) * 0.1 / DAY_S + level for made, level in zip(times, (5.0, 6.0), strict=True)]


def test_a_drift_goes_no_further_than_the_newest_run() -> None:
    times, history = along(24)
    (first, second), _ = at_its_end(times, history)
    assert first == pytest.approx(np.full(first.size, 5 + (times[1][-1] - DEPLOY) * 0.1 / DAY_S))
    assert second == pytest.approx(first + 1)


@pytest.mark.parametrize("hours", [6, 20, 37, 168])
def test_of_less_than_a_day_or_of_several_no_drift_is_known(hours: float) -> None:
    times, history = along(hours)
    for before, after in zip(history, at_its_end(times, history)[0], strict=True):
        assert np.array_equal(before, after)


def test_a_few_runs_that_lie_a_day_apart_show_no_drift() -> None:
    times, history = along(24)
    ends = [[np.concatenate((series[:10], series[-10:])) for series in side] for side in (times, history)]
    assert np.array_equal(at_its_end(*ends)[0][0], ends[1][0])


def wandering(slope: float, *, seed: int, sd: float = 0.03) -> tuple[list[Floats], list[Floats]]:
    """A day of two regions whose hours lie apart by chance, along a line of so much a day."""
    times, _ = along(24)
    rng = np.random.default_rng(seed)
    hours = rng.normal(0, sd, 25)
    apart = [hours[((made - times[0][0]) // HOUR_S).astype(int)] for made in times]
    return times, [slope * (made - DEPLOY) / DAY_S + beside for made, beside in zip(times, apart, strict=True)]


def may_have_grown(slope: float, seed: int) -> float:
    return at_its_end(*wandering(slope, seed=seed))[1]


@pytest.mark.parametrize(("slope", "least_moved"), [(0.08, 14), (0.1, 22)])
def test_what_is_no_sure_drift_is_allowed_for_and_what_is_one_is_moved(slope: float, least_moved: int) -> None:
    """From the middle of its day to its end a site grows by half of what it does in one."""
    worlds = [wandering(slope, seed=seed) for seed in range(60)]
    found = [at_its_end(*world) for world in worlds]
    moved = sum(
        not np.array_equal(history[0], before[0]) for (history, _), (_, before) in zip(found, worlds, strict=True)
    )
    allowed = [grown for _, grown in found if grown > 0]
    assert moved >= least_moved
    assert len(allowed) + moved >= 40
    assert np.median(allowed) == pytest.approx(slope / 2, rel=0.3)
    assert all(
        grown == 0 or np.array_equal(history[0], before[0])
        for (history, grown), (_, before) in zip(found, worlds, strict=True)
    )


def test_a_site_that_does_not_drift_is_seldom_allowed_to_have_grown() -> None:
    # One standard error is passed by chance by one in six.
    assert sum(may_have_grown(0.0, seed) > 0 for seed in range(100)) <= 25


def test_what_became_quicker_may_be_as_slow_again_as_it_was_in_the_middle_of_its_day() -> None:
    """A plateau of hours that begins again looks alike. Where the line is not sure enough to go by there is no need."""
    moved = 0
    for seed in range(100):
        times, before = wandering(-0.1, seed=seed)
        history, grown = at_its_end(times, before)
        is_moved = bool(history[0][0] < before[0][0])
        assert grown == (pytest.approx(0.5 * (before[0][0] - history[0][0]), rel=0.05) if is_moved else 0)
        moved += is_moved
    assert moved >= 35


def drifts_seen(lasting_h: float) -> int:
    """Of a hundred days of a site that wanders, and keeps where it is for about so long, how many have a drift."""
    times, _ = along(24)
    count = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        kept = exp(-600 / HOUR_S / lasting_h)
        level = [rng.normal()]
        for _ in range(times[0].size - 1):
            level.append(kept * level[-1] + (1 - kept**2) ** 0.5 * rng.normal())
        history = [5 + 0.1 * np.array(level) + rng.normal(0, 0.03, times[0].size) for _ in times]
        count += not np.array_equal(at_its_end(times, history)[0][0], history[0])
    return count


@pytest.mark.parametrize(("lasting_h", "most"), [(0.1, 6), (3, 10)])
def test_what_wanders_for_hours_is_seldom_taken_for_a_drift(lasting_h: float, most: int) -> None:
    """By how much hours scatter alone, and not by what hours in a row share, there would be 19 in a hundred."""
    assert drifts_seen(lasting_h) <= most


@pytest.mark.parametrize("since_h", [2, 8, 16, 22])
def test_a_step_within_the_day_is_no_drift(since_h: float) -> None:
    times, _ = along(24)
    stepped = [np.where(made > times[1][-1] - since_h * HOUR_S, 5.3, 5.0) for made in times]
    noisy = [logs + 0.02 * np.random.default_rng(place).normal(size=logs.size) for place, logs in enumerate(stepped)]
    assert np.array_equal(at_its_end(times, noisy)[0][0], noisy[0])


@pytest.mark.parametrize("every_s", [1_800, 3_600])
@pytest.mark.parametrize("seed", range(6))
def test_of_what_is_measured_seldom_regions_tell_together_what_was_before_the_release(
    seed: int, every_s: float
) -> None:
    """Three regions have six runs in that hour, or three."""

    def since_two_hours(at: float) -> float:
        return log(1.5) if at >= DEPLOY - 2 * HOUR_S else 0.0

    result = gate(since_two_hours, seed=seed, every_s=every_s)
    assert (result.verdict, result.reason) == (
        Verdict.INCONCLUSIVE,
        AS_BEFORE,
    )
    assert gate(since_two_hours, slower=1.8, seed=seed, every_s=every_s).verdict is Verdict.FAIL
    assert gate(quiet, slower=1.3, seed=seed, every_s=every_s).verdict is Verdict.FAIL


def already(lately: dict[str, list[float | None]], count: int = 288) -> Already:
    """Of a quiet day of so many runs in each region, of 200 ms, and these in the hour before the release."""
    rng = np.random.default_rng(4)
    times = [float(at) for at in np.linspace(DEPLOY - DAY_S, DEPLOY - 60, count)]
    history = {region: [200 * exp(rng.normal(0, 0.05)) for _ in times] for region in REGIONS}
    hours = Hours(times=dict.fromkeys(REGIONS, times), at=DEPLOY + 60, lately=lately, lately_until=DEPLOY)
    comparison = Comparison(rule=RULE, history=history, fresh=dict.fromkeys(REGIONS, [200.0] * 3), hours=hours)
    both = sides(comparison.history, comparison.fresh, offset=0.0, least_fresh=3, least_history=10)
    return of_this_hour(comparison, both, offset=0.0)[1]


def test_a_region_that_has_three_runs_of_the_last_hour_speaks_for_itself_beside_those_that_have_fewer() -> None:
    few: dict[str, list[float | None]] = {"fra": [300.0] * 3, "iad": [200.0] * 2, "sin": [200.0, 200.0, None]}
    assert already(few).hour_before == pytest.approx(log(1.5), abs=0.03)
    assert already(few | {"fra": [300.0] * 2}).hour_before == 0


def test_the_last_hour_counts_as_it_is_where_history_is_too_short_for_a_wave() -> None:
    last: dict[str, list[float | None]] = {region: [300.0] * 3 for region in REGIONS}
    assert already(last, count=40).hour_before == pytest.approx(log(1.5), abs=0.03)


@pytest.mark.parametrize("since_h", [1.2, 2])
def test_a_release_that_makes_it_far_slower_still_fails(since_h: float) -> None:
    assert gate(lambda at: log(1.5) if at >= DEPLOY - since_h * HOUR_S else 0.0, slower=1.8).verdict is Verdict.FAIL


def test_an_hour_that_is_slower_by_chance_excuses_nothing() -> None:
    assert gate(lambda at: log(1.06) if at >= DEPLOY - HOUR_S else 0.0, slower=1.3).verdict is Verdict.FAIL


def test_batches_that_vary_far_more_than_usual_are_believed() -> None:
    rng = np.random.default_rng(1)
    regions = [np.repeat(rng.normal(0, 0.14, 57), 5) + rng.normal(0, 0.05, 285) for _ in REGIONS]
    assert noise_of(regions).batch_variance ** 0.5 == pytest.approx(0.14, rel=0.2)
