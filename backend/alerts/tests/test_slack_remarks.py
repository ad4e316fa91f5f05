"""What people do on an incident's page is said in its thread in Slack: a line, no alert, and nothing waits for it."""

from collections.abc import Iterator
from datetime import time

import pytest
from django.utils import timezone
from pytest_django import Settings

from backend.alerts import remarks
from backend.alerts.actions.incidents import acknowledge, comment, mute, resolve, unacknowledge, unmute
from backend.alerts.hours import DAYS, Hours
from backend.alerts.message import Event
from backend.alerts.models import Channel, ChannelKind, Conversation, Delivery, Incident, Notice
from backend.alerts.tests.slack_workspace import Workspace, Written
from backend.alerts.tests.test_slack_threads import Office
from backend.cast import Member

pytestmark = pytest.mark.django_db
SAID = "down"


@pytest.fixture
def office(alice: Member, settings: Settings) -> Iterator[Office]:
    """A Slack app that was told of an incident."""
    with Workspace() as slack:
        settings.SLACK_API = slack.api
        office = Office(alice, slack)
        incident = Incident.objects.create(
            organisation=alice.organisation,
            cause="availability",
            key="shop",
            state="failing",
            worst_state="failing",
            severity="critical",
            title=SAID,
            opened_at=office.now,
            changed_at=office.now,
        )
        office.say(SAID, about=incident.public_id)
        yield office


def the_incident() -> Incident:
    return Incident.objects.get()


def sent(office: Office) -> list[Written]:
    """The replies in the thread, once all is sent that is due."""
    Delivery.objects.filter(attempts=0).update(next_try_at=office.now)
    office.steps(8)
    return office.slack.replies(office.slack.firsts()[0])


def test_each_deed_is_one_line_that_only_the_thread_sees_and_the_first_message_stays(
    office: Office, alice: Member
) -> None:
    for deed in (acknowledge, unacknowledge, unmute):
        deed(actor=alice.user, incident=the_incident())
    mute(actor=alice.user, incident=the_incident(), until=None)
    unmute(actor=alice.user, incident=the_incident())
    comment(actor=alice.user, incident=the_incident(), text="We are on it: <!channel>")
    lines = sent(office)
    assert [line.body["text"] for line in lines] == [
        f"Acknowledged by {alice.user}",
        f"Acknowledgement withdrawn by {alice.user}",
        f"Muted by {alice.user}: until it has recovered",
        f"Unmuted by {alice.user}",
        f"Comment by {alice.user}: We are on it: &lt;!channel&gt;",
    ]
    assert not any(line.body["reply_broadcast"] or line.buttons for line in lines)
    [first] = office.slack.firsts()
    assert (first.text, first.changes) == (SAID, [])


def test_who_has_no_thread_hears_nothing_of_it(office: Office, alice: Member) -> None:
    office.channel("", ChannelKind.SLACK, "hook")
    office.channel("", ChannelKind.SLACK_APP, "another app")
    acknowledge(actor=alice.user, incident=the_incident())
    assert list(Delivery.objects.values_list("channel__name", flat=True)) == ["app", "app"]


def test_what_was_pressed_in_slack_has_its_answer_there(office: Office) -> None:
    acknowledge(actor=None, incident=the_incident(), by="by ada in Slack")
    assert Notice.objects.count() == 1


def test_that_somebody_closed_it_is_told_as_ever_and_once(office: Office, alice: Member) -> None:
    resolve(actor=alice.user, incident=the_incident())
    assert not Notice.objects.filter(message__event=Event.REMARK).exists()


@pytest.mark.parametrize("at_any_time", [False, True])
def test_nothing_is_said_where_an_alert_waits_or_the_hours_are_quiet(
    at_any_time: bool, office: Office, alice: Member
) -> None:
    about = office.tell(office.app, title="worse", event=Event.WORSE, about=the_incident().public_id)
    acknowledge(actor=alice.user, incident=the_incident())
    assert Notice.objects.filter(about=about).count() == 2
    office.step()
    day = DAYS[(timezone.now().weekday() + 3) % 7]
    hours = Hours(days=(day,), begins=time(0), ends=time(0), time_zone="UTC", critical_at_any_time=at_any_time)
    Channel.objects.filter(pk=office.app.pk).update(hours=hours.to_json())
    comment(actor=alice.user, incident=the_incident(), text="x")
    assert Notice.objects.filter(about=about).count() == 2 + at_any_time


def test_a_line_that_slack_does_not_take_is_given_up_and_the_next_alert_comes_at_once(
    office: Office, alice: Member
) -> None:
    office.slack.faults["postMessage"] = ["fatal_error"]
    acknowledge(actor=alice.user, incident=the_incident())
    assert sent(office) == []
    office.say("worse", Event.WORSE, the_incident().public_id)
    assert office.states() == ["delivered", "failed", "delivered"]


@pytest.mark.parametrize("is_known", [True, False], ids=["thread-deleted", "thread-forgotten"])
def test_a_line_whose_thread_is_gone_meanwhile_is_no_message_to_the_channel(
    is_known: bool, office: Office, alice: Member
) -> None:
    acknowledge(actor=alice.user, incident=the_incident())
    office.slack.written.clear()
    if not is_known:
        Conversation.objects.all().delete()
    Delivery.objects.update(next_try_at=office.now)
    office.steps(3)
    assert office.slack.written == []
    assert office.states() == ["delivered", "failed"]


def test_many_lines_are_no_digest_and_have_an_end(
    office: Office, alice: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remarks, "MOST", 7)
    for number in range(9):
        comment(actor=alice.user, incident=the_incident(), text=str(number))
        Delivery.objects.filter(attempts=0).update(next_try_at=office.now)
        office.step()
        office.wait(2)
    assert [line.body["text"][-1] for line in sent(office)] == list("0123456")


def test_what_comes_behind_a_line_changes_the_first_message_as_ever(office: Office, alice: Member) -> None:
    comment(actor=alice.user, incident=the_incident(), text="x")
    office.say("well", Event.RECOVERED, the_incident().public_id)
    office.step()
    [first] = office.slack.firsts()
    assert first.text == "well"
