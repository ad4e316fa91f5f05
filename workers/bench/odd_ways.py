"""What diagnoses are worth behind odd ways: all twins, near and far, over ways by chance. Makes networks of its own."""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path

from workers.tests.netlab.odd_ways import ODD_WAYS, Told, Verdict, Way, side_by_side, told_behind
from workers.tests.netlab.twins import TWINS

_RTTS_MS = (80, 20)
SEEDS = 2
# Of two hundred sites each.
_AT_ONCE = 3


def measure(seeds: int) -> list[Told]:
    """Every site of the twins once behind each way, at each round trip, for each seed. About 20 minutes a seed."""
    ways = [Way(name=name, rtt_ms=rtt, seed=1 + seed) for seed, rtt, name in product(range(seeds), _RTTS_MS, ODD_WAYS)]
    with tempfile.TemporaryDirectory() as folder, side_by_side(_AT_ONCE) as processes:
        found = [processes.submit(told_behind, way, TWINS, Path(folder)) for way in ways]
        told: list[Told] = []
        for number, each in enumerate(found, start=1):
            told += each.result()
            print(f"  {number} of {len(ways)} ways", file=sys.stderr)
        return told


def met(told: Iterable[Told]) -> bool:
    """Whether nothing untrue was told."""
    return all(one.verdict is not Verdict.WRONG for one in told)


def lines(told: list[Told]) -> Iterator[str]:
    """How often each verdict was given, by way and by fault; then where one was wrong or nothing was said."""
    broken = [one for one in told if not one.repaired]
    yield from _table("broken sites, by way", broken, lambda one: one.way.name)
    yield from _table("broken sites, by fault", broken, lambda one: one.twin.id)
    yield from _table("healthy sites, by way", [one for one in told if one.repaired], lambda one: one.way.name)
    yield from (str(one) for one in told if one.verdict in {Verdict.SILENT, Verdict.WRONG})


def _table(title: str, told: Iterable[Told], key: Callable[[Told], str]) -> Iterator[str]:
    counts: dict[str, Counter[Verdict]] = {}
    for one in told:
        counts.setdefault(key(one), Counter())[one.verdict] += 1
    yield f"{title:34}" + "".join(f"{verdict:>11}" for verdict in Verdict)
    for name, count in counts.items():
        yield f"  {name:32}" + "".join(f"{count[verdict]:11}" for verdict in Verdict)


def document(told: Iterable[Told]) -> list[dict[str, str | int | bool]]:
    return [
        {
            "way": one.way.name,
            "rtt_ms": one.way.rtt_ms,
            "seed": one.way.seed,
            "twin": one.twin.name,
            "fault": one.twin.id,
            "repaired": one.repaired,
            "verdict": one.verdict,
            "why": one.why,
        }
        for one in told
    ]
