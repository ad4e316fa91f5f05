"""A CDN that is slower in several regions, and how long a verdict has held."""

from datetime import timedelta

import pytest

from backend.alerts.enrolment import enrol
from backend.alerts.models import Incident, Member
from backend.compare import queries
from backend.compare.models import Pairing
from backend.compare.pairings import judged_every
from backend.compare.tests.test_verdicts import DAY, DRAFT, changed, feed, paired, stored, window
from backend.compare.tests.world import World
from backend.runs.tests.factories import NOW

pytestmark = pytest.mark.django_db
SOON = NOW + timedelta(minutes=5)


@pytest.fixture
def pairing(world: World) -> Pairing:
    return paired(world, DRAFT)


def test_an_alert_names_the_region_where_the_cdn_costs_most_and_counts_the_others(
    world: World, pairing: Pairing
) -> None:
    enrol(NOW)
    feed(world, pairing, 24, cdn_ms=110, origin_ms=90)
    feed(world, pairing, 24, cdn_ms=140, origin_ms=90, region=1)
    assert changed(pairing, NOW) == [("eu", True), ("us", True)]
    title = Incident.objects.get().title
    assert title == "Shop: the CDN is 50 ms slower than the origin in Us and 1 more"


def test_of_one_region_no_others_are_counted_and_what_is_told_says_why(world: World, pairing: Pairing) -> None:
    enrol(NOW)
    feed(world, pairing, 24, cdn_ms=110, origin_ms=90)
    feed(world, pairing, 24, region=1)
    changed(pairing, NOW)
    assert Incident.objects.get().title == "Shop: the CDN is 20 ms slower than the origin in Eu"
    row = stored(pairing)["eu"]
    assert row.reason
    assert Member.objects.get().facts["sentences"] == [f"{pairing.name}: {row.sentence}", row.reason]


def test_a_verdict_has_held_since_it_came_and_another_since_it_is_another(world: World, pairing: Pairing) -> None:
    feed(world, pairing, 24)
    changed(pairing, NOW)
    changed(pairing, SOON)
    assert {code: row.since for code, row in stored(pairing).items()} == {"eu": NOW, "us": NOW, None: NOW}
    feed(world, pairing, 24, cdn_ms=110, origin_ms=90, until_min=-60 * 24 * 2.5)
    later = NOW + 3 * DAY
    changed(pairing, later)
    rows = stored(pairing)
    assert (rows["eu"].verdict, rows["eu"].since) == ("origin_faster", later)
    assert (rows["us"].verdict, rows["us"].since) == ("inconclusive", NOW)


def test_without_any_pair_a_verdict_has_no_numbers(world: World, pairing: Pairing) -> None:
    changed(pairing, NOW)
    row = stored(pairing)["eu"]
    assert (row.pairs, row.estimate_us, row.low_us, row.high_us, row.reason) == (0, None, None, None, "")


@pytest.mark.parametrize(("interval_s", "minutes"), [(30, 5), (100, 5), (300, 15), (3_600, 180)])
def test_a_verdict_holds_for_three_pairs_and_five_minutes_at_least(
    world: World, pairing: Pairing, interval_s: int, minutes: int
) -> None:
    pairing.monitor.interval_s = interval_s
    assert judged_every(pairing) == timedelta(minutes=minutes)


def test_of_several_assets_the_newest_hundred_pairs_of_each_are_read(world: World, pairing: Pairing) -> None:
    feed(world, pairing, 105)
    (asset,) = queries.compare_assets([pairing], world.regions[0], window())
    assert asset.region.of(reused=False).pairs == 100
    assert asset.region.of(reused=True) is asset.region.reused
