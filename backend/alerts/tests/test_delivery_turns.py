"""Whose turn it is, and what is sent together: channels that cannot be told for hours keep none that can waiting."""

from datetime import timedelta

import pytest

from backend.alerts.channels import slack_blocks
from backend.alerts.delivery import FAULT, LEASE, MAX_ATTEMPTS, MAX_CHANNELS
from backend.alerts.message import Event, Severity
from backend.alerts.models import Channel, Delivery, DeliveryState, Notice
from backend.alerts.tests.parcels import parcel
from backend.alerts.tests.standin import StandIn
from backend.alerts.tests.test_delivery import Outbox
from backend.alerts.tests.test_notices import message
from backend.cast import Member

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("is_under_way", [False, True])
def test_many_channels_that_are_away_with_more_to_say_keep_no_other_from_its_turn(
    alice: Member, *, is_under_way: bool
) -> None:
    outbox = Outbox(alice)
    for place in range(MAX_CHANNELS):
        _wait_for_hours(outbox, outbox.channel("http://127.0.0.1:1/services/x", name=f"away {place}"))
    if is_under_way:
        Delivery.objects.filter(attempts=6).update(next_try_at=outbox.now, lease_until=outbox.now + LEASE)
    with StandIn() as there:
        well = outbox.channel(there.url, name="well")
        Channel.objects.exclude(pk=well.pk).update(not_before=outbox.now - timedelta(minutes=1))
        outbox.tell(well)
        outbox.step()
    assert [call.header for call in there.calls] == ["down"]


def test_a_report_of_a_week_leaves_alone_however_many_alerts_wait(alice: Member) -> None:
    outbox = Outbox(alice)
    with StandIn() as there:
        channel = outbox.channel(there.url)
        outbox.tell(channel, title="Week of 23 Nov 2026", event=Event.WEEKLY)
        for number in range(7):
            outbox.tell(channel, title=f"site {number} is down")
        outbox.tell(channel, title="Week of 30 Nov 2026", event=Event.WEEKLY)

        outbox.steps(4)

    assert [call.header for call in there.calls] == ["Week of 23 Nov 2026", "7 alerts at once", "Week of 30 Nov 2026"]


def _wait_for_hours(outbox: Outbox, channel: Channel) -> None:
    """Its first message is tried again in three hours, and a second one waits behind it."""
    about = outbox.tell(channel)
    Delivery.objects.filter(channel=channel).update(attempts=6, next_try_at=outbox.now + timedelta(hours=3))
    outbox.tell(channel, about=about, title="up", event=Event.RECOVERED)


def test_a_message_that_cannot_be_read_keeps_no_channel_and_no_later_message_from_its_turn(alice: Member) -> None:
    outbox = Outbox(alice)
    with StandIn() as there:
        channels = [outbox.channel(there.url, name=name) for name in ("ops", "well")]
        outbox.tell(channels[0])
        unread = Delivery.objects.get()
        Notice.objects.update(message={"event": "of a newer version"})
        outbox.tell(*channels, title="slower")
        outbox.steps(2)
        assert [call.header for call in there.calls] == ["slower", "slower"]
        outbox.steps(MAX_ATTEMPTS + 1, every_s=LEASE.total_seconds())
    unread.refresh_from_db()
    assert (unread.state, unread.answer) == (DeliveryState.FAILED, FAULT)


def test_what_is_collected_has_the_mark_of_the_worst_and_not_of_the_first() -> None:
    good, bad = message(Event.RECOVERED), message(Event.OPENED, severity=Severity.CRITICAL)
    assert slack_blocks.payload(parcel(good, good, bad, good))["text"] == "🔴 4 alerts at once"
    assert slack_blocks.payload(parcel(good, good))["text"] == "🟢 2 alerts at once"
