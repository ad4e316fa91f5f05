"""Hours and days of monitors as they are rolled up, without the runs that they come from."""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from math import ceil, exp, log
from statistics import NormalDist

from backend.analysis.sketch import GAMMA
from backend.fleet.models import Region
from backend.instants import EPOCH
from backend.runs.models import Rollup
from backend.runs.tests.factories import NOW
from backend.sites.models import Monitor

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# The parts of a first byte of which all of it consists.
PARTS = {"dns_us": 0.05, "connect_us": 0.15, "tls_us": 0.2, "wait_us": 0.6}


def counts_of(median_ms: float, runs: int, scatter: float = 0.1) -> dict[str, int]:
    """A sketch of lognormal values, evenly drawn."""
    steps = [NormalDist().inv_cdf((place + 0.5) / runs) for place in range(runs)]
    values = (median_ms * 1_000 * exp(scatter * step) for step in steps)
    return Counter(str(ceil(log(value) / log(GAMMA))) for value in values)


def roll_up_hours(
    monitor: Monitor,
    regions: Iterable[Region],
    median_ms: Callable[[int], float | None],
    *,
    hours: int = 168,
    width: timedelta = HOUR,
    runs: int | None = None,
    now: datetime = NOW,
    failed: int = 0,
) -> None:
    """The newest hours (or days) that are over, the newest being 0; of those without a median nothing was measured."""
    until = EPOCH + (now - EPOCH) // width * width
    count = runs or max(1, round(width.total_seconds() / monitor.interval_s))
    metric = "ttfb_us" if monitor.kind == "probe" else "lcp_us"
    parts = PARTS if monitor.kind == "probe" else {}
    for region in regions:
        Rollup.objects.bulk_create(
            Rollup(
                monitor=monitor,
                region=region,
                width_s=width.total_seconds(),
                at=until - (hour + 1) * width,
                sketches={metric: counts_of(ms, count)}
                | {name: counts_of(ms * part, count) for name, part in parts.items()},
                measured=count,
                failed=failed,
                missed=0,
            )
            for hour in range(hours)
            if (ms := median_ms(hour)) is not None
        )
