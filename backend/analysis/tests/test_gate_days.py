"""Hours of every day, such as those of an office: how often a gate takes them for the release, or it for them."""

from collections import Counter
from collections.abc import Callable
from math import log

import numpy as np
import pytest

from backend.analysis.gate import judge
from backend.analysis.gate_estimate import sides
from backend.analysis.gate_hours import Already, of_this_hour
from backend.analysis.gate_types import Comparison, Hours, Plan, Rule, Verdict
from backend.analysis.noise import Floats
from backend.analysis.settings import DAY_S, HOUR_S
from backend.analysis.tests.gate_world import RUNS, measured

GATES = 150
RULE = Rule(metric="ttfb_ms", max_change_pct=10)
RELEASE = 20_000 * DAY_S + 14 * HOUR_S
# So much is known of what came before the day that is history.
BEFORE_S = 2 * HOUR_S

# What is added to the logarithm so many seconds after the release.
Shape = Callable[[float], float]


def office(since_min: float, lasting_h: float) -> Shape:
    """A fifth slower for so long every day, the last time since so many minutes before the release."""
    return lambda at: log(1.2) if (at + 60 * since_min) % DAY_S < lasting_h * HOUR_S else 0.0


def outcomes(
    shape: Shape, *, slower: float = 0.0, cv: float = 0.15, every_s: float = 300, confidence: float = 0.99
) -> Counter[Verdict]:
    rng = np.random.default_rng(20_273)
    return Counter(_gate(rng, shape, log(1 + slower), cv, every_s, confidence) for _ in range(GATES))


def _gate(
    rng: np.random.Generator, shape: Shape, slower: float, cv: float, every_s: float, confidence: float
) -> Verdict:
    made: Floats = np.arange(-DAY_S - BEFORE_S + rng.uniform(0, every_s), 0, every_s)
    fresh_at: Floats = np.arange(60.0, 60 + 10 * RUNS[-1], 10)
    before, after = _values(made, shape, cv, rng), _values(fresh_at, shape, cv, rng)
    hours = Hours(
        times={"fra": [float(RELEASE + at) for at in made]},
        at=float(RELEASE + fresh_at.mean()),
        before={"fra": list(before[made < -DAY_S])},
        lately={"fra": list(before[made >= -HOUR_S])},
        lately_until=RELEASE,
    )
    verdict = Verdict.INCONCLUSIVE
    for look, runs in enumerate(RUNS, start=1):
        fresh = list(after[:runs] * np.exp(slower))
        history = {"fra": list(before[made >= -DAY_S])}
        comparison = Comparison(rule=RULE, history=history, fresh={"fra": fresh}, hours=hours)
        verdict = judge([comparison], Plan(confidence=confidence, looks=look, planned_looks=len(RUNS))).verdict
        if verdict is not Verdict.INCONCLUSIVE:
            break
    return verdict


def _values(at: Floats, shape: Shape, cv: float, rng: np.random.Generator) -> Floats:
    return measured(np.array([shape(float(one)) for one in at]) + rng.normal(0, cv, at.size), rng)


def already(slower: Callable[[Floats], Floats], *, noise: float, every_s: float, seed: int = 3) -> Already:
    """Of a day of runs and an hour, those that `slower` is 1 for a tenth slower; seconds are since the release."""
    made: Floats = np.arange(-DAY_S - HOUR_S, 0, every_s)
    history = 200 * np.exp(0.1 * slower(made) + np.random.default_rng(seed).normal(0, noise, made.size))
    hours = Hours(
        times={"fra": [float(RELEASE + at) for at in made]}, at=RELEASE, lately={"fra": list(history[made >= -HOUR_S])}
    )
    comparison = Comparison(rule=RULE, history={"fra": list(history)}, fresh={"fra": [200.0] * 3}, hours=hours)
    both = sides(comparison.history, comparison.fresh, offset=0.0, least_fresh=3, least_history=10)
    return of_this_hour(comparison, both, offset=0.0)[1]


def from_on(begins_s: float, lasting_s: float) -> Callable[[Floats], Floats]:
    return lambda made: ((made >= begins_s) & (made < begins_s + lasting_s)).astype(np.float64)


