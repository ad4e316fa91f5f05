"""Whoever is to be told of something hears of it, whatever others have heard before."""

from dataclasses import replace
from datetime import timedelta

import pytest

from backend.alerts.actions.rules import change_rule, settings_of
from backend.alerts.models import Channel, ChannelKind, Delivery, IncidentEvent, Maintenance, Notice, Rule
from backend.alerts.tests.world import DOWN, World, make_rule, make_world, only_incident, titles, told
from backend.cast import Member

pytestmark = pytest.mark.django_db


def make_channel(world: World, name: str) -> Channel:
    return Channel.objects.create(
        organisation=world.fleet.organisation, kind=ChannelKind.WEBHOOK, name=name, target="hooks.example"
    )


def heard(channel: Channel) -> list[str]:
    sent = Delivery.objects.filter(channel=channel).exclude(state="dropped").order_by("notice__sequence")
    return [delivery.notice.message["event"] for delivery in sent.select_related("notice")]


def two_rules() -> tuple[World, Channel]:
    """The site's rule tells Ops, another of the same kind tells the boss."""
    world = make_world(rules=["availability"])
    boss = make_channel(world, "Boss")
    Rule.objects.get().channels.set([world.channel])
    make_rule(world, "availability").channels.set([boss])
    return world, boss


def maintain(world: World, minutes: int) -> None:
    Maintenance.objects.create(
        organisation=world.fleet.organisation, starts_at=world.now, ends_at=world.now + timedelta(minutes=minutes)
    )


def test_a_rule_tells_its_channels_although_another_rule_told_others_of_the_same() -> None:
    world, boss = two_rules()
    world.minutes(f"{DOWN} xxx ... ... ...")
    assert heard(world.channel) == heard(boss) == ["opened", "recovered"]


def test_who_heard_that_it_was_over_hears_that_it_began_again() -> None:
    world, boss = two_rules()
    world.minutes(f"{DOWN} xxx ... ... ... xxx xxx xxx")
    assert heard(world.channel) == heard(boss) == ["opened", "recovered", "opened"]


def test_a_rule_that_tells_nobody_keeps_no_other_from_telling() -> None:
    world = make_world(rules=["availability"])
    Rule.objects.update(notify=False)
    make_rule(world, "availability")
    world.minutes(f"{DOWN} xxx ... ... ...")
    assert told() == ["opened", "recovered"]


def test_whose_turn_came_in_maintenance_hears_when_it_ends() -> None:
    world, boss = two_rules()
    Rule.objects.filter(channels=boss).update(delay_s=300)
    world.minutes(DOWN)
    maintain(world, 10)
    world.minutes("xxx " * 8)
    assert heard(boss) == []
    world.minutes("xxx " * 4)
    assert heard(boss) == heard(world.channel) == ["opened"]


def test_whose_turn_came_in_maintenance_hears_although_it_eased_for_the_others_before_it_ended() -> None:
    world, boss = two_rules()
    Rule.objects.filter(channels=boss).update(delay_s=300)
    world.minutes(DOWN)
    maintain(world, 20)
    world.minutes("xxx " * 8)
    world.minutes("..x " * 14)
    assert heard(world.channel) == ["opened", "better"]
    assert heard(boss) == ["opened"]


def test_a_channel_that_was_off_when_it_began_hears_of_no_end() -> None:
    world = make_world(rules=["availability"])
    Channel.objects.update(enabled=False)
    world.minutes(DOWN)
    Channel.objects.update(enabled=True)
    world.minutes("... ... ...")
    assert heard(world.channel) == []


def test_what_is_over_and_nobody_is_left_to_hear_of_is_not_kept_as_told() -> None:
    world = make_world(rules=["availability"])
    Channel.objects.update(enabled=False)
    world.minutes(DOWN)
    Rule.objects.update(notify=False)
    world.minutes("... ... ...")
    assert (only_incident().is_open, only_incident().told) == (False, "")


def test_a_site_that_kept_coming_and_going_in_maintenance_and_is_down_after_it_is_told() -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    maintain(world, 30)
    world.minutes("xxx xxx xxx ... ... ... " * 4)
    assert only_incident().flapping
    world.minutes("xxx " * 20)
    assert told() == ["opened"]
    world.minutes("... " * 40)
    assert told() == ["opened", "recovered"]


