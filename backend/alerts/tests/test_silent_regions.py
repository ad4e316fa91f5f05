"""Which rules tell of a silent region, to whom, and when."""

from datetime import timedelta

import pytest

from backend.accounts.models import Organisation
from backend.alerts.actions.incidents import resolve
from backend.alerts.models import Channel, ChannelKind, Delivery, Incident, Member, Notice, Rule
from backend.alerts.tests.world import World, make_rule, make_world, titles, told
from backend.cast import Member as Person
from backend.fleet.models import Region
from backend.runs.models import Schedule

pytestmark = pytest.mark.django_db


def silent_for(world: World, minutes: float) -> None:
    """So long nothing is heard of the agents in Singapore."""
    for _ in range(round(2 * minutes)):
        world.now += timedelta(seconds=30)
        world.beat("fra", "iad")
        world.judge()


def watched() -> World:
    return make_world(rules=["agent"])


def test_a_second_rule_that_waits_longer_tells_its_own_channels() -> None:
    world = watched()
    boss = Channel.objects.create(
        organisation=world.fleet.organisation, kind=ChannelKind.SLACK, name="Boss", target="hooks.slack.com"
    )
    Rule.objects.get().channels.set([world.channel])
    make_rule(world, "agent", params={"silent_s": 900}).channels.set([boss])
    silent_for(world, 10)
    heard = Delivery.objects.order_by("pk").values_list("channel__name", flat=True)
    assert list(heard) == ["Ops"]
    silent_for(world, 8)
    assert list(heard.all()) == ["Ops", "Boss"]
    assert Incident.objects.count() == 1
    world.beat()
    world.judge()
    assert sorted(heard.all()) == ["Boss", "Boss", "Ops", "Ops"]
    assert not Member.objects.filter(ended_at=None).exists()


def test_a_rule_waits_for_as_long_as_it_says_and_its_delay() -> None:
    world = watched()
    Rule.objects.update(delay_s=600)
    silent_for(world, 12)
    assert told() == []
    silent_for(world, 2)
    assert told() == ["opened"]


def test_a_rule_that_is_switched_off_tells_nothing() -> None:
    world = watched()
    Rule.objects.update(enabled=False)
    silent_for(world, 10)
    assert Incident.objects.count() == 0


def test_a_region_that_is_switched_off_is_not_silent() -> None:
    world = watched()
    Region.objects.filter(code="sin").update(enabled=False)
    silent_for(world, 10)
    assert Incident.objects.count() == 0


def test_a_silent_region_that_is_removed_is_not_said_to_be_back() -> None:
    world = watched()
    silent_for(world, 10)
    Region.objects.filter(code="sin").update(enabled=False)
    world.judge()
    assert told() == ["opened", "resolved"]
    assert titles()[-1].startswith("Closed after ")
    assert Notice.objects.latest("pk").message["sentences"] == ["The region was removed."]


@pytest.mark.parametrize("is_scheduled", [True, False])
def test_a_region_that_measures_nothing_of_an_organisation_is_no_news_to_it(*, is_scheduled: bool) -> None:
    world = watched()
    mine = Schedule.objects.filter(region__code="sin")
    if is_scheduled:
        mine.update(enabled=False)
    else:
        mine.delete()
    silent_for(world, 10)
    assert Incident.objects.count() == 0


def test_a_silence_that_somebody_closed_is_not_told_again_before_the_region_was_heard_of(bob: Person) -> None:
    world = watched()
    silent_for(world, 5)
    resolve(actor=bob.user, incident=Incident.objects.get())
    Incident.objects.update(resolved_at=world.now)
    silent_for(world, 10)
    assert told() == ["opened", "resolved"]
    world.beat()
    world.judge()
    silent_for(world, 10)
    assert told() == ["opened", "resolved", "opened"]


def test_what_another_organisation_closed_is_told_to_this_one() -> None:
    world = watched()
    Region.objects.update(organisation=None)
    Incident.objects.create(
        organisation=Organisation.objects.create(name="Other"),
        cause="agent",
        key="agent/sin",
        state="no_data",
        worst_state="no_data",
        severity="warning",
        opened_at=world.now,
        changed_at=world.now,
        resolved_at=world.now + timedelta(hours=1),
        resolution="resolved",
    )
    silent_for(world, 10)
    assert told() == ["opened"]


def test_a_silence_that_ended_by_itself_keeps_the_next_one_from_nobody() -> None:
    world = watched()
    silent_for(world, 5)
    world.beat()
    world.judge()
    Incident.objects.update(resolved_at=world.now + timedelta(minutes=1))
    silent_for(world, 5)
    assert told() == ["opened", "recovered", "opened"]


def test_the_message_of_a_region_counts_the_monitors_of_its_reader_alone() -> None:
    world = watched()
    other = Organisation.objects.create(name="Other")
    site = other.sites.create(name="Blog", url="https://blog.example/")
    monitor = site.monitors.create(kind="probe", url=site.url, interval_s=60, timeout_s=10)
    region = Region.objects.get(code="sin")
    Schedule.objects.create(
        monitor=monitor, region=region, kind="probe", interval_s=60, offset_us=0, next_at=world.now + timedelta(hours=1)
    )
    silent_for(world, 5)
    (said,) = [text for text in Notice.objects.get().message["sentences"] if "measured there" in text]
    assert said.startswith("1 monitor is")
