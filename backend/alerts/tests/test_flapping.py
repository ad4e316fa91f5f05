"""What comes and goes while something else of its incident goes on is not told each time."""

import pytest

from backend.alerts.tests.world import World, make_world, only_incident, titles, told

pytestmark = pytest.mark.django_db

# Down for three minutes of five, which keeps the rule about failed runs in its bad state.
COMES_AND_GOES = "xxx xxx xxx ... ..."


def coming_and_going(times: int) -> World:
    world = make_world(rules=["availability", "failures"])
    world.minute("...")
    for _ in range(times):
        world.minutes(COMES_AND_GOES)
    return world


def test_a_site_that_keeps_going_down_is_told_thrice_and_then_left_until_it_is_over() -> None:
    world = coming_and_going(8)
    assert told() == ["opened", "worse", "worse"]
    assert titles()[-1].endswith(": it keeps coming and going")
    world.minutes("... " * 45)
    assert told() == ["opened", "worse", "worse", "recovered"]
    assert not only_incident().is_open


def test_what_happens_twice_is_told_twice() -> None:
    world = coming_and_going(2)
    assert told() == ["opened", "worse"]
    assert not titles()[-1].endswith("going")
    world.minutes("... " * 15)
    assert told() == ["opened", "worse", "recovered"]
