"""The price of the last 100 runs by the API with a million stored: CPU of the web process, time of the database."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from statistics import median
from time import perf_counter, process_time
from typing import Any

from django.db import connection
from django.test import Client
from django.utils import timezone

from backend.accounts.actions import NewToken, create_token
from backend.accounts.permissions import Role, Scope
from backend.bench.figures import Figure
from backend.runs.sql import execute
from backend.runs.tests.factories import Fleet, make_fleet, make_monitors
from workers.memory import settle_heap

RUNS, ROUNDS, WARM_UP, LIMIT = 1_000_000, 40, 5, 100
SITES, REGIONS = 20, ("api-a", "api-b", "api-c", "api-d", "api-e")
# Whoever turns a page of a list does not notice so little.
TARGET_MS = 30.0

# As a probe's rows look, in the order of their slots, as ingest stores them; the newest a second ago.
_FILL = """
INSERT INTO runs_run (scheduled_for, run_id, monitor_id, region_id, attempt, kind, trigger, outcome, late, received_at,
    agent, agent_version, config_version, started_at, duration_us, clock, dns_us, connect_us, tls_us, send_us, wait_us,
    download_us, ttfb_us, total_us, rtt_us, tls_round_trips, status_code, protocol, requests, connections, bytes,
    has_screenshot)
SELECT at, gen_random_uuid(), (%(monitors)s::bigint[])[1 + n %% %(sites)s],
    (%(regions)s::bigint[])[1 + n / %(sites)s %% %(places)s], 1, 'probe', 'schedule', 'measured', false, at,
    'agent-1', '0.1.0', 1, at, 120000, 'kernel', 8000 + n %% 977, 20000 + n %% 4999, 34000 + n %% 7919, 100,
    40000 + n %% 15013, 7900, 102100, 110000, 19800, 1, 200, 'h2', 1, 1, 47612, false
FROM (SELECT n, %(now)s::timestamptz - n * %(step)s::interval - interval '1 second' AS at
    FROM generate_series(%(runs)s, 1, -1) n) slot
"""


@dataclass(kw_only=True)
class Spent:
    """What rounds of one request took, in milliseconds."""

    cpu: list[float] = field(default_factory=list)
    database: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


def measure() -> Iterator[Figure]:
    fleet = make_fleet(*REGIONS)
    _fill(fleet)
    call = _caller(fleet)
    settle_heap()
    everything = _spent(lambda: call(f"/api/v1/runs?limit={LIMIT}"))
    one = _spent(lambda: call(f"/api/v1/runs?limit={LIMIT}&monitor={fleet.site.monitors.get().public_id}"))
    yield from _figures("the last 100 runs", everything, target=TARGET_MS)
    yield from _figures("the last 100 runs of a monitor", one, target=TARGET_MS)
    fleet.delete()
    execute("TRUNCATE runs_run")


def _figures(name: str, spent: Spent, *, target: float) -> Iterator[Figure]:
    cpu = median(spent.cpu)
    yield Figure(name=f"API, {name}: CPU", value=cpu, unit="ms", target=target, at_least=False)
    yield Figure(name=f"API, {name}: database", value=median(spent.database), unit="ms")
    yield Figure(name=f"API, {name}: in all", value=median(spent.wall), unit="ms")


def _fill(fleet: Fleet) -> None:
    monitors = [*make_monitors(fleet, SITES - 1), *_of_its_own(fleet)]
    # A run a minute of each monitor in each region: a million are less than a week.
    step = timedelta(minutes=1) / (SITES * len(REGIONS))
    parameters = {
        "monitors": [monitor.pk for monitor in monitors],
        "regions": [region.pk for region in fleet.regions],
        "sites": SITES,
        "places": len(REGIONS),
        "now": timezone.now(),
        "step": step,
        "runs": RUNS,
    }
    execute(_FILL, parameters)
    execute("VACUUM ANALYZE runs_run")


def _of_its_own(fleet: Fleet) -> list[Any]:
    return [fleet.site.monitors.create(kind="probe", url=fleet.site.url, interval_s=60, timeout_s=10)]


def _caller(fleet: Fleet) -> Callable[[str], bytes]:
    wanted = NewToken(name="bench", role=Role.VIEWER, scopes=frozenset({Scope.READ}), life=timedelta(days=1))
    secret = create_token(actor=None, organisation=fleet.organisation, wanted=wanted).secret
    client = Client(headers={"Authorization": f"Bearer {secret}"}, SERVER_NAME="127.0.0.1")

    def call(path: str) -> bytes:
        answer = client.get(path)
        assert answer.status_code == HTTPStatus.OK, answer.content
        return answer.content

    return call


def _spent(call: Callable[[], bytes]) -> Spent:
    """Of rounds after a few that warm everything up. What the database takes is waiting, and no CPU of ours."""
    spent = Spent()
    for _ in range(WARM_UP):
        assert len(json.loads(call())["items"]) == LIMIT
    for _ in range(ROUNDS):
        waited: list[float] = []
        with connection.execute_wrapper(_stopwatch(waited)):
            began, cpu = perf_counter(), process_time()
            call()
            spent.cpu.append((process_time() - cpu) * 1000)
            spent.wall.append((perf_counter() - began) * 1000)
        spent.database.append(sum(waited) * 1000)
    return spent


def _stopwatch(waited: list[float]) -> Callable[..., Any]:
    def watch(execute: Callable[..., Any], *arguments: Any) -> Any:
        began = perf_counter()
        try:
            return execute(*arguments)
        finally:
            waited.append(perf_counter() - began)

    return watch
