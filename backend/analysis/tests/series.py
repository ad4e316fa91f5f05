"""Series for tests of detection: values from a formula and a seeded generator, at a steady interval."""

from collections.abc import Callable

import numpy as np

from backend.analysis.noise import Floats
from backend.analysis.replay import Sample, Told, replay
from backend.analysis.settings import DAY_S, settings_for
from backend.analysis.simulation import START

# Seconds since START, and where noise comes from.
Formula = Callable[[Floats, np.random.Generator], Floats]


def series(formula: Formula, *, days: float, regions: int = 1, interval_s: float = 300) -> dict[str, list[Sample]]:
    """By region; a value that is not a number is a failed check."""
    random = np.random.default_rng(5)
    result = {}
    for index in range(regions):
        times: Floats = (np.arange(round(days * DAY_S / interval_s), dtype=np.float64) + index / regions) * interval_s
        values = np.asarray(formula(times, random), dtype=np.float64)
        pairs = zip(times.tolist(), values.tolist(), strict=True)
        result[f"r{index}"] = [(START + at, None if value != value else value) for at, value in pairs]
    return result


def noise(times: Floats, random: np.random.Generator, cv: float = 0.1) -> Floats:
    """Factors around 1."""
    factors: Floats = np.exp(cv * random.normal(size=times.size))
    return factors


def told(samples: dict[str, list[Sample]], *, metric: str = "ttfb_ms", interval_s: float = 300) -> list[Told]:
    """The alerts over a series."""
    return replay(samples, [], settings_for(metric, interval_s=interval_s))


def days_after_start(at: float) -> float:
    return (at - START) / DAY_S
