"""What connections cost, by host and region."""

from dataclasses import dataclass
from datetime import datetime

from backend.accounts.models import Organisation
from backend.runs.sql import fetch

# Reads the index `connection_by_host` alone; the monitors are joined to leave other organisations out.
_P75_TLS = """
SELECT r.code, percentile_disc(0.75) WITHIN GROUP (ORDER BY c.tls_us), count(*)
FROM runs_connection c
JOIN fleet_region r ON r.id = c.region_id
JOIN sites_monitor m ON m.id = c.monitor_id
JOIN sites_site s ON s.id = m.site_id
WHERE c.host = %(host)s AND c.scheduled_for >= %(since)s AND c.tls_us IS NOT NULL
    AND s.organisation_id = %(organisation)s
GROUP BY r.code ORDER BY r.code
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsQuantile:
    """Three of four handshakes of a region took no longer than `p75_us`; `connections` is how many there were."""

    region: str
    p75_us: int
    connections: int


def p75_tls(organisation: Organisation, host: str, since: datetime) -> list[TlsQuantile]:
    """TLS handshakes with a host since an instant, by region code. One statement."""
    rows = fetch(_P75_TLS, {"host": host, "since": since, "organisation": organisation.pk})
    return [TlsQuantile(region=code, p75_us=p75_us, connections=count) for code, p75_us, count in rows]
