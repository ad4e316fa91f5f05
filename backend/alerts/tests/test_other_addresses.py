"""A monitor that measures something else, or in another manner: what was seen before says nothing of what is new."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from backend.alerts.models import Rule
from backend.alerts.tests.slow_site import Site, slower, usual
from backend.alerts.tests.test_hindsight import DAY, show
from backend.alerts.tests.world import World, make_world, only_incident, put_run, titles, told
from backend.cast import Member
from backend.runs.models import Connection
from backend.sites.actions import change_monitor
from backend.sites.models import Monitor
from backend.sites.monitor_settings import stored_settings
from workers.measurement.connection import Header

pytestmark = pytest.mark.django_db


def test_another_address_that_a_paused_monitor_was_given_is_learned_anew() -> None:
    site = Site()
    site.pass_time(30, usual)
    Monitor.objects.update(paused=True)
    site.pass_time(10, usual)
    Monitor.objects.update(url="https://shop.example/other")
    site.pass_time(10, usual)
    Monitor.objects.update(paused=False)
    site.pass_time(180, slower)
    assert told() == []


def send(value: str, member: Member) -> None:
    """The monitor sends this header from now on."""
    monitor = Monitor.objects.get()
    settings = replace(stored_settings(monitor), headers=(Header(name="X-Visitor", value=value),))
    change_monitor(actor=member.user, monitor=monitor, settings=settings)


def test_what_is_asked_in_another_manner_is_learned_anew(bob: Member) -> None:
    site = Site()
    site.pass_time(30, usual)
    send("first", bob)
    site.pass_time(180, slower)
    assert told() == []


def test_an_incident_ends_where_the_site_is_asked_in_another_manner(bob: Member) -> None:
    site = Site()
    site.pass_time(60, slower)
    send("first", bob)
    site.look()
    assert told() == ["opened", "resolved"]
    assert only_incident().get_resolution_display() == "Something else is measured now"


def test_a_header_that_only_has_a_new_value_leaves_normal_what_it_was(bob: Member) -> None:
    site = Site()
    monitor = Monitor.objects.get()
    monitor.headers = [["X-Visitor", "first"]]
    monitor.save()
    send("second", bob)
    site.pass_time(60, slower)
    assert told() == ["opened"]


def test_the_certificate_of_an_address_that_is_not_measured_any_more_is_nobodys() -> None:
    world = make_world("fra", rules=["certificate"])
    show(world, world.now + timedelta(seconds=1), ("shop.example", 15 * DAY))
    world.minute("-")
    Monitor.objects.update(url="http://shop.example/")
    world.minute(".")
    world.now += 2 * DAY
    world.minutes(". .")
    assert told() == []


def test_an_incident_of_another_address_ends_with_it_and_begins_anew_where_that_is_down_too() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... xxx xxx")
    Monitor.objects.update(url="https://shop.example/other")
    world.minute("xxx")
    assert told() == ["opened", "resolved"]
    assert only_incident().get_resolution_display() == "Something else is measured now"
    world.minutes("xxx xxx")
    assert told() == ["opened", "resolved", "opened"]


def test_values_of_another_address_are_in_no_median() -> None:
    world = make_world("fra", rules=["budget"])
    Rule.objects.update(params={"metric": "ttfb_ms", "limit": 150, "critical_limit": None, "of_last": 5, "regions": 1})
    world.minutes(". . . .")
    Monitor.objects.update(url="https://shop.example/other")
    world.minutes(". . .")
    assert told() == []
    world.minutes(". . .")
    assert told() == ["opened"]


def test_a_server_among_several_that_still_shows_the_old_certificate_is_told_of_once() -> None:
    world = make_world("fra", "sin", rules=["certificate"])
    for hour in range(6):
        _sees(world, 0 if hour % 2 else 1)
        world.now += timedelta(minutes=59)
        world.minute("--")
    assert told() == ["opened"]
    assert titles()[0].endswith(f"ends in 5 days, on {old_end(world):%Y-%m-%d}")


def _sees(world: World, place: int) -> None:
    """One region alone has a run: Frankfurt sees the new certificate, Singapore the old one."""
    run = put_run(world.monitor, world.regions[place], world.now + timedelta(minutes=59, seconds=30), ".")
    Connection.objects.create(
        run_id=run.run_id,
        scheduled_for=run.scheduled_for,
        number=0,
        monitor_id=run.monitor_id,
        region_id=run.region_id,
        host="shop.example",
        port=443,
        certificate_not_after=old_end(world) + (75 * DAY if place == 0 else timedelta()),
    )


def old_end(world: World) -> datetime:
    return world.fleet.site.created_at + 5 * DAY
