"""What a run told, as gates hold it: a number by column, and by metric for the user timings that are followed. Pure.

A run that knows nothing of a user timing, since it was followed only later, says nothing of it, for good or bad. One in
which it was followed and did not come says that.
"""

from collections.abc import Mapping

from backend.alerts.metrics import metric_of
from backend.analysis.user_timings import is_user_timing

Sample = Mapping[str, float | None]


def with_timings(values: Sample, timings: Sample | None) -> Sample:
    """The columns of a run and its user timings, in microseconds as they are stored; None where none was followed."""
    return {**values, **(timings or {})}


def name_of(metric: str) -> str:
    """Under which name a sample has a metric."""
    return metric if is_user_timing(metric) else metric_of(metric).column


def says(run: Sample | None, metric: str) -> bool:
    """Whether a run says anything of a metric, be it that there was none; None is a run that failed."""
    return run is None or not is_user_timing(metric) or metric in run
