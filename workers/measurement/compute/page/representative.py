"""Which of several loads stands for the run, and what all of them say of each metric. Pure; the only definition.

The representative load is the one that is nearest to the middle in all metrics at once, so that its waterfall, its
picture and its figures are of one load and none of them is an outlier. Its figures are not the medians: those are of
all valid loads and stand beside it with their number and spread.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workers.measurement.contention import is_contended
from workers.measurement.page_options import PageState
from workers.measurement.page_view import ViewSample

Number = int | float
# What rules may watch of a page, by the names that doors use.
METRICS: dict[str, Callable[[ViewSample], Number | None]] = {
    "ttfb": lambda view: view.ttfb_us,
    "start_render": lambda view: view.vitals.start_render_us,
    "fcp": lambda view: view.vitals.fcp_us,
    "lcp": lambda view: view.vitals.lcp_us,
    "cls": lambda view: view.vitals.cls,
    "tbt": lambda view: view.vitals.tbt_us,
    "speed_index": lambda view: view.vitals.speed_index_us,
    "load": lambda view: view.vitals.load_us,
    "fully_loaded": lambda view: view.vitals.fully_loaded_us,
    "requests": lambda view: view.requests,
    "bytes": lambda view: view.received_bytes,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A metric over the `n` valid views that have it, in its own unit.

    `low` and `high` are the quartiles (interpolated linearly, type 7 of Hyndman and Fan), the same as the median of
    one view.
    """

    n: int
    median: float
    low: float
    high: float


def representative(samples: Sequence[ViewSample]) -> int | None:
    """The number of the load whose cold view has the least rank distance from the middle; None without one.

    The distance is the sum over all metrics of how far a view's rank is from the middle rank; equal values share
    their mean rank, and one that never came ranks behind all that did. Of equals the earlier load is taken.
    """
    valid = _valid(samples, PageState.COLD)
    distances = [0.0] * len(valid)
    for metric in METRICS.values():
        values = [metric(view) for view in valid]
        if any(value is not None for value in values):
            ranks = _ranks([float("inf") if value is None else float(value) for value in values])
            distances = [sum_ + abs(rank - (len(valid) + 1) / 2) for sum_, rank in zip(distances, ranks, strict=True)]
    best = min(range(len(valid)), key=lambda index: (distances[index], valid[index].load), default=None)
    return None if best is None else valid[best].load


def spreads(samples: Sequence[ViewSample], state: PageState = PageState.COLD) -> dict[str, Spread]:
    """What the valid views in this state say of each metric that any of them has."""
    valid = _valid(samples, state)
    found = {name: [value for view in valid if (value := metric(view)) is not None] for name, metric in METRICS.items()}
    return {name: _spread(values) for name, values in found.items() if values}


def _valid(samples: Sequence[ViewSample], state: PageState) -> list[ViewSample]:
    """Those that did not fail; what other work of the machine has disturbed counts only where there is nothing else."""
    whole = [view for view in samples if view.state is state and view.failure is None]
    return [view for view in whole if not is_contended(view.vitals)] or whole


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1; equal values have the mean of the ranks that they take up."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def _spread(values: Sequence[Number]) -> Spread:
    if len(values) == 1:
        return Spread(n=1, median=values[0], low=values[0], high=values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(n=len(values), median=median, low=low, high=high)
