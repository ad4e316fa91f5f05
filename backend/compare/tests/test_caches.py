"""What the CDN's caches said, over time."""

from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.compare import actions, queries
from backend.compare.models import Pairing
from backend.compare.pairings import PairingDraft
from backend.compare.queries import Hits
from backend.compare.samples import Window
from backend.compare.tests.world import World
from backend.runs.tests.factories import NOW
from backend.runs.tests.results import FAILED, pair
from workers.measurement.pair import CacheReport, CacheState

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def pairing(world: World) -> Pairing:
    draft = PairingDraft(cdn_url="https://cdn.shop.example/app.js", origin="www.shop.example")
    made = actions.create_pairing(actor=None, site=world.site, draft=draft)
    made.compared_from = NOW - 7 * DAY
    made.save()
    return made


def see(world: World, pairing: Pairing, state: CacheState, *minutes: float, region: int = 0) -> None:
    for minute in minutes:
        world.measure(pairing.monitor, pair(cache=CacheReport(state=state)), minutes=minute, region=region)


def looked(world: World, pairing: Pairing, period: timedelta = DAY) -> list[queries.RegionHits]:
    return queries.hits_over_time(pairing, world.regions, Window(since=NOW - period, until=NOW))


def test_hits_are_counted_by_region_and_hour(
    world: World, pairing: Pairing, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    see(world, pairing, CacheState.HIT, 5, 10, 15, 23.5 * 60)
    see(world, pairing, CacheState.MISS, 20)
    see(world, pairing, CacheState.DYNAMIC, 90, region=1)
    with django_assert_num_queries(1):
        eu, us = looked(world, pairing)
    assert (len(eu.buckets), eu.width) == (24, timedelta(hours=1))
    assert (eu.buckets[0], eu.buckets[-1], eu.all) == (Hits(hits=1, told=1), Hits(hits=3, told=4), Hits(hits=4, told=5))
    assert (us.all.rate, us.buckets[-2]) == (0, Hits(hits=0, told=1))
    assert eu.all.rate == 0.8


def test_a_week_has_six_hours_a_bucket(world: World, pairing: Pairing) -> None:
    see(world, pairing, CacheState.HIT, 1)
    eu, _ = looked(world, pairing, 7 * DAY)
    assert (len(eu.buckets), eu.width) == (28, timedelta(hours=6))
    assert eu.buckets[-1].hits == 1


def test_what_says_nothing_is_not_counted_as_missed(world: World, pairing: Pairing) -> None:
    see(world, pairing, CacheState.UNKNOWN, 5)
    world.measure(pairing.monitor, FAILED, minutes=6)
    eu, us = looked(world, pairing)
    assert (eu.all, eu.all.rate, us.all) == (Hits(), None, Hits())


def test_what_came_before_the_pairing_was_changed_is_of_something_else(world: World, pairing: Pairing) -> None:
    see(world, pairing, CacheState.HIT, 5, 120)
    pairing.compared_from = NOW - timedelta(hours=1)
    assert looked(world, pairing)[0].all == Hits(hits=1, told=1)
