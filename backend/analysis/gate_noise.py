"""How far fresh runs may be from history without any change: the noise of single runs, and that of whole batches.

Runs of one batch share a time of day, a probe's load, a cache's state. More runs do not average that away, so that a
test which does not know it fails more unchanged sites the longer it looks (facts: 9 to 24 of a hundred instead of 5).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.analysis.noise import Floats, scatter

# Values that follow each other and count as one batch.
BLOCK = 5
# Beyond so many deviations a value is an outlier, and counts as if it were this far out.
_CLIP = 3.0
# Two estimates by medians lose this against means.
_LOSS = 1.1
# What batches of real sites vary by, and how much this is trusted: as much as so many batches that were seen.
_USUAL_BATCH_SD, _TRUST_IN_USUAL = 0.03, 8.0
# Freedom that the deviation by medians leaves, as a part of the number of values.
_FREEDOM = 0.37


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Of the logarithms in history. `run_sd` by region; `batch_sd` of all, `batch_freedom` how well it is known.

    `shared` is the part of the batches' variance that all regions have in common.
    """

    run_sd: tuple[float, ...]
    runs: tuple[int, ...]
    batch_sd: float
    batch_freedom: float
    batches: float
    shared: float


def noise_of(history: Sequence[Floats]) -> Noise:
    """The noise of regions by their histories in order of time, of at least two blocks each."""
    scales = [scatter(values) for values in history]
    blocks = [_blocks(values, scale) for values, scale in zip(history, scales, strict=True)]
    variance, freedom = _batch_variance(blocks)
    return Noise(
        run_sd=tuple(scales),
        runs=tuple(values.size for values in history),
        batch_sd=variance**0.5,
        batch_freedom=freedom,
        batches=float(np.mean([len(block) for block in blocks])),
        shared=_shared(blocks, variance),
    )
