"""What the table of connections answers to whoever asks it directly, as operators do."""

import re
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.db import connection

from backend.accounts.models import Organisation
from backend.runs.ingest import ingest
from backend.runs.sql import fetch
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_monitors, make_pending
from backend.runs.tests.results import line_of
from backend.sites.models import Monitor

pytestmark = pytest.mark.django_db

# Three of four handshakes of a region took no longer, and how many there were. Reads the index `connection_by_host`
# alone; the monitors are joined to leave other organisations out.
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
_MANY = """
INSERT INTO runs_connection
    (run_id, scheduled_for, number, monitor_id, region_id, host, port, tls_us, requests, preconnected)
SELECT gen_random_uuid(), %(now)s - n * interval '12 seconds', 1, %(monitor)s, (ARRAY[%(eu)s, %(us)s])[1 + n %% 2],
    'host-' || n %% 200 || '.example', 443, n %% 1000, 1, false
FROM generate_series(1, 200000) n
"""


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu", "us")


@pytest.fixture
def monitor(fleet: Fleet) -> Monitor:
    return make_monitors(fleet)[0]


def p75_tls(organisation: Organisation, host: str, since: datetime) -> list[tuple[str, int, int]]:
    """Of each region's code: microseconds, connections."""
    return fetch(_P75_TLS, {"host": host, "since": since, "organisation": organisation.pk})


def test_p75_of_tls_over_thirty_days_finds_its_rows_by_the_index(fleet: Fleet, monitor: Monitor) -> None:
    eu, us = (region.pk for region in fleet.regions)
    since, host, organisation = NOW - timedelta(days=30), "host-8.example", fleet.organisation
    with connection.cursor() as cursor:
        cursor.execute(_MANY, {"now": NOW, "monitor": monitor.pk, "eu": eu, "us": us})
        cursor.execute("ANALYZE runs_connection")
        cursor.execute(f"EXPLAIN {_P75_TLS}", {"host": host, "since": since, "organisation": organisation.pk})
        plan = "\n".join(line for (line,) in cursor.fetchall())
    by_index = re.findall(r"Index (?:Only )?Scan (?:on|using) runs_connection_\d+_host_region_id", plan)
    assert len(by_index) >= 4, plan  # 200,000 connections lie in the partitions of four weeks at least
    # The fourth of 8, 208, 408, 608 and 808, each 200 times.
    assert p75_tls(organisation, host, since) == [("eu", 608, 1_000)]


def test_p75_of_tls_leaves_out_what_another_organisation_measured(fleet: Fleet, monitor: Monitor) -> None:
    pending = make_pending(fleet, monitor, scheduled_for=NOW - timedelta(minutes=1))
    ingest(fleet.region, [line_of(pending)], now=NOW)
    since = NOW - timedelta(days=1)
    assert p75_tls(fleet.organisation, "shop.example", since) == [("eu", 34_000, 1)]
    assert p75_tls(make_fleet(f"x{uuid4().hex[:8]}").organisation, "shop.example", since) == []
