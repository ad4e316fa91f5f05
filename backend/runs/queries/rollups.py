"""How the phases went over months, from what stays of runs that are gone."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from backend.analysis import sketch
from backend.fleet.models import Region
from backend.runs.models import Rollup
from backend.runs.queries.series import MAX_POINTS, METRICS, RegionSeries, SeriesPoint
from backend.sites.models import Monitor

_WIDTHS = (timedelta(hours=1), timedelta(days=1))
# More than anybody has; of more, the oldest points are left out.
_MAX_REGIONS = 100


def long_series(monitor: Monitor, since: datetime, until: datetime, *, quantile: float = 0.5) -> list[RegionSeries]:
    """As `phase_series`, by the hour or the day, values right within one per cent. Two statements."""
    width = next((width for width in _WIDTHS if (until - since) / width <= MAX_POINTS), _WIDTHS[-1])
    rollups = Rollup.objects.filter(
        monitor=monitor, width_s=int(width.total_seconds()), at__gte=since, at__lt=until
    ).order_by("-at")[: MAX_POINTS * _MAX_REGIONS]
    points: dict[int, list[SeriesPoint]] = defaultdict(list)
    for rollup in reversed(rollups):
        points[rollup.region_id].append(_point(rollup, quantile))
    seen_by = Q(organisation=None) | Q(organisation=monitor.site.organisation_id)
    regions = Region.objects.filter(seen_by, pk__in=points).order_by("code")
    return [RegionSeries(region=region, points=tuple(points[region.pk])) for region in regions]


def _point(rollup: Rollup, quantile: float) -> SeriesPoint:
    values = {metric: _quantile_us(rollup.sketches.get(metric), quantile) for metric in METRICS}
    return SeriesPoint(at=rollup.at, measured=rollup.measured, failed=rollup.failed, missed=rollup.missed, **values)


def _quantile_us(counts: Mapping[str, Any] | None, quantile: float) -> int | None:
    """JSON knows only texts as keys."""
    value = sketch.quantile({int(bucket): count for bucket, count in (counts or {}).items()}, quantile)
    return None if value is None else round(value)
