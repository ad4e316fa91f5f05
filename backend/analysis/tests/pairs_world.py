"""Gates that compare two addresses in turns, in a world in which the truth is known.

What touches both sides drifts while the gate measures, and single runs spike. The two servers may each have moods of
their own.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from backend.analysis.gate import judge
from backend.analysis.gate_types import Comparison, Plan, Rule, Verdict
from backend.analysis.noise import Floats

SPIKES = 0.015
# From one run to the next, what drifts keeps so much of itself.
_KEPT = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """`cv` of single runs, `drift_sd` of what touches both sides, `own_sd` of each server's own mood, all as parts.

    `ramp` is how much everything gets slower from the gate's first run to its last, `uneven` how much noisier each
    region is than the one before it.
    """

    cv: float
    slower: float = 0.0
    regions: int = 5
    drift_sd: float = 0.03
    own_sd: float = 0.0
    ramp: float = 0.0
    uneven: float = 1.0
    confidence: float = 0.99
    max_change_pct: float = 10.0
    runs: tuple[int, ...] = (3, 6, 12)


def outcomes(world: World, gates: int, seed: int) -> Counter[Verdict]:
    """How many gates came to what, each looking at more and more pairs until it is decided."""
    rng = np.random.default_rng(seed)
    return Counter(_gate(world, rng) for _ in range(gates))


def values(world: World, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Runs of both sides by region in milliseconds: before, after, after, before, and so on."""
    steps = 2 * world.runs[-1]
    drift = np.zeros((world.regions, steps))
    drift[:, 0] = rng.normal(0, 1, world.regions)
    for step in range(1, steps):
        drift[:, step] = _KEPT * drift[:, step - 1] + (1 - _KEPT**2) ** 0.5 * rng.normal(0, 1, world.regions)
    run_sd = np.log1p(world.cv**2) ** 0.5 * world.uneven ** np.arange(world.regions)[:, None]
    logarithms = world.drift_sd * drift + np.linspace(0, np.log1p(world.ramp), steps)
    logarithms += run_sd * rng.normal(0, 1, logarithms.shape)
    logarithms += (rng.random(logarithms.shape) < SPIKES) * np.log(rng.uniform(2, 12, logarithms.shape))
    is_after = np.isin(np.arange(steps) % 4, (1, 2))
    moods = rng.normal(0, world.own_sd, 2)
    before, after = logarithms[:, ~is_after] + moods[0], logarithms[:, is_after] + moods[1] + np.log1p(world.slower)
    return 200 * np.exp(before), 200 * np.exp(after)


def _gate(world: World, rng: np.random.Generator) -> Verdict:
    verdicts = (verdict for verdict in _looks(world, rng) if verdict in (Verdict.PASS, Verdict.FAIL))
    return next(verdicts, Verdict.INCONCLUSIVE)


def _looks(world: World, rng: np.random.Generator) -> Iterator[Verdict]:
    before, after = values(world, rng)
    rule = Rule(metric="ttfb_ms", max_change_pct=world.max_change_pct)
    for look, runs in enumerate(world.runs, start=1):
        history, fresh = (
            {str(place): list(series[:runs]) for place, series in enumerate(side)} for side in (before, after)
        )
        plan = Plan(confidence=world.confidence, looks=look, planned_looks=len(world.runs))
        yield judge([Comparison(rule=rule, history=history, fresh=fresh, paired=True)], plan).verdict
