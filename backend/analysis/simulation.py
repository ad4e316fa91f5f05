"""Made-up latency with everything that real latency has, seeded: to measure how well changes in it are found.

The noise is like that of real sites: lognormal, 70 % of its variance white and 30 % slow (correlation .67 over
five minutes), half of the slow part common to all regions; spikes, a day's wave, gaps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, log1p, pi

import numpy as np

from backend.analysis.noise import Floats
from backend.analysis.replay import Sample
from backend.analysis.settings import DAY_S

START = 1_767_225_600.0
_SLOW_CORRELATION_TIME_S = -300 / log(0.67)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A site measured from some regions. `cv` is the coefficient of variation, `wave` the day's relative swing.

    `site_slowdowns` and `region_slowdowns` a day are real but short: half as slow again, 15 minutes in the mean.
    """

    cv: float
    regions: int = 5
    days: float = 30
    interval_s: float = 300
    typical: float = 200
    wave: float = 0.1
    slow: float = 0.3
    common: float = 0.5
    spikes: float = 0.015
    missing: float = 0.02
    site_slowdowns: float = 0
    region_slowdowns: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """From `at` (seconds since START) until `until` the named regions, or all, take `factor` times as long."""

    at: float
    factor: float
    until: float = float("inf")
    regions: Sequence[str] = ()


def simulate(world: World, seed: int, steps: Sequence[Step] = ()) -> dict[str, list[Sample]]:
    """What was measured, by region: in order of time, None where a check failed. The same for the same seed."""
    random = np.random.default_rng(seed)
    count = round(world.days * DAY_S / world.interval_s)
    common = _slow_noise(count, world.interval_s, random)
    site = _slowdowns(count, world.site_slowdowns, world.interval_s, random)
    result = {}
    for index in range(world.regions):
        name = f"region-{index}"
        times: Floats = (np.arange(count, dtype=np.float64) + index / world.regions) * world.interval_s
        logs = _logs(world, times, common, random) + site
        logs += _slowdowns(count, world.region_slowdowns, world.interval_s, random)
        for step in steps:
            if not step.regions or name in step.regions:
                logs[(times >= step.at) & (times < step.until)] += log(step.factor)
        result[name] = _samples(times, logs, world, random)
    return result


def _logs(world: World, times: Floats, common: Floats, random: np.random.Generator) -> Floats:
    own = _slow_noise(times.size, world.interval_s, random)
    slow = world.common**0.5 * common + (1 - world.common) ** 0.5 * own
    noise = (1 - world.slow) ** 0.5 * random.normal(size=times.size) + world.slow**0.5 * slow
    wave = np.log1p(world.wave * np.sin(2 * pi * times / DAY_S + random.uniform(0, 2 * pi)))
    level = log(world.typical) + 0.3 * random.normal()
    logs: Floats = level + log1p(world.cv**2) ** 0.5 * noise + wave
    return logs


def _slow_noise(count: int, interval_s: float, random: np.random.Generator) -> Floats:
    keep = exp(-interval_s / _SLOW_CORRELATION_TIME_S)
    fresh = random.normal(size=count) * (1 - keep**2) ** 0.5
    slow = np.empty(count)
    level = float(random.normal())
    for index in range(count):
        level = keep * level + fresh[index]
        slow[index] = level
    return slow


def _slowdowns(count: int, a_day: float, interval_s: float, random: np.random.Generator) -> Floats:
    logs = np.zeros(count)
    for _ in range(random.poisson(a_day * count * interval_s / DAY_S)):
        start = random.integers(count)
        length = max(1, round(random.exponential(900 / interval_s)))
        logs[start : start + length] = log(1.5)
    return logs


def _samples(times: Floats, logs: Floats, world: World, random: np.random.Generator) -> list[Sample]:
    spiked = random.random(times.size) < world.spikes
    values = np.exp(logs) * np.where(spiked, random.uniform(2, 12, times.size), 1)
    failed = random.random(times.size) < world.missing
    pairs = zip(times.tolist(), values.tolist(), failed.tolist(), strict=True)
    return [(START + at, None if bad else value) for at, value, bad in pairs]
