"""Page runs of the bench page as an agent makes them: warm browser, fresh context, everything computed and packed."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from workers.bench.site import REQUESTS, Site
from workers.browser.chromium import find_chromium
from workers.browser.pool import BrowserPool
from workers.browser.settings import BrowserSettings
from workers.measurement.addresses import parse_networks
from workers.measurement.messages import Kind, Measured, PageMeasurement, RunRequest
from workers.measurement.routes import PictureKind
from workers.run import Clock, Instruments, execute


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """One run: how long it took, and what was measured."""

    wall_s: float
    page: PageMeasurement

    def overhead_s(self, quiet_s: float) -> float:
        """What it took beyond the page and the wait for quiet. Raises RuntimeError when the page never rested."""
        if self.page.vitals.fully_loaded_us is None:
            raise RuntimeError("the page never came to rest")
        return self.wall_s - self.page.vitals.fully_loaded_us / 1_000_000 - quiet_s


Run = Callable[[], Done]


@contextmanager
def bench_pool(site: Site, **settings: Any) -> Iterator[BrowserPool]:
    """A pool that may measure the site, with the browser that peers are given too."""
    chosen = BrowserSettings(
        allowed=parse_networks("127.0.0.0/8"),
        extra_ports=frozenset({site.port}),
        sandbox=os.geteuid() != 0,
        chromium=find_chromium(),
        **settings,
    )
    with BrowserPool(chosen) as pool:
        yield pool


def run_once(pool: BrowserPool, site: Site) -> Done:
    """From a request to the message that tells of it. Raises RuntimeError for a run that did not see the whole page."""
    instruments = Instruments(agent="bench", loader=pool, extra_ports=frozenset({site.port}))
    execution = execute(_request(site), instruments, Clock())
    outcome = execution.result.outcome
    if not isinstance(outcome, Measured) or not isinstance(outcome.measurement, PageMeasurement):
        raise RuntimeError(f"the page could not be measured: {outcome}")
    page = outcome.measurement
    if len(page.waterfall.requests) < REQUESTS or page.vitals.speed_index_us is None:
        raise RuntimeError(f"{len(page.waterfall.requests)} of {REQUESTS} requests were seen: {page.vitals}")
    if set(execution.pictures) != set(PictureKind):
        raise RuntimeError(f"of the page's pictures there are only {sorted(execution.pictures)}")
    return Done(wall_s=execution.result.duration_us / 1_000_000, page=page)


def _request(site: Site) -> RunRequest:
    now = datetime.now(UTC)
    return RunRequest(
        run_id=uuid4(),
        monitor_id=uuid4(),
        kind=Kind.PAGE,
        url=site.url,
        region="bench",
        scheduled_for=now,
        attempt=1,
        expires_at=now + timedelta(minutes=5),
        timeout_us=60_000_000,
    )
