"""What deep runs found before a monitor, or a region of it, rested may be mended since: it is looked at anew."""

from datetime import timedelta

import pytest

from backend.alerts.models import Incident, Rule, Scrutiny
from backend.alerts.tests.test_scrutiny import EXPIRED, OVERFLOW, asked, look, probe
from backend.alerts.tests.world import World, make_world, told
from backend.runs.models import PendingRun, Schedule
from backend.sites.models import Monitor

pytestmark = pytest.mark.django_db


def found_twice(id: str) -> World:
    """A site of which a cause was told that two deep runs from Frankfurt had found."""
    world = make_world("fra", "iad", rules=["finding"])
    Rule.objects.update(params={"min_severity": "high", "ids": [], "found": 2, "of_last": 2, "regions": 1})
    probe(world, "iad")
    for _ in range(2):
        probe(world, "fra", id)
    assert told() == ["opened"]
    PendingRun.objects.all().delete()
    return world


def rest(world: World, lasts: timedelta) -> None:
    Monitor.objects.update(paused=True)
    look(world)
    world.now += lasts
    look(world)
    assert asked() == []
    Monitor.objects.update(paused=False)


def test_what_was_mended_while_a_monitor_rested_is_not_told_again() -> None:
    world = found_twice(EXPIRED)
    rest(world, timedelta(days=3))
    look(world)
    assert told() == ["opened", "resolved"]
    assert asked() == ["fra", "iad"], "nobody knows yet, and somebody may be waiting"
    for _ in range(2):
        probe(world, "fra")
    assert told() == ["opened", "resolved"]


def test_what_is_still_there_after_the_rest_is_told_again_as_of_then() -> None:
    world = found_twice(OVERFLOW)
    rest(world, timedelta(days=3))
    resumed = world.now
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    assert told() == ["opened", "resolved", "opened"]
    assert Incident.objects.latest("pk").opened_at > resumed


def test_a_region_that_is_asked_again_until_it_has_looked_after_the_rest() -> None:
    world = found_twice(OVERFLOW)
    rest(world, timedelta(days=3))
    probe(world, "fra")
    PendingRun.objects.all().delete()
    look(world)
    assert asked() == ["iad"]


def test_what_a_region_found_before_it_was_left_out_for_a_time_is_not_told_again() -> None:
    world = found_twice(EXPIRED)
    Schedule.objects.filter(region__code="fra").update(enabled=False)
    look(world)
    assert told() == ["opened", "resolved"]
    world.now += timedelta(days=3)
    Schedule.objects.filter(region__code="fra").update(enabled=True)
    look(world)
    assert told() == ["opened", "resolved"]
    assert asked() == ["fra"]


def test_what_no_region_looked_at_for_a_time_is_looked_at_anew() -> None:
    world = found_twice(EXPIRED)
    Schedule.objects.update(enabled=False)
    look(world)
    world.now += timedelta(days=3)
    Schedule.objects.update(enabled=True)
    look(world)
    assert told() == ["opened", "resolved"]
    assert asked() == ["fra", "iad"]


def test_a_cause_is_found_although_the_clock_was_ahead_when_the_address_was_changed() -> None:
    world = make_world("fra", rules=["finding"])
    probe(world, "fra")
    world.now += timedelta(days=3)
    Monitor.objects.update(url="https://shop.example/other")
    look(world)
    world.now -= timedelta(days=3)
    look(world)
    for _ in range(2):
        probe(world, "fra", EXPIRED)
    assert told() == ["opened"]


def test_where_a_run_is_awaited_it_is_looked_within_seconds_and_else_within_a_minute() -> None:
    world = found_twice(OVERFLOW)
    assert looks_in_s(world) == 60
    probe(world, "fra")
    assert looks_in_s(world) == 10, "one run more would tell whether it is mended"
    Monitor.objects.update(paused=True)
    look(world)
    assert looks_in_s(world) == 60
    Monitor.objects.update(paused=False)
    look(world)
    assert looks_in_s(world) == 10, "nobody knows yet"


def looks_in_s(world: World) -> float:
    return (Scrutiny.objects.get().due_at - world.now).total_seconds()
