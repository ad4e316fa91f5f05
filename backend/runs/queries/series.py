"""How the phases went over time, thinned out to what a chart can show.

Runs that a gate or a confirmation asked for are left out: they come in bursts, and when something is wrong.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from django.db.models import Q

from backend.fleet.models import Region
from backend.runs.sql import fetch
from backend.sites.models import Monitor

MAX_POINTS = 400
METRICS = (
    "dns_us",
    "connect_us",
    "tls_us",
    "send_us",
    "wait_us",
    "download_us",
    "ttfb_us",
    "total_us",
    "fcp_us",
    "lcp_us",
    "load_us",
    "fully_loaded_us",
    "start_render_us",
    "speed_index_us",
    "tbt_us",
)
_MEDIANS = ", ".join(f"percentile_disc(%(quantile)s) WITHIN GROUP (ORDER BY {metric})" for metric in METRICS)
_SERIES = f"""
SELECT region_id, date_bin(%(width)s, scheduled_for, %(since)s) AS bucket,
    count(*) FILTER (WHERE outcome = 'measured'), count(*) FILTER (WHERE outcome = 'failed'),
    count(*) FILTER (WHERE outcome = 'missed'), {_MEDIANS}
FROM (
    SELECT region_id, scheduled_for, outcome,
        {", ".join(f"CASE WHEN outcome = 'measured' THEN {metric} END AS {metric}" for metric in METRICS)}
    FROM runs_run WHERE monitor_id = %(monitor)s AND scheduled_for >= %(since)s AND scheduled_for < %(until)s
        AND trigger IN ('schedule', 'manual')
        AND (%(region)s::text IS NULL OR region_id = (SELECT id FROM fleet_region WHERE code = %(region)s))
) run
GROUP BY region_id, bucket ORDER BY region_id, bucket
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """What happened in the time from `at`: counts by outcome, and a quantile (the median, unless told) of the rest."""

    at: datetime
    measured: int
    failed: int
    missed: int
    dns_us: int | None
    connect_us: int | None
    tls_us: int | None
    send_us: int | None
    wait_us: int | None
    download_us: int | None
    ttfb_us: int | None
    total_us: int | None
    fcp_us: int | None
    lcp_us: int | None
    load_us: int | None
    fully_loaded_us: int | None
    start_render_us: int | None
    speed_index_us: int | None
    tbt_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSeries:
    region: Region
    points: tuple[SeriesPoint, ...]


def phase_series(
    monitor: Monitor,
    since: datetime,
    until: datetime,
    *,
    region: str | None = None,
    max_points: int = MAX_POINTS,
    quantile: float = 0.5,
) -> list[RegionSeries]:
    """A series for each region that ran in the period, by code, of at most `max_points` points; only of the region
    with the code `region`, when it is given, and then no other's runs are read. Two statements.
    """
    width = bucket_width(since, until, interval_s=monitor.interval_s, max_points=max_points)
    return by_region(monitor, points_of_runs(monitor, since, until, region=region, width=width, quantile=quantile))


def points_of_runs(
    monitor: Monitor,
    since: datetime,
    until: datetime,
    *,
    region: str | None = None,
    width: timedelta,
    quantile: float,
) -> dict[int, list[SeriesPoint]]:
    """The points of each region by its key, oldest first; `since` begins the first stretch. One statement."""
    points: dict[int, list[SeriesPoint]] = defaultdict(list)
    period = {"since": since, "until": until, "width": width}
    wanted = {"monitor": monitor.pk, "region": region, "quantile": quantile}
    for region_id, at, measured, failed, missed, *medians in fetch(_SERIES, period | wanted):
        values = dict(zip(METRICS, medians, strict=True))
        points[region_id].append(SeriesPoint(at=at, measured=measured, failed=failed, missed=missed, **values))
    return points


def by_region(monitor: Monitor, points: Mapping[int, Sequence[SeriesPoint]]) -> list[RegionSeries]:
    """The same with the regions that the monitor's organisation sees, by code. One statement."""
    seen_by = Q(organisation=None) | Q(organisation=monitor.site.organisation_id)
    regions = Region.objects.filter(seen_by, pk__in=points).order_by("code")
    return [RegionSeries(region=region, points=tuple(points[region.pk])) for region in regions]


def bucket_width(since: datetime, until: datetime, *, interval_s: int, max_points: int) -> timedelta:
    """The shortest time, not shorter than the interval, that cuts the period into at most `max_points` pieces."""
    period_s = max((until - since).total_seconds(), 1)
    return timedelta(seconds=max(interval_s, ceil(period_s / max_points)))
