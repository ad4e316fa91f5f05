"""Gates of a world in which the truth is known: batches vary, single runs spike, and a release may be slower."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from backend.analysis.gate import judge
from backend.analysis.gate_types import Comparison, Plan, Rule, Verdict
from backend.analysis.noise import Floats

SPIKES, PER_BATCH, BEFORE = 0.015, 5, 60
HOURS = 48
RUNS = (3, 6, 12)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """`cv` of single runs; `common` is the part of the batches' variance that all regions share."""

    cv: float
    slower: float = 0.0
    batch_sd: float = 0.03
    common: float = 0.5
    regions: int = 5
    confidence: float = 0.99
    max_change_pct: float = 10.0


Drawn = Callable[[World, np.random.Generator], tuple[Floats, Floats]]


def outcomes(world: World, gates: int, seed: int, drawn: Drawn | None = None) -> Counter[Verdict]:
    """How many gates came to what, each looking at 3, 6 and 12 runs a region until it is decided."""
    rng = np.random.default_rng(seed)
    return Counter(_gate(*(drawn or values)(world, rng), world) for _ in range(gates))


def values(world: World, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """History and fresh runs by region, in milliseconds."""
    sd = np.log1p(world.cv**2) ** 0.5
    batches = BEFORE // PER_BATCH + 1
    shared = rng.normal(0, 1, (1, batches)) * world.common**0.5
    own = rng.normal(0, 1, (world.regions, batches)) * (1 - world.common) ** 0.5
    batch = world.batch_sd * (shared + own)
    before = rng.normal(0, sd, (world.regions, BEFORE)) + np.repeat(batch[:, :-1], PER_BATCH, axis=1)
    after = rng.normal(0, sd, (world.regions, RUNS[-1])) + batch[:, -1:] + np.log1p(world.slower)
    return measured(before, rng), measured(after, rng)


def asked_each_hour(world: World, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The same with a history of two days, a run an hour, of a site that drifts by `batch_sd` within hours."""
    sd = np.log1p(world.cv**2) ** 0.5
    shared = _drift(rng, 1) * world.common**0.5
    level = world.batch_sd * (shared + _drift(rng, world.regions) * (1 - world.common) ** 0.5)
    before = level[:, :-1] + rng.normal(0, sd, (world.regions, HOURS))
    after = level[:, -1:] + rng.normal(0, sd, (world.regions, RUNS[-1])) + np.log1p(world.slower)
    return measured(before, rng), measured(after, rng)


def with_misses(world: World, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The same as `values`, of a site whose cache misses one time in ten and then takes four times as long."""
    before, after = values(world, rng)
    return _missed(before, rng), _missed(after, rng)


def restless(world: World, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The same as `values`, of a release that makes single runs scatter six times as much."""
    before, _ = values(world, rng)
    _, after = values(replace(world, cv=6 * world.cv), rng)
    return before, after


def restless_in_one(world: World, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The same in the first region alone; in the others nothing changes."""
    before, after = values(world, rng)
    _, wild = values(replace(world, cv=6 * world.cv), rng)
    return before, np.concatenate((wild[:1], after[1:]))


def _missed(measurements: Floats, rng: np.random.Generator) -> Floats:
    return measurements * np.where(rng.random(measurements.shape) < 0.1, 4.0, 1.0)


def _drift(rng: np.random.Generator, places: int) -> Floats:
    """What is remembered for three hours, hour by hour, of variance 1 (Ornstein and Uhlenbeck)."""
    kept = np.exp(-1 / 3)
    levels = [rng.normal(0, 1, places)]
    for _ in range(HOURS):
        levels.append(kept * levels[-1] + (1 - kept**2) ** 0.5 * rng.normal(0, 1, places))
    return np.array(levels).T


def measured(logarithms: Floats, rng: np.random.Generator) -> Floats:
    """Milliseconds, with a spike now and then."""
    spikes = (rng.random(logarithms.shape) < SPIKES) * np.log(rng.uniform(2, 12, logarithms.shape))
    return 200 * np.exp(logarithms + spikes)


def _gate(before: Floats, after: Floats, world: World) -> Verdict:
    looks = _looks(before, after, world)
    return next((verdict for verdict in looks if verdict is not Verdict.INCONCLUSIVE), Verdict.INCONCLUSIVE)


def _looks(before: Floats, after: Floats, world: World) -> Iterator[Verdict]:
    history = {str(place): list(series) for place, series in enumerate(before)}
    rule = Rule(metric="ttfb_ms", max_change_pct=world.max_change_pct)
    for look, runs in enumerate(RUNS, start=1):
        fresh = {str(place): list(series[:runs]) for place, series in enumerate(after)}
        plan = Plan(confidence=world.confidence, looks=look, planned_looks=len(RUNS))
        yield judge([Comparison(rule=rule, history=history, fresh=fresh)], plan).verdict
