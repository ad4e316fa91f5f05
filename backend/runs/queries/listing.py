"""The newest runs of an organisation, or of what one filter leaves of it, in pages.

Runs of a monitor and region lie together in the index of `run_once`, and those of a time lie together on the disk; an
index of all of them would not be worth its price at every insert. So first a stretch of time is read that should hold
enough by the monitors' intervals, then longer ones. Where that finds too little, the newest run of each pair of monitor
and region is looked for in the index; then only pairs are read of which enough is that new. What is not measured, or
not by the schedule, is rare and has an index of its own (`run_unusual`): filters that leave nothing else read that,
monitor by monitor.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from backend.accounts.models import Organisation
from backend.fleet.models import Region
from backend.fleet.queries import seen_by
from backend.kept import retention_start
from backend.runs.models import Outcome, PendingRun, Run, Trigger
from backend.runs.queries.rows import RUN_SQL, fetch_runs
from backend.sites.models import Monitor

# So few pairs are read in their index at once: what is found there is hardly more than what is wanted.
_FEW_PAIRS = 3
# How much further back to look each time a stretch did not hold enough.
_FURTHER = 8
_STRETCHES = 3
# So many times what is wanted should be in the first stretch, by the monitors' intervals.
_SPARE = 2
_AHEAD = timedelta(seconds=5)

_WHERE = """
    run.scheduled_for >= %(since)s AND run.scheduled_for <= %(until)s
    AND (run.scheduled_for, run.run_id) < (%(before)s, %(before_id)s)
    AND (%(outcome)s::text IS NULL OR run.outcome = %(outcome)s)
    AND (%(trigger)s::text IS NULL OR run.trigger = %(trigger)s)
"""
_ORDER = "ORDER BY run.scheduled_for DESC, run.run_id DESC LIMIT %(limit)s"
# Of those among whom the newest must be the newest run of each: whose is older than as many others' as are wanted has
# none. Where there are fewer, all are.
_NEWEST = f"""
WITH newest AS (
    SELECT place.*, run.scheduled_for FROM {{places}} AS place,
    LATERAL (
        SELECT scheduled_for FROM runs_run run WHERE {{same}} AND {_WHERE} ORDER BY scheduled_for DESC LIMIT 1
    ) run
    ORDER BY run.scheduled_for DESC FETCH FIRST %(limit)s ROWS WITH TIES
), bound AS (
    SELECT CASE WHEN count(*) >= %(limit)s THEN min(scheduled_for) ELSE %(since)s END AS at FROM newest
)
SELECT {RUN_SQL} FROM newest place, LATERAL (
    SELECT * FROM runs_run run WHERE {{same}} AND run.scheduled_for >= (SELECT at FROM bound) AND {_WHERE} {_ORDER}
) run
{_ORDER}
"""
_BY_PAIR = _NEWEST.format(
    places="(SELECT * FROM unnest(%(monitors)s::bigint[]) m (monitor), unnest(%(regions)s::bigint[]) r (region))",
    same="run.monitor_id = place.monitor AND run.region_id = place.region",
)
_BY_MONITOR = _NEWEST.format(
    places="unnest(%(monitors)s::bigint[])",
    same="run.monitor_id = place.place AND run.region_id = ANY(%(regions)s::bigint[])",
)
_BY_TIME = f"""
SELECT {RUN_SQL} FROM runs_run run
WHERE run.monitor_id = ANY(%(monitors)s::bigint[]) AND run.region_id = ANY(%(regions)s::bigint[]) AND {_WHERE}
{_ORDER}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs. `since` and `until` are by the slot, both included; what is None leaves all."""

    site_id: UUID | None = None
    monitor_id: UUID | None = None
    kind: str | None = None
    region: str | None = None
    outcome: str | None = None
    trigger: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """An ended run with what its numbers stand for."""

    run: Run
    monitor: Monitor
    region: Region


def listed_runs(
    organisation: Organisation,
    wanted: RunFilter,
    *,
    before: tuple[datetime, UUID] | None,
    limit: int,
    now: datetime,
) -> list[ListedRun]:
    """Ended runs, the newest slot first; `before` is slot and id of the last one seen. Three to six statements."""
    monitors = {monitor.pk: monitor for monitor in _monitors(organisation, wanted)}
    regions = {region.pk: region for region in _regions(organisation, wanted)}
    # A slot may lie ahead of our clock by as much as another process's clock does.
    at, run_id = before or (now + _AHEAD, UUID(int=2**128 - 1))
    parameters = {
        "monitors": list(monitors),
        "regions": list(regions),
        "since": max(wanted.since or retention_start(now), retention_start(now)),
        "until": min(wanted.until or at, at),
        "before": at,
        "before_id": run_id,
        "outcome": wanted.outcome,
        "trigger": wanted.trigger,
        "limit": limit,
    }
    is_unusual = wanted.outcome not in (None, Outcome.MEASURED) or wanted.trigger not in (None, Trigger.SCHEDULE)
    pairs = len(monitors) * len(regions)
    if is_unusual:
        runs = fetch_runs(_BY_MONITOR, parameters)
    elif pairs <= _FEW_PAIRS:
        runs = fetch_runs(_BY_PAIR, parameters)
    else:
        runs = _by_stretches(list(monitors.values()), parameters)
    return [ListedRun(run=run, monitor=monitors[run.monitor_id], region=regions[run.region_id]) for run in runs]


def pending_run(organisation: Organisation, run_id: UUID) -> PendingRun | None:
    """A run that has not ended, also by the id of its first attempt. One statement."""
    found = PendingRun.objects.filter(
        Q(run_id=run_id) | Q(first_run_id=run_id), monitor__site__organisation=organisation
    )
    return found.select_related("monitor__site", "region").first()


def _by_stretches(monitors: Sequence[Monitor], parameters: dict[str, Any]) -> list[Run]:
    """Ever longer stretches of time; when even the last one does not hold enough, pair by pair after all."""
    for since in _stretches(monitors, parameters):
        runs = fetch_runs(_BY_TIME, parameters | {"since": since})
        if len(runs) == parameters["limit"] or since == parameters["since"]:
            return runs
    return fetch_runs(_BY_PAIR, parameters)


def _stretches(monitors: Sequence[Monitor], parameters: dict[str, Any]) -> Iterator[datetime]:
    regions = len(parameters["regions"])
    per_second = sum((len(monitor.regions) or regions) / monitor.interval_s for monitor in monitors)
    width = timedelta(seconds=_SPARE * parameters["limit"] / per_second)
    for _ in range(_STRETCHES):
        yield max(parameters["since"], parameters["until"] - width)
        width *= _FURTHER


def _monitors(organisation: Organisation, wanted: RunFilter) -> list[Monitor]:
    found = Monitor.objects.filter(site__organisation=organisation).select_related("site")
    if wanted.site_id is not None:
        found = found.filter(site__public_id=wanted.site_id)
    if wanted.monitor_id is not None:
        found = found.filter(public_id=wanted.monitor_id)
    if wanted.kind is not None:
        found = found.filter(kind=wanted.kind)
    return list(found)


def _regions(organisation: Organisation, wanted: RunFilter) -> list[Region]:
    """Also those that were removed: what they measured stays."""
    found = Region.objects.filter(seen_by(organisation.pk))
    return list(found if wanted.region is None else found.filter(code=wanted.region))
