"""A rule that is tried on the past counts what judging counts, where agents saw nothing."""

from datetime import timedelta

import pytest

from backend.accounts.models import Organisation
from backend.alerts.blind_agents import look_around
from backend.alerts.models import Blindness, Rule
from backend.alerts.preview import preview
from backend.alerts.previewed import Preview
from backend.alerts.tests.test_blind_agents import many_sites, minutes, open_keys
from backend.alerts.tests.world import World
from backend.fleet.models import Region
from backend.runs.models import Run

pytestmark = pytest.mark.django_db


def tried(world: World, kind: str, **params: object) -> Preview:
    return preview(world.fleet.organisation, kind=kind, params=params, now=world.now)


def test_what_an_agent_that_saw_nothing_said_of_sites_counts_neither_when_judged_nor_when_tried() -> None:
    world = many_sites("fra", "iad")
    minutes(world, ".. .. x. x. x. x. x. x. x. .. ..")
    assert open_keys() == ["agent"]
    assert tried(world, "availability").alerts == 0
    assert tried(world, "failures", failed=3, of_last=5).alerts == 0
    assert tried(world, "agent").alerts == 1
    Rule.objects.filter(kind="agent").update(enabled=False)
    assert tried(world, "availability").alerts == 4


def test_it_is_known_for_as_long_as_rules_are_tried_on() -> None:
    world = many_sites("fra", "iad")
    minutes(world, ".. .. x. x. x. x. x. x. x. .. ..")
    for days in (2, 10):
        look_around(world.now + timedelta(days=days))
    world.now += timedelta(days=10)
    assert tried(world, "availability").alerts == 0
    assert tried(world, "agent").alerts == 1
    look_around(world.now + timedelta(days=10))
    assert not Blindness.objects.exists()


def test_a_region_whose_work_did_not_come_is_counted_as_that_and_no_site_lacked_data() -> None:
    world = many_sites("fra", "iad")
    minutes(world, ".. .. mm mm mm mm mm mm mm mm mm mm mm mm .. ..")
    Run.objects.filter(outcome="missed").update(missed_reason="queue_full")
    assert open_keys() == ["agent", "agent"]
    assert tried(world, "no_data").alerts == 0
    assert tried(world, "agent").alerts == 2
    Rule.objects.filter(kind="agent").update(enabled=False)
    assert tried(world, "no_data").alerts == 4


def test_what_lasted_less_than_a_rule_waits_for_is_not_counted() -> None:
    world = many_sites("fra", "iad")
    minutes(world, ".. .. x. x. x. x. .. ..")
    assert Blindness.objects.exists()
    assert tried(world, "agent", silent_s=3600).alerts == 0


def test_a_region_that_sees_nothing_still_is_counted() -> None:
    world = many_sites("fra", "iad")
    minutes(world, ".. .. x. x. x. x. x. x. x.")
    assert tried(world, "agent").alerts == 1


def test_a_region_that_sees_nothing_twice_is_counted_twice() -> None:
    world = many_sites("fra", "iad")
    minutes(world, ".. .. x. x. x. x. x. x. x. .. ..")
    (row,) = Blindness.objects.filter(agent="")
    assert row.until is not None
    long_before = {name: getattr(row, name) - timedelta(days=1) for name in ("since", "noted_at", "until")}
    Blindness.objects.create(region=row.region, agent="", why=row.why, looked_at=row.looked_at, **long_before)
    assert tried(world, "agent").alerts == 2


def test_what_regions_of_others_saw_is_not_counted() -> None:
    world = many_sites("fra", "iad")
    minutes(world, ".. .. x. x. x. x. x. x. x. .. ..")
    others = Organisation.objects.create(name="Others", slug="others")
    Region.objects.filter(code="fra").update(organisation=others)
    assert tried(world, "agent").alerts == 0
