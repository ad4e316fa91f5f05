"""How many due slots a second become pending runs with their message in the queue."""

from collections.abc import Iterator
from statistics import median
from time import perf_counter

import redis
from django.conf import settings
from django.utils import timezone

from backend.bench.figures import Figure
from backend.runs.claim import claim
from backend.runs.models import PendingRun, Schedule
from backend.runs.outbox import publish
from backend.runs.sql import execute
from backend.runs.tests.factories import make_fleet, make_monitors, schedule

MONITORS, REGIONS, ROUNDS = 5_000, ("bench-a", "bench-b"), 5
# A hundred thousand sites of one minute in one region, and some to spare.
TARGET_PER_S = 2_000


def measure() -> Iterator[Figure]:
    fleet = make_fleet(*REGIONS)
    monitors = make_monitors(fleet, MONITORS)
    rates = []
    for _ in range(ROUNDS):
        Schedule.objects.all().delete()
        PendingRun.objects.all().delete()
        redis.Redis.from_url(settings.REDIS_URL).flushall()
        schedule(fleet, monitors, now=timezone.now())
        execute("ANALYZE runs_schedule, sites_monitor")
        rates.append(_rate())
    yield Figure(name="claimed and published", value=median(rates), unit="runs/s", target=TARGET_PER_S)
    fleet.delete()


def _rate() -> float:
    began, count = perf_counter(), 0
    while messages := claim(timezone.now()):
        count += publish(messages, now=timezone.now())
    return count / (perf_counter() - began)
