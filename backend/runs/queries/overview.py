"""Every site at a glance: the last run of each monitor in each region."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from backend.accounts.models import Organisation
from backend.fleet.models import Region
from backend.fleet.queries import usable_regions
from backend.runs.models import Run
from backend.runs.queries.rows import AT_HOME_SQL, RUN_SQL, fetch_runs
from backend.sites.models import Monitor, Site, SiteStatus
from backend.sites.queries import plain_monitors

# The index of `run_once`, read backwards from each pair: 1.6 ms for 50 pairs, however long the history is.
_LAST_RUNS = f"""
SELECT {RUN_SQL} FROM unnest(%s::bigint[], %s::bigint[]) AS pair (monitor_id, region_id),
LATERAL (
    SELECT * FROM runs_run WHERE runs_run.monitor_id = pair.monitor_id AND runs_run.region_id = pair.region_id
        AND {AT_HOME_SQL}
    ORDER BY scheduled_for DESC, attempt DESC LIMIT 1
) run
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """What came of the newest run in a region, those of other servers left out; None when there was none yet."""

    region: Region
    run: Run | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorOverview:
    monitor: Monitor
    last: tuple[LastRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOverview:
    site: Site
    monitors: tuple[MonitorOverview, ...]


def site_overview(organisation: Organisation, site: Site | None = None) -> list[SiteOverview]:
    """One row a site, by name; only `site`, draft or not, when it is given. Four statements."""
    chosen = organisation.sites.filter(pk=site.pk) if site else organisation.sites.filter(status=SiteStatus.ACTIVE)
    sites = list(chosen.prefetch_related(plain_monitors()).order_by("name", "pk"))
    regions = usable_regions(organisation)
    pairs = [(monitor, _places(monitor, regions)) for row in sites for monitor in row.monitors.all()]
    last = _last_runs(pairs)
    rows: dict[int, list[MonitorOverview]] = defaultdict(list)
    for monitor, places in pairs:
        runs = tuple(LastRun(region=region, run=last.get((monitor.pk, region.pk))) for region in places)
        rows[monitor.site_id].append(MonitorOverview(monitor=monitor, last=runs))
    return [SiteOverview(site=row, monitors=tuple(rows[row.pk])) for row in sites]


def _places(monitor: Monitor, regions: Sequence[Region]) -> list[Region]:
    return [region for region in regions if not monitor.regions or region.code in monitor.regions]


def _last_runs(pairs: Sequence[tuple[Monitor, Sequence[Region]]]) -> dict[tuple[int, int], Run]:
    keys = [(monitor.pk, region.pk) for monitor, regions in pairs for region in regions]
    runs = fetch_runs(_LAST_RUNS, [[monitor for monitor, _ in keys], [region for _, region in keys]])
    return {(run.monitor_id, run.region_id): run for run in runs}
