"""What each metric of a page gains and loses without hosts: from pairs of loads.

Differences are the load without the hosts minus the load with them: negative means sooner, or less. The estimate is
the middle of the paired differences, its interval that of the signed-rank test (`pair.signed_rank`).

Six times are judged at once. That any of them is called different although the hosts cost nothing has a chance of 5 %
in all, by Holm's step-down procedure (1979): the surest must be surer than a sixth of the doubt, what is left of it
decides on the others. So a verdict needs 8 pairs: all of fewer may have one sign by chance too often. The two counts
share 5 % of their own. No difference is where the interval that is told lies within the margin on both sides; all else
is inconclusive.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from workers.diagnosis.pair.signed_rank import Interval, PairedDifferences, stands_apart
from workers.diagnosis.pair.verdict import CONFIDENCE, MARGIN_SHARE
from workers.diagnosis.without.samples import COUNTS, TIMES, Metric, SamplePair

# The least of which all that have one sign are rarer than a sixth of 5 %: 2 / 2**8.
MIN_PAIRS = 8
# What is less than a frame of the screen at 60 Hz nobody sees; what is counted is there or not.
_FRAME_US = 16_667
_LEAST = dict.fromkeys(TIMES, _FRAME_US) | dict.fromkeys(COUNTS, 1)


class Verdict(StrEnum):
    """What becomes of a metric without the hosts; the last two are said of a page as a whole alone."""

    SOONER = "sooner"
    LATER = "later"
    LESS = "less"
    MORE = "more"
    NO_DIFFERENCE = "no_difference"
    INCONCLUSIVE = "inconclusive"
    BREAKS = "breaks"
    NOT_ASKED = "not_asked"


DIFFERENT = frozenset({Verdict.SOONER, Verdict.LATER, Verdict.LESS, Verdict.MORE})
# Amounts; all other metrics are instants.
_AMOUNTS = frozenset({Metric.TBT, *COUNTS})


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricVerdict:
    """One metric over the pairs that have it on both sides, in its own unit: microseconds, bytes, or requests.

    `with_hosts` and `without` are medians, `low` and `high` the ends of the interval of 95 %, None when there are too
    few pairs for one. `seeable` is the least difference that these pairs would have shown if it had been the middle,
    None when they could show none.
    """

    metric: Metric
    verdict: Verdict
    pairs: int
    with_hosts: float
    without: float
    estimate: float
    low: float | None
    high: float | None
    seeable: float | None
    margin: float


def judge(pairs: Sequence[SamplePair]) -> dict[Metric, MetricVerdict]:
    """The verdicts in the metrics' order; without those that no pair has on both sides."""
    found: dict[Metric, MetricVerdict] = {}
    for family in (TIMES, COUNTS):
        known = {metric: values for metric in family if (values := _values(pairs, metric))}
        apart = different({metric: _differences(values) for metric, values in known.items()})
        confidence = _confidence(len(known))
        found |= {metric: _verdict(metric, known[metric], confidence, is_apart=metric in apart) for metric in known}
    return found


def different(differences: Mapping[Metric, Sequence[int]]) -> frozenset[Metric]:
    """Those whose middle is not zero; that any of them is wrongly named has a chance of 5 % at most."""
    found: set[Metric] = set()
    while left := [metric for metric in differences if metric not in found]:
        more = {metric for metric in left if stands_apart(differences[metric], _confidence(len(left)))}
        if not more:
            break
        found |= more
    return frozenset(found)


def _confidence(judged: int) -> float:
    """What the first of several that are judged at once must hold."""
    return 1 - (1 - CONFIDENCE) / max(1, judged)


def _values(pairs: Sequence[SamplePair], metric: Metric) -> list[tuple[int, int]]:
    both = ((pair.with_hosts.values[metric], pair.without.values[metric]) for pair in pairs)
    return [(one, other) for one, other in both if one is not None and other is not None]


def _differences(values: Sequence[tuple[int, int]]) -> list[int]:
    return [without - with_hosts for with_hosts, without in values]


def _verdict(metric: Metric, values: Sequence[tuple[int, int]], confidence: float, *, is_apart: bool) -> MetricVerdict:
    differences = PairedDifferences(_differences(values))
    with_hosts, without = (median(side) for side in zip(*values, strict=True))
    told = differences.interval(CONFIDENCE)
    low, high = told or (None, None)
    sure = differences.interval(confidence)
    margin = max(_LEAST[metric], MARGIN_SHARE * min(with_hosts, without))
    return MetricVerdict(
        metric=metric,
        verdict=_decide(metric, differences.middle, told if sure else None, margin, is_apart=is_apart),
        pairs=len(values),
        with_hosts=with_hosts,
        without=without,
        estimate=differences.middle,
        low=low,
        high=high,
        seeable=None if sure is None else max(_LEAST[metric], (sure[1] - sure[0]) / 2),
        margin=margin,
    )


def _decide(metric: Metric, estimate: float, told: Interval | None, margin: float, *, is_apart: bool) -> Verdict:
    if is_apart and abs(estimate) >= _LEAST[metric]:
        less, more = (Verdict.LESS, Verdict.MORE) if metric in _AMOUNTS else (Verdict.SOONER, Verdict.LATER)
        return less if estimate < 0 else more
    is_within = told is not None and -margin <= told[0] and told[1] <= margin
    return Verdict.NO_DIFFERENCE if is_within else Verdict.INCONCLUSIVE
