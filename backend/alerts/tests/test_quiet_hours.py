"""Channels that have hours: what comes outside them is held, in its order, and told when they begin."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from backend.alerts.delivery import BACKOFF_S, LEASE, Delivering, claim, disable
from backend.alerts.holding import let_go
from backend.alerts.message import Event, Severity
from backend.alerts.models import Channel, ChannelKind, Delivery
from backend.alerts.tests.night import BY_DAY, MORNING, NIGHT, Night
from backend.alerts.tests.standin import FAULT, OK, StandIn, loopback
from backend.cast import Member
from backend.tests.side_by_side import side_by_side

pytestmark = pytest.mark.django_db

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture
def night(alice: Member) -> Iterator[Night]:
    with StandIn() as there:
        yield Night(alice, there)


def listed(night: Night) -> list[str]:
    """The lines of the last message, without their marks."""
    text = night.there.calls[-1].body["blocks"][1]["text"]["text"]
    return [line[2:] for line in str(text).split("\n")]


def test_what_comes_at_night_is_held_until_morning_and_costs_no_try(night: Night) -> None:
    night.begin(night.made(hours=BY_DAY))
    night.steps(3)
    held = Delivery.objects.get()
    assert (held.state, held.attempts, held.next_try_at, held.held_until) == ("waiting", 0, MORNING, MORNING)
    night.pass_to(MORNING - timedelta(seconds=3), steps=3)
    assert night.heard == []
    night.steps(1)
    assert night.heard == ["down"]


def test_what_comes_by_day_is_told_at_once(night: Night) -> None:
    night.now = MORNING + HOUR
    night.begin(night.made(hours=BY_DAY))
    night.steps(1)
    assert night.heard == ["down"]


def test_in_the_morning_people_are_told_all_in_one_what_goes_on_first(night: Night) -> None:
    ops = night.made(hours=BY_DAY)
    over = night.begin(ops, title="a is down")
    night.begin(ops, title="b is down")
    night.pass_to(NIGHT + HOUR)
    night.end(over, ops, title="a was down for an hour")
    night.pass_to(MORNING)
    assert night.heard == ["2 alerts, held until now"]
    assert listed(night) == ["b is down", "a was down for an hour"]
    states = dict(Delivery.objects.values_list("notice__message__title", "state"))
    assert states == {"a is down": "delivered", "a was down for an hour": "digested", "b is down": "digested"}


def test_programs_are_told_each_in_its_order(night: Night) -> None:
    hook = night.made(ChannelKind.WEBHOOK, hours=BY_DAY)
    incident = night.begin(hook)
    night.pass_to(NIGHT + HOUR)
    night.say(incident.public_id, [hook], Event.WORSE, title="worse")
    night.end(incident, hook)
    night.pass_to(MORNING)
    assert night.heard == ["down", "worse", "up"]


def test_what_began_and_ended_in_between_is_told_once_as_over(night: Night) -> None:
    ops = night.made(hours=BY_DAY)
    incident = night.begin(ops)
    night.pass_to(NIGHT + HOUR)
    night.end(incident, ops, title="was down for an hour")
    night.pass_to(MORNING)
    assert night.heard == ["was down for an hour"]


def test_what_was_told_by_day_has_its_end_told_in_the_morning(night: Night) -> None:
    night.now = NIGHT - 6 * HOUR
    ops = night.made(hours=BY_DAY)
    incident = night.begin(ops)
    night.steps(1)
    night.now = NIGHT
    night.end(incident, ops)
    night.steps(2)
    assert night.heard == ["down"]
    night.pass_to(MORNING)
    assert night.heard == ["down", "up"]


def test_critical_is_told_at_any_time_and_its_end_too(night: Night) -> None:
    ops = night.made(hours=BY_DAY)
    incident = night.begin(ops, severity=Severity.CRITICAL)
    night.steps(1)
    night.say(incident.public_id, [ops], Event.BETTER, title="in one region only")
    night.steps(1)
    night.end(incident, ops)
    night.steps(1)
    assert night.heard == ["down", "in one region only", "up"]


def test_critical_waits_too_where_that_is_chosen(night: Night) -> None:
    night.begin(night.made(hours=replace(BY_DAY, critical_at_any_time=False)), severity=Severity.CRITICAL)
    night.steps(2)
    assert night.heard == []


def test_what_becomes_critical_at_night_brings_with_it_what_was_held_of_it_and_nothing_else(night: Night) -> None:
    people, hook = night.made(hours=BY_DAY), night.made(ChannelKind.WEBHOOK, hours=BY_DAY, name="hook")
    night.begin(people, hook, title="another")
    incident = night.begin(people, hook, title="slow")
    night.pass_to(NIGHT + HOUR)
    night.say(incident.public_id, [people, hook], Event.WORSE, title="down", severity=Severity.CRITICAL)
    night.pass_to(NIGHT + 2 * HOUR)
    assert [call.header for call in night.there.calls if "blocks" in call.body] == ["down"]
    assert [call.body["data"]["title"] for call in night.there.calls if "data" in call.body] == ["slow", "down"]


def test_what_was_not_taken_before_the_hours_ended_is_tried_again_when_they_begin(night: Night) -> None:
    night.there.plan = [FAULT, OK]
    night.now = NIGHT - 5 * HOUR - timedelta(seconds=1)
    night.begin(night.made(hours=BY_DAY))
    night.steps(1)
    assert len(night.there.calls) == 1
    night.pass_to(NIGHT)
    night.pass_to(MORNING)
    assert len(night.there.calls) == 2
    assert Delivery.objects.get().attempts == 2


def test_what_becomes_critical_makes_no_try_of_an_earlier_word_come_sooner(night: Night) -> None:
    night.there.plan = [FAULT, OK]
    night.now = MORNING
    ops = night.made(hours=BY_DAY)
    incident = night.begin(ops)
    night.steps(1)
    night.say(incident.public_id, [ops], Event.WORSE, title="worse", severity=Severity.CRITICAL)
    night.steps(5)
    assert night.heard == ["down"]
    night.pass_to(MORNING + timedelta(seconds=BACKOFF_S[0] * 1.2))
    assert night.heard == ["down", "down", "worse"]


def test_a_held_digest_that_is_not_taken_is_tried_again_whole_with_the_last_words(night: Night) -> None:
    night.there.plan = [FAULT, OK]
    ops = night.made(hours=BY_DAY)
    first, _ = night.begin(ops, title="a"), night.begin(ops, title="b")
    night.steps(1)
    night.pass_to(MORNING, steps=1)
    assert len(set(Delivery.objects.values_list("next_try_at", flat=True))) == 1
    night.end(first, ops, title="a is over")
    night.pass_to(MORNING + MINUTE)
    assert night.heard == ["2 alerts, held until now"] * 2
    assert listed(night) == ["b", "a is over"]
    assert {state for _, state, _ in night.log} == {"delivered", "digested"}


def test_what_is_switched_off_is_told_of_in_the_hours_of_the_others(night: Night) -> None:
    ops = night.made(hours=BY_DAY)
    disable(night.made(name="gone"), "no_service", night.now)
    Delivery.objects.update(next_try_at=night.now)
    night.steps(1)
    assert night.heard == []
    night.pass_to(MORNING)
    assert night.heard == ["The channel gone was switched off"]
    assert Channel.objects.get(pk=ops.pk).enabled


def test_what_is_held_when_a_channel_is_switched_off_is_not_sent_later(night: Night) -> None:
    ops = night.made(hours=BY_DAY)
    night.begin(ops)
    night.steps(1)
    disable(ops, "gone", night.now)
    assert night.log == [("down", "dropped", "gone")]


def test_a_channel_that_is_given_other_hours_is_told_by_those(night: Night) -> None:
    ops = night.made(hours=BY_DAY)
    night.begin(ops, title="a")
    night.begin(ops, title="b")
    night.steps(1)
    Channel.objects.update(hours=None)
    let_go(ops, night.now)
    night.steps(1)
    assert night.heard == ["2 alerts, held until now"]


def test_hours_that_are_taken_back_before_they_begin_hold_on(night: Night) -> None:
    ops = night.made(hours=BY_DAY)
    night.begin(ops)
    night.steps(1)
    Channel.objects.update(hours=replace(BY_DAY, days=("mon",)).to_json())
    let_go(ops, night.now)
    night.pass_to(MORNING)
    assert night.heard == []
    night.pass_to(MORNING + timedelta(days=2))
    assert night.heard == ["down"]


def test_a_try_that_waits_for_the_other_side_is_none_that_other_hours_let_go(night: Night) -> None:
    night.there.plan = [FAULT]
    night.now = MORNING
    ops = night.made(hours=BY_DAY)
    night.begin(ops)
    night.steps(1)
    let_go(ops, night.now)
    night.steps(5)
    assert len(night.there.calls) == 1


def test_a_crash_while_a_held_digest_is_sent_sends_the_same_once_more(night: Night) -> None:
    ops = night.made(hours=BY_DAY)
    incident = night.begin(ops)
    night.end(incident, ops)
    night.steps(1)
    night.now = MORNING
    (lost,) = claim(night.now)
    night.now += LEASE
    (again,) = claim(night.now)
    assert (again.parcel.id, again.parcel.items) == (lost.parcel.id, lost.parcel.items)
    assert [item.message.title for item in again.parcel.items] == ["up"]


def test_what_joins_before_the_next_try_makes_another_message_of_it(night: Night) -> None:
    """A mail server that had taken the first would take the second for the same, by its id."""
    ops = night.made(hours=BY_DAY)
    incident = night.begin(ops)
    night.steps(1)
    night.now = MORNING
    (lost,) = claim(night.now)
    night.end(incident, ops)
    night.now += LEASE
    (again,) = claim(night.now)
    assert again.parcel.id != lost.parcel.id


def test_a_hundred_held_channels_keep_none_from_its_turn(night: Night) -> None:
    night.begin(*(night.made(hours=BY_DAY, name=f"held {place}") for place in range(20)))
    night.begin(night.made(name="awake"))
    night.steps(3)
    assert night.heard == ["down"]


@pytest.mark.django_db(transaction=True)
def test_two_senders_hold_and_tell_each_once(alice: Member) -> None:
    with StandIn() as there:
        night = Night(alice, there)
        hooks = [night.made(ChannelKind.WEBHOOK, hours=BY_DAY, name=f"hook {place}") for place in range(6)]
        people = night.made(hours=BY_DAY)
        for _ in range(3):
            night.end(night.begin(*hooks, people), *hooks, people)

        def send(at: object) -> list[BaseException]:
            return side_by_side(4, lambda _: Delivering().step(night.now, outbound=loopback()))

        assert send(night.now) == []
        assert there.calls == []
        night.now = MORNING
        for _ in range(6):
            assert send(night.now) == []
            night.wait(1)
        ids = [call.headers["webhook-id"] for call in there.calls if "webhook-id" in call.headers]
        assert len(ids) == len(set(ids)) == 36
        assert len(there.calls) == 37
