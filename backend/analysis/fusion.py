"""The regions of one metric as one stream: evidence from all adds up, and what they share is not counted twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log1p

import numpy as np
from numpy.typing import NDArray

from backend.analysis.baseline import Baseline
from backend.analysis.cusum import LARGEST_D, STEPS
from backend.analysis.noise import Floats, median, variance_of_sums
from backend.analysis.settings import DAY_S, HOUR_S, Settings
from backend.analysis.transform import log_step

# Long-run variances are those of sums over so long; the longer ones see what a day's waves leave over.
_BLOCKS_S = (HOUR_S, 4 * HOUR_S)
_WEIGHT_STEP = log1p(0.2)
_FEWEST_BLOCKS = 12
_FEWEST_DAYS = 4
# A level and a wave.
_PARAMETERS = 3
# The noise around a baseline fitted to few hours is more than it was within them: at one day by two thirds, at eight
# days by a twelfth.
_YOUNG_HOURS = 16
HOURS = 24
# Deviations of all hours are worth as much.
ALIKE = (1.0,) * HOURS
# That an hour varies as others do is believed as if so many of its deviations said so. Up to so much more is chance:
# with none a change of a fifth is told 3 to 8 per cent later, with this one per cent (measured).
_BELIEF, _SURELY_MORE = 24, 1.25


@dataclass(frozen=True, slots=True)
class Noise:
    """How far sums of deviations stray per deviation (1 for independent ones), and from how many that is known.

    `wander`: by how much whole days differ beyond that, in standard deviations of one value.
    """

    variance: float
    wander: float
    count: int

    @property
    def uncertainty(self) -> float:
        """How far the level may lie from the baseline while nothing has changed: standard error and wander."""
        return float((_PARAMETERS * self.variance / max(self.count, 1) + self.wander**2) ** 0.5)

    def of(self, times: float) -> "Noise":
        """The noise of so many times as many deviations. The baseline is known as well as it was."""
        variance = variance_of(times, self.variance)
        return Noise(variance, self.wander, round(self.count * variance / self.variance))


def variance_of(times: float, variance: float) -> float:
    """What sums of so many times as many deviations vary by for each of them, where those of all vary by `variance`.

    More say no more of a stretch of time than they did. Fewer lie further apart, and so have less in common: where what
    two of them share falls with their distance, each m-th shares at most an m-th of it (the sum of an m-th of falling
    terms is at most an m-th of their sum).
    """
    return times * variance if times >= 1 else 1 + times * (variance - 1)


def weight(baseline: Baseline) -> float:
    """What a deviation in a region counts: the quieter the region, the more a change of so many per cent stands out."""
    return min(_WEIGHT_STEP / baseline.scale, LARGEST_D)


@dataclass(frozen=True, slots=True)
class Deviations:
    """Of one region or of several together, in order of time. `calm` marks those from outside of past alerts."""

    times: Floats
    deviations: Floats
    weights: Floats
    calm: NDArray[np.bool_]

    @classmethod
    def together(cls, parts: Sequence["Deviations"]) -> "Deviations":
        order = np.argsort(np.concatenate([part.times for part in parts]), kind="stable")
        return cls(
            np.concatenate([part.times for part in parts])[order],
            np.concatenate([part.deviations for part in parts])[order],
            np.concatenate([part.weights for part in parts])[order],
            np.concatenate([part.calm for part in parts])[order],
        )


def noise(series: Deviations, *, interval_s: float, regions: int = 1) -> Noise:
    """The noise while nothing happened; only how far days differ is of all, since what happens often is normal.

    It holds for what is measured every `interval_s` in so many `regions`, which may be more or less than was so far.
    """
    calm = series.calm
    times, deviations, weights = series.times[calm], series.deviations[calm], series.weights[calm]
    usual = regions / interval_s
    found = [
        _variance(_sums(times, deviations, weights, length_s), usual * length_s)
        for length_s in (max(block_s, 4 * interval_s) for block_s in _BLOCKS_S)
    ]
    variance, of_seen = max([(1.0, 1.0), *(one for one in found if one is not None)])
    hours = 1 + np.count_nonzero(np.diff(times // HOUR_S))
    variance *= float(1 + _YOUNG_HOURS / hours)
    days = _sums(series.times, series.deviations, series.weights, DAY_S)
    return Noise(variance, _wander(days, variance, usual * DAY_S), round(of_seen * times.size))


def worth_by_hour(times: Floats, deviations: Floats) -> tuple[float, ...]:
    """What a deviation of each hour of the day is worth, as a part of a usual one's evidence: the less, the more they
    vary then, as while a site is busy. Where they vary less it is worth no more."""
    hours, squares = (times % DAY_S // HOUR_S).astype(int), deviations**2
    usual = float(squares.mean()) or 1.0
    count = np.bincount(hours, minlength=HOURS) + _BELIEF
    ratios = (np.bincount(hours, squares, minlength=HOURS) / usual + _BELIEF) / count
    return tuple(float(1 / ratio) if ratio > _SURELY_MORE else 1.0 for ratio in ratios)


def _variance(blocks: "_Sums", usual: float) -> tuple[float, float] | None:
    """What sums of `usual` deviations a block vary by for each of them, and how many times what those seen vary by that
    is; None of too few blocks.

    What lies between rare runs nobody has seen: until it is, many say no more of a stretch of time than few did.
    """
    dense = blocks.counts * 2 >= usual
    is_seen = np.count_nonzero(dense) >= _FEWEST_BLOCKS
    if not is_seen and blocks.scaled.size < _FEWEST_BLOCKS:
        return None
    scaled, counts = (blocks.scaled[dense], blocks.counts[dense]) if is_seen else (blocks.scaled, blocks.counts)
    limit = min if is_seen else max
    seen = variance_of_sums(scaled)
    variance = variance_of(limit(1.0, usual / median(counts)), seen)
    return variance, variance / seen if seen else 1.0


@dataclass(frozen=True, slots=True)
class _Sums:
    """Of blocks of time that are at least half as full as most: sums scaled to the variance of one deviation, and how
    many deviations each stands for."""

    scaled: Floats
    counts: Floats


def _sums(times: Floats, deviations: Floats, weights: Floats, block_s: float) -> _Sums:
    starts = np.flatnonzero(np.diff(times // block_s, prepend=-np.inf))
    counts = np.diff(np.append(starts, times.size)).astype(np.float64)
    scaled = np.add.reduceat(deviations * weights, starts) / np.sqrt(np.add.reduceat(weights**2, starts))
    full = counts * 2 >= median(counts)
    return _Sums(scaled[full], counts[full])


def _wander(days: _Sums, variance: float, usual: float) -> float:
    if days.scaled.size < _FEWEST_DAYS:
        return 0.0
    means = days.scaled / np.sqrt(days.counts)
    by_chance = variance * float(np.mean(1 / np.maximum(days.counts, usual)))
    return float(max(0.0, variance_of_sums(means) - by_chance) ** 0.5)


def steps_of(baseline: Baseline, settings: Settings) -> list[float]:
    """The steps that are looked for, in logarithms at this level."""
    return [log_step(baseline.level, step, settings) for step in STEPS]


def majority(regions: int) -> int:
    """How many of so many regions have to be slower for the site to be."""
    return regions // 2 + 1


def affected(shifts: Mapping[str, float], weights: Mapping[str, float]) -> tuple[str, ...]:
    """The regions that took part in a shift (upwards), by the shift estimated for each.

    What the regions above the average shifted by is what a region that takes part would show; less than PART of that is
    none.
    """
    risen = {region: shift for region, shift in shifts.items() if shift > 0}
    if not risen:
        return ()
    average = min(_mean(shifts, weights), max(risen.values()))
    clear = _mean({region: shift for region, shift in risen.items() if shift >= average}, weights)
    return tuple(sorted(region for region, shift in risen.items() if shift >= PART * clear))


PART = 0.4


def _mean(shifts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return sum(shift * weights[region] for region, shift in shifts.items()) / sum(weights[region] for region in shifts)
