"""The door for Slack's buttons."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from backend.accounts.models import AuditEntry
from backend.alerts.actions.channels import create_channel, switch_channel
from backend.alerts.actions.incidents import mute, resolve
from backend.alerts.channels.config import Destination
from backend.alerts.channels.slack_buttons import value_of
from backend.alerts.models import Channel, ChannelKind, EventKind, Incident, IncidentEvent
from backend.alerts.tests.slack_workspace import CONFIG
from backend.alerts.tests.standin import NO_SERVICE, StandIn
from backend.alerts.tests.test_slack_buttons import body_of, called, headers_of
from backend.cast import Member
from workers.measurement.addresses import parse_networks
from workers.tests.waiting import wait_for

pytestmark = pytest.mark.django_db

PATH = "/api/v1/slack/pressed"
Headers = Mapping[str, str]
NONE: Headers = {}


class Room:
    """A Slack app of an organisation with one incident, and where its answers go."""

    def __init__(self, member: Member, there: StandIn) -> None:
        self.there = there
        self.incident = Incident.objects.create(
            organisation=member.organisation,
            cause="availability",
            key="shop availability",
            state="critical",
            worst_state="critical",
            severity="critical",
            title="Shop is down",
            opened_at=timezone.now(),
            changed_at=timezone.now(),
        )
        self.app = make_app(member)

    def press(
        self, action_id: str = "acknowledge", *, app: Channel | None = None, headers: Headers = NONE, **changes: Any
    ) -> Any:
        action = {"action_id": action_id, "value": value_of((app or self.app).public_id, self.incident.public_id)}
        body = body_of(called(actions=[action], response_url=f"{self.there.origin}/actions/1", **changes))
        return send(body, headers)

    def now(self) -> Incident:
        self.incident.refresh_from_db()
        return self.incident

    def answers(self) -> list[dict[str, Any]]:
        return [call.body for call in self.there.calls]


def send(body: bytes, headers: Headers = NONE) -> Any:
    signed = {**headers_of(body, str(int(timezone.now().timestamp()))), **headers}
    return Client(enforce_csrf_checks=True).post(
        PATH, body, content_type="application/x-www-form-urlencoded", headers=signed
    )


def make_app(member: Member, **changes: str) -> Channel:
    return create_channel(
        actor=member.user,
        organisation=member.organisation,
        kind=ChannelKind.SLACK_APP,
        name="app",
        destination=Destination(**(CONFIG | changes)),
    ).channel


@pytest.fixture
def room(alice: Member, settings: Settings) -> Iterator[Room]:
    with StandIn() as there:
        settings.PRIVATE_TARGETS = parse_networks("127.0.0.0/8")
        settings.EXTRA_PORTS = frozenset({urlsplit(there.origin).port})
        settings.SLACK_ORIGINS = (there.origin,)
        yield Room(alice, there)


def test_who_presses_acknowledges_the_incident_and_all_see_it(room: Room) -> None:
    answer = room.press()

    assert (answer.status_code, answer.content) == (200, b"")
    assert room.now().acknowledged_at is not None
    assert room.now().acknowledged_by is None
    event = IncidentEvent.objects.get(kind=EventKind.ACKNOWLEDGED)
    assert (event.text, event.actor) == ("by ada in Slack", None)
    entry = AuditEntry.objects.get(action="acknowledged_incident")
    assert (entry.actor, entry.detail["text"], entry.address) == (None, "by ada in Slack", "127.0.0.1")
    wait_for(lambda: room.there.calls, "the answer")
    assert room.answers() == [
        {
            "text": "Acknowledged by ada in Slack: no reminders from now on.",
            "mrkdwn": False,
            "replace_original": False,
            "response_type": "in_channel",
            "thread_ts": "1764500000.000001",
        }
    ]


def test_a_second_press_says_so_to_who_pressed_alone(room: Room) -> None:
    room.press()
    room.press()
    wait_for(lambda: len(room.there.calls) == 2, "both answers")
    assert {one["response_type"] for one in room.answers()} == {"in_channel", "ephemeral"}
    assert IncidentEvent.objects.filter(kind=EventKind.ACKNOWLEDGED).count() == 1


def test_an_incident_is_muted_for_an_hour(room: Room) -> None:
    room.press("mute-an-hour")
    until = room.now().muted_until
    assert until is not None
    assert timedelta(minutes=59) < until - timezone.now() <= timedelta(hours=1)
    assert IncidentEvent.objects.get(kind=EventKind.MUTED).text.endswith("UTC, by ada in Slack")


def test_what_is_over_is_left_as_it_is(room: Room) -> None:
    resolve(actor=None, incident=room.incident)
    room.press()
    wait_for(lambda: room.there.calls, "the answer")
    [told] = room.answers()
    assert (told["text"], told["response_type"]) == ("It is over already.", "ephemeral")
    assert room.now().acknowledged_at is None


def test_a_channel_that_is_off_does_nothing(room: Room) -> None:
    switch_channel(actor=None, channel=room.app, enabled=False)
    room.press()
    wait_for(lambda: room.there.calls, "the answer")
    assert "switched off" in room.answers()[0]["text"]
    assert room.now().acknowledged_at is None


def test_incidents_of_others_are_not_there(room: Room, charlie: Member) -> None:
    theirs = make_app(charlie)
    assert room.press(app=theirs).status_code == 200
    wait_for(lambda: room.there.calls, "the answer")
    assert room.answers()[0]["text"] == "There is no such incident any more."
    assert room.now().acknowledged_at is None


def test_what_slack_did_not_sign_is_refused(room: Room) -> None:
    assert room.press(headers={"X-Slack-Signature": "v0=" + "0" * 64}).status_code == 401
    assert room.press(headers={"X-Slack-Request-Timestamp": "1764500000"}).status_code == 401
    assert room.now().acknowledged_at is None
    assert room.there.calls == []


def test_an_app_without_a_signing_secret_hears_nothing(room: Room, charlie: Member) -> None:
    assert room.press(app=make_app(charlie, signing_secret="")).status_code == 401


def test_a_channel_of_another_kind_hears_nothing(room: Room) -> None:
    Channel.objects.update(kind=ChannelKind.WEBHOOK)
    assert room.press().status_code == 401


def test_a_button_that_only_opens_a_page_is_no_fault(room: Room) -> None:
    assert send(body_of(called(actions=[{"action_id": "open-0"}]))).status_code == 200
    assert send(b"\xff").status_code == 200


def test_too_large_a_body_is_not_read(room: Room) -> None:
    assert send(b"x" * (256 * 1024 + 1)).status_code == 413


def test_nothing_is_sent_where_slack_does_not_live(room: Room, settings: Settings) -> None:
    settings.SLACK_ORIGINS = ("https://hooks.slack.com",)
    assert room.press().status_code == 200
    assert room.now().acknowledged_at is not None
    assert room.there.calls == []


def test_an_answer_that_is_not_taken_costs_nothing(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    room.there.plan = [NO_SERVICE]
    assert room.press().status_code == 200
    wait_for(lambda: "did not take what became" in caplog.text, "the log")
    assert room.now().acknowledged_at is not None


def test_only_posts_are_taken(room: Room) -> None:
    assert Client().get(PATH).status_code == 405


@pytest.mark.parametrize("until", [timedelta(days=2), None], ids=["for two days", "until it has recovered"])
def test_what_is_muted_for_longer_stays_so(room: Room, until: timedelta | None) -> None:
    ends = None if until is None else timezone.now() + until
    mute(actor=None, incident=room.incident, until=ends)
    room.press("mute-an-hour")
    wait_for(lambda: room.there.calls, "the answer")
    [told] = room.answers()
    assert (told["text"], told["response_type"]) == ("It is muted for longer already.", "ephemeral")
    assert (room.now().muted_until, room.now().muted_until_recovery) == (ends, until is None)
    assert IncidentEvent.objects.filter(kind=EventKind.MUTED).count() == 1


def test_a_mute_that_ends_sooner_is_made_longer(room: Room) -> None:
    mute(actor=None, incident=room.incident, until=timezone.now() + timedelta(minutes=5))
    room.press("mute-an-hour")
    until = room.now().muted_until
    assert until is not None
    assert until > timezone.now() + timedelta(minutes=59)


def test_what_is_over_is_not_muted_whatever_it_was(room: Room) -> None:
    mute(actor=None, incident=room.incident, until=timezone.now() + timedelta(days=2))
    resolve(actor=None, incident=room.incident)
    room.press("mute-an-hour")
    wait_for(lambda: room.there.calls, "the answer")
    assert room.answers()[0]["text"] == "It is over already."


def test_a_name_calls_nobody_and_hides_no_link(room: Room) -> None:
    room.press(user={"id": "U1", "username": "<!channel> & <https://evil.example|ada>"})
    wait_for(lambda: room.there.calls, "the answer")
    assert room.answers()[0]["text"] == (
        "Acknowledged by &lt;!channel&gt; &amp; &lt;https://evil.example|ada&gt; in Slack: no reminders from now on."
    )
