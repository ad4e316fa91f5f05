"""How the phases went over months, from what stays of runs that are gone, and from runs since."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from backend.analysis import sketch
from backend.instants import EPOCH
from backend.runs.models import Rollup
from backend.runs.queries.series import MAX_POINTS, METRICS, RegionSeries, SeriesPoint, by_region, points_of_runs
from backend.sites.models import Monitor

_WIDTHS = (timedelta(hours=1), timedelta(days=1))
# More than anybody has; of more, the oldest points are left out.
_MAX_REGIONS = 100


def long_series(
    monitor: Monitor, since: datetime, until: datetime, *, max_points: int = MAX_POINTS, quantile: float = 0.5
) -> list[RegionSeries]:
    """As `phase_series`, by the hour or the day, values right within one per cent. Three statements.

    By the day, where hours are more than `max_points`; there is nothing longer. The stretch that is not over, and what
    else was not rolled up yet, is told by its runs.
    """
    width = next((width for width in _WIDTHS if (until - since) / width <= max_points), _WIDTHS[-1])
    rolled_up = Rollup.objects.filter(monitor=monitor, width_s=int(width.total_seconds()), at__gte=since, at__lt=until)
    rollups = list(rolled_up.order_by("-at")[: MAX_POINTS * _MAX_REGIONS])
    points: dict[int, list[SeriesPoint]] = defaultdict(list)
    for rollup in reversed(rollups):
        points[rollup.region_id].append(_point(rollup, quantile))
    newer = rollups[0].at + width if rollups else _next_begin(since, width)
    for region_id, found in points_of_runs(monitor, newer, until, width=width, quantile=quantile).items():
        points[region_id].extend(found)
    return by_region(monitor, points)


def _next_begin(at: datetime, width: timedelta) -> datetime:
    """When the first stretch at or after an instant begins."""
    return EPOCH - (EPOCH - at) // width * width


def _point(rollup: Rollup, quantile: float) -> SeriesPoint:
    values = {metric: _quantile_us(rollup.sketches.get(metric), quantile) for metric in METRICS}
    return SeriesPoint(at=rollup.at, measured=rollup.measured, failed=rollup.failed, missed=rollup.missed, **values)


def _quantile_us(counts: Mapping[str, Any] | None, quantile: float) -> int | None:
    """JSON knows only texts as keys."""
    value = sketch.quantile({int(bucket): count for bucket, count in (counts or {}).items()}, quantile)
    return None if value is None else round(value)