def test_what_was_told_before_maintenance_and_over_is_told_after_it_although_it_flapped_in_between() -> None:
    world = make_world(rules=["availability"])
    world.minutes(f"{DOWN} ... ...")
    maintain(world, 30)
    world.minutes("xxx xxx xxx ... ... ... " * 4)
    world.minutes("xxx " * 20)
    assert told() == ["opened", "recovered", "opened"]


def test_a_region_that_comes_and_goes_hides_no_outage() -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    world.minutes("..x ..x ..x ... ... " * 5)
    assert titles()[-1].startswith("Shop is down in Sin only")
    before = told()
    world.minutes("xxx " * 10)
    assert told() == [*before, "opened"]
    assert titles()[-1].startswith("Shop is down: ")
    world.minutes("... ... xxx xxx " * 3)
    assert told() == [*before, "opened"]


def test_one_rule_without_reminders_takes_nobody_elses_away() -> None:
    world = make_world(rules=["failures"])
    make_rule(world, "availability")
    Rule.objects.filter(kind="failures").update(remind_every_s=300)
    world.minutes("... ..x ..x ..x ..x")
    world.minutes("xxx " * 7)
    assert told() == ["opened", "worse", "reminder"]


def test_a_rule_that_asks_for_reminders_is_reminded_although_another_told_first() -> None:
    world = make_world(rules=["availability"])
    make_rule(world, "availability", delay_s=120, remind_every_s=300)
    world.minutes(DOWN)
    world.minutes("xxx " * 9)
    assert told() == ["opened", "reminder"]


def test_of_two_rules_that_ask_for_reminders_the_more_impatient_counts() -> None:
    world = make_world(rules=["availability"])
    Rule.objects.update(remind_every_s=3_600)
    make_rule(world, "availability", remind_every_s=300)
    world.minutes(DOWN)
    world.minutes("xxx " * 12)
    assert told() == ["opened", "reminder", "reminder"]


def test_reminders_that_were_switched_off_come_no_more(bob: Member) -> None:
    world = make_world(rules=["availability"])
    Rule.objects.update(remind_every_s=300)
    world.minutes(DOWN)
    rule = Rule.objects.get()
    change_rule(actor=bob.user, rule=rule, settings=replace(settings_of(rule), remind_every_s=None))
    world.minutes("xxx " * 12)
    assert told() == ["opened"]


def test_a_rule_that_tells_nobody_reminds_nobody() -> None:
    world = make_world(rules=["availability"])
    make_rule(world, "availability", notify=False, remind_every_s=300)
    world.minutes(DOWN)
    world.minutes("xxx " * 12)
    assert told() == ["opened"]


def test_a_reminder_says_that_it_is_one() -> None:
    world = make_world(rules=["availability"])
    Rule.objects.update(remind_every_s=300)
    world.minutes(DOWN)
    world.minutes("xxx " * 6)
    opened, reminder = [notice.message for notice in Notice.objects.order_by("pk")]
    assert reminder["title"] == f"Reminder: {opened['title']}"
    assert reminder["sentences"][0] == "It has gone on for 5 min, and nobody has acknowledged it."


def test_a_reminder_of_what_came_again_counts_from_when_it_did() -> None:
    world = make_world(rules=["availability"])
    Rule.objects.update(remind_every_s=300)
    world.minutes(f"{DOWN} ... ... ... ...")
    world.minutes("xxx " * 8)
    assert told() == ["opened", "recovered", "opened", "reminder"]
    (reminder,) = Notice.objects.filter(message__event="reminder")
    assert reminder.message["sentences"][0] == "It has gone on for 5 min, and nobody has acknowledged it."


def test_where_nobody_is_left_to_remind_nothing_is_noted() -> None:
    world = make_world(rules=["availability"])
    Channel.objects.all().delete()
    Rule.objects.update(remind_every_s=300)
    world.minutes(DOWN)
    Rule.objects.update(notify=False)
    world.minutes("xxx " * 12)
    assert not IncidentEvent.objects.filter(kind="reminded").exists()


def test_a_rule_that_was_off_for_a_moment_begins_anew(bob: Member) -> None:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    for enabled in (False, True):
        rule = Rule.objects.get()
        change_rule(actor=bob.user, rule=rule, settings=replace(settings_of(rule), enabled=enabled))
    world.minutes("xxx xxx")
    assert told() == ["opened", "resolved", "opened"]
