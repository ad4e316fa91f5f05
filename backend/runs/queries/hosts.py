"""What each host cost the page loads of a monitor, from the connections they opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from backend.fleet.models import Region
from backend.runs.queries.rows import CHARTED_SQL
from backend.runs.sql import fetch
from backend.sites.models import Monitor

# In each region the newest so many: enough for any median, whatever the period.
MAX_RUNS = 200
MAX_HOSTS = 200

_COSTS = f"""
WITH run AS MATERIALIZED (
    SELECT newest.* FROM unnest(%(regions)s::bigint[]) AS place (region_id), LATERAL (
        SELECT run_id, scheduled_for FROM runs_run
        WHERE runs_run.monitor_id = %(monitor)s AND runs_run.region_id = place.region_id
            AND scheduled_for >= %(since)s AND outcome = 'measured' AND {CHARTED_SQL}
        ORDER BY scheduled_for DESC, attempt DESC LIMIT %(runs)s
    ) newest
)
SELECT c.host, count(DISTINCT c.run_id), count(*), count(*) FILTER (WHERE c.requests > 0),
    coalesce(sum(c.requests), 0), sum(c.received_bytes),
    percentile_disc(0.5) WITHIN GROUP (ORDER BY c.dns_us), percentile_disc(0.5) WITHIN GROUP (ORDER BY c.connect_us),
    percentile_disc(0.5) WITHIN GROUP (ORDER BY c.tls_us), mode() WITHIN GROUP (ORDER BY c.protocol),
    mode() WITHIN GROUP (ORDER BY c.tls_version),
    (array_agg(c.certificate_not_before ORDER BY c.scheduled_for DESC)
        FILTER (WHERE c.certificate_not_after IS NOT NULL))[1],
    (array_agg(c.certificate_not_after ORDER BY c.scheduled_for DESC)
        FILTER (WHERE c.certificate_not_after IS NOT NULL))[1]
FROM run JOIN runs_connection c ON c.run_id = run.run_id AND c.scheduled_for = run.scheduled_for
GROUP BY c.host ORDER BY 5 DESC, c.host LIMIT %(hosts)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCosts:
    """A host over `loads` page loads that spoke to it. Phases are medians of connections; counts are of all loads.
    `used` are the connections that carried a request: a browser opens more than it uses.
    """

    host: str
    loads: int
    connections: int
    used: int
    requests: int
    bytes: int | None
    dns_us: int | None
    connect_us: int | None
    tls_us: int | None
    protocol: str | None
    tls_version: str | None
    certificate_not_before: datetime | None
    certificate_not_after: datetime | None

    @property
    def reused_share(self) -> float | None:
        """Of the requests those that found a connection open."""
        return None if self.requests == 0 else max(0.0, 1 - self.used / self.requests)

    @property
    def requests_a_load(self) -> float:
        return self.requests / self.loads

    @property
    def connections_a_load(self) -> float:
        return self.connections / self.loads

    @property
    def bytes_a_load(self) -> int | None:
        return None if self.bytes is None else round(self.bytes / self.loads)


def host_costs(monitor: Monitor, regions: Sequence[Region], since: datetime) -> list[HostCosts]:
    """The hosts of the newest page loads, at most 200 loads in each region; the busiest first. One statement."""
    parameters = {
        "regions": [region.pk for region in regions],
        "monitor": monitor.pk,
        "since": since,
        "runs": MAX_RUNS,
        "hosts": MAX_HOSTS,
    }
    return [HostCosts(**dict(zip(HostCosts.__slots__, row, strict=True))) for row in fetch(_COSTS, parameters)]
