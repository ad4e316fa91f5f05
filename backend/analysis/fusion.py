"""The regions of one metric as one stream: evidence from all adds up, and what they share is not counted twice."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log1p

import numpy as np

from backend.analysis.baseline import Baseline
from backend.analysis.cusum import LARGEST_D, STEPS, Gains, gains
from backend.analysis.noise import Floats, median, variance_of_sums
from backend.analysis.settings import HOUR_S, Settings
from backend.analysis.transform import log_step

# Long-run variances are those of sums over so long; the longer ones see what a day's waves leave over.
_BLOCKS_S = (HOUR_S, 4 * HOUR_S)
_WEIGHT_STEP = log1p(0.2)
_FEWEST_BLOCKS = 12
# A level and a wave.
_PARAMETERS = 3
# The noise around a baseline fitted to few hours is more than it was within them: at one day by two thirds, at eight
# days by a twelfth.
_YOUNG_HOURS = 16


@dataclass(frozen=True, slots=True)
class Noise:
    """How far sums of deviations stray per deviation (1 for independent ones), and from how many that is known."""

    variance: float
    count: int

    @property
    def uncertainty(self) -> float:
        """The standard error of the baseline at one time of the day, in standard deviations of one value."""
        return float((_PARAMETERS * self.variance / max(self.count, 1)) ** 0.5)


def weight(baseline: Baseline) -> float:
    """What a deviation in a region counts: the quieter the region, the more a change of so many per cent stands out."""
    return min(_WEIGHT_STEP / baseline.scale, LARGEST_D)


def noise(times: Floats, deviations: Floats, weights: Floats, *, interval_s: float) -> Noise:
    """The noise of deviations in order of time, of one region or of several together."""
    variances = [
        _block_variance(times, deviations * weights, weights**2, max(block, 4 * interval_s)) for block in _BLOCKS_S
    ]
    hours = 1 + np.count_nonzero(np.diff(times // HOUR_S))
    return Noise(max(1.0, *variances) * (1 + _YOUNG_HOURS / hours), times.size)


def _block_variance(times: Floats, weighted: Floats, squares: Floats, block_s: float) -> float:
    starts = np.flatnonzero(np.diff(times // block_s, prepend=-np.inf))
    counts = np.diff(np.append(starts, times.size))
    full = counts * 2 >= median(counts)
    if full.sum() < _FEWEST_BLOCKS:
        return 0.0
    sums = np.add.reduceat(weighted, starts) / np.sqrt(np.add.reduceat(squares, starts))
    return variance_of_sums(sums[full])


def gains_of(baseline: Baseline, noise: Noise, settings: Settings) -> Gains:
    """How a region's deviations are turned into evidence in a stream of this noise."""
    steps = [log_step(baseline.level, step, settings) for step in STEPS]
    return gains(steps, scale=baseline.scale, variance=noise.variance, allowance=noise.uncertainty)


def majority(regions: int) -> int:
    """How many of so many regions have to be slower for the site to be."""
    return regions // 2 + 1


def affected(shifts: Mapping[str, float], weights: Mapping[str, float]) -> tuple[str, ...]:
    """The regions that took part in a shift (upwards), by the shift estimated for each.

    What the regions above the average shifted by is what a region that takes part would show; less than PART of that is
    none.
    """
    average = min(_mean(shifts, weights, shifts), max(shifts.values()))
    clear = _mean(shifts, weights, [region for region, shift in shifts.items() if shift >= average])
    return tuple(sorted(region for region, shift in shifts.items() if shift >= PART * clear > 0))


PART = 0.4


def _mean(shifts: Mapping[str, float], weights: Mapping[str, float], regions: Iterable[str]) -> float:
    chosen = list(regions)
    return sum(shifts[region] * weights[region] for region in chosen) / sum(weights[region] for region in chosen)
