"""What a judge that was away for hours finds when it is back."""

from datetime import timedelta

import pytest

from backend.alerts.models import Notice
from backend.alerts.tests.world import DOWN, World, make_world, titles, told
from backend.alerts.wording import clock

pytestmark = pytest.mark.django_db


def away(world: World, pattern: str, minutes: int) -> None:
    for _ in range(minutes):
        world.minute(pattern, judge=False)


def test_an_outage_that_ended_meanwhile_lasted_as_long_as_it_did() -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    away(world, "xxx", 60)
    away(world, "...", 100)
    world.judge()
    assert told() == ["opened", "recovered"]
    assert titles()[-1] == "Shop can be reached again, after 62 min"


def test_an_outage_that_began_meanwhile_is_told_with_its_beginning() -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    # When the first region is measured, perhaps in the next minute of the clock.
    began = world.now + timedelta(seconds=1)
    away(world, "xxx", 100)
    world.judge()
    world.judge()
    assert told() == ["opened"]
    assert Notice.objects.get().message["sentences"][0] == f"Since {clock(began)}."


def test_an_outage_that_ended_meanwhile_and_began_again_is_told_as_two() -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    away(world, "...", 60)
    away(world, "xxx", 60)
    world.judge()
    world.judge()
    assert told() == ["opened", "recovered", "opened"]
    assert titles()[1] == "Shop can be reached again, after 2 min"


def test_what_came_and_went_meanwhile_is_no_news() -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    for _ in range(4):
        away(world, "xxx", 10)
        away(world, "...", 30)
    world.judge()
    world.judge()
    assert told() == []
