"""A service whose clock was an hour ahead judges on when it has been set back."""

from datetime import timedelta

import pytest

from backend.alerts.tests.world import make_world, told

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def test_an_outage_after_the_clock_was_set_back_is_told() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... ...")
    world.now += HOUR
    world.minutes("... ...")
    world.now -= HOUR
    world.minutes("... xxx xxx xxx")
    assert told() == ["opened"]


def test_an_outage_that_began_before_the_clock_was_set_back_ends_after() -> None:
    world = make_world(rules=["availability"])
    world.now += HOUR
    world.minutes("... ... xxx xxx xxx")
    world.now -= HOUR
    world.minutes("... ... ...")
    assert told() == ["opened", "recovered"]


def test_data_that_stop_after_the_clock_was_set_back_are_missed() -> None:
    world = make_world(rules=["no_data"])
    world.now += HOUR
    world.minutes("... ...")
    world.now -= HOUR
    world.minutes("... --- --- --- --- --- ---")
    assert told() == ["opened"]
