"""Quantiles of very many values from counts that can be added up.

A value falls into a bucket by its logarithm, so that every quantile read back is off by at most one per cent of
itself, whatever the distribution (DDSketch: Masson, Rim and Lee, VLDB 2019). Counts of two stretches of time, added,
are the counts of both.
"""

from collections.abc import Mapping, Sequence

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


def median(sketch: Sketch) -> tuple[float, float] | None:
    """The median of the values counted, and by how much it may be off, about; None when there are none.

    Values lie evenly within their bucket, by their logarithm, as far as anybody knows: where they scatter over many,
    the median is known better than to a bucket. Of an even number it lies between the two in the middle.
    """
    middle, seen = sum(sketch.values()) / 2, 0
    buckets = sorted(sketch)
    for place, bucket in enumerate(buckets):
        count = sketch[bucket]
        if count and seen + count >= middle:
            end = bucket - 1 + (middle - seen) / count
            begin = _begin_above(buckets[place + 1 :], end) if seen + count == middle else end
            value = 0.0 if bucket == 0 else GAMMA ** ((begin + end) / 2)
            return value, RELATIVE_ERROR * value * count / (2 * middle)
        seen += count
    return None


def _begin_above(buckets: Sequence[int], end: float) -> float:
    """Where values go on above a place, in buckets."""
    return buckets[0] - 1 if buckets else end
