"""The middle of paired differences that a few wild pairs cannot move, and how sure it is.

The estimate is that of Hodges and Lehmann (1963): the median of all Walsh averages, (d[i] + d[j]) / 2 for i <= j. The
interval is the one that belongs to Wilcoxon's signed-rank test: it holds every shift that the test would not reject.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, combinations_with_replacement
from math import floor, sqrt
from statistics import NormalDist, median

# Up to here the test's distribution is counted. Beyond, the normal curve makes intervals wider and never narrower, from
# 95 % on: it leaves a tenth of the doubt unused at 99 %, and half of it at 99.99 %; of more pairs less.
EXACT_UP_TO = 50

Interval = tuple[float, float]


class PairedDifferences:
    """The differences of at least one pair."""

    def __init__(self, values: Sequence[float]) -> None:
        self._count = len(values)
        self._doubled = sorted(one + other for one, other in combinations_with_replacement(values, 2))

    @property
    def middle(self) -> float:
        return median(self._doubled) / 2

    def interval(self, confidence: float) -> Interval | None:
        """Holds the true middle with at least that confidence (as nearly as the normal curve allows beyond 50 pairs).

        None when there are too few pairs for any interval of that confidence.
        """
        rank = _rank(self._count, confidence)
        return None if rank < 1 else (self._doubled[rank - 1] / 2, self._doubled[-rank] / 2)


def stands_apart(values: Sequence[float], confidence: float) -> bool:
    """Whether the interval of that confidence lies on one side of zero, without all the averages that it is made of."""
    rank = _rank(len(values), confidence)
    least = min(_not_above_zero(values), _not_above_zero([-value for value in values]))
    return least < rank


def _not_above_zero(values: Sequence[float]) -> int:
    """How many Walsh averages are not."""
    ordered = sorted(values)
    return sum(bisect_right(ordered, -value, lo=at) - at for at, value in enumerate(ordered))


@cache
def _rank(count: int, confidence: float) -> int:
    """How many Walsh averages from either end the interval begins, counted from 1; 0 when there is none."""
    return _exact_rank(count, confidence) if count <= EXACT_UP_TO else _normal_rank(count, confidence)


def _exact_rank(count: int, confidence: float) -> int:
    """The largest k for which the sum of ranks is below k in no more than half of the remaining cases."""
    allowed = (1 - confidence) / 2 * 2**count
    return sum(1 for below in accumulate(_sums_of_ranks(count)) if below <= allowed)


def _sums_of_ranks(count: int) -> list[int]:
    """How many of the 2**count subsets of the ranks 1 to `count` have each sum, from 0 on."""
    ways = [1]
    for rank in range(1, count + 1):
        longer = ways + [0] * rank
        for total, number in enumerate(ways):
            longer[total + rank] += number
        ways = longer
    return ways


def _normal_rank(count: int, confidence: float) -> int:
    middle = count * (count + 1) / 4
    spread = sqrt(count * (count + 1) * (2 * count + 1) / 24)
    return max(0, floor(middle + 0.5 - NormalDist().inv_cdf((1 + confidence) / 2) * spread))
