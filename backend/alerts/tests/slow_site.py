"""A site that becomes slower and quick again, from stored runs on."""

import random
from collections.abc import Callable, Iterable
from datetime import timedelta
from uuid import uuid4

from backend.alerts import trends
from backend.alerts.models import Rule, Trend
from backend.alerts.tests.world import World, make_world, put_like
from backend.runs.models import Run, Schedule
from backend.runs.partitions import ensure_partitions
from backend.sites.models import Monitor

STEP = timedelta(minutes=5)
# What a run takes, by region and time since the beginning of the story.
Wait = Callable[[str, timedelta], float]


class Site:
    """A site with four quiet days behind it, measured every five minutes from three regions."""

    def __init__(self, wait: Wait | None = None, **options: object) -> None:
        self.world: World = make_world(rules=["regression"])
        Rule.objects.update(params={"metrics": ["ttfb_ms"], "min_change_pct": 5, "tell": "slowdown"} | options)
        Monitor.objects.update(interval_s=300)
        self._random = random.Random(7)
        self.tls_us = 30_000
        self.redirects_us = 0
        self.silent: set[str] = set()
        self.began = self.world.now
        ensure_partitions(self.began - timedelta(days=8))
        self._put(range(-4 * 288, 0), wait or usual)
        self.look()

    def pass_time(self, minutes: int, wait: Wait, *, look: bool = True) -> None:
        steps = minutes // 5
        for _ in range(steps):
            step = round((self.world.now - self.began) / STEP)
            self._put([step], wait)
            self.world.now += STEP
            if look:
                self.look()

    def look(self) -> None:
        Schedule.objects.update(next_at=self.world.now + timedelta(hours=1))
        Trend.objects.update(due_at=self.world.now)
        trends.step(lambda: self.world.now)

    def _put(self, steps: Iterable[int], wait: Wait) -> None:
        """The runs of these steps, those of the regions a third of a step after one another."""
        drawn = [
            (self.began + passed, region.pk, round(1000 * wait(region.code, passed) * self._noise()))
            for step in steps
            for position, region in enumerate(self.world.regions)
            if region.code not in self.silent
            for passed in [step * STEP + position * STEP / 3 + timedelta(seconds=1)]
        ]
        at, regions, waits = (list(column) for column in zip(*drawn, strict=True))
        columns = {
            "scheduled_for": at,
            "received_at": at,
            "region_id": regions,
            "wait_us": waits,
            "ttfb_us": [28_000 + self.tls_us + self.redirects_us + wait_us for wait_us in waits],
        }
        run = Run(
            run_id=uuid4(),
            monitor_id=self.world.monitor.pk,
            attempt=1,
            kind="probe",
            trigger="schedule",
            outcome="measured",
            dns_us=8_000,
            connect_us=20_000,
            tls_us=self.tls_us,
            download_us=5_000,
            **{name: values[0] for name, values in columns.items()},
        )
        put_like(run, **columns)

    def _noise(self) -> float:
        return self._random.lognormvariate(0, 0.05)


def usual(region: str, passed: timedelta) -> float:
    return 100.0


def slower(region: str, passed: timedelta) -> float:
    return 180.0


def slower_in_sin(region: str, passed: timedelta) -> float:
    return 200.0 if region == "sin" else 100.0
