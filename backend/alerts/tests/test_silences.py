"""Which windows and mutes keep quiet, and which do not."""

from datetime import timedelta

import pytest

from backend.accounts.models import Organisation
from backend.alerts.models import Incident, Maintenance, Rule
from backend.alerts.tests.world import DOWN, World, make_world, told
from backend.cast import Member

pytestmark = pytest.mark.django_db


def window(world: World, begins: int, ends: int, organisation: Organisation | None = None) -> None:
    """Of all sites, from so many minutes ahead to so many."""
    Maintenance.objects.create(
        organisation=organisation or world.fleet.organisation,
        starts_at=world.now + timedelta(minutes=begins),
        ends_at=world.now + timedelta(minutes=ends),
    )


def silent_for_four_minutes() -> World:
    world = make_world(rules=["availability"])
    world.minute("...")
    window(world, 0, 4)
    return world


def test_a_window_that_lies_ahead_keeps_nothing_quiet() -> None:
    world = make_world(rules=["availability"])
    window(world, 60, 120)
    world.minutes(DOWN)
    assert told() == ["opened"]


def test_a_window_of_another_organisation_keeps_nothing_quiet(charlie: Member) -> None:
    world = make_world(rules=["availability"])
    window(world, 0, 60, charlie.organisation)
    world.minutes(DOWN)
    assert told() == ["opened"]


def test_what_is_owed_is_told_although_another_window_lies_ahead() -> None:
    world = silent_for_four_minutes()
    window(world, 60, 120)
    world.minutes("xxx " * 6)
    assert told() == ["opened"]


def test_what_is_owed_is_told_although_another_organisation_is_in_maintenance(charlie: Member) -> None:
    world = silent_for_four_minutes()
    window(world, 0, 60, charlie.organisation)
    world.minutes("xxx " * 6)
    assert told() == ["opened"]


@pytest.mark.parametrize("is_timed", [True, False])
def test_nobody_is_reminded_of_what_is_muted_until_the_mute_has_ended(*, is_timed: bool) -> None:
    world = make_world(rules=["availability"])
    Rule.objects.update(remind_every_s=300)
    world.minutes(DOWN)
    until = world.now + timedelta(minutes=10)
    Incident.objects.update(muted_until=until if is_timed else None, muted_until_recovery=not is_timed)
    world.minutes("xxx " * 9)
    assert told() == ["opened"]
    Incident.objects.update(muted_until_recovery=False)
    world.minutes("xxx " * 2)
    assert told() == ["opened", "reminder"]


def test_a_mute_that_has_ended_keeps_nothing_quiet() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... ..x ..x ..x")
    Incident.objects.update(muted_until=world.now + timedelta(minutes=2))
    world.minutes("..x ..x ..x xxx xxx")
    assert told() == ["opened", "worse"]
