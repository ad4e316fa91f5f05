"""Series: how a monitor's phases went over time, from each region."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from django.utils import timezone
from ninja import Query, Router

from backend.accounts.permissions import Scope
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.monitors import owned_monitor
from backend.api.v1.problems import invalid
from backend.api.v1.shapes import Instant, Ms, Out, RegionCode
from backend.runs.queries import RegionSeries as Found
from backend.runs.queries import SeriesPoint, Wanted, is_long, series_of
from backend.runs.queries.series import MAX_POINTS, column_of
from workers.measurement.document import milliseconds

router = Router(tags=["Series"])

Percentile = Annotated[
    Literal["50", "75", "90", "95", "99"], Query("50", description="Which percentile of what was measured.")
]
_MAX_POINTS = "Of each region. Rollups are by the hour or, where that is more than you ask for, by the day."
DEFAULT_SPAN = timedelta(days=1)
LONGEST_SPAN = timedelta(days=800)


class Point(Out):
    """What was measured from `at` to the next point. The counts are of runs; a percentile of nothing is null. Of those
    measured, `disturbed` tell little of the site, since other work of the agent's machine held them up or their profile
    was not kept: they enter percentiles where there are no others. `timings` are the user timings that the monitor
    follows; before one was followed it is null.
    """

    at: datetime
    measured: int
    failed: int
    missed: int
    disturbed: int
    dns_ms: Ms | None
    connect_ms: Ms | None
    tls_ms: Ms | None
    send_ms: Ms | None
    wait_ms: Ms | None
    download_ms: Ms | None
    ttfb_ms: Ms | None
    total_ms: Ms | None
    fcp_ms: Ms | None
    lcp_ms: Ms | None
    load_ms: Ms | None
    fully_loaded_ms: Ms | None
    start_render_ms: Ms | None
    speed_index: Ms | None
    tbt_ms: Ms | None
    timings: dict[str, Ms | None]


class RegionSeries(Out):
    region: str
    points: list[Point]


class Series(Out):
    """`source` is `runs`, or `rollups` for what lies before the runs that are kept: right within one per cent there."""

    monitor_id: UUID
    since: datetime
    until: datetime
    percentile: int
    source: Literal["runs", "rollups"]
    regions: list[RegionSeries]


@router.get("/monitors/{uuid:monitor_id}/series", auth=needs(Scope.READ, Scope.GATES), response=Series)
def get_series(
    request: ApiRequest,
    monitor_id: UUID,
    since: Annotated[Instant | None, Query(None, description="A day before the end, unless told.")] = None,
    until: Annotated[Instant | None, Query(None, description="Now, unless told.")] = None,
    region: RegionCode | None = None,
    percentile: Percentile = "50",
    max_points: Annotated[int, Query(MAX_POINTS, ge=1, le=MAX_POINTS, description=_MAX_POINTS)] = MAX_POINTS,
) -> Series:
    """Percentiles of each phase, by stretches of time and by region, of runs of the schedule and tests by hand."""
    monitor = owned_monitor(request, monitor_id)
    now = timezone.now()
    # A whole minute, so that who asks again within it is told the same.
    end = until or now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    begin = since or end - DEFAULT_SPAN
    check_period(begin, end)
    wanted = Wanted(
        since=begin,
        until=end,
        region=region,
        metrics=(*_METRICS, *monitor.user_timings),
        max_points=max_points,
        quantile=int(percentile) / 100,
    )
    return Series(
        monitor_id=monitor.public_id,
        since=begin,
        until=end,
        percentile=int(percentile),
        source="rollups" if is_long(wanted, now=now) else "runs",
        regions=[_region(one, monitor.user_timings) for one in series_of(monitor, wanted, now=now)],
    )


def check_period(begin: datetime, end: datetime) -> None:
    """Raises ProblemError for a period that is none, or longer than anybody asks for."""
    if begin >= end:
        raise invalid("?since", "The period must begin before it ends.")
    if end - begin > LONGEST_SPAN:
        raise invalid("?since", f"A period may be at most {LONGEST_SPAN.days} days long.")


def _region(found: Found, followed: Sequence[str]) -> RegionSeries:
    return RegionSeries(region=found.region.code, points=[_point(point, followed) for point in found.points])


def _point(point: SeriesPoint, followed: Sequence[str]) -> Point:
    counts = {name: getattr(point, name) for name in _COUNTS}
    told = {name: milliseconds(value) for name, value in zip((*_NAMES, *followed), point.values, strict=True)}
    timings = {timing: told.pop(timing) for timing in followed}
    return Point(at=point.at, timings=timings, **counts, **told)


_COUNTS = ("measured", "failed", "missed", "disturbed")
_NAMES = tuple(name for name in Point.model_fields if name not in ("at", "timings", *_COUNTS))
_METRICS = tuple(map(column_of, _NAMES))
