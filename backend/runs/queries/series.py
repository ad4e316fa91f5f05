"""How the phases went over time, thinned out to what a chart can show."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from backend.analysis.user_timings import is_user_timing
from backend.fleet.models import Region
from backend.fleet.queries import seen_by
from backend.runs.queries.rows import CHARTED_SQL
from backend.runs.sql import COMPARABLE, fetch
from backend.sites.models import Monitor

MAX_POINTS = 400
# What is looked back over, by what addresses call it.
RANGES = {
    "3h": timedelta(hours=3),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
    "90d": timedelta(days=90),
    "1y": timedelta(days=365),
}
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
_SERIES = """
SELECT region_id, date_bin(%(width)s, scheduled_for, %(since)s) AS bucket,
    count(*) FILTER (WHERE outcome = 'measured'), count(*) FILTER (WHERE outcome = 'failed'),
    count(*) FILTER (WHERE outcome = 'missed'),
    count(*) FILTER (WHERE outcome = 'measured' AND NOT is_comparable){quantiles}
FROM (SELECT *, {comparable} AS is_comparable FROM runs_run) run
WHERE monitor_id = %(monitor)s AND scheduled_for >= %(since)s AND scheduled_for < %(until)s
    AND {charted}
    AND (%(region)s::text IS NULL OR region_id = (SELECT id FROM fleet_region WHERE code = %(region)s))
GROUP BY region_id, bucket ORDER BY region_id, bucket
"""
# Of runs that others' work disturbed only where there are no others.
_QUANTILE = """,
    CASE WHEN bool_or(outcome = 'measured' AND is_comparable)
        THEN percentile_disc(%(quantile)s) WITHIN GROUP (ORDER BY {metric})
            FILTER (WHERE outcome = 'measured' AND is_comparable)
        ELSE percentile_disc(%(quantile)s) WITHIN GROUP (ORDER BY {metric}) FILTER (WHERE outcome = 'measured')
    END"""


def column_of(metric: str) -> str:
    """What runs call a metric that is told in milliseconds at a door: `ttfb_us` for `ttfb_ms`. Of a user timing, which
    has no column of its own, it is what `timings` and sketches know it by."""
    return metric if is_user_timing(metric) else f"{metric.removesuffix('_ms')}_us"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of a monitor's runs from `since` until before `until`: in each of at most `max_points` stretches
    a quantile (0 to 1) of some of METRICS and of user timings, from the region with the code `region` or from all. Only
    that is read.
    """

    since: datetime
    until: datetime
    region: str | None = None
    metrics: Sequence[str] = METRICS
    max_points: int = MAX_POINTS
    quantile: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """What happened in the time from `at`: counts by outcome, and the quantile of each metric in the order in which
    they were wanted; None where it was not seen. `disturbed` of those measured are not comparable (see `sql`): they
    count where there are no others.
    """

    at: datetime
    measured: int
    failed: int
    missed: int
    disturbed: int
    values: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSeries:
    region: Region
    points: tuple[SeriesPoint, ...]


def phase_series(monitor: Monitor, wanted: Wanted) -> list[RegionSeries]:
    """A series for each region that ran in the period, by code. Two statements."""
    width = bucket_width(wanted, interval_s=monitor.interval_s)
    return by_region(monitor, points_of_runs(monitor, wanted, width))


def points_of_runs(monitor: Monitor, wanted: Wanted, width: timedelta) -> dict[int, list[SeriesPoint]]:
    """The points of each region by its key, oldest first; `since` begins the first stretch. One statement."""
    points: dict[int, list[SeriesPoint]] = defaultdict(list)
    period = {"since": wanted.since, "until": wanted.until, "width": width}
    asked = {"monitor": monitor.pk, "region": wanted.region, "quantile": wanted.quantile}
    timings = {f"timing_{place}": metric for place, metric in enumerate(wanted.metrics) if is_user_timing(metric)}
    names = {metric: f"(timings->>%({name})s)::bigint" for name, metric in timings.items()}
    quantiles = "".join(_QUANTILE.format(metric=names.get(metric, metric)) for metric in wanted.metrics)
    statement = _SERIES.format(comparable=COMPARABLE, quantiles=quantiles, charted=CHARTED_SQL)
    for region_id, at, measured, failed, missed, disturbed, *values in fetch(statement, period | asked | timings):
        points[region_id].append(
            SeriesPoint(
                at=at, measured=measured, failed=failed, missed=missed, disturbed=disturbed, values=tuple(values)
            )
        )
    return points


def by_region(monitor: Monitor, points: Mapping[int, Sequence[SeriesPoint]]) -> list[RegionSeries]:
    """The same with the regions that the monitor's organisation sees, by code. One statement."""
    regions = Region.objects.filter(seen_by(monitor.site.organisation_id), pk__in=points).order_by("code")
    return [RegionSeries(region=region, points=tuple(points[region.pk])) for region in regions]


def bucket_width(wanted: Wanted, *, interval_s: int) -> timedelta:
    """The shortest time, not shorter than the interval, that cuts the period into as many pieces as may be."""
    period_s = max((wanted.until - wanted.since).total_seconds(), 1)
    return timedelta(seconds=max(interval_s, ceil(period_s / wanted.max_points)))
