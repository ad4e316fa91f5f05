"""How far fresh runs may be from history without any change: the noise of single runs, and that of whole batches.

Runs of one batch share a time of day, a probe's load, a cache's state. More runs do not average that away: a test that
does not know of it fails more unchanged sites the longer it looks. All of logarithms, so that noise is a part of the
value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from backend.analysis.noise import Floats, median, scatter

# Values that follow each other and are taken for one batch.
BLOCK = 5
# Beyond so many deviations a value is an outlier, and counts as if it were this far out.
_CLIP = 3.0
# No clock is better than this, however much alike the values are.
LEAST_SD = 0.005
# What batches of real sites vary by (measured), and how many batches seen weigh as much as this belief.
_USUAL_BATCH_SD, _BELIEF = 0.03, 8.0
# So many deviations above the usual no longer are chance.
_SURELY = 2.0
# So many deviations of what may be chance are no scatter that batches share. Measured: with none a fifth slower is
# missed twice as often on quiet sites, with two a site asked each hour fails unchanged half as often again.
_DOUBTED = 0.5
# So many times the variance of history is more than chance makes of a few runs. Measured: of releases that make a quiet
# site six times as restless and no slower, 17 to 38 of a hundred failed by history's noise alone.
_RESTLESS = 2.5
# The part of it that regions usually have in common.
_USUAL_SHARE = 0.5
# A deviation taken from a median and deciles is as good as the usual one of this part of the values.
_FREEDOM = 0.37
# Fewer values than this in a region have no deviation of their own; theirs is that of all regions together.
_FEW = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """`run_sds` by region. `batch_variance` is that of one region, `shared` the part all regions have in common.

    `run_freedom` and `batch_freedom` say how well they are known, as a number of independent squares.
    """

    run_sds: Floats
    run_freedom: float
    batch_variance: float
    batch_freedom: float
    batches: float
    shared: float


def noise_of(regions: Sequence[Floats]) -> Noise:
    """The noise of regions by their histories, each in order of time and of at least three values."""
    scales = _scales(regions)
    blocks = [_blocks(values, scale) for values, scale in zip(regions, scales, strict=True) if values.size >= 2 * BLOCK]
    variance, freedom, spread = _batch_variance(blocks)
    return Noise(
        run_sds=scales,
        run_freedom=_FREEDOM * sum(values.size - 1 for values in regions),
        batch_variance=variance,
        batch_freedom=freedom,
        batches=float(np.mean([len(block) for block in blocks])) if blocks else 1.0,
        shared=_shared(blocks, variance, spread),
    )


def unseen_variance(noise: Noise, fresh: Sequence[Floats]) -> float:
    """What a batch may vary by beyond the variance that blocks of history show: history's scatter beyond that of the
    fresh runs among themselves.

    Runs of history that lie an hour apart share nothing that a block of them could show. What one batch shares is then
    a part of how single runs scatter. Both scatters are estimates: what lies within their doubt counts for nothing.
    """
    limits = _CLIP * noise.run_sds
    squares = [
        float((np.clip(values - median(values), -limit, limit) ** 2).sum())
        for values, limit in zip(fresh, limits, strict=True)
    ]
    freedom = max(sum(values.size - 1 for values in fresh), 1)
    within, whole = sum(squares) / freedom, float(np.mean(noise.run_sds**2))
    doubt = sqrt(2 * within**2 / freedom + 2 * whole**2 / noise.run_freedom)
    return max(whole - within - _DOUBTED * doubt - noise.batch_variance, 0.0)


def restless_variances(noise: Noise, fresh: Sequence[Floats]) -> tuple[Floats, Floats]:
    """What fresh runs scatter by beyond those of history, by region, as variances of single ones, and by how many
    squares each is known: a release that makes a site restless is not as sure as its history was. 0 within chance.

    What lies far off the rest of its region, as spikes do, says little of it.
    """
    # A median of three is one of them, and no deviation at all.
    beside = [np.sort(np.abs(values - median(values)))[1:] for values in fresh]
    squares = np.array([float(np.mean(np.minimum(some, _CLIP * median(some)) ** 2)) for some in beside])
    usual = noise.run_sds**2
    return np.where(squares > _RESTLESS * usual, squares - usual, 0.0), np.array([some.size for some in beside])


def _scales(regions: Sequence[Floats]) -> Floats:
    deviations = [values - median(values) for values in regions]
    together = scatter(np.concatenate(deviations))
    scales = [scatter(values) if values.size >= _FEW else together for values in regions]
    return np.maximum(scales, LEAST_SD)


def _blocks(values: Floats, scale: float) -> Floats:
    """The newest whole blocks as rows, outliers pulled in."""
    middle = median(values)
    clipped = np.clip(values, middle - _CLIP * scale, middle + _CLIP * scale)
    return clipped[values.size % BLOCK :].reshape(-1, BLOCK)


def _batch_variance(blocks: Sequence[Floats]) -> tuple[float, float, float]:
    """The variance between blocks beyond that within, its freedom, and the variance of one block's mean.

    By analysis of variance, averaged over regions, and drawn towards what is usual as far as it is badly known.
    """
    usual = _USUAL_BATCH_SD**2
    if not blocks:
        return usual, _BELIEF, usual
    within = float(np.mean([block.var(axis=1, ddof=1).mean() for block in blocks])) / BLOCK
    between = float(np.mean([block.mean(axis=1).var(ddof=1) for block in blocks])) - within
    seen = max(between, 0.0)
    spread = seen + within
    # Blocks of several regions at one time are only partly independent.
    independent = float(np.mean([len(block) - 1 for block in blocks])) * (1 + (len(blocks) - 1) / 2)
    doubt = 2 * spread**2 / independent
    # What lies clearly above the usual is no chance: then the usual is none of this site's.
    beyond = max(seen - usual, 0.0) ** 2 - _SURELY**2 * doubt
    variance, left = _weighed(seen, doubt, usual, max(2 * usual**2 / _BELIEF, beyond))
    return variance, 2 * variance**2 / left, spread


def _shared(blocks: Sequence[Floats], variance: float, spread: float) -> float:
    """The part of the variance that regions have in common: from blocks at the same place from the end."""
    count = min((len(block) for block in blocks), default=0)
    if len(blocks) < 2 or count < 3:
        return _USUAL_SHARE
    means = np.array([block[-count:].mean(axis=1) for block in blocks])
    means -= means.mean(axis=1, keepdims=True)
    pairs = len(blocks) * (len(blocks) - 1)
    common = float((means.sum(axis=0) ** 2).sum() - (means**2).sum()) / pairs / (count - 1)
    usual = _USUAL_SHARE * variance
    doubt = 2 * spread**2 / (count - 1) / len(blocks)
    common, _ = _weighed(common, doubt, usual, usual**2)
    return min(max(common / variance, _USUAL_SHARE), 1.0)


def _weighed(seen: float, doubt: float, usual: float, usual_doubt: float) -> tuple[float, float]:
    """What was seen and what is usual, each by how sure it is (variances); with the variance of the result."""
    left = 1 / (1 / max(doubt, 1e-30) + 1 / usual_doubt)
    return left * (seen / max(doubt, 1e-30) + usual / usual_doubt), left
