"""The judge beside channels that are told later: whom it reminds, and what they are owed."""

from datetime import timedelta

import pytest

from backend.alerts.actions.incidents import acknowledge, mute, unacknowledge
from backend.alerts.channels import Outcome, Sent
from backend.alerts.delivery import claim, record
from backend.alerts.holding import WAS_ACKNOWLEDGED, WAS_OVER
from backend.alerts.models import Channel, Delivery, IncidentEvent, Rule
from backend.alerts.tests.world import World, make_world, only_incident, told

pytestmark = pytest.mark.django_db


def later_world(after_s: int) -> World:
    """A rule that reminds every five minutes, and one channel that is told later."""
    world = make_world(rules=["availability"])
    Rule.objects.update(remind_every_s=300)
    Channel.objects.update(after_s=after_s, not_before=world.now)
    return world


def pass_minutes(world: World, pattern: str, count: int) -> None:
    """As `minutes`, with a sender whose messages are taken."""
    for _ in range(count):
        world.minute(pattern)
        Delivery.objects.filter(attempts=0, held_until=None).update(next_try_at=world.now)
        for shipment in claim(world.now + timedelta(seconds=1)):
            record(shipment, Sent(outcome=Outcome.DELIVERED, answer="ok"), world.now)


def test_who_has_not_been_told_yet_is_reminded_of_nothing() -> None:
    world = later_world(1_200)
    pass_minutes(world, "...", 1)
    pass_minutes(world, "xxx", 16)
    assert told() == ["opened"]
    assert not IncidentEvent.objects.filter(kind="reminded").exists()
    pass_minutes(world, "xxx", 15)
    assert told()[:2] == ["opened", "reminder"]


def test_what_is_over_before_is_noted_as_not_sent_and_counts_as_told_to_nobody() -> None:
    world = later_world(1_200)
    pass_minutes(world, "...", 1)
    pass_minutes(world, "xxx", 6)
    pass_minutes(world, "...", 4)
    assert told() == ["opened", "recovered"]
    assert list(Delivery.objects.values_list("state", "answer")) == [("dropped", WAS_OVER)] * 2


def test_who_was_spared_is_told_where_the_acknowledgement_is_withdrawn() -> None:
    world = later_world(300)
    pass_minutes(world, "...", 1)
    pass_minutes(world, "xxx", 4)
    acknowledge(actor=None, incident=only_incident())
    pass_minutes(world, "xxx", 5)
    assert list(Delivery.objects.values_list("state", "answer")) == [("dropped", WAS_ACKNOWLEDGED)]
    unacknowledge(actor=None, incident=only_incident())
    pass_minutes(world, "xxx", 2)
    assert told() == ["opened", "opened"]
    assert Delivery.objects.latest("pk").state == "delivered"


def test_an_acknowledgement_that_was_withdrawn_in_time_tells_nobody_twice() -> None:
    world = later_world(1_200)
    pass_minutes(world, "...", 1)
    pass_minutes(world, "xxx", 4)
    acknowledge(actor=None, incident=only_incident())
    unacknowledge(actor=None, incident=only_incident())
    pass_minutes(world, "xxx", 3)
    assert told() == ["opened"]


def test_what_is_muted_by_then_is_owed_to_nobody_twice() -> None:
    world = later_world(300)
    pass_minutes(world, "...", 1)
    pass_minutes(world, "xxx", 4)
    mute(actor=None, incident=only_incident(), until=None)
    pass_minutes(world, "xxx", 8)
    assert (told(), Delivery.objects.get().state) == (["opened"], "waiting")
