"""Where a difference comes from: shares of the phases that add up to it exactly."""

from collections.abc import Sequence
from statistics import fmean, median

from workers.diagnosis.pair.samples import Parts


def split(differences: Sequence[Parts], total: int) -> Parts:
    """Shares of `total` (the robust middle of the totals), in whole microseconds that add up to it.

    They are the mean differences of the phases over the middle half of the pairs, in order of their totals: those that
    stand for the estimate, without the wild ones. What that mean and the estimate differ by is shared out among the
    phases by how much they vary from pair to pair: a phase that is always the same cannot be what makes it. Needs at
    least one pair.
    """
    middle = middle_half(differences)
    means = _means(middle)
    rest = total - sum(means)
    weights = _spreads(middle) if any(_spreads(middle)) else [abs(mean) for mean in means]
    size = sum(weights)
    shares = [mean + rest * weight / size for mean, weight in zip(means, weights, strict=True)] if size else None
    return _rounded(shares or [0.0, 0.0, 0.0, float(total), 0.0], total)


def typical(legs: Sequence[Parts]) -> Parts:
    """The usual exchange of a leg: the mean over the middle half, so that its phases add up."""
    means = _means(middle_half(legs))
    return _rounded(means, round(sum(means)))


def mean_parts(several: Sequence[Parts], total: int) -> Parts:
    """The mean of splits, made to add up to the mean of their totals."""
    return _rounded(_means(several), total)


def middle_half(parts: Sequence[Parts]) -> list[Parts]:
    ordered = sorted(parts, key=lambda one: one.total)
    cut = len(ordered) // 4
    return ordered[cut : len(ordered) - cut]


def _means(parts: Sequence[Parts]) -> list[float]:
    return [fmean(values) for values in zip(*parts, strict=True)]


def _spreads(parts: Sequence[Parts]) -> list[float]:
    """The mean distance of each phase from its median."""
    columns = [list(values) for values in zip(*parts, strict=True)]
    return [fmean(abs(value - median(values)) for value in values) for values in columns]


def _rounded(shares: Sequence[float], total: int) -> Parts:
    """Whole numbers that add up to `total`: those that lose most by rounding down get the missing ones."""
    whole = [int(share // 1) for share in shares]
    losers = sorted(range(len(shares)), key=lambda at: whole[at] - shares[at])
    for at in losers[: total - sum(whole)]:
        whole[at] += 1
    return Parts(*whole)
