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


def median(sketch: Sketch, unseen: int = 0) -> tuple[float, float] | None:
    """The median of the values counted, and by how much it may be off, about; None when there are none.

    Values lie evenly within their bucket, by their logarithm, as far as anybody knows: where they scatter over many,
    the median is known better than to a bucket. Of an even number it lies between the two in the middle. Where others
    are `unseen`, it may be off by as far as it would move if all of these, at most as many, lay above it or below.
    """
    middle, seen = sum(sketch.values()) / 2, 0
    buckets = sorted(sketch)
    for place, bucket in enumerate(buckets):
        count = sketch[bucket]
        if count and seen + count >= middle:
            end = bucket - 1 + (middle - seen) / count
            begin = _begin_above(buckets[place + 1 :], end) if seen + count == middle else end
            value = _value_at((begin + end) / 2) if bucket else 0.0
            return value, RELATIVE_ERROR * value * count / (2 * middle) + _reach(sketch, value, unseen)
        seen += count
    return None


def _reach(sketch: Sketch, median: float, unseen: int) -> float:
    """How far from their median values lie that are as many places off as half of the unseen ones."""
    middle = sum(sketch.values()) / 2
    ends = (_value_at(_place(sketch, middle + side * unseen / 2)) for side in (-1, 1)) if unseen else ()
    return max((abs(end - median) for end in ends), default=0.0)


def _place(sketch: Sketch, rank: float) -> float:
    """Where that many values lie below, in buckets; the last place of all where they are fewer."""
    seen, buckets = 0, sorted(bucket for bucket, count in sketch.items() if count)
    for bucket in buckets:
        if seen + sketch[bucket] >= rank:
            return bucket - 1 + max(0.0, rank - seen) / sketch[bucket]
        seen += sketch[bucket]
    return buckets[-1]


def _value_at(place: float) -> float:
    """Everything in bucket 0 counts as nothing."""
    return 0.0 if place <= 0 else float(GAMMA**place)


def _begin_above(buckets: Sequence[int], end: float) -> float:
    """Where values go on above a place, in buckets."""
    return buckets[0] - 1 if buckets else end
