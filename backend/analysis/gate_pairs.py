"""How much slower one address is than another, from runs of both in turns.

What drifts while a gate measures (the time of the day, the way, the load of the agent) touches both sides of a pair
alike, so only differences within pairs are looked at.
"""

from collections.abc import Sequence

import numpy as np

from backend.analysis.gate_estimate import (
    LOSS,
    Estimate,
    RegionShift,
    Sides,
    TooLittleError,
    centre,
    logarithms,
    refuse_failures,
)
from backend.analysis.gate_noise import LEAST_SD, Noise
from backend.analysis.gate_types import Comparison, Values
from backend.analysis.noise import Floats, scatter

# What two servers may differ by in the same minutes and not in the next, a third of what batches usually vary by: each
# has work of its own, and no number of runs within one gate averages that away. Believed as if seen in many gates.
_OWN_SD, _OWN_FREEDOM = 0.01, 100.0
# Beyond so many deviations a difference counts as if it were this far out.
_CLIP = 4.0
# Fewer squares than this say too little of how much they scatter.
_LEAST_FREEDOM = 6
# A region with so many differences has a deviation of its own; that of fewer is what all regions have together.
_MANY = 8


def pairs(comparison: Comparison, *, offset: float, least: int) -> Sides:
    """Both sides of every pair of which both runs were measured, at the same places. Raises TooLittleError."""
    failed = refuse_failures(comparison.fresh, f"runs {comparison.lost}")
    failed += refuse_failures(comparison.history, "runs of the baseline failed")
    both = {region: _both(comparison, region) for region in comparison.fresh}
    enough = [region for region, found in both.items() if len(found) >= least]
    left_out = tuple(region for region in both if region not in enough)
    if not enough or len(enough) < len(left_out):
        found = _most_found([len(both[region]) for region in left_out], ", ".join(left_out) if enough else "")
        raise TooLittleError(f"{found}; at least {least} are needed")
    _refuse_too_few(sum(len(both[region]) for region in enough), len(enough))
    before, after = ({region: [pair[side] for pair in both[region]] for region in enough} for side in (0, 1))
    return Sides(
        regions=tuple(enough),
        history=tuple(logarithms(before, offset).values()),
        fresh=tuple(logarithms(after, offset).values()),
        failed=failed,
        left_out=left_out,
    )


def difference_of(both: Sides) -> Estimate:
    """How much slower the fresh side is: the middle of the differences by region, averaged over regions."""
    differences = [after - before for before, after in zip(both.history, both.fresh, strict=True)]
    shifts = [centre(values) for values in differences]
    sds, freedom = _scatter(differences, shifts)
    counts = np.array([values.size for values in differences])
    squares, regions = LOSS * sds**2, len(shifts)
    runs, own = float((squares / counts).sum()) / regions**2, _OWN_SD**2
    doubt = 2 * runs**2 / freedom + 2 * own**2 / _OWN_FREEDOM
    return Estimate(
        shift=float(np.mean(shifts)),
        variance=runs + own,
        freedom=2 * (runs + own) ** 2 / doubt,
        fresh_variance=float(squares.sum()) / regions**2,
        other_variance=own,
        fresh_runs=both.after,
        # Of single runs, of which a difference has two.
        noise=Noise(
            run_sds=sds / 2**0.5,
            run_freedom=freedom,
            batch_variance=own,
            batch_freedom=_OWN_FREEDOM,
            batches=1.0,
            shared=1.0,
        ),
        regions=tuple(
            RegionShift(region=region, shift=shift, variance=float(variance))
            for region, shift, variance in zip(both.regions, shifts, squares / counts + own, strict=True)
        ),
        runs_each=2,
    )


def _both(comparison: Comparison, region: str) -> list[tuple[float, float]]:
    before: Values = comparison.history
    together = zip(before.get(region, ()), comparison.fresh[region], strict=False)
    return [(first, second) for first, second in together if first is not None and second is not None]


def _most_found(counts: Sequence[int], regions: str) -> str:
    """Of the regions that have too few, which are named where others have enough."""
    most = max(counts, default=0)
    return f"at most {most} pairs of runs in {regions}" if regions else f"{most} pairs of runs in a region"


def _refuse_too_few(count: int, regions: int) -> None:
    if count - regions < _LEAST_FREEDOM:
        least = _LEAST_FREEDOM + regions
        raise TooLittleError(f"{count} pairs of runs in all; at least {least} say how much they scatter")


def _scatter(differences: Sequence[Floats], shifts: Sequence[float]) -> tuple[Floats, float]:
    """The deviation of differences by region, and how many squares they are known by."""
    beside = [values - shift for values, shift in zip(differences, shifts, strict=True)]
    limit = _CLIP * max(scatter(np.concatenate(beside)), LEAST_SD)
    sums = np.array([float((np.clip(values, -limit, limit) ** 2).sum()) for values in beside])
    free = np.array([values.size - 1 for values in beside])
    together = sums.sum() / free.sum()
    squares = np.where(free >= _MANY, np.maximum(sums / np.maximum(free, 1), together / 2), together)
    return np.maximum(squares**0.5, LEAST_SD), float(free.sum())
