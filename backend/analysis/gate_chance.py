"""Whether as many runs of history, picked by chance, are as slow: what an interval around a middle cannot know.

Where one run in ten misses a cache, two of three do so once in thirty gates, and the middle of three is then a miss.
Scatter that outliers do not move says nothing of it. So a gate also asks history itself.
"""

import numpy as np

from backend.analysis.gate_estimate import Sides
from backend.analysis.noise import Floats, medians

# So many picks tell one in a thousand from one in a hundred. The same ones every time: a verdict is no lottery.
_PICKS, _AT_ONCE, _SEED = 2_000, 500, 20_260_101
# A history stands in for by so many of its quantiles.
_QUANTILES = 15


def chance_of(both: Sides, shift: float) -> float:
    """The part of picks from history, as many a region as there are fresh runs, that lie as far above it or further."""
    random = np.random.default_rng(_SEED)
    total: Floats = np.zeros(_PICKS)
    for before, after in zip(both.history, both.fresh, strict=True):
        total += _shifts(before, after.size, random)
    return float(np.mean(total / len(both.history) >= shift))


def _shifts(history: Floats, size: int, random: np.random.Generator) -> Floats:
    """How far each pick lies above history: the median of all differences, as `gate_estimate` has it."""
    typical = np.quantile(history, (np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    parts = []
    for _ in range(_PICKS // _AT_ONCE):
        picks = random.choice(history, size=(_AT_ONCE, size))
        differences = picks[:, :, None] - typical[None, None, :]
        parts.append(medians(differences.reshape(_AT_ONCE, -1)))
    return np.concatenate(parts)
