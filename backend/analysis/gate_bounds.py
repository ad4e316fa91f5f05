"""How many standard errors a verdict must be away, so that looking several times does not make it wrong more often.

One quantile for all looks (Pocock, Biometrika 1977): the chance that a test statistic without any change exceeds it at
any of `looks` looks, equal amounts of information apart, is `alpha`.

Gates double their runs. Such looks are less alike: in place of 5 in a hundred 5.3 exceed it in three looks, 5.7 in six,
as if the deviation were taken for 1 and 3 parts in a hundred too small. `gate_estimate.LOSS` takes it for 7 too large.
"""

from functools import lru_cache
from statistics import NormalDist

import numpy as np

from backend.analysis.noise import Floats

_NORMAL = NormalDist()
# The statistic lives on a grid of this step, from so many deviations below 0 up to the quantile.
_STEP, _DEEP = 0.02, 9.0


@lru_cache(maxsize=256)
def quantile(alpha: float, looks: int) -> float:
    """The quantile for a one-sided error of `alpha` (above 0, below a half) in at most `looks` looks (1 to 8)."""
    low, high = _NORMAL.inv_cdf(1 - alpha), _NORMAL.inv_cdf(1 - alpha / looks)
    while high - low > 1e-5:
        middle = (low + high) / 2
        if _chance_to_exceed(middle, looks) > alpha:
            low = middle
        else:
            high = middle
    return high


def _chance_to_exceed(limit: float, looks: int) -> float:
    """By the sum of independent increments: its density among those that have not exceeded so far, look by look."""
    # The sum at look k stops at limit * sqrt(k).
    ends = [limit * look**0.5 for look in range(1, looks + 1)]
    grid = np.arange(-_DEEP * looks**0.5, ends[-1] + _STEP, _STEP)
    increment = _normal_density(np.arange(-_DEEP, _DEEP + _STEP / 2, _STEP)) * _STEP
    centre = increment.size // 2
    going_on = _within(_normal_density(grid), grid, ends[0])
    for end in ends[1:]:
        density = np.convolve(going_on, increment)[centre : centre + grid.size]
        going_on = _within(density, grid, end)
    return 1 - float(going_on.sum()) * _STEP


def _within(density: Floats, grid: Floats, end: float) -> Floats:
    """What lies below `end`, to a part of a step."""
    return density * np.clip((end - grid) / _STEP + 0.5, 0, 1)


def _normal_density(at: Floats) -> Floats:
    density: Floats = np.exp(-at * at / 2) / (2 * np.pi) ** 0.5
    return density
