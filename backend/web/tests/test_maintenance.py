"""The pages of maintenance."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from backend.accounts.models import User
from backend.alerts.models import Maintenance
from backend.cast import Member
from backend.web.tests.incidents import make_window
from backend.web.tests.visits import Send, look
from backend.web.tests.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def in_november() -> Iterator[None]:
    """Of 2026: a maintenance is planned at most a year ahead, and clocks are set on nights with dates of their own."""
    with time_machine.travel(datetime(2026, 11, 22, 12, tzinfo=UTC), tick=False):
        yield


@pytest.mark.usefixtures("in_november")
def test_a_maintenance_is_planned_in_the_persons_own_time_zone(world: World, bob: Member, send: Send) -> None:
    bob.user.time_zone = "America/New_York"
    bob.user.save()
    _, text = send(
        bob,
        "/alerts/maintenance/",
        site=str(world.site.public_id),
        starts_at="2027-01-10T22:00",
        ends_at="2027-01-11T02:00",
        reason="new database",
    )
    window = Maintenance.objects.get()
    assert window.starts_at.isoformat() == "2027-01-11T03:00:00+00:00"
    assert (window.site, window.reason) == (world.site, "new database")
    assert "10 Jan 2027 22:00" in text


@pytest.mark.usefixtures("in_november")
@pytest.mark.parametrize(
    ("starts_at", "ends_at", "utc"),
    [
        # Of an hour that the clock shows twice: from its first beginning to its second end.
        ("2027-10-31T02:30", "2027-10-31T02:45", ("2027-10-31T00:30", "2027-10-31T01:45")),
        ("2027-10-31T01:30", "2027-10-31T02:30", ("2027-10-30T23:30", "2027-10-31T01:30")),
        ("2027-03-28T01:30", "2027-03-28T03:30", ("2027-03-28T00:30", "2027-03-28T01:30")),
    ],
)
def test_a_maintenance_over_the_night_on_which_clocks_are_set_is_never_too_short(
    world: World, send: Send, starts_at: str, ends_at: str, utc: tuple[str, str]
) -> None:
    User.objects.update(time_zone="Europe/Berlin")
    assert send(world.member, "/alerts/maintenance/", starts_at=starts_at, ends_at=ends_at)[0] == 200
    window = Maintenance.objects.get()
    assert tuple(f"{at:%Y-%m-%dT%H:%M}" for at in (window.starts_at, window.ends_at)) == utc


@pytest.mark.usefixtures("in_november")
def test_a_time_that_the_clock_leaves_out_is_refused_in_plain_words(world: World, send: Send) -> None:
    User.objects.update(time_zone="Europe/Berlin")
    fields = {"starts_at": "2027-03-28T02:30", "ends_at": "2027-03-28T04:00"}
    status, text = send(world.member, "/alerts/maintenance/", **fields)
    assert (status, "On that day the clock is set forward, and leaves this time out." in text) == (400, True)
    assert send(world.member, "/alerts/maintenance/", **fields | {"starts_at": "0001-01-01T00:00"})[0] == 400


def test_a_maintenance_that_makes_no_sense_is_said_at_its_field(world: World, send: Send) -> None:
    status, text = send(world.member, "/alerts/maintenance/", starts_at="2027-01-10T22:00", ends_at="2027-01-10T21:00")
    assert (status, "It must end after it has begun." in text) == (400, True)


def test_a_maintenance_is_ended(client: Client, world: World, send: Send) -> None:
    going_on, ahead = make_window(world), make_window(world, starts_in=timedelta(days=1), site=None)
    text = look(client, world.member, "/alerts/maintenance/")
    assert "Nothing is told of Shop until" in text
    for window in (going_on, ahead):
        _, text = send(world.member, reverse("web:maintenance_end", args=[window.public_id]))
    assert "No maintenance is going on" in text
    assert Maintenance.objects.get().ends_at <= timezone.now()
