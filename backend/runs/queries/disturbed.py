"""How many of the last page loads of a region other work of its agents' machines disturbed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backend.accounts.models import Organisation
from backend.fleet.models import Region
from backend.runs.models import Outcome
from backend.runs.queries.rows import AT_HOME_SQL
from backend.runs.sql import fetch
from backend.sites.models import MonitorKind, SiteStatus

# Of each region: those monitors that are loaded most often, and of each of them its newest loads.
_MONITORS, _LOADS = 20, 6
# A machine may be another one since.
_LATELY = timedelta(days=1)

_DISTURBED = f"""
SELECT place.region_id, count(*), count(*) FILTER (WHERE run.contended)
FROM unnest(%(regions)s::bigint[], %(codes)s::text[]) AS place (region_id, code),
LATERAL (
    SELECT m.id FROM sites_monitor m JOIN sites_site s ON s.id = m.site_id
    WHERE s.organisation_id = %(organisation)s AND s.status = '{SiteStatus.ACTIVE}' AND m.kind = '{MonitorKind.PAGE}'
        AND (m.regions = '{{}}' OR place.code = ANY(m.regions))
    ORDER BY m.interval_s, m.id LIMIT {_MONITORS}
) monitor,
LATERAL (
    SELECT contended FROM runs_run WHERE runs_run.monitor_id = monitor.id AND runs_run.region_id = place.region_id
        AND scheduled_for > %(since)s AND scheduled_for <= %(now)s
        AND outcome = '{Outcome.MEASURED}' AND {AT_HOME_SQL}
    ORDER BY scheduled_for DESC LIMIT {_LOADS}
) run
GROUP BY place.region_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentLoads:
    """Measured page loads of a region, and how many of them were contended."""

    loads: int
    disturbed: int


def recent_loads(organisation: Organisation, regions: Sequence[Region], *, now: datetime) -> dict[int, RecentLoads]:
    """By region, without those that loaded nothing for a day. One statement."""
    parameters = {
        "regions": [region.pk for region in regions],
        "codes": [region.code for region in regions],
        "organisation": organisation.pk,
        "since": now - _LATELY,
        "now": now,
    }
    return {
        region: RecentLoads(loads=loads, disturbed=disturbed)
        for region, loads, disturbed in fetch(_DISTURBED, parameters)
    }
