"""What deep probes of a site found lately and do not find any more."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from backend.fleet.queries import usable_regions
from backend.runs.queries.findings import JUDGED_SQL
from backend.runs.sql import fetch
from backend.sites.models import MonitorKind, Site

# So long what is gone is told, and of so many deep runs of a monitor in a region.
GONE_FOR = timedelta(days=7)
_MOST_RUNS = 12

# What the newest one left open is not known to be gone.
_GONE = f"""
WITH deep AS (
    SELECT run.*, row_number() OVER (PARTITION BY m.id, r.id ORDER BY run.scheduled_for DESC) = 1 AS is_newest
    FROM unnest(%(monitors)s::bigint[]) AS m (id), unnest(%(regions)s::bigint[]) AS r (id), LATERAL (
        SELECT run_id, scheduled_for, monitor_id, region_id FROM runs_run
        WHERE runs_run.monitor_id = m.id AND runs_run.region_id = r.id
            AND scheduled_for >= %(since)s AND {JUDGED_SQL}
        ORDER BY scheduled_for DESC, attempt DESC LIMIT {_MOST_RUNS}
    ) run
)
SELECT was.finding, was.host, max(was.scheduled_for),
    (array_agg(was.severity ORDER BY was.scheduled_for DESC))[1], array_agg(DISTINCT was.region_id)
FROM deep JOIN runs_finding was USING (run_id, scheduled_for)
WHERE NOT deep.is_newest AND was.severity IN ('critical', 'high', 'medium') AND NOT EXISTS (
    SELECT FROM deep newest JOIN runs_finding now USING (run_id, scheduled_for)
    WHERE newest.is_newest AND newest.monitor_id = deep.monitor_id AND newest.region_id = deep.region_id
        AND now.finding = was.finding AND (now.severity IS NULL OR now.host IS NOT DISTINCT FROM was.host)
)
GROUP BY was.finding, was.host ORDER BY max(was.scheduled_for) DESC, was.finding, was.host
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneCause:
    """Of at least medium severity, in the words of the agent that judged it last; the names of the regions that saw
    it, and when one did last."""

    finding: str
    host: str | None
    severity: str
    last_seen: datetime
    regions: tuple[str, ...]


def gone_causes(site: Site) -> list[GoneCause]:
    """What was found within GONE_FOR, and by the newest deep run of the same region neither found nor left open; the
    latest first. Three statements."""
    regions = {region.pk: region.name for region in usable_regions(site.organisation)}
    parameters = {
        "monitors": list(site.monitors.filter(kind=MonitorKind.PROBE).values_list("pk", flat=True)),
        "regions": list(regions),
        "since": timezone.now() - GONE_FOR,
    }
    return [
        GoneCause(
            finding=finding,
            host=host,
            severity=severity,
            last_seen=last_seen,
            regions=tuple(sorted(regions[region_id] for region_id in seen)),
        )
        for finding, host, last_seen, severity, seen in fetch(_GONE, parameters)
    ]
