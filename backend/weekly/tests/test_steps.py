"""When a week is written down, and who is told."""

from collections.abc import Callable
from datetime import date, timedelta

import pytest

from backend.accounts.models import Organisation
from backend.alerts.message import Message
from backend.alerts.models import Channel, ChannelKind, Delivery, Notice
from backend.alerts.tests.world import World
from backend.fleet.models import Region
from backend.runs.models import PendingRun, Rollup
from backend.runs.tests.factories import Fleet, give_up, make_monitors, make_pending
from backend.sites.models import Monitor, Site, SiteStatus
from backend.tests.side_by_side import side_by_side
from backend.weekly import steps
from backend.weekly.collecting import collect
from backend.weekly.models import WeeklyReport
from backend.weekly.report import WEEK, begin_of
from backend.weekly.steps import forget, step
from backend.weekly.tests.world import BEFORE, DAY, HOUR, MORNING, THIS, day, outage, weekly_world, weeks

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    """A shop that became slower, and a channel that wants to hear of it."""
    world = weekly_world()
    weeks(world, 300, 400)
    Channel.objects.update(weekly=True)
    return world


def told() -> list[str]:
    return [Message.from_json(notice.message).title for notice in Notice.objects.order_by("pk")]


def test_a_week_is_written_and_told_once(world: World) -> None:
    step(MORNING)
    step(MORNING + timedelta(minutes=5))

    assert list(WeeklyReport.objects.values_list("week", flat=True)) == [THIS]
    assert len(told()) == 1
    assert told()[0] == f"Week of {THIS.day} {THIS:%b %Y}: Shop became slower"


def test_it_waits_for_what_comes_late(world: World) -> None:
    step(begin_of(THIS + WEEK) + 5 * HOUR)

    assert not WeeklyReport.objects.filter(week=THIS).exists()


def on_sunday(world: World) -> PendingRun:
    """A run that was under way on the week's last day."""
    return make_pending(world.fleet, world.monitor, scheduled_for=begin_of(THIS + 6 * DAY) + 12 * HOUR)


def test_a_day_of_which_nothing_was_measured_is_not_waited_for(world: World) -> None:
    Rollup.objects.filter(at__gte=begin_of(THIS + 6 * DAY)).delete()

    step(MORNING)

    assert WeeklyReport.objects.filter(week=THIS).exists()


def test_what_was_measured_is_rolled_up_first_however_late_it_is(world: World) -> None:
    """The service was down from Sunday to Tuesday."""
    Rollup.objects.filter(at__gte=begin_of(THIS + 6 * DAY)).delete()
    give_up(on_sunday(world))

    step(MORNING + 2 * DAY)
    assert not WeeklyReport.objects.filter(week=THIS).exists()
    day(world.monitor, world.regions[0], THIS + 6 * DAY, 400)
    step(MORNING + 2 * DAY)
    assert WeeklyReport.objects.filter(week=THIS).exists()


def test_what_agents_have_yet_to_tell_of_the_week_is_waited_for(world: World) -> None:
    pending = on_sunday(world)
    make_pending(world.fleet, world.monitor, scheduled_for=begin_of(THIS + WEEK))

    step(MORNING + 2 * DAY)
    assert not WeeklyReport.objects.filter(week=THIS).exists()
    pending.delete()
    step(MORNING + 2 * DAY)
    assert WeeklyReport.objects.filter(week=THIS).exists()


def test_only_channels_that_ask_for_it_are_told(world: World) -> None:
    Channel.objects.create(
        organisation=world.fleet.organisation, kind=ChannelKind.SLACK, name="quiet", target="hooks.slack.com"
    )
    Channel.objects.create(
        organisation=world.fleet.organisation,
        kind=ChannelKind.SLACK,
        name="off",
        target="hooks.slack.com",
        weekly=True,
        enabled=False,
    )

    step(MORNING)

    assert list(Delivery.objects.values_list("channel_name", flat=True)) == [world.channel.name]


def test_where_nobody_asks_for_it_it_is_written_all_the_same(world: World) -> None:
    Channel.objects.update(weekly=False)

    step(MORNING)

    assert (WeeklyReport.objects.count(), Notice.objects.count()) == (1, 0)


