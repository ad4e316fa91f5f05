"""What a rule about findings would have told: of pages as of probes, and however long it waits."""

from datetime import timedelta

import pytest

from backend.alerts.models import Rule
from backend.alerts.preview import preview
from backend.alerts.tests.test_scrutiny import BLOCKED, NO_H2, OVERFLOW, look, probe
from backend.alerts.tests.world import World, make_world, told

pytestmark = pytest.mark.django_db

LIMIT = {"min_severity": "high", "ids": [], "found": 2, "of_last": 2, "regions": 1}


def make(*kinds: str, delay_s: int = 0) -> World:
    world = make_world("fra", "iad", kinds=kinds, rules=["finding"])
    Rule.objects.update(params=LIMIT, delay_s=delay_s)
    return world


def would_have_told(world: World, delay_s: int = 0) -> int | None:
    organisation, site = world.fleet.organisation, world.fleet.site
    found = preview(organisation, kind="finding", params=LIMIT, site=site, delay_s=delay_s, now=world.now)
    return found.alerts


def test_what_page_loads_found_would_have_been_told() -> None:
    world = make("page")
    for _ in range(2):
        probe(world, "fra", BLOCKED)
    assert told().count("opened") == 1
    assert would_have_told(world) == 1


def test_what_is_the_probes_to_tell_is_told_of_no_page_load() -> None:
    world = make("page")
    for _ in range(2):
        probe(world, "fra", NO_H2)
    assert told().count("opened") == 0
    assert would_have_told(world) == 0


def test_what_lasted_as_long_as_a_rule_waits_would_have_been_told_without_a_further_run() -> None:
    world = make("probe", delay_s=3600)
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    world.now += timedelta(hours=2)
    look(world)
    assert told() == ["opened"]
    assert would_have_told(world, delay_s=3600) == 1
    for _ in range(2):
        probe(world, "fra")
    assert told() == ["opened", "recovered"]
    assert would_have_told(world, delay_s=3600) == 1


def test_what_was_mended_before_would_not_have_been() -> None:
    world = make("probe", delay_s=3600)
    for found in ((OVERFLOW,), (OVERFLOW,), (), ()):
        probe(world, "fra", *found)
    world.now += timedelta(hours=2)
    look(world)
    assert told() == []
    assert would_have_told(world, delay_s=3600) == 0
