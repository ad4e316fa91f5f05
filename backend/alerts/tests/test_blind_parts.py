"""Of whom what agents saw says nothing, and what is asked to find that out."""

from datetime import datetime, timedelta
from uuid import UUID

import pytest

from backend.alerts.blind_agents import Blindnesses, _read, _whole
from backend.alerts.judgement.blindness import Blind, Expected, Newest, Why
from backend.alerts.judgement.samples import Sample, Seen
from backend.alerts.models import Blindness
from backend.alerts.tests.world import MINUTE, make_world, put_run
from backend.fleet.models import Region
from backend.instants import to_us
from backend.runs.models import Schedule
from backend.runs.tests.factories import NOW
from backend.sites.models import Monitor

BEGAN, ENDED = NOW, NOW + 5 * MINUTE


def blindness(code: str = "fra", agent: str = "one", until: datetime | None = ENDED) -> Blindness:
    return Blindness(region=Region(code=code), agent=agent, why=Why.CUT_OFF, since=BEGAN, until=until)


@pytest.mark.parametrize(
    ("row", "at", "is_covered"),
    [
        (blindness(), BEGAN, True),
        (blindness(), ENDED, True),
        (blindness(), BEGAN - timedelta(seconds=1), False),
        (blindness(), ENDED + timedelta(seconds=1), False),
        (blindness(until=None), ENDED + timedelta(days=1), True),
        (blindness(until=None), BEGAN - timedelta(seconds=1), False),
        (blindness(agent="two"), BEGAN, False),
        (blindness(code="iad"), BEGAN, False),
        # That a region sees nothing is said of its agents one by one.
        (blindness(agent=""), BEGAN, False),
    ],
)
def test_what_an_agent_saw_says_nothing_while_it_was_blind(row: Blindness, at: datetime, *, is_covered: bool) -> None:
    seen = Sample("fra", to_us(at), UUID(int=1), Seen.DOWN, "", (), "one")
    (found,) = Blindnesses((row,)).of_sites([seen])
    assert found.seen is (Seen.NOTHING if is_covered else Seen.DOWN)


def test_what_a_blind_agent_reached_was_reached() -> None:
    seen = Sample("fra", to_us(BEGAN), UUID(int=1), Seen.UP, "", (), "one")
    assert Blindnesses((blindness(),)).of_sites([seen]) == [seen]


def test_who_is_blind_now_are_agents_by_their_names_and_regions_without() -> None:
    now, region_now = blindness(until=None), blindness(agent="", until=None)
    rows = Blindnesses((now, region_now, blindness(), blindness(agent="")))
    assert rows.agents == {("fra", "one"): now}
    assert rows.regions == {"fra": region_now}


def test_a_region_is_cut_off_since_the_last_of_its_agents_is_and_not_by_agents_of_others() -> None:
    found = [cut(1, "one", 100), cut(1, "two", 200), cut(2, "two", 300)]
    assert list(_whole(found, {1: {"one", "two"}, 2: {"one", "two"}, 3: {"one"}})) == [cut(1, "", 200)]


def cut(region: int, agent: str, since_us: int) -> Blind:
    return Blind(region=region, agent=agent, why=Why.CUT_OFF, since_us=since_us)


@pytest.mark.django_db
def test_of_each_monitor_and_region_the_newest_run_that_says_anything_of_a_site_is_asked_for() -> None:
    world = make_world("fra", "iad")
    Schedule.objects.update(interval_s=60)
    fra, iad = world.regions
    at = world.now - 5 * MINUTE
    put_run(world.monitor, fra, at - MINUTE, ".", agent="one")
    put_run(world.monitor, fra, at, "x", agent="one", failure_kind="connect_timeout", failure_blame="network")
    put_run(world.monitor, fra, at + MINUTE, "o", agent="one")
    put_run(world.monitor, fra, at + 2 * MINUTE, "m")
    put_run(world.monitor, fra, at + 3 * MINUTE, ".", agent="one", trigger="manual")
    put_run(world.monitor, iad, world.now - 21 * MINUTE, ".", agent="two")
    put_run(world.monitor, iad, world.now + MINUTE, ".", agent="two")
    newest, expected = _read(world.now)
    assert newest == [Newest(region=fra.pk, agent="one", host="shop.example", at_us=to_us(at), up=False, silent=True)]
    # Two intervals, two timeouts and a minute.
    assert sorted(expected, key=lambda one: one.region) == [
        Expected(region=fra.pk, host="shop.example", at_us=to_us(at), patience_us=200_000_000),
        Expected(region=iad.pk, host="shop.example", at_us=None, patience_us=200_000_000),
    ]


@pytest.mark.django_db
def test_a_run_that_was_refused_is_no_silence_and_pairs_are_asked_for_nothing() -> None:
    world = make_world("fra")
    fra = world.regions[0]
    pair = Monitor.objects.create(
        site=world.fleet.site, kind="pair", pair={}, url=world.fleet.site.url, interval_s=60, timeout_s=10
    )
    Schedule.objects.create(monitor=pair, region=fra, kind="pair", interval_s=60, offset_us=0, next_at=world.now)
    put_run(world.monitor, fra, world.now - MINUTE, "x")
    newest, expected = _read(world.now)
    assert [(run.up, run.silent, run.agent) for run in newest] == [(False, False, "")]
    assert len(expected) == 1
