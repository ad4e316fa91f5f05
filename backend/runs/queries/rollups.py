"""How the phases went over months, from what stays of runs that are gone, and from runs since."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Max, Q
from django.db.models.fields.json import KeyTransform

from backend.analysis import sketch
from backend.instants import EPOCH
from backend.kept import retention_start
from backend.runs.models import PendingRun, Rollup, Run, Trigger
from backend.runs.queries.series import RegionSeries, SeriesPoint, Wanted, by_region, phase_series, points_of_runs
from backend.sites.models import Monitor

_SECOND = timedelta(seconds=1)
_WIDTHS = (timedelta(hours=1), timedelta(days=1))
# What may be read at once, of all metrics from a hundred regions: of more than that, the oldest points are left out.
_MAX_SKETCHES = 600_000


def series_of(monitor: Monitor, wanted: Wanted, *, now: datetime) -> list[RegionSeries]:
    """By the runs, or by what is rolled up where these do not reach so far back. At most four statements."""
    return long_series(monitor, wanted) if is_long(wanted, now=now) else phase_series(monitor, wanted)


def is_long(wanted: Wanted, *, now: datetime) -> bool:
    """Whether it begins before the runs that are kept, so that it is told by what is rolled up."""
    return wanted.since < retention_start(now)


def long_series(monitor: Monitor, wanted: Wanted) -> list[RegionSeries]:
    """As `phase_series`, by the hour or the day, values right within one per cent. Four statements.

    By the day, where hours are more points than may be; there is nothing longer. The stretch that is not over, and
    what else was not rolled up yet, is told by its runs.
    """
    width = next(
        (width for width in _WIDTHS if (wanted.until - wanted.since) / width <= wanted.max_points), _WIDTHS[-1]
    )
    points: dict[int, list[SeriesPoint]] = defaultdict(list)
    for region_id, point in reversed(_rolled_up(monitor, wanted, width)):
        points[region_id].append(point)
    newer = replace(wanted, since=max(_next_begin(wanted.since, width), rolled_up_until(width)))
    for region_id, found in points_of_runs(monitor, newer, width).items():
        points[region_id].extend(found)
    return by_region(monitor, points)


def _rolled_up(monitor: Monitor, wanted: Wanted, width: timedelta) -> list[tuple[int, SeriesPoint]]:
    """Points with the key of their region, the newest first."""
    rows = Rollup.objects.filter(monitor=monitor, width_s=width // _SECOND, at__gte=wanted.since, at__lt=wanted.until)
    if wanted.region is not None:
        rows = rows.filter(region__code=wanted.region)
    # No lookups by names: that of a user timing may be any text.
    sketches = [KeyTransform(metric, "sketches") for metric in wanted.metrics]
    columns = rows.order_by("-at").values_list(
        "region_id", "at", "measured", "failed", "missed", "disturbed", *sketches
    )
    return [(region_id, _point(row, wanted.quantile)) for region_id, *row in columns[: _MAX_SKETCHES // len(sketches)]]


def rolled_up_until(width: timedelta) -> datetime:
    """Everything before it is rolled up, of all monitors."""
    newest: datetime | None = Rollup.objects.filter(width_s=width // _SECOND).aggregate(newest=Max("at"))["newest"]
    return EPOCH if newest is None else newest + width


def is_rolled_up(until: datetime, width: timedelta) -> bool:
    """Whether all that was due by the schedule before an instant has ended, and is rolled up. Stretches without a run
    never are: nobody waits for them. Three statements."""
    due = Q(trigger=Trigger.SCHEDULE, scheduled_for__lt=until)
    if PendingRun.objects.filter(due).exists():
        return False
    return not Run.objects.filter(due, scheduled_for__gte=rolled_up_until(width)).exists()


def _next_begin(at: datetime, width: timedelta) -> datetime:
    """When the first stretch at or after an instant begins."""
    return EPOCH - (EPOCH - at) // width * width


def _point(row: Sequence[Any], quantile: float) -> SeriesPoint:
    at, measured, failed, missed, disturbed, *sketches = row
    values = tuple(_quantile_us(counts, quantile) for counts in sketches)
    return SeriesPoint(at=at, measured=measured, failed=failed, missed=missed, disturbed=disturbed, values=values)


def _quantile_us(counts: Mapping[str, Any] | None, quantile: float) -> int | None:
    """JSON knows only texts as keys."""
    value = sketch.quantile({int(bucket): count for bucket, count in (counts or {}).items()}, quantile)
    return None if value is None else round(value)
