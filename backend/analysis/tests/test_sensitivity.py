"""What is said to be seen in time is seen in time."""

from dataclasses import replace
from statistics import median

import pytest

from backend.analysis.model import Model, fit_model
from backend.analysis.replay import Recorded
from backend.analysis.sensitivity import sight, smallest_pct
from backend.analysis.settings import DAY_S, settings_for
from backend.analysis.simulation import START, World, simulate
from backend.analysis.trials import find_step

SETTINGS = settings_for("ttfb_ms", interval_s=300)


def model_of(world: World) -> Model:
    model = fit_model(Recorded(simulate(world, 1)).samples(START - 1, START + world.days * DAY_S), (), SETTINGS)
    assert model is not None
    return model


def smallest(world: World, hours: float) -> float:
    return smallest_pct(model_of(world), SETTINGS, hours=hours)


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
    settings = replace(SETTINGS, min_change=0)
    assert smallest_pct(model_of(World(cv=0.02, days=9)), settings, hours=24) == 5


def test_a_change_that_is_too_small_to_be_told_in_its_unit_is_not_promised() -> None:
    model = model_of(World(cv=0.02, days=9))
    typical = sight(model, SETTINGS).typical
    assert smallest_pct(model, replace(SETTINGS, min_change=typical / 4), hours=24) == pytest.approx(25)


def test_what_a_stream_is_like_is_said_with_it() -> None:
    found = sight(model_of(World(cv=0.15, days=9)), SETTINGS)
    assert found.scatter_pct == pytest.approx(15, rel=0.25)
    assert (found.regions, found.hour_pct > found.day_pct) == (5, True)
    assert found.days == pytest.approx(8, abs=0.5)
