"""Where a site is down a few minutes each hour, outages of another kind are told as soon as ever."""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from backend.alerts.tests.months import Outage, Told, each_hour, live
from backend.alerts.tests.world import MINUTE, World, make_world

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# From its first failed run to the message where nothing else is the matter, and from its end likewise.
USUAL = 2 * MINUTE
# At its time it has to last longer than the job, of five minutes and one until that was known to be over.
AT_ITS_TIME = 1.5 * 6 * MINUTE + USUAL
BAD = ("opened", "worse")


def others(draw: random.Random, since: datetime, days: int) -> list[Outage]:
    """Two a day of a quarter of an hour to two hours, at any minute of the hour."""
    found = []
    for half in range(2 * days):
        begins = since + (12 * half + draw.uniform(0, 9)) * HOUR
        found.append(Outage(begins, begins + draw.uniform(15, 120) * MINUTE))
    return found


def a_world() -> World:
    world = make_world(rules=["availability"])
    world.now = world.now.replace(minute=0, second=0, microsecond=0)
    return world


def missed(told: Sequence[Told], outages: Sequence[Outage], full_hour: datetime) -> list[Outage]:
    """Those of which channels did not hear in time that the site is down, or that it is over."""
    return [outage for outage in outages if not _was_heard(told, outage, full_hour)]


def _was_heard(told: Sequence[Told], outage: Outage, full_hour: datetime) -> bool:
    during = [one.at for one in told if one.event in BAD and outage.begins - USUAL <= one.at < outage.ends]
    before = [one for one in told if one.at < outage.begins]
    # A job was told, and the site did not come back from it.
    is_known = bool(before) and before[-1].event in BAD and outage.begins - before[-1].at < AT_ITS_TIME
    into_the_hour = (outage.begins - full_hour) % HOUR
    is_on_the_hour = not 10 * MINUTE < into_the_hour < 55 * MINUTE
    patience = AT_ITS_TIME if is_on_the_hour else USUAL
    is_told = is_known or any(at - outage.begins <= patience for at in during)
    return is_told and any(
        one.event == "recovered" and outage.ends <= one.at <= outage.ends + AT_ITS_TIME for one in told
    )


def test_outages_of_another_kind_are_told_in_time_between_those_of_each_hour() -> None:
    world, draw = a_world(), random.Random(3)
    since, days = world.now, 1
    outages = others(draw, since + 6 * HOUR, days)
    told = live(world, each_hour(since, 24 * days + 6, draw) + outages, since + days * DAY + 6 * HOUR)
    assert missed(told, outages, since) == []
    assert len(told) < 10 * len(outages)


def test_a_job_of_each_hour_alone_is_five_messages_and_its_end() -> None:
    world, draw = a_world(), random.Random(1)
    since = world.now
    told = live(world, each_hour(since, 8, draw), since + 11 * HOUR)
    assert [one.event for one in told] == ["opened", "recovered", "opened", "recovered", "opened", "recovered"]