@pytest.mark.parametrize(
    ("begins_h", "lasting_h", "least", "most"),
    [
        (0, 2, 0.07, 0.13),
        (0, 1.2, 0.05, 0.13),
        (0.5, 1.4, 0.05, 0.13),
        # Of what lasts less than half of the two hours the first forty minutes tell.
        (0, 0.8, 0.07, 0.13),
        (0, 0.4, 0.03, 0.13),
        (0.5, 0.8, 0, 0.02),
        (0, 0.25, 0, 0.02),
        (1.2, 2, 0, 0.02),
        (3, 2, 0, 0.02),
    ],
)
def test_it_is_perhaps_as_slow_as_in_most_of_what_followed_this_time_on_the_day_before(
    begins_h: float, lasting_h: float, least: float, most: float
) -> None:
    found = already(from_on(-DAY_S + begins_h * HOUR_S, lasting_h * HOUR_S), noise=0.02, every_s=300)
    assert least <= found.perhaps <= most


@pytest.mark.parametrize(("knows", "least", "most"), [(True, 0.07, 0.13), (False, 0, 0.05)])
def test_what_came_right_before_history_tells_of_this_time_of_the_day_and_is_no_history(
    knows: bool, least: float, most: float
) -> None:
    made: Floats = np.arange(-DAY_S - BEFORE_S, 0, 300)
    slower = from_on(-DAY_S - 1200, 1260)(made)
    values = 200 * np.exp(0.1 * slower + np.random.default_rng(3).normal(0, 0.02, made.size))
    before, history = list(values[made < -DAY_S]), list(values[made >= -DAY_S])
    known = made if knows else made[made >= -DAY_S]
    hours = Hours(times={"fra": list(RELEASE + known)}, at=RELEASE, before={"fra": before} if knows else {})
    comparison = Comparison(rule=RULE, history={"fra": history}, fresh={"fra": [200.0] * 3}, hours=hours)
    both = sides(comparison.history, comparison.fresh, offset=0.0, least_fresh=3, least_history=10)
    held, found = of_this_hour(comparison, both, offset=0.0)
    assert least <= found.day_before <= most
    assert held.before == len(history)
    # Each run goes by its own time.
    assert held.history[0] == pytest.approx(np.log(history), abs=0.03)


@pytest.mark.parametrize(
    ("begins_min", "lasting_min", "is_seen"), [(-12, 24, True), (-40, 50, True), (3, 10, False), (5, 60, False)]
)
def test_a_job_of_the_day_before_that_its_nearest_runs_do_not_show_is_seen_in_the_half_hour_around(
    begins_min: float, lasting_min: float, is_seen: bool
) -> None:
    """Of what scatters by as much as it is slower three runs are no proof, and thirty are."""
    job = from_on(-DAY_S + 60 * begins_min, 60 * lasting_min)
    seen = sum(already(job, noise=0.1, every_s=60, seed=seed).day_before > 0.05 for seed in range(40))
    assert seen >= 32 if is_seen else seen <= 16


def test_what_is_the_same_in_every_run_of_the_day_needs_no_hours() -> None:
    """Such as the number of requests: no line is sure of anything there, and none is needed."""
    assert already(from_on(0, 0), noise=0.0, every_s=300) == Already()


@pytest.mark.parametrize("every_s", [60, 300])
@pytest.mark.parametrize(("since_min", "is_seen"), [(45, True), (25, True), (15, True), (6, False)])
def test_what_began_too_late_to_be_most_of_the_hour_before_the_release_is_seen_in_its_last_third(
    since_min: float, is_seen: bool, every_s: float
) -> None:
    found = already(from_on(-60 * since_min, 60 * since_min), noise=0.02, every_s=every_s)
    assert (0.05 <= found.hour_before <= 0.13) is is_seen


@pytest.mark.parametrize(("since_h", "is_seen"), [(12, False), (3, True), (0.7, True), (0.4, True), (0.1, False)])
def test_what_the_hour_before_the_release_was_quicker_by_than_history_is_known(since_h: float, is_seen: bool) -> None:
    quick = from_on(-since_h * HOUR_S, since_h * HOUR_S)
    found = already(lambda made: -quick(made), noise=0.02, every_s=300)
    assert (0.07 <= found.quicker <= 0.13) is is_seen


