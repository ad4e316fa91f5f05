"""What people do with an alert: acknowledge, mute, close, accept and comment."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from backend.alerts.models import Incident, Trend
from backend.cast import Member
from backend.web.tests.incidents import make_incident, make_over
from backend.web.tests.world import World

pytestmark = pytest.mark.django_db

Act = Callable[..., tuple[int, str]]


@pytest.fixture
def act(client: Client) -> Callable[..., tuple[int, str]]:
    def post(who: Member, name: str, incident: Incident, **fields: str) -> tuple[int, str]:
        client.force_login(who.user)
        response = client.post(reverse(f"web:incident_{name}", args=[incident.public_id]), fields, follow=True)
        return response.status_code, response.content.decode()

    return post


def test_acknowledging_and_taking_it_back(world: World, bob: Member, act: Act) -> None:
    incident = make_incident(world)
    _, text = act(bob, "acknowledge", incident, next="list")
    assert "Acknowledged: no reminders from now on." in text
    assert f"acknowledged by {bob.user.email}" in text
    act(bob, "unacknowledge", incident)
    incident.refresh_from_db()
    assert incident.acknowledged_at is None


@pytest.mark.parametrize("length", ["hour", "recovered", "date"])
def test_muting_for_an_hour_until_recovery_or_until_a_date(world: World, bob: Member, act: Act, length: str) -> None:
    bob.user.time_zone = "Asia/Tokyo"
    bob.user.save()
    incident = make_incident(world)
    tomorrow = timezone.now() + timedelta(days=1)
    local = tomorrow + timedelta(hours=9)
    act(bob, "mute", incident, length=length, until=f"{local:%Y-%m-%dT%H:%M}" if length == "date" else "")
    incident.refresh_from_db()
    if length == "recovered":
        assert incident.muted_until_recovery
        return
    assert incident.muted_until is not None
    wanted = tomorrow if length == "date" else timezone.now() + timedelta(hours=1)
    assert abs(incident.muted_until - wanted) < timedelta(minutes=2)
    act(bob, "unmute", incident)
    incident.refresh_from_db()
    assert incident.muted_until is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"length": "date", "until": ""}, "Choose until when"),
        ({"length": "date", "until": "2020-01-01T00:00"}, "Choose a time from now"),
        ({"length": "date", "until": "soon"}, "Enter a valid date"),
        ({"length": "hour", "until": "2999-01-01T00:00"}, "choose “until a date”"),
        ({"length": "ever"}, "Select a valid choice"),
    ],
)
def test_a_mute_that_makes_no_sense_is_said_at_its_field(
    world: World, act: Act, fields: dict[str, str], words: str
) -> None:
    status, text = act(world.member, "mute", make_incident(world), **fields)
    assert (status, words in text) == (400, True)


def test_closing_accepting_and_commenting(world: World, act: Act, client: Client) -> None:
    incident = make_incident(world)
    Trend.objects.create(monitor=world.monitor("probe"), due_at=timezone.now())
    assert act(world.member, "comment", incident, text="We rolled back.")[0] == 200
    assert act(world.member, "comment", incident, text="")[0] == 400
    _, text = act(world.member, "accept", incident)
    assert "what is normal is learned anew" in text
    assert "We rolled back." in text
    _, text = act(world.member, "resolve", incident)
    assert "It is over already." in text
    second = make_incident(world)
    act(world.member, "resolve", second)
    assert "Closed" in client.get("/alerts/?state=over").content.decode()


def test_who_mutes_what_somebody_closed_meanwhile_is_told_so(client: Client, world: World) -> None:
    over = make_over(world)
    client.force_login(world.member.user)
    answer = client.post(reverse("web:incident_mute", args=[over.public_id]), {"length": "hour"}, follow=True)
    assert (answer.status_code, "It is over already." in answer.content.decode()) == (200, True)
