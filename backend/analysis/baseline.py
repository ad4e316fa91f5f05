"""What a region's values are like while nothing has changed: a robust level, the shape of its day, and the noise."""

from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np

from backend.analysis.noise import Floats, huber_mean, mad_sd, scatter
from backend.analysis.settings import DAY_S, HOUR_S

# A deviation counts up to so many standard deviations; beyond, it is a spike.
CLIP = 3.0
# Steadier than one per cent is quantisation, not knowledge.
_LEAST_SCALE = 0.01
_TURN = 2 * pi / DAY_S
# Two waves show a plateau or a lunch break; before three days the second would be noise.
_TWO_WAVES_FROM_S = 3 * DAY_S
# Fewer hours than this show no shape of a day.
MIN_HOURS = 12
# Of less time than this a day's wave cannot be told from a trend.
LEAST_SPAN_S = 0.9 * DAY_S


@dataclass(frozen=True, slots=True)
class Baseline:
    """All in logarithms: level, two waves of the day (cosine and sine), standard deviation; from how many samples."""

    level: float
    cos1: float
    sin1: float
    cos2: float
    sin2: float
    scale: float
    count: int

    def expected(self, at: float) -> float:
        angle = _TURN * (at % DAY_S)
        c, s = cos(angle), sin(angle)
        return self.level + self.cos1 * c + self.sin1 * s + self.cos2 * (2 * c * c - 1) + self.sin2 * 2 * s * c

    def deviations(self, times: Floats, logs: Floats) -> Floats:
        """In standard deviations, clipped."""
        clipped: Floats = np.clip((logs - self.expected_at(times)) / self.scale, -CLIP, CLIP)
        return clipped

    def expected_at(self, times: Floats) -> Floats:
        waves: Floats = waves_at(times, 2) @ np.array([self.cos1, self.sin1, self.cos2, self.sin2])
        return self.level + waves


def fit(times: Floats, logs: Floats) -> Baseline:
    """The baseline of samples in order of time; at least one.

    The waves go through medians of hours, which spikes do not reach; the level is then the centre of all values.
    """
    span = float(times[-1] - times[0])
    waves = _fit_waves(times, logs, count=2 if span >= _TWO_WAVES_FROM_S else 1)
    rest = logs - waves_at(times, 2) @ waves
    scale = max(scatter(rest), _LEAST_SCALE)
    level = huber_mean(rest, clip=CLIP * scale)
    cos1, sin1, cos2, sin2 = (float(part) for part in waves)
    return Baseline(level, cos1, sin1, cos2, sin2, scale, times.size)


def _fit_waves(times: Floats, logs: Floats, *, count: int) -> Floats:
    middles, medians = hour_medians(times, logs)
    waves = np.zeros(4)
    if medians.size < MIN_HOURS or times[-1] - times[0] < LEAST_SPAN_S:
        return waves
    design = np.column_stack((np.ones(middles.size), waves_at(middles, count)))
    waves[: 2 * count] = huber_regression(design, medians)[1:]
    return waves


def hour_medians(times: Floats, logs: Floats) -> tuple[Floats, Floats]:
    """Of samples in order of time, the mean instant and the median of each hour that has any."""
    hours = times // HOUR_S
    starts = np.flatnonzero(np.diff(hours, prepend=-np.inf))
    counts = np.diff(np.append(starts, times.size))
    ranked = logs[np.lexsort((logs, hours))]
    medians: Floats = (ranked[starts + (counts - 1) // 2] + ranked[starts + counts // 2]) / 2
    return np.add.reduceat(times, starts) / counts, medians


def huber_regression(design: Floats, values: Floats) -> Floats:
    """The coefficients of least squares, where what lies far from them pulls no harder than what lies near."""
    solution = least_squares(design, values)
    for _ in range(3):
        rest = values - design @ solution
        limit = 1.5 * max(mad_sd(rest), 1e-9)
        weights = np.minimum(1, limit / np.maximum(np.abs(rest), limit))
        weighted = design * weights[:, None]
        solution = least_squares(weighted.T @ design, weighted.T @ values)
    return solution


def least_squares(design: Floats, values: Floats) -> Floats:
    """The coefficients."""
    return np.asarray(np.linalg.lstsq(design, values, rcond=None)[0], dtype=np.float64)


def waves_at(times: Floats, count: int) -> Floats:
    """The first waves of the day at instants, two columns each: cosine and sine."""
    angles = _TURN * (times % DAY_S)
    cosines, sines = np.cos(angles), np.sin(angles)
    columns = (cosines, sines, 2 * cosines**2 - 1, 2 * sines * cosines)
    return np.column_stack(columns[: 2 * count])
