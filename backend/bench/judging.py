"""How many ended runs a second the judge gets through: 20,000 monitors in five regions, every minute, is 1,667."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from statistics import median
from time import perf_counter

from django.utils import timezone

from backend.alerts.enrolment import enrol
from backend.alerts.judging import judge_batch
from backend.alerts.models import Incident, Watch
from backend.alerts.trends import watch_batch
from backend.bench.figures import Figure
from backend.runs.models import Schedule
from backend.runs.sql import execute
from backend.runs.tests.factories import Fleet, make_agent, make_fleet, make_monitors, schedule
from workers.memory import settle_heap

MONITORS, REGIONS, ROUNDS = 4_000, ("bench-1", "bench-2", "bench-3", "bench-4", "bench-5"), 3
# 20,000 monitors in five regions at one minute, with as much again to spare.
TARGET_PER_S = 3_333
_STEP = timedelta(minutes=1)
_SOON = timedelta(hours=2)
# A site that fails now and then, of one in fifty, and values that differ.
_RUNS = """
INSERT INTO runs_run (run_id, scheduled_for, monitor_id, region_id, attempt, kind, trigger, outcome, received_at, late,
    has_screenshot, config_version, failure_blame, failure_detail, dns_us, connect_us, tls_us, send_us, wait_us,
    download_us, ttfb_us, total_us, rtt_us, tls_round_trips, status_code, requests, connections, bytes)
SELECT gen_random_uuid(), %(at)s + make_interval(secs => (r.number * 12) + (m.id %% 11)), m.id, r.id, 1, 'probe',
    'schedule', CASE WHEN m.id %% 50 = 0 AND r.number = %(turn)s THEN 'failed' ELSE 'measured' END, %(at)s, false,
    false, 1, CASE WHEN m.id %% 50 = 0 AND r.number = %(turn)s THEN 'target' END, NULL, 8000, 20000, 34000, 100,
    40000 + m.id %% 999, 7900, 102000 + m.id %% 999, 110000, 19800, 1, 200, 1, 1, 48000
FROM sites_monitor m, (SELECT id, row_number() OVER (ORDER BY id) - 1 AS number FROM fleet_region
    WHERE id = ANY(%(regions)s)) r
"""


def measure() -> Iterator[Figure]:
    fleet = make_fleet(*REGIONS)
    begin = timezone.now() - timedelta(minutes=ROUNDS + 2)
    _prepare(fleet, begin)
    rates, looks = [], []
    for turn in range(ROUNDS):
        at = begin + turn * _STEP
        execute(_RUNS, {"at": at, "turn": turn, "regions": [region.pk for region in fleet.regions]})
        execute("ANALYZE runs_run, alerts_watch")
        runs, took_s = _judge(fleet, at + _STEP)
        rates.append(runs / took_s)
        looks.append(MONITORS / took_s)
    yield Figure(name="judged", value=median(rates), unit="runs/s", target=TARGET_PER_S)
    yield Figure(name="looks at monitors", value=median(looks), unit="looks/s")
    yield Figure(
        name="incidents of one bad run each", value=Incident.objects.count(), unit="", target=0, at_least=False
    )
    yield Figure(name="watched for regressions", value=_trends(begin + ROUNDS * _STEP), unit="looks/s")
    memory = Watch.objects.first()
    yield Figure(name="memory of a monitor", value=len(memory.memory) if memory else 0, unit="bytes")
    fleet.delete()
    execute("TRUNCATE runs_run")


def _prepare(fleet: Fleet, begin: datetime) -> None:
    schedule(fleet, make_monitors(fleet, MONITORS), now=begin)
    Schedule.objects.update(next_at=timezone.now() + _SOON)
    for region in fleet.regions:
        make_agent(region, seen_at=begin)
    while enrol(begin):
        pass
    # The first look finds nothing: watching begins with it.
    _judge(fleet, begin)


def _judge(fleet: Fleet, now: datetime) -> tuple[int, float]:
    """Everything that is due; how many runs that were, and how long it took."""
    for region in fleet.regions:
        region.agents.update(last_seen_at=now)
    Watch.objects.update(due_at=now - timedelta(seconds=1))
    execute("VACUUM alerts_watch")
    settle_heap()
    began, runs = perf_counter(), 0
    while (judged := judge_batch(now)).monitors:
        runs += judged.runs
    return runs, perf_counter() - began


def _trends(now: datetime) -> float:
    """Looks a second, two rounds: the second goes on from what the first learned."""
    execute("UPDATE alerts_trend SET due_at = %s", [now - timedelta(seconds=1)])
    began, count = perf_counter(), 0
    while count < 1_000 and (done := watch_batch(now)):
        count += done
    return count / (perf_counter() - began)
