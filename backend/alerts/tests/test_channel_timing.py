"""When a channel is told is chosen, changed and noted; what is held follows at once."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import time_machine

from backend.accounts.models import AuditEntry
from backend.alerts.actions.channels import change_channel, create_channel, send_test, switch_channel
from backend.alerts.channels import Outcome
from backend.alerts.channels.config import MAX_AFTER_S, ChannelError, Destination
from backend.alerts.models import Channel, ChannelKind, Delivery
from backend.alerts.notices import SWITCHED_OFF
from backend.alerts.queries.channels import channel_row, deliveries
from backend.alerts.tests.night import BY_DAY, MORNING, NIGHT, Night
from backend.alerts.tests.standin import StandIn, loopback
from backend.cast import Member

pytestmark = pytest.mark.django_db


@pytest.fixture
def night(alice: Member) -> Iterator[Night]:
    with StandIn() as there, time_machine.travel(NIGHT, tick=False):
        yield Night(alice, there)


def test_a_channel_is_made_with_a_delay_and_hours(alice: Member) -> None:
    made = create_channel(
        actor=alice.user,
        organisation=alice.organisation,
        kind=ChannelKind.WEBHOOK,
        name="ops",
        destination=Destination(url="https://hook.example/"),
        after_s=900,
        hours=BY_DAY,
    )
    row = channel_row(alice.organisation, made.channel.public_id)
    assert row is not None
    assert (row.after_s, row.hours) == (900, BY_DAY)


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"after_s": -1}, "after_s"),
        ({"after_s": MAX_AFTER_S + 1}, "after_s"),
        ({"hours": replace(BY_DAY, days=())}, "hours"),
        ({"hours": replace(BY_DAY, days=("someday",))}, "hours"),
        ({"hours": replace(BY_DAY, time_zone="Mars/Olympus")}, "hours"),
        ({"hours": replace(BY_DAY, time_zone="../UTC")}, "hours"),
        ({"hours": replace(BY_DAY, time_zone="localtime")}, "hours"),
    ],
)
def test_what_no_clock_shows_is_refused_and_changes_nothing(night: Night, wanted: Any, field: str) -> None:
    channel = night.made()
    with pytest.raises(ChannelError) as caught:
        change_channel(actor=None, channel=channel, **wanted)
    assert caught.value.field == field
    channel.refresh_from_db()
    assert (channel.after_s, channel.hours) == (0, None)


def test_a_whole_day_is_as_late_as_it_may_be_told(night: Night) -> None:
    assert change_channel(actor=None, channel=night.made(), after_s=MAX_AFTER_S).after_s == MAX_AFTER_S


def test_what_is_not_asked_for_stays_and_is_not_noted(night: Night) -> None:
    channel = night.made(hours=BY_DAY, after_s=900)
    changed = change_channel(actor=None, channel=channel, name="night shift")
    assert (changed.after_s, changed.its_hours) == (900, BY_DAY)
    assert AuditEntry.objects.get(action="change_channel").detail == {"name": "night shift", "changed": ["name"]}


def test_another_time_stands_in_the_audit_log_in_words(night: Night) -> None:
    channel = night.made()
    change_channel(actor=None, channel=channel, after_s=900, hours=BY_DAY)
    detail = AuditEntry.objects.get(action="change_channel").detail
    assert detail["changed"] == ["after_s", "hours"]
    assert (detail["before"]["hours"], detail["after"]["hours"]) == (
        "at any time",
        "every day 08:00-18:00 Europe/Berlin",
    )
    change_channel(actor=None, channel=channel, hours=replace(BY_DAY, critical_at_any_time=False))
    assert AuditEntry.objects.latest("pk").detail["changed"] == ["critical_at_any_time"]
    change_channel(actor=None, channel=channel, hours="any")
    channel.refresh_from_db()
    assert channel.hours is None


def test_what_is_held_is_told_at_once_where_the_hours_are_taken_away(night: Night) -> None:
    channel = night.made(hours=BY_DAY)
    night.begin(channel)
    night.steps(2)
    assert night.heard == []
    change_channel(actor=None, channel=channel, hours="any")
    night.steps(1)
    assert night.heard == ["down"]


def test_what_is_held_is_told_at_once_where_the_delay_is_taken_away(night: Night) -> None:
    channel = night.made(after_s=3_600)
    night.begin(channel)
    night.steps(2)
    change_channel(actor=None, channel=channel, after_s=0)
    night.steps(1)
    assert night.heard == ["down"]


def test_another_name_lets_nothing_go(night: Night) -> None:
    channel = night.made(hours=BY_DAY)
    night.begin(channel)
    night.steps(1)
    change_channel(actor=None, channel=channel, name="night shift")
    assert Delivery.objects.get().is_held


def test_what_is_held_while_a_channel_is_switched_off_is_not_sent_later(night: Night) -> None:
    channel = night.made(hours=BY_DAY)
    night.begin(channel)
    night.steps(1)
    switch_channel(actor=None, channel=channel, enabled=False)
    assert night.log == [("down", "dropped", SWITCHED_OFF)]


def test_a_test_is_sent_at_once_whatever_the_hours_are(night: Night) -> None:
    channel = night.made(hours=BY_DAY, after_s=900)
    sent = send_test(actor=None, channel=channel, outbound=loopback())
    assert sent.outcome is Outcome.DELIVERED
    assert night.heard == ["Test: alerts of Acme will arrive here"]


def test_the_log_says_until_when_something_is_held(night: Night) -> None:
    channel = night.made(hours=BY_DAY)
    night.begin(channel)
    night.steps(1)
    (line,) = deliveries(night.member.organisation, channel)
    assert (line.held_until, line.next_try_at) == (MORNING, MORNING)
    night.pass_to(MORNING)
    (line,) = deliveries(night.member.organisation, channel)
    assert (line.state, line.held_until) == ("delivered", None)
    assert Channel.objects.get().its_hours == BY_DAY
