"""Every site at a glance: the last run of each monitor in each region."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.utils import timezone

from backend.accounts.models import Organisation
from backend.fleet.models import Region
from backend.fleet.queries import usable_regions
from backend.runs.queries.rows import AT_HOME_SQL
from backend.runs.sql import fetch
from backend.sites.models import Monitor, Site, SiteStatus
from backend.sites.queries import plain_monitors

# No clock is ahead by so much: weeks that are still to come are not looked into, which was half of the work.
_AHEAD = timedelta(days=1)
# The index of `run_once`, read backwards from each pair: 11 us a pair, however long the history is. An instant that
# comes as a number is read in a tenth of the time.
_LAST_RUNS = f"""
SELECT monitor.id, region.id, run.* FROM sites_monitor monitor
JOIN fleet_region region ON monitor.regions = '{{}}' OR region.code = ANY(monitor.regions),
LATERAL (
    SELECT run_id, (extract(epoch FROM received_at) * 1000000)::bigint, outcome, failure_blame, ttfb_us, lcp_us
    FROM runs_run WHERE runs_run.monitor_id = monitor.id AND runs_run.region_id = region.id
        AND scheduled_for < %(until)s AND {AT_HOME_SQL}
    ORDER BY scheduled_for DESC, attempt DESC LIMIT 1
) run
WHERE monitor.id = ANY(%(monitors)s) AND region.id = ANY(%(regions)s)
"""


class NewestRun(NamedTuple):
    """Of a run what a glance needs: there are as many as monitors times regions."""

    run_id: UUID
    received_us: int
    outcome: str
    failure_blame: str | None
    ttfb_us: int | None
    lcp_us: int | None


class LastRun(NamedTuple):
    """What came of the newest run in a region, those of other servers left out; None when there was none yet."""

    region: Region
    run: NewestRun | None


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
    last = _last_runs([monitor for row in sites for monitor in row.monitors.all()], regions)
    return [
        SiteOverview(site=row, monitors=tuple(_overview(monitor, regions, last) for monitor in row.monitors.all()))
        for row in sites
    ]


def _overview(
    monitor: Monitor, regions: Sequence[Region], last: Mapping[int, Mapping[int, NewestRun]]
) -> MonitorOverview:
    places = [region for region in regions if not monitor.regions or region.code in monitor.regions]
    runs = last.get(monitor.pk, {})
    return MonitorOverview(monitor=monitor, last=tuple(LastRun(region, runs.get(region.id)) for region in places))


def _last_runs(monitors: Sequence[Monitor], regions: Sequence[Region]) -> dict[int, dict[int, NewestRun]]:
    """By monitor and region."""
    parameters = {
        "monitors": [monitor.pk for monitor in monitors],
        "regions": [region.pk for region in regions],
        "until": timezone.now() + _AHEAD,
    }
    found: dict[int, dict[int, NewestRun]] = {monitor.pk: {} for monitor in monitors}
    for monitor, region, *run in fetch(_LAST_RUNS, parameters):
        found[monitor][region] = NewestRun(*run)
    return found
