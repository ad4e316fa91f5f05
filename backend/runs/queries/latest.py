"""What every monitor of an organisation says now: its newest run in each region, as far as that is still news."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from backend.accounts.models import Organisation
from backend.fleet.models import Region
from backend.fleet.queries import usable_regions
from backend.runs.models import Run
from backend.runs.queries.rows import AT_HOME_SQL, RUN_SQL, fetch_runs, parameters_of
from backend.runs.sql import fetch
from backend.sites.models import Monitor, MonitorKind, Site, SiteStatus

# A run counts until the next but one is due, and for as long again as one may take to arrive.
_INTERVALS = 2
_ARRIVAL = timedelta(minutes=5)
_WHERE_MEASURED = "fleet_region region ON monitor.regions = '{}' OR region.code = ANY(monitor.regions)"
_IS_NEWS = f"""runs_run.monitor_id = monitor.id AND runs_run.region_id = region.id
        AND scheduled_for > %(now)s - make_interval(secs => {_INTERVALS} * monitor.interval_s) - %(arrival)s
        AND scheduled_for BETWEEN %(since)s AND %(now)s
        AND (outcome = 'measured' OR outcome = 'failed' AND failure_blame <> 'monitor')"""
_CHOSEN = "monitor.id = ANY(%(monitors)s) AND region.id = ANY(%(regions)s)"
_LATEST = f"""
SELECT {RUN_SQL} FROM sites_monitor monitor JOIN {_WHERE_MEASURED},
LATERAL (
    SELECT * FROM runs_run
    WHERE {_IS_NEWS} AND {AT_HOME_SQL}
    ORDER BY scheduled_for DESC, attempt DESC LIMIT 1
) run
WHERE {_CHOSEN}
"""
# Of each outcome one run, as soon as there is any.
_HEARD = f"""
SELECT monitor.site_id, bool_or(told.outcome = 'measured') FROM sites_monitor monitor JOIN {_WHERE_MEASURED},
(VALUES ('measured'), ('failed')) AS told (outcome)
WHERE {_CHOSEN} AND EXISTS (
    SELECT FROM runs_run
    WHERE {_IS_NEWS} AND runs_run.outcome = told.outcome AND trigger = 'schedule'
)
GROUP BY 1
"""

# Third parties' certificates are not the site's to renew.
_CERTIFICATES = """
SELECT run_id, min(certificate_not_after) FROM runs_connection
JOIN unnest(%(runs)s::uuid[], %(hosts)s::text[]) AS own (run, name) ON run_id = own.run AND host = own.name
WHERE scheduled_for >= %(first)s AND scheduled_for <= %(last)s AND certificate_not_after IS NOT NULL GROUP BY run_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestRun:
    """What came of the newest run of a monitor in a region, and when the certificate of its own host ends; None where
    it saw none."""

    monitor: Monitor
    region: Region
    run: Run
    certificate_ends: datetime | None


def latest_runs(organisation: Organisation, *, now: datetime) -> list[LatestRun]:
    """Of saved sites, in the order of their names. What was missed, what failed by a fault of ours, and what is older
    than two intervals tells nothing of now, and is left out. Four statements.
    """
    found = Monitor.objects.filter(site__organisation=organisation, site__status=SiteStatus.ACTIVE)
    monitors = {one.pk: one for one in found.select_related("site").order_by("site__name", "pk")}
    regions = {one.pk: one for one in usable_regions(organisation)}
    runs = {(run.monitor_id, run.region_id): run for run in _runs(monitors, regions, now)}
    ends = _certificates(list(runs.values()), monitors)
    return [
        LatestRun(
            monitor=monitor,
            region=region,
            run=runs[pk, place],
            certificate_ends=ends.get(runs[pk, place].run_id),
        )
        for pk, monitor in monitors.items()
        for place, region in regions.items()
        if (pk, place) in runs
    ]


def sites_heard_of(organisation: Organisation, sites: Iterable[Site], *, now: datetime) -> dict[int, bool]:
    """By the keys of those sites of which runs by the clock tell anything that is still news: whether one reached it.
    Monitors that are paused tell nothing any more, and pairs compare. Three statements.
    """
    found = Monitor.objects.filter(site__in=[site.pk for site in sites], site__organisation=organisation, paused=False)
    monitors = {one.pk: one for one in found.exclude(kind=MonitorKind.PAIR)}
    regions = [one.pk for one in usable_regions(organisation)]
    rows = fetch(_HEARD, _parameters(monitors, regions, now))
    return dict(rows)


def _runs(monitors: Mapping[int, Monitor], regions: Collection[int], now: datetime) -> list[Run]:
    return fetch_runs(_LATEST, _parameters(monitors, regions, now))


def _parameters(monitors: Mapping[int, Monitor], regions: Collection[int], now: datetime) -> dict[str, Any]:
    longest_s = max((one.interval_s for one in monitors.values()), default=0)
    # For all of them, so that no other partitions are looked into.
    since = now - _INTERVALS * timedelta(seconds=longest_s) - _ARRIVAL
    return {"now": now, "since": since, "arrival": _ARRIVAL, "monitors": list(monitors), "regions": list(regions)}


def _certificates(runs: Sequence[Run], monitors: Mapping[int, Monitor]) -> dict[UUID, datetime]:
    """By run."""
    if not runs:
        return {}
    hosts = [urlsplit(monitors[run.monitor_id].url).hostname or "" for run in runs]
    return dict(fetch(_CERTIFICATES, parameters_of(runs) | {"hosts": hosts}))
