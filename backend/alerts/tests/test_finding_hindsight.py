"""What a rule about findings would have told: of pages as of probes, and however long it waits."""

from datetime import timedelta

import pytest

from backend.alerts.models import Rule
from backend.alerts.preview import preview
from backend.alerts.previewed import Preview
from backend.alerts.tests.test_scrutiny import BLOCKED, NO_H2, OVERFLOW, look, probe
from backend.alerts.tests.world import World, make_world, told
from backend.fleet.models import Region

pytestmark = pytest.mark.django_db

LIMIT = {"min_severity": "high", "ids": [], "found": 2, "of_last": 2, "regions": 1}


def make(*kinds: str, delay_s: int = 0) -> World:
    world = make_world("fra", "iad", kinds=kinds, rules=["finding"])
    Rule.objects.update(params=LIMIT, delay_s=delay_s)
    return world


def tried(world: World, delay_s: int = 0) -> Preview:
    organisation, site = world.fleet.organisation, world.fleet.site
    return preview(organisation, kind="finding", params=LIMIT, site=site, delay_s=delay_s, now=world.now)


def would_have_told(world: World, delay_s: int = 0) -> int | None:
    return tried(world, delay_s).alerts


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
    began = world.now
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    world.now += timedelta(hours=2)
    look(world)
    (moment,) = tried(world, delay_s=3600).moments
    assert abs(moment - began - timedelta(hours=1)) <= timedelta(minutes=5)
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


def test_what_comes_again_would_have_been_told_again() -> None:
    world = make("probe")
    for found in ((OVERFLOW,), (OVERFLOW,), (), ()):
        probe(world, "fra", *found)
    world.now += timedelta(hours=1)
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    assert would_have_told(world) == 2


def test_of_a_site_without_deep_runs_nothing_would_have_been_told() -> None:
    assert would_have_told(make("probe")) == 0


def test_what_a_region_found_that_is_not_used_any_more_would_not_have_been_told() -> None:
    world = make("probe")
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    Region.objects.filter(code="fra").update(enabled=False)
    assert would_have_told(world) == 0
