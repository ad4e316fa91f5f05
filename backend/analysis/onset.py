"""When a change that has been noticed began, and between which times it must have."""

from dataclasses import dataclass

import numpy as np

from backend.analysis.changepoints import MIN_SEGMENT, normal_scores, segment_starts
from backend.analysis.noise import Floats

# A day of minutes, so that what is measured every minute is dated by the minute.
MAX_ROUNDS = 1440
# Twice this in log-likelihood is the 95 % point of chi-squared with one degree of freedom, and half as much again
# since the place of a change is discrete and its likelihood jumps.
_LIKELY = 3.0
# Rounds that differ by less than this many standard deviations, such as the bytes of a page that hardly vary, are
# alike: ranked, their order would count for as much as a real step.
_ALIKE = 0.1


@dataclass(frozen=True, slots=True)
class Onset:
    """The first sample of the new level, and the earliest and latest that it may be."""

    at: float
    earliest: float
    latest: float


@dataclass(frozen=True, slots=True)
class Samples:
    """Deviations of several regions in order of time, with the weight of each."""

    times: Floats
    deviations: Floats
    weights: Floats


@dataclass(frozen=True, slots=True)
class Rounds:
    """Deviations of regions averaged over each round of tests: times of the rounds, weighted means, summed weights."""

    times: Floats
    means: Floats
    weights: Floats


def rounds(samples: Samples, *, interval_s: float) -> Rounds:
    """Rounds become longer than the interval when there would be over MAX_ROUNDS."""
    times, weights = samples.times, samples.weights
    starts = np.flatnonzero(np.diff((times - times[0]) // _width_s(times, interval_s), prepend=-np.inf))
    sums = np.add.reduceat(weights, starts)
    return Rounds(times[starts], np.add.reduceat(samples.deviations * weights, starts) / sums, sums)


def _width_s(times: Floats, interval_s: float) -> float:
    return interval_s * max(1.0, float(np.ceil((times[-1] - times[0]) / interval_s / MAX_ROUNDS)))


def onset(series: Rounds, *, variance: float) -> Onset:
    """When the deviations began to lie above 0 for good. `variance` is their long-run variance per unit of weight.

    The last change point after which they lie high; where the change is too fresh for one, the place at which the rest
    stands out most: a few runs that are very high did not begin with a rise of hours ago that hardly was one.
    """
    likelihood = _likelihood(series)
    best = int(np.argmax(likelihood))
    place = _last_rise(series.means)
    is_fresh = series.means.size - best < MIN_SEGMENT
    if place is None or (is_fresh and likelihood[best] - likelihood[place] > 2 * _LIKELY * variance):
        place = best
    likely = _places_as_likely(series, place, variance)
    return Onset(float(series.times[place]), float(series.times[likely[0]]), float(series.times[likely[-1]]))


def by_samples(rough: Onset, samples: Samples, *, interval_s: float, variance: float) -> Onset:
    """What rounds have found, by single samples: a round holds some from before the change, and a segment several such
    rounds."""
    width_s = _width_s(samples.times, interval_s)
    near = (samples.times >= rough.at - width_s) & (samples.times <= rough.at + MIN_SEGMENT * width_s)
    since = samples.times >= rough.at
    level = float(np.average(samples.deviations[since], weights=samples.weights[since]))
    steps = samples.weights * level * (samples.deviations - level / 2) / variance
    likelihood, times = np.cumsum(steps[::-1])[::-1][near], samples.times[near]
    likely = times[likelihood >= likelihood.max() - _LIKELY]
    at = float(times[likelihood.argmax()])
    return Onset(at, min(rough.earliest, float(likely[0])), max(rough.latest, float(likely[-1])))


def _last_rise(means: Floats) -> int | None:
    """Where the present segment of the robust partition begins, if its level is a rise."""
    starts = segment_starts(normal_scores(np.rint(means / _ALIKE)))
    if not starts:
        return None
    place = starts[-1]
    before = means[starts[-2] if len(starts) > 1 else 0 : place]
    return place if means[place:].mean() > max(float(before.mean()), 0.0) else None


def _likelihood(series: Rounds) -> Floats:
    """For each place, how much better a level of its own from there on explains the rest than 0 does."""
    weighted = np.cumsum((series.means * series.weights)[::-1])[::-1]
    weights = np.cumsum(series.weights[::-1])[::-1]
    gain: Floats = np.maximum(weighted, 0) ** 2 / weights
    return gain


def _places_as_likely(series: Rounds, place: int, variance: float) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    weights = series.weights[place:]
    level = float((series.means[place:] * weights).sum() / weights.sum())
    steps = series.weights * level * (series.means - level / 2) / variance
    likelihood = np.cumsum(steps[::-1])[::-1]
    likely = np.flatnonzero(likelihood >= likelihood[place] - _LIKELY)
    return np.union1d(likely, [place])
