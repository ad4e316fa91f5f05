"""How long a page run takes beyond its page and the wait for quiet: in a warm browser, and with one that is started."""

import statistics
from collections.abc import Iterator

from workers.bench.page_runs import Done, bench_pool, run_once
from workers.bench.site import bench_site

LIMIT_S = 0.5
_RUNS, _STARTS = 20, 5
_QUIET_S = 2.0


def measure() -> dict[str, list[float]]:
    """Seconds by way, in the order of the runs. Raises RuntimeError for a run that was not measured."""
    with bench_site() as site:
        with bench_pool(site, quiet_s=_QUIET_S) as pool:
            run_once(pool, site)
            warm = [run_once(pool, site) for _ in range(_RUNS)]
        started: list[Done] = []
        for _ in range(_STARTS):
            with bench_pool(site, quiet_s=_QUIET_S) as pool:
                started.append(run_once(pool, site))
    ways = {"warm browser": warm, "browser started for the run": started}
    return {way: [done.overhead_s(_QUIET_S) for done in runs] for way, runs in ways.items()}


def met(found: dict[str, list[float]]) -> bool:
    """Whether the median of the warm browser keeps the limit; a start is told, and is no gate."""
    return statistics.median(found["warm browser"]) <= LIMIT_S


def lines(found: dict[str, list[float]]) -> Iterator[str]:
    for way, values in found.items():
        yield f"  {way:30} n {len(values):3}   median {statistics.median(values):.2f} s   most {max(values):.2f} s"
    yield f"  limit of the warm browser's median {LIMIT_S} s: {'met' if met(found) else 'MISSED'}"
