"""What comes and goes while something else of its incident goes on is not told each time."""

from datetime import timedelta

import pytest

from backend.alerts.flapping import QUIET
from backend.alerts.incidents import Change, Scene, apply
from backend.alerts.judgement.samples import Standing
from backend.alerts.judgement.tracks import Step
from backend.alerts.models import Notice, Resolution, Rule
from backend.alerts.states import TABLE, State
from backend.alerts.tests.world import World, make_world, only_incident, titles, told
from backend.alerts.upkeep import tidy
from backend.instants import to_us

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


def test_a_site_that_came_and_went_and_stays_down_is_told_again_after_an_hour_and_its_end_too() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... " + "xxx xxx ... ... " * 3)
    assert told() == ["opened", "recovered", "opened", "recovered", "worse"]
    world.minutes("xxx xxx")
    world.now += timedelta(minutes=55)
    world.minutes("xxx xxx")
    assert told()[5:] == []
    world.minutes("xxx xxx xxx")
    assert told()[5:] == ["worse"]
    said = Notice.objects.order_by("-pk")[0].message
    assert said["sentences"][0] == "It kept coming and going, and has stayed for an hour now."
    assert not said["title"].endswith("going")
    world.minutes("... ...")
    assert told()[5:] == ["worse", "recovered"]
    assert titles()[-1] == "Shop can be reached again, after 62 min"


def test_the_end_of_what_came_and_went_counts_all_of_it_and_says_so() -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    world.minutes("xxx xxx xxx ... ... " * 8)
    world.minutes("... " * 35)
    assert titles()[-1] == "Shop can be reached again, after 38 min of coming and going"


def test_what_happens_twice_is_told_twice() -> None:
    world = coming_and_going(2)
    assert told() == ["opened", "worse"]
    assert not titles()[-1].endswith("going")
    world.minutes("... " * 15)
    assert told() == ["opened", "worse", "recovered"]


def test_a_slowdown_that_passes_and_comes_again_is_told_thrice_like_anything_else() -> None:
    world = make_world(rules=["regression"])
    for _ in range(8):
        _slow(world, State.REGRESSED)
        _slow(world, State.OK)
    before = told()
    assert before == ["opened", "recovered", "opened", "recovered", "worse"]
    assert titles()[-1].endswith(": it keeps coming and going")
    tidy(world.now + QUIET)
    assert told() == [*before, "recovered"]


def _slow(world: World, state: State) -> None:
    world.now += timedelta(minutes=6)
    at_us = to_us(world.now)
    before = State.OK if state is State.REGRESSED else State.REGRESSED
    facts = {"metric": "ttfb_ms", "level": 300.0, "baseline": 200.0}
    standing = Standing(state=state, since_us=at_us, regions=("fra",), facts=facts)
    apply(
        Change(
            rule=Rule.objects.get(),
            scene=Scene(
                organisation_id=world.fleet.organisation.pk,
                key=str(world.fleet.site.public_id),
                site_id=world.fleet.site.pk,
            ),
            standing=standing,
            step=Step(TABLE[before, state].code, before, standing, at_us),
            monitor_id=world.monitor.pk,
            metric="ttfb_ms",
            resolution=Resolution.WENT_AWAY,
        ),
        now=world.now,
    )