def test_an_organisation_of_which_nothing_was_measured_has_no_report(world: World) -> None:
    Organisation.objects.create(name="Other", slug="other")

    step(MORNING)

    assert WeeklyReport.objects.get().organisation == world.fleet.organisation


def compares_servers_only(world: World) -> None:
    Rollup.objects.exclude(monitor=world.monitor).delete()
    Monitor.objects.filter(pk=world.monitor.pk).update(kind="pair", pair={"url": "https://origin.example/"})


def misses_all_runs(world: World) -> None:
    Rollup.objects.update(measured=0, missed=24)


def is_only_a_test(world: World) -> None:
    Site.objects.update(status=SiteStatus.DRAFT)


@pytest.mark.parametrize("had", [compares_servers_only, misses_all_runs, is_only_a_test])
def test_where_nothing_can_be_told_of_a_week_it_is_not_collected_again_and_again(
    world: World, monkeypatch: pytest.MonkeyPatch, had: Callable[[World], None]
) -> None:
    had(world)
    collected: list[Organisation] = []
    monkeypatch.setattr(steps, "collect", lambda organisation, week: collected.append(organisation))

    step(MORNING)

    assert collected == []
    assert not WeeklyReport.objects.filter(week=THIS).exists()


def test_what_cannot_be_written_of_one_keeps_no_other_from_its_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = world.fleet.organisation
    other = Fleet(
        organisation=Organisation.objects.create(name="Other", slug="other"),
        regions=world.regions,
        site=Site.objects.create(organisation=ours, name="x", url="https://x.example/"),
    )
    (monitor,) = make_monitors(other)
    weeks(world, 300, 300, monitor)

    def faulty(organisation: Organisation, week: date) -> object:
        if organisation == ours:
            raise ValueError("a fault")
        return collect(organisation, week)

    monkeypatch.setattr(steps, "collect", faulty)
    step(MORNING)

    assert WeeklyReport.objects.get().organisation == other.organisation


def test_after_a_pause_only_the_last_week_is_written(world: World) -> None:
    step(MORNING)

    assert not WeeklyReport.objects.filter(week=BEFORE).exists()


def test_a_week_that_is_two_years_old_is_forgotten(world: World) -> None:
    row = WeeklyReport.objects.create(
        organisation=world.fleet.organisation, week=THIS - 104 * WEEK, line={}, document={}
    )
    WeeklyReport.objects.create(organisation=world.fleet.organisation, week=THIS - 103 * WEEK, line={}, document={})

    forget(row.week + WEEK)
    assert WeeklyReport.objects.count() == 1
    row.save(force_insert=True)
    step(MORNING)
    assert not WeeklyReport.objects.filter(week__lt=THIS - 104 * WEEK).exists()


def test_a_message_says_where_it_was_down_and_slower(world: World) -> None:
    outage(world, THIS, hours=0.5)

    step(MORNING)

    message = Message.from_json(Notice.objects.get().message)
    assert message.sentences[0] == (
        "Shop: down for 30 min; first byte slower in Fra (396 ms, was 300 ms) and Sin (396 ms, was 300 ms)."
    )
    assert [(fact.label, fact.value) for fact in message.facts] == [
        ("Sites", "1"),
        ("Never down", "0"),
        ("Alerts", "0"),
    ]
    assert message.links[0].path == f"/weekly/{THIS}/"


def test_a_region_of_one_day_is_told_without_a_word_of_the_week_before(world: World) -> None:
    region = Region.objects.create(
        code="new", name="New", token_hash="x", token_prefix="x", broker_user="new", broker_password_hash="x"
    )
    day(world.monitor, region, THIS, 900)

    step(MORNING)

    site = WeeklyReport.objects.get().document["sites"][0]
    assert [one["region"] for one in site["probe"]["slower"]] == ["Fra", "Sin"]


@pytest.mark.django_db(transaction=True)
def test_several_processes_write_and_tell_it_once() -> None:
    world = weekly_world()
    weeks(world, 300, 400)
    Channel.objects.update(weekly=True)

    assert side_by_side(3, lambda number: step(MORNING)) == []

    assert (WeeklyReport.objects.count(), Notice.objects.count()) == (1, 1)
