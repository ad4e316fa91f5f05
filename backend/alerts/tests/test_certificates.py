"""What is told of a certificate that ends, day after day."""

import json
from datetime import timedelta

import pytest

from backend.alerts import judging
from backend.alerts.judgement.certificates import DAY_US, CertificateEnds, DaysLeft, Reading
from backend.alerts.models import Rule
from backend.alerts.states import State
from backend.alerts.tests.test_hindsight import DAY, show
from backend.alerts.tests.world import World, make_world, only_incident, titles, told
from backend.runs.partitions import ensure_partitions

pytestmark = pytest.mark.django_db


def days_pass(world: World, days: float) -> None:
    """Nobody measures meanwhile. Monitors are looked at each minute, long before the next reminder is due."""
    world.now += days * DAY
    ensure_partitions(world.now)
    world.beat()
    judging.judge_batch(world.now)
    world.judge()


def ending_in(days: float, *, remind_every_s: int | None = 86_400, lifetime: timedelta | None = None) -> World:
    world = make_world("fra", rules=["certificate"])
    Rule.objects.update(remind_every_s=remind_every_s)
    show(world, world.now + timedelta(seconds=1), ("shop.example", days * DAY), lifetime=lifetime)
    world.minute("-")
    return world


def test_reminders_of_a_certificate_count_the_days_that_are_left_by_then() -> None:
    world = ending_in(13.8)
    days_pass(world, 4)
    assert told() == ["opened", "reminder"]
    before, after = titles()
    assert "ends in 14 days" in before
    assert "ends in 10 days" in after
    assert after == f"Reminder: {only_incident().title}"


@pytest.mark.parametrize(("days", "expected"), [(6.5, []), (3.3, []), (1.6, ["opened"]), (0.7, ["opened"])])
def test_a_certificate_that_lives_for_six_days_is_told_of_only_once_its_renewal_is_late(
    days: float, expected: list[str]
) -> None:
    ending_in(days, lifetime=6.6 * DAY)
    assert told() == expected


def test_a_certificate_that_has_ended_is_not_said_to_end() -> None:
    world = ending_in(2.6)
    days_pass(world, 3)
    assert titles()[-1] == "Reminder: Shop: the certificate of shop.example has expired"


def test_days_that_pass_are_no_news_of_their_own() -> None:
    world = ending_in(13.8, remind_every_s=None)
    for _ in range(3):
        days_pass(world, 1)
    assert told() == ["opened"]
    assert [event.kind for event in only_incident().events.all()] == ["opened"]


def test_what_was_late_before_anybody_looked_is_dated_from_the_first_look() -> None:
    began = ending_in(5).now
    incident = only_incident()
    assert began - timedelta(minutes=2) <= incident.opened_at <= began
    assert [member.since for member in incident.members.all()] == [incident.opened_at]


def test_what_becomes_late_while_it_is_watched_is_dated_from_then() -> None:
    world = ending_in(15)
    assert told() == []
    at = world.now
    days_pass(world, 2)
    assert told() == ["opened"]
    assert abs(only_incident().opened_at - (at + DAY)) < timedelta(minutes=2)


def test_a_memory_of_before_dates_it_as_it_did() -> None:
    """That of an earlier version does not know when the first look was."""
    ends_us = 30 * DAY_US
    kept = CertificateEnds({}, DaysLeft(warn=14, critical=3))
    kept.show("fra", Reading(17 * DAY_US, ends_us, "shop.example", "a" * 32))
    before = {"seen": kept.memory()["seen"]}
    after = CertificateEnds(before, DaysLeft(warn=14, critical=3)).standing(State.DEGRADED, 18 * DAY_US)
    assert after.since_us == 16 * DAY_US


def test_a_judge_of_an_earlier_version_reads_what_one_of_this_remembers() -> None:
    """Both are at work during an upgrade, and after one that was taken back: it would judge no monitor any more."""
    reading = Reading(17 * DAY_US, 30 * DAY_US, "shop.example", "a" * 32, 90 * DAY_US)
    kept = CertificateEnds({}, DaysLeft(warn=14, critical=3))
    kept.show("fra", reading)
    assert kept.memory()["seen"] == {"fra": list(reading[:4])}
    again = CertificateEnds(json.loads(json.dumps(kept.memory())), DaysLeft(warn=14, critical=3))
    assert again.memory() == kept.memory()
    assert again._seen == {"fra": reading}
