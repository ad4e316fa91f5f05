"""What the time of the day does to a gate: history as it would be at this hour, and what came at it the day before.

A release at the busy hour, or while a nightly job runs, is no slower than the day before at the same time.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from backend.analysis.baseline import fit
from backend.analysis.gate_estimate import Sides
from backend.analysis.gate_types import Comparison
from backend.analysis.noise import Floats, median, scatter
from backend.analysis.settings import DAY_S, HOUR_S

# Of each region, the runs nearest to the same time of the day before: enough that an outlier does not decide.
_NEAREST = 3
# What lies further from that time says nothing of it.
_NEAR_S = HOUR_S
# One-sided, 5 %: by less the day before may lie above the rest by chance.
_SURELY = 1.645
# Of less history a day's wave cannot be told from a trend.
_LEAST_SPAN_S, _LEAST_RUNS = 0.9 * DAY_S, 48


def of_this_hour(comparison: Comparison, both: Sides) -> tuple[Sides, float]:
    """The sides with history as it is at this time of the day, and by how much the day before lay above it then."""
    hours = comparison.hours
    if hours is None:
        return both, 0.0
    times = {region: _measured_at(comparison.history[region], hours.times[region]) for region in both.regions}
    moved = tuple(
        _at_this_hour(times[region], logs, hours.at) for region, logs in zip(both.regions, both.history, strict=True)
    )
    return replace(both, history=moved), _day_before([times[region] for region in both.regions], moved, hours.at)


def _measured_at(series: Sequence[float | None], times: Sequence[float]) -> Floats:
    return np.array([at for at, value in zip(times, series, strict=True) if value is not None], dtype=np.float64)


def _at_this_hour(times: Floats, logs: Floats, at: float) -> Floats:
    """A region's history as it would be at this time of the day, by the day's wave in it."""
    if logs.size < _LEAST_RUNS or times[-1] - times[0] < _LEAST_SPAN_S:
        return logs
    normal = fit(times, logs)
    moved: Floats = logs + (normal.expected(at) - normal.expected_at(times))
    return moved


def _day_before(times: Sequence[Floats], history: Sequence[Floats], at: float) -> float:
    """By how much the runs at this time of the day before surely lay above all of history, over regions; 0: did not."""
    levels, variance = [], 0.0
    for made, logs in zip(times, history, strict=True):
        beside = np.abs(made - (at - DAY_S))
        nearest = [place for place in np.argsort(beside, kind="stable")[:_NEAREST] if beside[place] <= _NEAR_S]
        if len(nearest) == _NEAREST:
            levels.append(median(logs[nearest]) - median(logs))
            variance += _scatter_of_nearest(logs) ** 2
    if not levels:
        return 0.0
    level, error = float(np.mean(levels)), variance**0.5 / len(levels)
    return level if level > _SURELY * error else 0.0


def _scatter_of_nearest(logs: Floats) -> float:
    """What the middle of so many runs in a row varies by at any time, also where they fall into two heaps."""
    return scatter(np.median(logs[logs.size % _NEAREST :].reshape(-1, _NEAREST), axis=1))
