"""The runs of a monitor, and one run with all that was measured."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from backend.accounts.models import Organisation
from backend.fleet.models import Region
from backend.fleet.queries import seen_by
from backend.runs.models import Run, RunDocument
from backend.runs.queries.documents import measurement_of, result_in
from backend.runs.queries.rows import AT_HOME_SQL, RUN_SQL, fetch_runs
from backend.runs.sql import fetch
from backend.sites.models import Monitor, Site
from workers.measurement.messages import Measurement, RunResult

MAX_RUNS = 500

# For each region its newest by the index of `run_once`, then the newest of those: never a sort of the whole history.
_RECENT = f"""
SELECT {RUN_SQL} FROM unnest(%(regions)s::bigint[]) AS place (region_id),
LATERAL (
    SELECT * FROM runs_run WHERE runs_run.monitor_id = %(monitor)s AND runs_run.region_id = place.region_id
        AND scheduled_for < %(before)s AND {AT_HOME_SQL}
    ORDER BY scheduled_for DESC, attempt DESC LIMIT %(limit)s
) run
ORDER BY scheduled_for DESC, region_id LIMIT %(limit)s
"""
_NEIGHBOURS = """
SELECT (SELECT run_id FROM runs_run WHERE monitor_id = %(monitor)s AND region_id = %(region)s
        AND (scheduled_for, attempt) > (%(at)s, %(attempt)s) ORDER BY scheduled_for, attempt LIMIT 1),
    (SELECT run_id FROM runs_run WHERE monitor_id = %(monitor)s AND region_id = %(region)s
        AND (scheduled_for, attempt) < (%(at)s, %(attempt)s) ORDER BY scheduled_for DESC, attempt DESC LIMIT 1)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """An ended run and where it was."""

    run: Run
    region: Region


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """One run with all that is known of it. `result` is what the agent sent; `newer` and `older` are its neighbours."""

    run: Run
    region: Region
    monitor: Monitor
    result: RunResult | None
    newer: UUID | None
    older: UUID | None

    @property
    def site(self) -> Site:
        return self.monitor.site

    @property
    def measurement(self) -> Measurement | None:
        """What was seen, also before a failure."""
        return measurement_of(self.result)


def recent_runs(
    monitor: Monitor, region: Region | None = None, *, limit: int = 50, before: datetime | None = None
) -> list[RunLine]:
    """The newest runs of a monitor, in one region or all; `before` is the slot of the last one seen. Two statements.

    Those of gates, and those with a host at another address, are left out: they may have measured another server.
    """
    regions = _regions(monitor, region)
    parameters = {
        "regions": list(regions),
        "monitor": monitor.pk,
        "before": before or datetime.max.replace(tzinfo=monitor.site.created_at.tzinfo),
        "limit": max(1, min(limit, MAX_RUNS)),
    }
    return [RunLine(run=run, region=regions[run.region_id]) for run in fetch_runs(_RECENT, parameters)]


def run_detail(organisation: Organisation, run_id: UUID, *, with_result: bool = True) -> RunDetail | None:
    """An ended run of the organisation. The id of a lost first attempt finds the second. Four statements.

    One more brings the result, which takes a page's waterfall apart: leave it out where only the columns are wanted.
    """
    runs = Run.objects.filter(Q(run_id=run_id) | Q(first_run_id=run_id))
    run = runs.order_by("-attempt").first()
    if run is None:
        return None
    owned = Monitor.objects.filter(pk=run.monitor_id, site__organisation=organisation)
    monitor = owned.select_related("site__organisation").first()
    region = Region.objects.filter(pk=run.region_id).first()
    if monitor is None or region is None:
        return None
    newer, older = _neighbours(run)
    result = result_of(run) if with_result else None
    return RunDetail(run=run, region=region, monitor=monitor, result=result, newer=newer, older=older)


def _regions(monitor: Monitor, region: Region | None) -> dict[int, Region]:
    if region is not None:
        return {region.pk: region}
    return {one.pk: one for one in Region.objects.filter(seen_by(monitor.site.organisation_id))}


def _neighbours(run: Run) -> tuple[UUID | None, UUID | None]:
    parameters = {
        "monitor": run.monitor_id,
        "region": run.region_id,
        "at": run.scheduled_for,
        "attempt": run.attempt,
    }
    ((newer, older),) = fetch(_NEIGHBOURS, parameters)
    return newer, older


def result_of(run: Run) -> RunResult | None:
    """What the agent sent; None when it is not kept any more, or cannot be read. One statement."""
    document = RunDocument.objects.filter(run_id=run.run_id, scheduled_for=run.scheduled_for).first()
    return None if document is None else result_in(bytes(document.document), of=f"run {run.run_id}")
