"""A service with much behind it: three organisations and millions of ended runs, made by the database itself.

What is made follows from numbers alone, by PostgreSQL's own hashes: the same on every machine, whatever the plan.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backend.accounts.models import Organisation
from backend.alerts.enrolment import enrol
from backend.runs.partitions import ensure_partitions
from backend.runs.rollups import roll_up
from backend.runs.schedules import reconcile_all
from backend.runs.sql import execute, fetch
from backend.runs.tests.factories import make_agent, make_region
from backend.sites.models import Monitor, Site, SiteStatus

# Hourly, so that weeks of many places are still made in minutes.
INTERVAL_S = 3_600
_DAY = timedelta(days=1)
# A run in a hundred fails and one in two hundred is missed. Places differ, a slow answer comes now and then, and one
# monitor in twenty is slower by a third since a tenth of what is kept.
_FILL = """
INSERT INTO runs_run (scheduled_for, run_id, monitor_id, region_id, attempt, kind, trigger, outcome, missed_reason,
    failure_stage, failure_kind, failure_blame, late, received_at, agent, agent_version, config_version, started_at,
    duration_us, clock, dns_us, connect_us, tls_us, send_us, wait_us, download_us, ttfb_us, total_us, rtt_us,
    tls_round_trips, status_code, protocol, requests, connections, bytes, has_screenshot)
SELECT at, md5(concat_ws('/', monitor_id, region_id, at_s))::uuid, monitor_id, region_id, 1, 'probe', 'schedule',
    outcome, CASE outcome WHEN 'missed' THEN 'agent_lost' END, CASE outcome WHEN 'failed' THEN 'connect' END,
    CASE outcome WHEN 'failed' THEN 'connect_timeout' END, CASE outcome WHEN 'failed' THEN 'target' END, false,
    at + interval '1 second', CASE WHEN outcome <> 'missed' THEN 'agent-of-' || code END, '0.1.0', 1, at,
    seen.one * 120000, CASE WHEN outcome = 'measured' THEN 'kernel' END, seen.one * 8000,
    seen.one * rtt_us, seen.one * rtt_us, seen.one * 100, seen.one * wait_us, seen.one * 7900,
    seen.one * (8100 + 2 * rtt_us + wait_us), seen.one * (16000 + 2 * rtt_us + wait_us), seen.one * rtt_us, seen.one,
    seen.one * 200, CASE WHEN outcome = 'measured' THEN 'h2' END, seen.one, seen.one, seen.one * 47612, false
FROM (
    SELECT s.monitor_id, s.region_id, r.code, slot.at, extract(epoch FROM slot.at)::bigint AS at_s,
        hashint8extended(s.monitor_id * 1000 + s.region_id, extract(epoch FROM slot.at)::bigint) & 65535 AS dice
    FROM runs_schedule s JOIN fleet_region r ON r.id = s.region_id,
        generate_series(%(since)s::timestamptz, %(until)s::timestamptz - interval '1 second',
            make_interval(secs => s.interval_s)) hour,
        LATERAL (SELECT hour + s.offset_us * interval '1 microsecond' AS at) slot
    WHERE r.organisation_id = ANY(%(organisations)s) AND slot.at < %(now)s
) run,
LATERAL (SELECT CASE WHEN dice < 655 THEN 'failed' WHEN dice < 983 THEN 'missed' ELSE 'measured' END AS outcome) ended,
LATERAL (SELECT CASE WHEN outcome = 'measured' THEN 1 END AS one) seen,
LATERAL (SELECT 10000 + region_id * 7919 %% 90000 + dice %% 997 AS rtt_us, ((40000 + dice %% 4999
    + CASE WHEN dice %% 50 = 0 THEN 200000 ELSE 0 END)
    * CASE WHEN monitor_id %% 20 = 0 AND at > %(shift)s THEN 1.33 ELSE 1 END)::bigint AS wait_us) value
ORDER BY at
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """An organisation as large as it says: each of its sites is probed every hour from each of its own regions."""

    name: str
    sites: int
    regions: int
    days: int


# Many runs, many places, and as many places as there are countries.
LARGE = (
    Tenant(name="long", sites=300, regions=8, days=14),
    Tenant(name="wide", sites=300, regions=60, days=2),
    Tenant(name="widest", sites=300, regions=251, days=1),
)


def make(tenants: Sequence[Tenant], *, now: datetime) -> dict[str, Organisation]:
    """The organisations by name, with schedules, watches, runs and rollups, all of it analysed."""
    made = {tenant.name: _organisation(tenant) for tenant in tenants}
    reconcile_all(now=now)
    while enrol(now):
        pass
    ensure_partitions(now)
    for since in _days(max(tenant.days for tenant in tenants), now):
        measured = [made[tenant.name].pk for tenant in tenants if since >= _midnight(now) - tenant.days * _DAY]
        shift = now - max(tenant.days for tenant in tenants) * _DAY / 10
        parameters = {"since": since, "until": since + _DAY, "now": now, "shift": shift, "organisations": measured}
        execute(_FILL, parameters)
    execute("ANALYZE")
    _roll_up_all(now)
    execute("VACUUM ANALYZE")
    return made


def runs_stored() -> int:
    """How many runs have ended."""
    ((count,),) = fetch("SELECT count(*) FROM runs_run")
    return int(count)


def _organisation(tenant: Tenant) -> Organisation:
    organisation = Organisation.objects.create(name=tenant.name.title(), slug=tenant.name)
    for number in range(tenant.regions):
        make_agent(make_region(f"{tenant.name}-{number:03}", organisation))
    sites = Site.objects.bulk_create(
        Site(
            organisation=organisation,
            name=f"{tenant.name} {number:03}",
            url=f"https://{tenant.name}-{number:03}.example/",
            status=SiteStatus.ACTIVE,
        )
        for number in range(tenant.sites)
    )
    Monitor.objects.bulk_create(
        Monitor(site=site, kind="probe", url=site.url, interval_s=INTERVAL_S, timeout_s=10) for site in sites
    )
    return organisation


def _days(count: int, now: datetime) -> Iterator[datetime]:
    """Midnights of so many days before today and of today, the oldest first: runs are stored in the order of time."""
    return (_midnight(now) - back * _DAY for back in range(count, -1, -1))


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _roll_up_all(now: datetime) -> None:
    """By the sweeper's own turns, until a turn finds no new hour. Anew: what is rolled up hides what is older."""
    execute("TRUNCATE runs_rollup")
    roll_up(now)
    written = None
    while (newest := _newest_hour()) != written:
        written = newest
        roll_up(now)


def _newest_hour() -> datetime | None:
    ((newest,),) = fetch("SELECT max(at) FROM runs_rollup WHERE width_s = 3600")
    return newest if isinstance(newest, datetime) else None
