"""Hours of every day, such as those of an office: how often a gate takes them for the release, or it for them."""

from collections import Counter
from collections.abc import Callable
from math import log

import numpy as np
import pytest

from backend.analysis.gate import judge
from backend.analysis.gate_types import Comparison, Hours, Plan, Rule, Verdict
from backend.analysis.noise import Floats
from backend.analysis.settings import DAY_S, HOUR_S
from backend.analysis.tests.gate_world import RUNS, measured

GATES = 150
RULE = Rule(metric="ttfb_ms", max_change_pct=10)
RELEASE = 20_000 * DAY_S + 14 * HOUR_S

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
    made: Floats = np.arange(-DAY_S + rng.uniform(0, every_s), 0, every_s)
    fresh_at: Floats = np.arange(60.0, 60 + 10 * RUNS[-1], 10)
    before, after = _values(made, shape, cv, rng), _values(fresh_at, shape, cv, rng)
    hours = Hours(
        times={"fra": [float(RELEASE + at) for at in made]},
        at=float(RELEASE + fresh_at.mean()),
        lately={"fra": list(before[made >= -HOUR_S])},
        lately_until=RELEASE,
    )
    verdict = Verdict.INCONCLUSIVE
    for look, runs in enumerate(RUNS, start=1):
        fresh = list(after[:runs] * np.exp(slower))
        comparison = Comparison(rule=RULE, history={"fra": list(before)}, fresh={"fra": fresh}, hours=hours)
        verdict = judge([comparison], Plan(confidence=confidence, looks=look, planned_looks=len(RUNS))).verdict
        if verdict is not Verdict.INCONCLUSIVE:
            break
    return verdict


def _values(at: Floats, shape: Shape, cv: float, rng: np.random.Generator) -> Floats:
    return measured(np.array([shape(float(one)) for one in at]) + rng.normal(0, cv, at.size), rng)


@pytest.mark.parametrize(
    ("lasting_h", "cv", "every_s", "confidence", "most_pct"),
    [(8, 0.15, 300, 0.99, 4), (3, 0.15, 300, 0.99, 7), (8, 0.05, 900, 0.99, 3), (3, 0.15, 300, 0.95, 20)],
)
def test_hours_of_every_day_that_began_just_before_the_release_seldom_fail_it(
    lasting_h: float, cv: float, every_s: float, confidence: float, most_pct: float
) -> None:
    """A line through the day takes them for a site that became quicker, and so held releases against too little:
    14, 22, 12 and 33 of a hundred failed unchanged."""
    counts = outcomes(office(20, lasting_h), cv=cv, every_s=every_s, confidence=confidence)
    assert counts[Verdict.FAIL] <= most_pct / 100 * GATES


def test_hours_of_every_day_that_ended_just_before_a_slower_release_seldom_let_it_pass() -> None:
    assert outcomes(office(500, 8), slower=0.2)[Verdict.PASS] <= 0.04 * GATES


@pytest.mark.parametrize(("cv", "least_pct"), [(0.05, 98), (0.15, 33)])
def test_a_fifth_slower_is_found_all_the_same_where_all_hours_are_alike(cv: float, least_pct: float) -> None:
    assert outcomes(lambda at: 0.0, slower=0.2, cv=cv)[Verdict.FAIL] >= least_pct / 100 * GATES
