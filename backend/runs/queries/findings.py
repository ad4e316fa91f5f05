"""What deep probes and page loads found: of single runs for lists, and what is open at a site now."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from backend.fleet.models import Region
from backend.fleet.queries import usable_regions
from backend.kept import retention_start
from backend.runs.models import Run
from backend.runs.queries.documents import documents_of, measurement_of, result_in
from backend.runs.queries.rows import AT_HOME_SQL, RUN_SQL, fetch_runs, parameters_of
from backend.runs.sql import COMPARABLE, fetch
from backend.sites.models import Monitor, MonitorKind, Site
from workers.measurement.messages import ProbeMeasurement

# A site has one probe monitor as a rule, and few have a dozen regions.
MAX_DEEP_RUNS = 50

_OF_RUNS = """
SELECT run_id, finding, severity, confidence, saving_us, host FROM runs_finding
WHERE run_id = ANY(%(runs)s::uuid[]) AND scheduled_for >= %(first)s AND scheduled_for <= %(last)s
    AND severity IS NOT NULL
ORDER BY run_id, position
"""
# A server whose certificate is refused was looked at all the same; one that cannot be reached was not.
JUDGED_SQL = f"runs_run.depth = 'deep' AND (outcome = 'measured' OR failure_stage = 'tls') AND {AT_HOME_SQL}"


def _newest(condition: str) -> str:
    return f"""
SELECT {RUN_SQL} FROM unnest(%(monitors)s::bigint[]) AS m (id), unnest(%(regions)s::bigint[]) AS r (id),
LATERAL (
    SELECT * FROM runs_run WHERE runs_run.monitor_id = m.id AND runs_run.region_id = r.id
        AND scheduled_for >= %(since)s AND {condition}
    ORDER BY scheduled_for DESC, attempt DESC LIMIT 1
) run
ORDER BY run.scheduled_for DESC LIMIT %(limit)s
"""


_NEWEST_DEEP = _newest(JUDGED_SQL)
# Of page monitors. One that failed says too little of the page, and of one that others' work disturbed nobody knows
# what held it up.
_NEWEST_LOADS = _newest(f"outcome = 'measured' AND {COMPARABLE} AND {AT_HOME_SQL}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCause:
    """A row of what a run found, in the words of the agent that judged it."""

    finding: str
    severity: str
    confidence: str
    saving_us: int | None
    host: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepRun:
    """The newest deep run of a monitor in a region, with what it saw."""

    run: Run
    monitor: Monitor
    region: Region
    measurement: ProbeMeasurement


def findings_of_runs(runs: Sequence[Run]) -> dict[UUID, list[FoundCause]]:
    """What each probe found, in the order in which to mend it; runs that found nothing are left out. One statement."""
    return _rows_of([run for run in runs if run.depth is not None])


def _rows_of(runs: Sequence[Run]) -> dict[UUID, list[FoundCause]]:
    if not runs:
        return {}
    found: dict[UUID, list[FoundCause]] = defaultdict(list)
    for run_id, *values in fetch(_OF_RUNS, parameters_of(runs)):
        found[run_id].append(FoundCause(**dict(zip(FoundCause.__slots__, values, strict=True))))
    return dict(found)


def newest_deep_runs(site: Site) -> list[DeepRun]:
    """Of each probe monitor in each region where it is measured, the newest first. Five statements."""
    monitors = {monitor.pk: monitor for monitor in site.monitors.filter(kind=MonitorKind.PROBE).order_by("pk")}
    regions = {region.pk: region for region in usable_regions(site.organisation)}
    parameters = {
        "monitors": list(monitors),
        "regions": list(regions),
        "since": retention_start(timezone.now()),
        "limit": MAX_DEEP_RUNS,
    }
    runs = fetch_runs(_NEWEST_DEEP, parameters)
    documents = documents_of(runs)
    found = []
    for run in runs:
        monitor, region = monitors[run.monitor_id], regions[run.region_id]
        measurement = measurement_of(result_in(documents.get(run.run_id), of=f"run {run.run_id}"))
        is_place = not monitor.regions or region.code in monitor.regions
        if is_place and isinstance(measurement, ProbeMeasurement):
            found.append(DeepRun(run=run, monitor=monitor, region=region, measurement=measurement))
    return found


def worst_findings(
    probes: Sequence[int], regions: Sequence[int], *, pages: Sequence[int] = ()
) -> dict[int, list[FoundCause]]:
    """What the newest deep runs of many probe monitors found, and the newest loads of page monitors, by monitor, from
    the rows alone. Two statements, three with pages."""
    wanted = [(_NEWEST_DEEP, probes), *([(_NEWEST_LOADS, pages)] if pages else [])]
    runs = [run for statement, monitors in wanted for run in _newest_of(statement, monitors, regions)]
    by_run = _rows_of(runs)
    found: dict[int, list[FoundCause]] = defaultdict(list)
    for run in runs:
        found[run.monitor_id] += by_run.get(run.run_id, [])
    return dict(found)


def _newest_of(statement: str, monitors: Sequence[int], regions: Sequence[int]) -> list[Run]:
    parameters = {
        "monitors": list(monitors),
        "regions": list(regions),
        "since": retention_start(timezone.now()),
        "limit": len(monitors) * len(regions),
    }
    return fetch_runs(statement, parameters)
