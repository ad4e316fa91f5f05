"""Held messages of which several know at once: senders, a judge who ends it, people who acknowledge it or edit."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
import time_machine

from backend.alerts.actions.channels import change_channel, switch_channel
from backend.alerts.actions.incidents import acknowledge
from backend.alerts.delivery import Delivering
from backend.alerts.models import Channel, ChannelKind, Delivery, Incident, Notice
from backend.alerts.tests.night import BY_DAY, MORNING, NIGHT, QUARTER_S, Night
from backend.alerts.tests.standin import StandIn, loopback
from backend.cast import Member
from backend.tests.side_by_side import side_by_side

pytestmark = pytest.mark.django_db(transaction=True)

DUE = NIGHT + timedelta(seconds=QUARTER_S)
Act = Callable[[], object]


@pytest.fixture
def night(alice: Member) -> Iterator[Night]:
    with StandIn() as there:
        yield Night(alice, there)


def at_once(night: Night, act: Act) -> None:
    """Three senders, and somebody who does something else."""

    def one(number: int) -> None:
        if number == 0:
            act()
        else:
            Delivering().step(night.now, outbound=loopback())

    with time_machine.travel(night.now, tick=False):
        assert side_by_side(4, one) == []
        night.wait(1)
        night.steps(4)


def per_incident() -> dict[str, list[str]]:
    """What became of each message, by incident."""
    return {
        str(about): list(
            Delivery.objects.filter(notice__about=about).order_by("notice__sequence").values_list("state", flat=True)
        )
        for about in Notice.objects.values_list("about", flat=True).distinct()
    }


def test_what_ends_as_it_is_due_is_told_with_its_end_or_not_at_all(night: Night) -> None:
    boss = night.made(ChannelKind.WEBHOOK, after_s=QUARTER_S)
    incidents = [night.begin(boss, title=f"down {number}") for number in range(3)]
    night.steps(1)
    night.now = DUE

    def end_all() -> None:
        for incident in reversed(incidents):
            night.end(incident, boss)

    at_once(night, end_all)
    fates = per_incident().values()
    assert all(states in (["dropped", "dropped"], ["delivered", "delivered"]) for states in fates)
    assert len({call.headers["webhook-id"] for call in night.there.calls}) == len(night.there.calls)


def test_what_is_acknowledged_as_it_is_due_is_told_once_or_not_at_all(night: Night) -> None:
    boss = night.made(ChannelKind.WEBHOOK, after_s=QUARTER_S)
    for _ in range(3):
        night.begin(boss)
    night.steps(1)
    night.now = DUE
    at_once(night, lambda: [acknowledge(actor=None, incident=one) for one in Incident.objects.all()])
    assert {state for states in per_incident().values() for state in states} <= {"delivered", "dropped"}
    assert len(night.there.calls) == Delivery.objects.filter(state="delivered").count()


@pytest.mark.parametrize("at", [NIGHT + timedelta(hours=1), MORNING])
def test_what_is_held_while_hours_are_taken_away_is_told_once(night: Night, at: datetime) -> None:
    hook = night.made(ChannelKind.WEBHOOK, hours=BY_DAY)
    incidents = [night.begin(hook) for _ in range(3)]
    night.steps(1)
    night.now = at
    at_once(night, lambda: change_channel(actor=None, channel=Channel.objects.get(), hours="any"))
    assert list(per_incident().values()) == [["delivered"]] * len(incidents)
    assert len(night.there.calls) == len(incidents)


def test_what_is_held_while_a_channel_is_switched_off_is_told_or_noted_as_not_sent(night: Night) -> None:
    hook = night.made(ChannelKind.WEBHOOK, hours=BY_DAY)
    for _ in range(3):
        night.begin(hook)
    night.steps(1)
    night.now = MORNING
    at_once(night, lambda: switch_channel(actor=None, channel=Channel.objects.get(), enabled=False))
    assert not Delivery.objects.filter(state="waiting").exists()
    assert len(night.there.calls) <= 1
