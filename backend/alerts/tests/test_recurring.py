"""What comes again by the clock is told twice, then as what it is, and then where it is another matter."""

from datetime import UTC, datetime, timedelta

import pytest

from backend.alerts.actions.incidents import resolve
from backend.alerts.flapping import flip
from backend.alerts.models import Incident, Maintenance, Notice, Resolution
from backend.alerts.recurring import is_on_time, rhythm
from backend.alerts.tests.world import World, make_world, put_run, titles, told
from backend.alerts.upkeep import settle_flapping
from backend.cast import Member
from backend.runs.models import ELSEWHERE
from backend.runs.partitions import ensure_partitions

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DOWN_FOR_FOUR = "xxx " * 4


def minutes_after(*minutes: float) -> list[datetime]:
    return [NOON + timedelta(minutes=some) for some in minutes]


@pytest.mark.parametrize(
    ("begins", "every_min"),
    [
        ((0, 60, 120), 60),
        ((0, 58, 122), 61),
        ((0, 60, 131), None),
        ((0, 50, 120), None),
        ((0, 360, 720), 360),
        ((0, 366, 732), None),
        ((0, 30, 60), 30),
        ((0, 30, 67), None),
        ((0, 60), None),
        ((0, 7, 67, 127), 60),
    ],
)
def test_three_beginnings_that_are_evenly_apart_have_a_rhythm(begins: tuple[int, ...], every_min: int | None) -> None:
    every = None if every_min is None else timedelta(minutes=every_min)
    assert rhythm(minutes_after(*begins)) == every


@pytest.mark.parametrize(
    ("minutes", "is_its_time"),
    [(60, True), (55, True), (65, True), (66, False), (54, False), (120, True), (180, False)],
)
def test_what_comes_by_the_clock_has_its_times_though_it_may_have_stayed_away(minutes: int, is_its_time: bool) -> None:
    assert is_on_time(NOON, HOUR, NOON + timedelta(minutes=minutes)) is is_its_time


def recurring(hours: int) -> World:
    world = make_world(rules=["availability"])
    world.minute("...")
    for _ in range(hours):
        world.minutes(DOWN_FOR_FOUR + "... " * 4)
        well(world, 52)
    return world


def well(world: World, minutes: int) -> None:
    """So many minutes pass, of which the last is measured."""
    world.now += timedelta(minutes=minutes - 1)
    world.minute("...")


def newest() -> Incident:
    return Incident.objects.order_by("-pk")[0]


def test_an_outage_of_each_hour_is_told_twice_and_the_third_time_with_how_often_it_comes() -> None:
    recurring(6)
    assert told() == ["opened", "recovered", "opened", "recovered", "opened"]
    assert titles()[-1].endswith("203.0.113.7: it keeps coming and going")
    said = Notice.objects.order_by("-pk")[0].message["sentences"]
    assert said[0] == (
        "It has come 3 times within a day, every 60 min, and was over within 4 min each time. "
        "Until it comes at another time or lasts longer, only its end is told."
    )
    assert newest().is_open
    assert len(newest().flips) == 6
    assert Incident.objects.count() == 3


def test_its_end_is_told_once_it_stayed_away_twice_and_counts_from_the_third_time_on() -> None:
    world = recurring(5)
    well(world, 60)
    well(world, 8)
    assert told()[5:] == []
    well(world, 3)
    assert told()[5:] == ["recovered"]
    assert titles()[-1] == "Shop can be reached again, after 2 h 4 min of coming and going"
    assert not newest().is_open


def test_what_nobody_measured_any_more_is_not_said_to_have_recovered() -> None:
    world = recurring(6)
    settle_flapping(world.now + 3 * HOUR)
    assert (told()[-1], newest().resolution) == ("resolved", Resolution.UNMEASURED)


def test_what_was_measured_elsewhere_says_nothing_of_whether_it_recovered() -> None:
    world = recurring(3)
    later = world.now + 3 * HOUR
    for minutes, trigger in enumerate(ELSEWHERE, start=1):
        put_run(world.monitor, world.regions[0], later - timedelta(minutes=minutes), ".", trigger=trigger)
    settle_flapping(later)
    assert newest().resolution == Resolution.UNMEASURED


def test_what_stays_away_once_goes_on_by_the_same_clock() -> None:
    world = recurring(4)
    well(world, 60)
    world.minutes(DOWN_FOR_FOUR + "... ...")
    assert told()[5:] == []
    assert newest().is_open


def test_an_outage_at_another_time_is_told_at_once_and_its_end_too() -> None:
    world = recurring(4)
    well(world, 25)
    world.minutes("xxx xxx")
    assert told()[5:] == ["opened"]
    said = Notice.objects.order_by("-pk")[0].message["sentences"]
    assert said[0] == "It came by the clock, and this was not its time."
    world.minutes("xxx " * 4 + "... ...")
    assert told()[5:] == ["opened", "recovered"]
    assert titles()[-1] == "Shop can be reached again, after 6 min"


def test_an_outage_that_lasts_longer_than_each_time_before_is_told_as_soon_as_it_does() -> None:
    world = recurring(4)
    world.minutes("xxx " * 7)
    assert told()[5:] == []
    world.minutes("xxx xxx")
    assert told()[5:] == ["worse"]
    said = Notice.objects.order_by("-pk")[0].message["sentences"]
    assert said[0] == "It came by the clock, and has lasted longer by now than each time before."
    world.minutes("xxx " * 30 + "... ...")
    assert told()[5:] == ["worse", "recovered"]
    assert titles()[-1] == "Shop can be reached again, after 39 min"


def test_what_somebody_closed_is_no_time_that_it_came(bob: Member) -> None:
    world = recurring(1)
    world.minutes("xxx xxx xxx")
    resolve(actor=bob.user, incident=newest())
    world.minutes("xxx ... ... ... ...")
    well(world, 52)
    world.minutes(DOWN_FOR_FOUR + "... ...")
    assert told()[2:] == ["opened", "resolved", "opened", "recovered"]


def test_what_begins_in_silence_is_told_at_its_next_time_with_how_often_it_came() -> None:
    world = recurring(2)
    Maintenance.objects.create(
        organisation=world.fleet.organisation, starts_at=world.now, ends_at=world.now + timedelta(minutes=30)
    )
    world.minutes(DOWN_FOR_FOUR + "... ...")
    well(world, 54)
    assert told()[4:] == []
    world.minutes(DOWN_FOR_FOUR + "... ...")
    assert told()[4:] == ["opened"]
    assert Notice.objects.order_by("-pk")[0].message["sentences"][0].startswith("It has come 4 times within a day,")


def test_what_comes_every_half_day_is_told_each_time() -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    for _ in range(4):
        world.minutes(DOWN_FOR_FOUR + "... ...")
        well(world, 12 * 60 - 6)
        ensure_partitions(world.now)
    assert told() == ["opened", "recovered"] * 4


def test_what_it_does_within_one_of_its_times_is_no_time_of_its_own() -> None:
    begins = minutes_after(0, 60, 120)
    incident = Incident(flapping=True, every=HOUR, flips=begins)
    assert not flip(incident, NOON + timedelta(minutes=123))
    assert incident.flips == begins
