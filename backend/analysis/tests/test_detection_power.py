"""One setting for all noise: no false regressions, real ones soon, each told once. The bench does it at length."""

from collections import Counter
from statistics import median

import pytest

from backend.analysis.events import AlertClass
from backend.analysis.simulation import World, simulate
from backend.analysis.trials import Found, false_alerts, find_step

CVS = (0.05, 0.15, 0.30)


@pytest.mark.parametrize("cv", CVS)
@pytest.mark.parametrize("regions", [1, 5])
def test_quiet_months_have_no_regressions(cv: float, regions: int) -> None:
    world, told = World(cv=cv, regions=regions, days=15), Counter[AlertClass]()
    for seed in range(100, 104):
        told += false_alerts(world, seed)
    assert told[AlertClass.REGRESSION] == 0
    assert told.total() <= 1


def test_short_slowdowns_are_not_regressions() -> None:
    world, told = World(cv=0.05, days=15, site_slowdowns=0.3, region_slowdowns=0.3), Counter[AlertClass]()
    for seed in range(200, 204):
        told += false_alerts(world, seed)
    assert told[AlertClass.REGRESSION] <= 1


def found_steps(world: World, factor: float) -> list[Found]:
    return [find_step(world, seed, factor) for seed in range(300, 309)]


@pytest.mark.parametrize(("factor", "within_min"), [(1.2, 120), (1.5, 40)])
def test_five_regions_see_a_step_in_time_and_tell_it_once(factor: float, within_min: float) -> None:
    steps = found_steps(World(cv=0.15), factor)
    delays = [float("inf") if one.told_min is None else one.told_min for one in steps]
    assert median(delays) <= within_min
    assert sum(one.alerts for one in steps) <= len(steps) + 1
    assert median(abs(one.beside_rounds or 0) for one in steps) <= 5
    assert median(one.change_pct or 0 for one in steps) == pytest.approx(100 * (factor - 1), rel=0.15)


def test_the_same_seed_makes_the_same_world() -> None:
    world = World(cv=0.1, days=1, site_slowdowns=3)
    assert simulate(world, 5) == simulate(world, 5)
    assert simulate(world, 5) != simulate(world, 6)
