"""What is said about one incident stands in one thread, over many messages, processes and changes of the channel."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from pytest_django import Settings

from backend.alerts.actions.channels import change_channel, delete_channel, send_test
from backend.alerts.channels import send
from backend.alerts.channels.config import Destination
from backend.alerts.delivery import KEPT, PACE, claim, record
from backend.alerts.message import Event
from backend.alerts.models import Channel, ChannelKind, Conversation, Delivery, DeliveryState
from backend.alerts.tests.slack_workspace import CONFIG, Workspace
from backend.alerts.tests.standin import limited, loopback
from backend.alerts.tests.test_delivery import Outbox
from backend.cast import Member

pytestmark = pytest.mark.django_db


class Office(Outbox):
    """An outbox with a Slack app."""

    def __init__(self, member: Member, slack: Workspace) -> None:
        super().__init__(member)
        self.slack = slack
        self.app = self.channel("", ChannelKind.SLACK_APP, "app")
        self.app.config = CONFIG
        self.app.save()

    def say(self, title: str, event: Event = Event.OPENED, about: UUID | None = None) -> UUID:
        about = self.tell(self.app, title=title, event=event, about=about)
        self.step()
        self.wait(61)
        return about


@pytest.fixture
def office(alice: Member, settings: Settings) -> Iterator[Office]:
    with Workspace() as slack:
        settings.SLACK_API = slack.api
        yield Office(alice, slack)


def test_an_incident_is_one_thread_and_another_is_another(office: Office) -> None:
    shop = office.say("shop is down")
    blog = office.say("blog is slower")
    office.say("shop is down everywhere", Event.WORSE, shop)
    office.say("shop is well again", Event.RECOVERED, shop)

    first, second = office.slack.firsts()
    assert (first.text, second.text) == ("shop is well again", "blog is slower")
    assert [one.text for one in office.slack.replies(first)] == ["shop is down everywhere", "shop is well again"]
    assert office.slack.replies(second) == []
    assert {row.about for row in Conversation.objects.all()} == {shop, blog}
    assert office.states() == [DeliveryState.DELIVERED] * 4


def test_what_comes_back_is_said_in_the_same_thread(office: Office) -> None:
    about = office.say("down")
    office.say("well", Event.RECOVERED, about)
    office.say("down again", Event.OPENED, about)
    [first] = office.slack.firsts()
    assert first.text == "down again"


def test_a_thread_that_is_gone_is_begun_anew_and_gone_on_with(office: Office) -> None:
    about = office.say("down")
    office.slack.written.clear()
    office.say("worse", Event.WORSE, about)
    office.say("well", Event.RECOVERED, about)
    [first] = office.slack.firsts()
    assert first.changes == ["worse"]
    assert [one.text for one in office.slack.replies(first)] == ["well"]
    assert Conversation.objects.count() == 1


def test_what_began_in_a_digest_has_a_thread_from_its_next_message_on(office: Office) -> None:
    abouts = [office.tell(office.app, title=f"site {number} is down") for number in range(7)]
    office.step()
    office.wait(61)
    assert [one.text for one in office.slack.firsts()] == ["7 alerts at once"]
    assert not Conversation.objects.exists()

    office.say("site 0 is down everywhere", Event.WORSE, abouts[0])
    office.say("site 0 is well again", Event.RECOVERED, abouts[0])
    [_, first] = office.slack.firsts()
    assert [one.text for one in office.slack.replies(first)] == ["site 0 is well again"]


def test_a_digest_of_endings_brings_each_first_message_up_to_date(office: Office) -> None:
    abouts = [office.say(f"site {number} is down") for number in range(7)]
    for number, about in enumerate(abouts):
        office.tell(office.app, title=f"site {number} is well", event=Event.RECOVERED, about=about)
    office.step()
    assert [one.text for one in office.slack.firsts()] == [
        *(f"site {number} is well" for number in range(7)),
        "7 alerts at once",
    ]


def test_another_slack_channel_begins_anew(office: Office, alice: Member) -> None:
    about = office.say("down")
    change_channel(actor=alice.user, channel=office.app, destination=Destination(conversation="C9999ZZZZ"))
    assert not Conversation.objects.exists()
    change_channel(actor=alice.user, channel=office.app, destination=Destination(conversation=CONFIG["conversation"]))
    office.say("well", Event.RECOVERED, about)
    assert [one.text for one in office.slack.firsts()] == ["down", "well"]


def test_a_renamed_channel_goes_on_with_its_threads(office: Office, alice: Member) -> None:
    about = office.say("down")
    change_channel(actor=alice.user, channel=office.app, name="night shift")
    office.say("well", Event.RECOVERED, about)
    assert len(office.slack.firsts()) == 1


def test_tests_are_no_thread(office: Office, alice: Member) -> None:
    for _ in range(2):
        send_test(actor=alice.user, channel=office.app, outbound=loopback())
        Channel.objects.update(not_before=office.now - timedelta(days=1))
    assert len(office.slack.firsts()) == 2
    assert not Conversation.objects.exists()


def test_a_failed_message_begins_nothing_and_its_next_try_does(office: Office) -> None:
    office.slack.faults = {"postMessage": ["internal_error"]}
    about = office.say("down")
    assert not Conversation.objects.exists()
    assert Delivery.objects.get().answer == "internal_error"
    office.step()
    assert Conversation.objects.get().about == about


def test_an_app_that_was_removed_is_switched_off(office: Office) -> None:
    office.slack.faults = {"postMessage": ["account_inactive"]}
    office.say("down")
    office.app.refresh_from_db()
    assert (office.app.enabled, office.app.disabled_reason) == (
        False,
        "account_inactive: The app was removed from Slack.",
    )


def test_threads_end_with_their_channel_and_with_what_was_said(office: Office, alice: Member) -> None:
    office.say("down")
    late = office.say("slower")
    office.now += KEPT + timedelta(days=1)
    Conversation.objects.filter(about=late).update(begun_at=office.now)
    office.step()
    assert Conversation.objects.get().about == late
    delete_channel(actor=alice.user, channel=office.app)
    assert not Conversation.objects.exists()


def change_on_the_way(office: Office, alice: Member, **changes: str) -> None:
    """The channel is changed after Slack took a call and before the answer is written down."""
    [shipment] = claim(office.now)
    sent = send(shipment.kind, shipment.config, shipment.parcel, loopback())
    change_channel(actor=alice.user, channel=office.app, destination=Destination(**changes))
    record(shipment, sent, office.now)


def test_what_began_in_an_earlier_slack_channel_is_not_gone_on_with_there(office: Office, alice: Member) -> None:
    office.tell(office.app, title="down")
    change_on_the_way(office, alice, conversation="C9999ZZZZ")
    assert office.states() == [DeliveryState.DELIVERED]
    assert not Conversation.objects.exists()


def test_a_token_that_was_revoked_switches_no_channel_off_that_has_another(office: Office, alice: Member) -> None:
    office.slack.faults = {"postMessage": ["token_revoked"]}
    about = office.tell(office.app, title="down")
    change_on_the_way(office, alice, token="xoxb-1234567890-another")
    office.app.refresh_from_db()
    assert (office.app.enabled, office.app.disabled_reason) == (True, "")
    assert (Delivery.objects.get().state, Delivery.objects.get().notice.about) == (DeliveryState.WAITING, about)


def test_a_limit_of_an_earlier_destination_holds_the_new_one_no_longer(office: Office, alice: Member) -> None:
    office.slack.faults = {"postMessage": [limited("3000")]}
    office.tell(office.app, title="down")
    change_on_the_way(office, alice, conversation="C9999ZZZZ")
    office.app.refresh_from_db()
    assert office.app.not_before <= office.now + PACE
    assert Delivery.objects.get().next_try_at < office.now + timedelta(seconds=60)


def test_a_new_signing_secret_leaves_threads_as_they_are(office: Office, alice: Member) -> None:
    about = office.say("down")
    change_channel(actor=alice.user, channel=office.app, destination=Destination(signing_secret="f" * 32))
    office.say("well", Event.RECOVERED, about)
    assert [one.text for one in office.slack.firsts()] == ["well"]
