"""The newest whole measurement of a monitor in each region."""

from backend.fleet.queries import usable_regions
from backend.runs.queries.documents import measurement_of, result_in
from backend.runs.queries.rows import AT_HOME_SQL
from backend.runs.sql import fetch
from backend.sites.models import Monitor
from workers.measurement.messages import Measurement

_MOST = 5
_NEWEST = f"""
SELECT run.run_id, document.document FROM unnest(%(regions)s::bigint[]) AS place (region_id),
LATERAL (
    SELECT run_id, scheduled_for FROM runs_run
    WHERE runs_run.monitor_id = %(monitor)s AND runs_run.region_id = place.region_id AND outcome = 'measured'
        AND {AT_HOME_SQL}
    ORDER BY scheduled_for DESC, attempt DESC LIMIT 1
) run JOIN runs_rundocument document ON document.run_id = run.run_id AND document.scheduled_for = run.scheduled_for
ORDER BY run.scheduled_for DESC LIMIT {_MOST}
"""


def newest_measurements(monitor: Monitor) -> list[Measurement]:
    """What the last measured runs saw, one a region, the newest first. Two statements."""
    regions = [region.pk for region in usable_regions(monitor.site.organisation)]
    rows = fetch(_NEWEST, {"regions": regions, "monitor": monitor.pk})
    found = (measurement_of(result_in(bytes(document), of=f"run {run_id}")) for run_id, document in rows)
    return [measurement for measurement in found if measurement is not None]
