"""How often a gate is wrong, and how often it gives no answer, counted over many gates whose truth is known.

Three, six and twelve runs in each of five regions, 60 earlier ones, a tolerance of 10 %, confidence 0.99, batches that
vary by 3 %, half of it in all regions alike. The same of two addresses in turns, with what drifts in place of batches,
and of sites that are asked once an hour and drift by 15 %, whose history shows no batches.
"""

from collections.abc import Iterator, Mapping
from time import perf_counter

from backend.analysis.gate_types import Verdict
from backend.analysis.tests import pairs_world
from backend.analysis.tests.gate_world import World, asked_each_hour, outcomes
from backend.bench.figures import Figure

GATES = 2_000
# So often a gate may be wrong about a release at most.
FALSE_FAIL_PCT, FALSE_PASS_PCT = 2.0, 1.0


def measure() -> Iterator[Figure]:
    began = perf_counter()
    for cv in (0.05, 0.15, 0.30):
        name = f"at a scatter of {cv:.0%}"
        same, slower = (outcomes(World(cv=cv, slower=change), GATES, seed=round(100 * cv)) for change in (0.0, 0.2))
        yield from _figures(name, same, slower)
        worlds = (pairs_world.World(cv=cv, slower=change) for change in (0.0, 0.2))
        same, slower = (pairs_world.outcomes(world, GATES, seed=round(100 * cv)) for world in worlds)
        yield from _figures(f"two addresses, {name}", same, slower)
        drifting = outcomes(World(cv=cv, batch_sd=0.15), GATES, seed=round(100 * cv), drawn=asked_each_hour)
        yield Figure(name=f"unchanged fails, asked each hour, {name}", value=_pct(drifting[Verdict.FAIL]), unit="%")
    yield Figure(name="a gate's arithmetic, world included", value=_ms_each(perf_counter() - began), unit="ms")


def _figures(name: str, same: Mapping[Verdict, int], slower: Mapping[Verdict, int]) -> Iterator[Figure]:
    yield Figure(
        name=f"unchanged fails, {name}",
        value=_pct(same[Verdict.FAIL]),
        unit="%",
        target=FALSE_FAIL_PCT,
        at_least=False,
    )
    yield Figure(
        name=f"+20 % passes, {name}",
        value=_pct(slower[Verdict.PASS]),
        unit="%",
        target=FALSE_PASS_PCT,
        at_least=False,
    )
    yield Figure(name=f"+20 % fails, {name}", value=_pct(slower[Verdict.FAIL]), unit="%")
    yield Figure(name=f"unchanged is inconclusive, {name}", value=_pct(same[Verdict.INCONCLUSIVE]), unit="%")


def _pct(count: int) -> float:
    return 100 * count / GATES


def _ms_each(seconds: float) -> float:
    return 1_000 * seconds / (15 * GATES)
