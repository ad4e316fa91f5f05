"""Quantiles of very many values from counts that can be added up.

A value falls into a bucket by its logarithm, so that every quantile read back is off by at most one per cent of
itself, whatever the distribution (DDSketch: Masson, Rim and Lee, VLDB 2019). Counts of two stretches of time, added,
are the counts of both.
"""

from collections.abc import Mapping

RELATIVE_ERROR = 0.01
# A value's bucket is the ceiling of its logarithm to this base; everything from 0 to 1 shares bucket 0.
GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)

# Bucket to how many values are in it.
Sketch = Mapping[int, int]


def value_of(bucket: int) -> float:
    """What stands for all values of a bucket: off from each by at most RELATIVE_ERROR of it."""
    return 2 * GAMMA**bucket / (GAMMA + 1)


def quantile(sketch: Sketch, q: float) -> float | None:
    """The lower `q`-quantile (0 to 1) of the values counted; None when there are none."""
    rank = q * (sum(sketch.values()) - 1)
    seen = 0
    for bucket in sorted(sketch):
        seen += sketch[bucket]
        if seen > rank:
            return value_of(bucket)
    return None
