"""An outage of what is not measured any more, or no more from there or at that address: nobody calls it well."""

import pytest

from backend.alerts.models import Notice, Rule
from backend.alerts.tests.outages import a_page, answer, happen, pass_by, under_way
from backend.alerts.tests.world import only_incident, put_run, told
from backend.runs.models import Schedule
from backend.sites.models import Monitor

pytestmark = pytest.mark.django_db


def test_the_incident_of_a_monitor_that_no_region_measures_any_more_ends_and_says_so() -> None:
    world = a_page(interval_s=60)
    happen(world, "... xxx")
    assert told() == ["opened"]
    kept = list(Schedule.objects.all())
    Schedule.objects.all().delete()
    world.minute("---")
    assert told() == ["opened", "resolved"]
    assert only_incident().resolution == "unmeasured"
    assert Notice.objects.order_by("-pk")[0].message["sentences"] == ["No region measures it any more."]
    assert not only_incident().members.filter(ended_at=None).exists()
    Schedule.objects.bulk_create(kept)
    happen(world, "--- xxx xxx")
    assert told() == ["opened", "resolved", "opened"]


def test_a_region_that_was_down_alone_and_is_not_measured_any_more_is_not_called_well() -> None:
    world = a_page(interval_s=60)
    happen(world, "... ..x ..x ..x")
    assert only_incident().state == "degraded"
    Schedule.objects.filter(region=world.regions[2]).delete()
    happen(world, "..- ..-")
    assert told() == ["opened", "resolved"]
    assert only_incident().resolution == "replaced"


def test_a_site_that_was_down_and_is_measured_from_elsewhere_is_well_when_it_is_seen_well_there() -> None:
    world = a_page("fra", "iad", interval_s=60)
    Schedule.objects.filter(region=world.regions[1]).delete()
    happen(world, ".- x- x-")
    assert told() == ["opened"]
    Schedule.objects.update(region=world.regions[1])
    happen(world, "-x -x")
    assert told() == ["opened"]
    happen(world, "-. -.")
    assert told() == ["opened", "recovered"]


def test_a_site_that_was_down_where_it_is_not_measured_any_more_is_not_called_well_by_who_always_reached_it() -> None:
    world = a_page(interval_s=60)
    happen(world, "... xx. xx. xx.")
    assert only_incident().state == "failing"
    Schedule.objects.filter(region__in=world.regions[:2]).delete()
    happen(world, "--. --.")
    assert told() == ["opened", "resolved"]
    assert only_incident().resolution == "replaced"


@pytest.mark.parametrize("needed", [1, 2])
def test_runs_that_fail_where_it_is_not_measured_any_more_are_not_said_to_fail_no_longer(needed: int) -> None:
    world = a_page(interval_s=60, rules=("failures",))
    Rule.objects.update(params={"failed": 2, "of_last": 5, "regions": needed})
    failing = "." * (3 - needed) + "x" * needed
    happen(world, f"... {failing} {failing}")
    assert told() == ["opened"]
    Schedule.objects.filter(region=world.regions[2]).delete()
    happen(world, failing[:2] + "-")
    assert told() == ["opened", "resolved"]
    assert only_incident().resolution == "replaced"


def test_what_a_region_answers_that_is_not_measured_from_any_more_opens_nothing() -> None:
    world = a_page("fra", "iad")
    happen(world, "..")
    put_run(world.monitor, world.regions[0], world.now, "x")
    pass_by(world, 60)
    (asked,) = under_way()
    assert asked.region.code == "iad"
    Schedule.objects.filter(region=asked.region).delete()
    answer(world, "x")
    pass_by(world, 60)
    assert told() == []


def test_a_pause_while_a_run_is_under_way_ends_it_once_and_its_answer_says_nothing() -> None:
    world = a_page()
    happen(world, "... xxx")
    pass_by(world, 130)
    Monitor.objects.update(paused=True)
    pass_by(world, 60)
    assert told() == ["opened", "resolved"]
    Monitor.objects.update(paused=False)
    pass_by(world, 60)
    answer(world, "x")
    assert pass_by(world, 600, every_s=30) == []
    assert told() == ["opened", "resolved"]


def test_an_address_that_changes_while_a_run_is_under_way_is_judged_by_its_own_runs() -> None:
    world = a_page("fra")
    happen(world, ". x x")
    while not under_way():
        pass_by(world, 10)
    Monitor.objects.update(url="https://shop.example/new")
    answer(world, ".")
    pass_by(world, 120)
    assert told() == ["opened", "resolved"]
    assert only_incident().resolution == "replaced"