def test_an_hour_that_is_quick_every_day_is_no_gain_that_a_release_can_lose() -> None:
    quick_daily = {days: from_on(-days * DAY_S - HOUR_S, HOUR_S) for days in (0, 1)}
    found = already(lambda made: -quick_daily[0](made) - quick_daily[1](made), noise=0.02, every_s=300)
    assert found.quicker <= 0.03


@pytest.mark.parametrize(
    ("least_change", "verdict", "reason"),
    [
        (0, "inconclusive", "It was lower in the hour before the release, and rose with it by more than the limit."),
        (35, "inconclusive", "It was lower in the hour before the release, and rose with it by more than the limit."),
        (45, "pass", ""),
    ],
)
def test_what_is_lost_again_counts_from_the_least_change_on(least_change: float, verdict: str, reason: str) -> None:
    """From 160 ms to 200 as the day before, which is 40 more."""
    made: Floats = np.arange(-DAY_S, 0, 300)
    noise = np.random.default_rng(3).normal(0, 0.02, made.size)
    history = np.where(made >= -HOUR_S, 160, 200) * np.exp(noise)
    hours = Hours(times={"fra": list(RELEASE + made)}, at=RELEASE + 60, lately={"fra": list(history[made >= -HOUR_S])})
    rule = Rule(metric="ttfb_ms", max_change_pct=10, min_change=least_change)
    fresh: list[float | None] = [199.0, 200.0, 201.0] * 4
    comparison = Comparison(rule=rule, history={"fra": list(history)}, fresh={"fra": fresh}, hours=hours)
    (judged,) = judge([comparison], Plan(confidence=0.95)).rules
    assert (judged.verdict, judged.reason) == (verdict, reason)


@pytest.mark.parametrize(("slower", "least", "most"), [(0.0, 98, 100), (0.2, 0, 1)])
def test_a_release_that_loses_what_was_gained_hours_before_it_does_not_pass_for_the_middle_of_the_day(
    slower: float, least: float, most: float
) -> None:
    """A fifth slower than it was for three hours is as slow as the day before: 18 of a hundred such releases passed."""
    counts = outcomes(lambda at: -log(1.25) if at >= -3 * HOUR_S else 0.0, slower=slower, cv=0.05, confidence=0.95)
    assert least / 100 * GATES <= counts[Verdict.PASS] <= most / 100 * GATES


@pytest.mark.parametrize(
    ("lasting_h", "cv", "every_s", "confidence", "most_pct"),
    [
        (8, 0.15, 300, 0.99, 4),
        (3, 0.15, 300, 0.99, 4),
        (1, 0.15, 300, 0.99, 7),
        (1, 0.15, 60, 0.99, 2),
        (0.5, 0.15, 300, 0.99, 9),
        (0.5, 0.05, 900, 0.99, 12),
        (8, 0.05, 900, 0.99, 3),
        (3, 0.15, 300, 0.95, 10),
        (1, 0.15, 300, 0.95, 12),
    ],
)
def test_hours_of_every_day_that_began_just_before_the_release_seldom_fail_it(
    lasting_h: float, cv: float, every_s: float, confidence: float, most_pct: float
) -> None:
    """A line through the day takes them for a site that became quicker, and so held releases against too little:
    14, 22, 12 and 33 of a hundred failed unchanged. Of half an hour a day that ends with this time of the day knows
    next to nothing: without what came before it 9 and 63 of a hundred failed."""
    counts = outcomes(office(20, lasting_h), cv=cv, every_s=every_s, confidence=confidence)
    assert counts[Verdict.FAIL] <= most_pct / 100 * GATES


def test_hours_of_every_day_that_ended_just_before_a_slower_release_seldom_let_it_pass() -> None:
    assert outcomes(office(500, 8), slower=0.2)[Verdict.PASS] <= 0.04 * GATES


@pytest.mark.parametrize(("cv", "least_pct"), [(0.05, 98), (0.15, 33)])
def test_a_fifth_slower_is_found_all_the_same_where_all_hours_are_alike(cv: float, least_pct: float) -> None:
    assert outcomes(lambda at: 0.0, slower=0.2, cv=cv)[Verdict.FAIL] >= least_pct / 100 * GATES
