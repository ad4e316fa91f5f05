"""What is said to be seen in time is seen in time."""

from statistics import median

import pytest

from backend.analysis.model import fit_model
from backend.analysis.replay import Recorded
from backend.analysis.sensitivity import smallest_pct
from backend.analysis.settings import DAY_S, settings_for
from backend.analysis.simulation import START, World, simulate
from backend.analysis.trials import find_step

SETTINGS = settings_for("ttfb_ms", interval_s=300)


def smallest(world: World, hours: float) -> float:
    model = fit_model(Recorded(simulate(world, 1)).samples(START - 1, START + world.days * DAY_S), (), SETTINGS)
    assert model is not None
    return smallest_pct(model, SETTINGS, hours=hours)


@pytest.mark.parametrize(("cv", "hours"), [(0.15, 2), (0.3, 4)])
def test_the_smallest_change_is_told_after_about_as_long_as_is_said(cv: float, hours: float) -> None:
    world = World(cv=cv, days=9)
    factor = 1 + smallest(world, hours) / 100
    delays = [find_step(world, seed, factor).told_min or float("inf") for seed in range(7)]
    assert 0.4 * hours <= median(delays) / 60 <= 1.4 * hours


def test_more_time_and_more_regions_show_smaller_changes() -> None:
    five, one = World(cv=0.15, days=9), World(cv=0.15, days=9, regions=1)
    assert smallest(five, 24) < smallest(five, 1) < smallest(one, 1)


def test_nothing_below_the_least_change_is_promised() -> None:
    assert smallest(World(cv=0.02, days=9), 24) == 5
