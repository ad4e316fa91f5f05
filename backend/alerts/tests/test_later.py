"""Channels that are told later: what still calls by then reaches them, and nothing else does."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from backend.alerts.delivery import drop_waiting
from backend.alerts.holding import LOOK_AGAIN, WAS_ACKNOWLEDGED, WAS_OVER
from backend.alerts.message import Event
from backend.alerts.models import ChannelKind, Delivery, Incident, Maintenance
from backend.alerts.tests.night import BY_DAY, MORNING, NIGHT, QUARTER_S, Night
from backend.alerts.tests.standin import FAULT, OK, StandIn
from backend.cast import Member

pytestmark = pytest.mark.django_db

DUE = NIGHT + timedelta(seconds=QUARTER_S)
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


@pytest.fixture
def night(alice: Member) -> Iterator[Night]:
    with StandIn() as there:
        yield Night(alice, there)


def test_what_still_calls_is_told_after_the_delay_and_its_end_at_once(night: Night) -> None:
    boss = night.made(after_s=QUARTER_S)
    incident = night.begin(boss)
    night.pass_to(DUE - 9 * SECOND, steps=8)
    assert night.heard == []
    night.pass_to(DUE)
    assert night.heard == ["down"]
    night.end(incident, boss)
    night.steps(1)
    assert night.heard == ["down", "up"]


def test_until_then_it_is_held_and_costs_no_try(night: Night) -> None:
    night.begin(night.made(after_s=QUARTER_S))
    night.steps(3)
    held = Delivery.objects.get()
    assert (held.state, held.attempts, held.next_try_at, held.held_until) == ("waiting", 0, DUE, DUE)


def test_what_is_over_before_is_never_told_there_and_neither_is_its_end(night: Night) -> None:
    boss = night.made(after_s=QUARTER_S)
    incident = night.begin(boss)
    night.steps(1)
    night.now += 5 * MINUTE
    night.end(incident, boss)
    night.steps(1)
    assert night.log == [("down", "dropped", WAS_OVER), ("up", "dropped", WAS_OVER)]
    night.pass_to(DUE)
    assert night.heard == []


def test_what_ended_in_silence_is_not_told_there(night: Night) -> None:
    night.begin(night.made(after_s=QUARTER_S))
    night.steps(1)
    Incident.objects.update(resolved_at=night.now)
    night.pass_to(DUE)
    assert night.log == [("down", "dropped", WAS_OVER)]


def test_what_is_gone_with_its_site_is_not_told_there(night: Night) -> None:
    night.begin(night.made(after_s=QUARTER_S))
    Incident.objects.all().delete()
    night.pass_to(DUE)
    assert night.log == [("down", "dropped", WAS_OVER)]


def test_what_was_acknowledged_is_not_told_there(night: Night) -> None:
    incident = night.begin(night.made(after_s=QUARTER_S))
    night.steps(1)
    Incident.objects.filter(pk=incident.pk).update(acknowledged_at=night.now)
    night.pass_to(DUE)
    assert night.log == [("down", "dropped", WAS_ACKNOWLEDGED)]
    assert night.heard == []


def test_what_becomes_worse_while_somebody_cares_is_not_told_there(night: Night) -> None:
    boss = night.made(after_s=QUARTER_S)
    incident = night.begin(boss)
    Incident.objects.filter(pk=incident.pk).update(acknowledged_at=night.now)
    night.pass_to(DUE)
    night.say(incident.public_id, [boss], Event.WORSE, title="worse")
    night.steps(2)
    assert night.log[1] == ("worse", "dropped", WAS_ACKNOWLEDGED)


def test_what_was_told_there_is_told_on_although_somebody_cares(night: Night) -> None:
    boss = night.made(after_s=QUARTER_S)
    incident = night.begin(boss)
    night.pass_to(DUE)
    Incident.objects.filter(pk=incident.pk).update(acknowledged_at=night.now)
    night.say(incident.public_id, [boss], Event.WORSE, title="worse")
    night.end(incident, boss)
    night.steps(3)
    assert night.heard == ["down", "worse", "up"]


@pytest.mark.parametrize(
    ("quiet", "loud"),
    [
        ({"muted_until_recovery": True}, {"muted_until_recovery": False}),
        ({"muted_until": DUE + timedelta(minutes=10)}, {}),
        ({"quiet_since": NIGHT, "flapping": True}, {"quiet_since": None}),
    ],
)
def test_what_is_quiet_by_then_is_told_once_it_calls_again(
    night: Night, quiet: dict[str, object], loud: dict[str, object]
) -> None:
    night.begin(night.made(after_s=QUARTER_S))
    Incident.objects.update(**quiet)
    night.pass_to(DUE)
    night.pass_to(DUE + 9 * MINUTE)
    assert night.heard == []
    night.pass_to(DUE + 10 * MINUTE)
    Incident.objects.update(**loud)
    night.pass_to(night.now + LOOK_AGAIN)
    assert night.heard == ["down"]


def test_maintenance_keeps_it_quiet_there_too(night: Night) -> None:
    night.begin(night.made(after_s=QUARTER_S))
    Maintenance.objects.create(organisation=night.member.organisation, starts_at=NIGHT, ends_at=DUE + 5 * MINUTE)
    night.pass_to(DUE)
    assert night.heard == []
    night.pass_to(DUE + 6 * MINUTE)
    assert night.heard == ["down"]


def test_the_delay_counts_from_when_it_was_told_first_to_anybody(night: Night) -> None:
    ops, boss = night.made(), night.made(after_s=QUARTER_S, name="boss")
    incident = night.begin(ops)
    night.pass_to(NIGHT + 10 * MINUTE)
    night.say(incident.public_id, [boss], title="down, by another rule")
    night.pass_to(DUE)
    assert night.heard == ["down", "down, by another rule"]


def test_what_begins_again_counts_anew(night: Night) -> None:
    """Also where nobody sent anything in between: the earlier time is over, and is told no more."""
    boss = night.made(after_s=QUARTER_S)
    incident = night.begin(boss)
    night.now += 5 * MINUTE
    night.end(incident, boss)
    night.now += 5 * MINUTE
    Incident.objects.update(resolved_at=None)
    night.say(incident.public_id, [boss], title="down again")
    night.pass_to(DUE)
    assert [state for _, state, _ in night.log] == ["dropped", "dropped", "waiting"]
    night.pass_to(DUE + 10 * MINUTE)
    assert night.heard == ["down again"]


def test_people_are_told_the_last_word_and_programs_each(night: Night) -> None:
    people, program = night.made(after_s=QUARTER_S), night.made(ChannelKind.WEBHOOK, after_s=QUARTER_S, name="hook")
    incident = night.begin(people, program)
    night.pass_to(NIGHT + 5 * MINUTE)
    night.say(incident.public_id, [people, program], Event.WORSE, title="worse")
    night.pass_to(DUE)
    assert sorted(night.heard) == ["down", "worse", "worse"]
    states = Delivery.objects.filter(channel=people).order_by("pk").values_list("state", flat=True)
    assert list(states) == ["delivered", "digested"]


def test_what_was_tried_and_not_taken_has_its_end_told_too(night: Night) -> None:
    night.there.plan = [FAULT, OK]
    boss = night.made(ChannelKind.WEBHOOK, after_s=QUARTER_S)
    incident = night.begin(boss)
    night.steps(1)
    night.pass_to(DUE, steps=1)
    night.end(incident, boss)
    night.pass_to(DUE + MINUTE)
    assert night.heard == ["down", "down", "up"]


def test_what_was_tried_in_vain_before_the_channel_was_off_is_not_known_there(night: Night) -> None:
    night.there.plan = [FAULT, OK]
    boss = night.made(after_s=QUARTER_S)
    incident = night.begin(boss)
    night.pass_to(DUE, steps=1)
    drop_waiting(boss, "", night.now)
    Incident.objects.update(acknowledged_at=night.now)
    night.say(incident.public_id, [boss], Event.WORSE, title="worse")
    night.steps(2)
    assert night.heard == ["down"]
    assert night.log[1] == ("worse", "dropped", WAS_ACKNOWLEDGED)


def test_a_channel_that_is_gone_is_told_of_at_once(night: Night) -> None:
    """Only of incidents a channel is told later."""
    boss = night.made(after_s=QUARTER_S)
    night.say(boss.public_id, [boss], Event.CHANNEL_DISABLED, title="ops was switched off")
    night.steps(1)
    assert night.heard == ["ops was switched off"]


def test_a_delay_that_ends_at_night_waits_for_the_hours_and_asks_then(night: Night) -> None:
    boss = night.made(after_s=QUARTER_S, hours=BY_DAY)
    over, still = night.begin(boss, title="over"), night.begin(boss, title="still")
    night.pass_to(DUE + MINUTE)
    assert set(Delivery.objects.values_list("held_until", flat=True)) == {MORNING}
    night.end(over, boss)
    night.pass_to(MORNING)
    assert night.heard == ["still"]
    assert still.public_id != over.public_id
