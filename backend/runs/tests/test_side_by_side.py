"""Sites side by side: the same hours, the same regions, and runs that say something of them."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.fleet.models import Region
from backend.runs.models import Rollup
from backend.runs.queries import side_by_side as module
from backend.runs.queries.side_by_side import Asked, SideBySide, side_by_side
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_monitors
from backend.runs.tests.rolled_up import DAY, PARTS, counts_of, roll_up_hours
from backend.sites.models import Monitor
from backend.sites.queries import monitors_of

pytestmark = pytest.mark.django_db
WEEK = Asked(range="7d", metric="ttfb_us")


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu", "us")


@pytest.fixture
def pair(fleet: Fleet) -> list[Monitor]:
    return make_monitors(fleet, 2)


def swaying(median_ms: float, hour: int) -> float:
    """By day and from day to day, by two in a hundred."""
    return median_ms * (1 + 0.02 * ((hour * 7) % 5 - 2) / 2)


def on_days(median_ms: float, days: range, hour: int) -> float | None:
    return median_ms if hour // 24 in days else None


def measure(
    monitor: Monitor, regions: Sequence[Region], median_ms: float, *, hours: int = 168, failed: int = 0
) -> None:
    roll_up_hours(monitor, regions, lambda hour: swaying(median_ms, hour), hours=hours, failed=failed)


def look(monitors: Sequence[Monitor], asked: Asked = WEEK) -> SideBySide:
    return side_by_side(monitors, asked, now=NOW)


def test_the_quickest_stands_first_with_how_much_longer_the_others_take(fleet: Fleet, pair: list[Monitor]) -> None:
    slow, quick = pair
    measure(slow, fleet.regions, 320)
    measure(quick, fleet.regions, 200)
    found = look(pair)
    assert found.sites == found.rivals == (quick, slow)
    assert [region.code for region in found.compared] == ["eu", "us"]
    assert found.quickest == quick
    behind = found.behind[slow.pk]
    assert behind.value_us == pytest.approx(120_000, rel=0.03)
    assert 0 < behind.low_us < 120_000 < behind.high_us
    assert found.median_us(slow.pk) == pytest.approx(320_000, rel=0.01)
    assert found.runs(slow.pk) == 2 * 168 * 60


def test_it_takes_as_many_statements_for_six_sites_as_for_two(
    fleet: Fleet, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    monitors = make_monitors(fleet, 6)
    for place, monitor in enumerate(monitors):
        measure(monitor, fleet.regions, 200 + 50 * place)
    monitors = monitors_of([one.site for one in monitors], "probe")
    for count in (2, 6):
        with django_assert_num_queries(3):
            found = look(monitors[:count])
            assert found.quickest == monitors[0]
            assert len(found.behind) == count - 1


def test_a_site_that_is_measured_by_night_alone_is_held_against_the_nights_of_the_other(
    fleet: Fleet, pair: list[Monitor]
) -> None:
    """Both take twice as long by day."""
    first, second = pair
    eu = fleet.regions[:1]
    roll_up_hours(first, eu, lambda hour: swaying(200 if hour % 24 < 12 else 400, hour))
    roll_up_hours(second, eu, lambda hour: swaying(200, hour) if hour % 24 < 12 else None)
    found = look(pair)
    assert found.quickest is None
    assert found.behind[found.rivals[1].pk].value_us == pytest.approx(0, abs=500)
    assert [found.seen[one.pk, eu[0].pk].runs for one in pair] == [7 * 12 * 60] * 2


@pytest.mark.parametrize("span", ["7d", "30d"])
def test_a_site_that_fails_in_its_busy_hours_is_not_quicker_for_that(
    fleet: Fleet, pair: list[Monitor], span: str
) -> None:
    """Both take twice as long for ten hours of each day, in which two of five runs of the first fail."""
    eu = fleet.regions[:1]
    for monitor, failed in zip(pair, (24, 0), strict=True):
        busy = 60 - failed
        roll_up_hours(monitor, eu, lambda day: 200, hours=30, width=DAY)
        whole = Counter(counts_of(200, 14 * 60)) + Counter(counts_of(400, 10 * busy))
        sketches, measured = {"ttfb_us": whole}, whole.total()
        Rollup.objects.filter(monitor=monitor).update(sketches=sketches, measured=measured, failed=10 * failed)
        roll_up_hours(monitor, eu, lambda hour: 200 if hour % 24 < 14 else None)
        roll_up_hours(monitor, eu, lambda hour: None if hour % 24 < 14 else 400, runs=busy, failed=failed)
    found = look(pair, Asked(range=span, metric="ttfb_us"))
    assert found.rivals[0] == pair[0]
    assert found.behind[pair[1].pk].value_us > 1_000
    assert found.quickest is None


def test_a_region_of_which_too_little_is_known_leaves_the_verdict_to_the_others(
    fleet: Fleet, pair: list[Monitor]
) -> None:
    """From there each was measured on five days, but on three days both."""
    slow, quick = pair
    eu, us = fleet.regions
    for monitor, ms, days in ((slow, 320, range(5)), (quick, 200, range(2, 7))):
        measure(monitor, [eu], ms)
        roll_up_hours(monitor, [us], partial(on_days, ms, days))
    found = look(pair)
    assert found.compared == (eu,)
    assert found.quickest == quick
    assert not found.seen[quick.pk, us.pk].is_compared


def test_a_site_that_fails_now_and_then_is_compared_all_the_same(fleet: Fleet, pair: list[Monitor]) -> None:
    slow, quick = pair
    measure(slow, fleet.regions, 220, failed=1)
    measure(quick, fleet.regions, 200, failed=1)
    assert look(pair).quickest == quick


def test_a_site_that_is_measured_once_a_day_is_shown_and_not_judged(fleet: Fleet, pair: list[Monitor]) -> None:
    """Always at the same hour: as it is in the night, say, beside a site that is measured at all hours."""
    often, seldom = pair
    seldom.interval_s = 86_400
    for monitor, ms in ((often, 300), (seldom, 200)):
        roll_up_hours(monitor, fleet.regions, partial(swaying, ms), hours=30, width=DAY)
    for span in ("7d", "30d"):
        found = look(pair, Asked(range=span, metric="ttfb_us"))
        assert not found.plan.is_judged
        assert found.quickest is None
        assert found.behind == {}
        assert found.median_us(seldom.pk) == pytest.approx(200_000, rel=0.02)


def test_a_site_measured_each_hour_is_no_faster_than_the_same_measured_each_minute(
    fleet: Fleet, pair: list[Monitor]
) -> None:
    often, seldom = pair
    seldom.interval_s = 3_600
    for monitor in pair:
        measure(monitor, fleet.regions, 200)
    found = look(pair)
    assert found.quickest is None
    assert found.median_us(seldom.pk) == pytest.approx(200_000, rel=0.01)
    assert (found.runs(often.pk), found.runs(seldom.pk)) == (2 * 168 * 60, 2 * 168)


def test_runs_that_others_work_disturbed_count_for_nothing(fleet: Fleet, pair: list[Monitor]) -> None:
    slow, quick = pair
    measure(slow, fleet.regions, 320)
    measure(quick, fleet.regions, 200)
    Rollup.objects.filter(monitor=quick).update(disturbed=60)
    found = look(pair)
    assert found.rivals == ()
    assert found.seen[quick.pk, fleet.regions[0].pk].median_us is None
    assert found.quickest is None


def test_hours_without_half_of_what_was_due_do_not_count(fleet: Fleet, pair: list[Monitor]) -> None:
    for monitor in pair:
        measure(monitor, fleet.regions, 200)
    Rollup.objects.filter(monitor=pair[0], at__gte=NOW - DAY).update(measured=29, failed=31)
    seen = look(pair).seen[pair[1].pk, fleet.regions[0].pk]
    assert seen.runs == 6 * 24 * 60
    assert sorted(seen.blocks) == [1, 2, 3, 4, 5, 6]


def test_failures_are_counted_beside(fleet: Fleet, pair: list[Monitor]) -> None:
    measure(pair[0], fleet.regions, 200, failed=2)
    measure(pair[1], fleet.regions, 200)
    seen = look(pair).seen
    assert [seen[one.pk, fleet.regions[0].pk].failed for one in pair] == [336, 0]


def test_what_was_measured_before_a_monitor_was_changed_is_compared_with_nothing(
    fleet: Fleet, pair: list[Monitor]
) -> None:
    for monitor in pair:
        measure(monitor, fleet.regions, 200)
    pair[0].due_since = NOW - 3 * DAY
    found = look(pair)
    assert found.rivals == ()
    assert found.seen[pair[0].pk, fleet.regions[0].pk].runs < 72 * 60


def test_a_new_site_leaves_the_others_to_be_compared(fleet: Fleet) -> None:
    slow, quick, new = make_monitors(fleet, 3)
    measure(slow, fleet.regions, 320)
    measure(quick, fleet.regions, 200)
    measure(new, fleet.regions, 100, hours=30)
    found = look([slow, quick, new])
    assert (found.sites, found.rivals) == ((quick, slow, new), (quick, slow))
    assert found.quickest == quick
    seen = found.seen[new.pk, fleet.regions[0].pk]
    assert not seen.is_compared
    assert seen.median_us == pytest.approx(100_000, rel=0.02)


def test_only_regions_count_that_measured_all(fleet: Fleet, pair: list[Monitor]) -> None:
    slow, quick = pair
    measure(slow, fleet.regions, 320)
    measure(quick, fleet.regions[:1], 200)
    found = look(pair)
    assert [region.code for region in found.regions] == ["eu", "us"]
    assert [region.code for region in found.compared] == ["eu"]
    assert found.quickest == quick
    assert found.seen[slow.pk, fleet.regions[1].pk].is_compared is False


def test_one_region_can_be_asked_for(fleet: Fleet, pair: list[Monitor]) -> None:
    """From the other one it is the other way round."""
    for monitor, medians in zip(pair, ((200, 400), (300, 150)), strict=True):
        for region, median_ms in zip(fleet.regions, medians, strict=True):
            measure(monitor, [region], median_ms)
    quickest = [look(pair, Asked(range="7d", metric="ttfb_us", region=code)).quickest for code in ("eu", "us")]
    assert quickest == pair
    found = look(pair)
    assert found.quickest == pair[1]
    assert found.beside(pair[1].pk, fleet.regions[0].pk)[pair[0].pk].is_faster


def test_a_day_is_shown_and_not_judged(fleet: Fleet, pair: list[Monitor]) -> None:
    measure(pair[0], fleet.regions, 320)
    measure(pair[1], fleet.regions, 200)
    found = look(pair, Asked(range="24h", metric="ttfb_us"))
    assert found.quickest is None
    assert found.behind == {}
    assert found.sites == (pair[1], pair[0])
    assert found.runs(pair[0].pk) == 2 * 24 * 60


def test_longer_times_go_by_days(fleet: Fleet, pair: list[Monitor]) -> None:
    roll_up_hours(pair[0], fleet.regions, lambda day: swaying(320, day), hours=90, width=DAY)
    roll_up_hours(pair[1], fleet.regions, lambda day: swaying(200, day), hours=90, width=DAY)
    found = look(pair, Asked(range="90d", metric="ttfb_us"))
    assert (found.plan.per_block, found.quickest) == (9, pair[1])
    assert found.until.hour == 0
    assert len(found.points[pair[0].pk]) == 90


def test_other_devices_and_networks_are_no_comparison_of_sites(fleet: Fleet, pair: list[Monitor]) -> None:
    measure(pair[0], fleet.regions, 320)
    measure(pair[1], fleet.regions, 200)
    pair[1].profile = "3g"
    found = look(pair)
    assert found.unlike == ("network profile",)
    assert found.quickest is None
    assert found.behind[pair[0].pk].is_slower


def test_phases_are_medians_over_the_same_hours(fleet: Fleet, pair: list[Monitor]) -> None:
    for monitor in pair:
        measure(monitor, fleet.regions, 200)
    expected = [pytest.approx(200_000 * part, rel=0.02) for part in PARTS.values()]
    assert list(look(pair).phases_us(pair[0].pk)) == [*expected, None]


def test_a_line_is_drawn_where_each_region_has_a_median(fleet: Fleet, pair: list[Monitor]) -> None:
    eu, us = fleet.regions
    for monitor in pair:
        measure(monitor, [eu], 200)
        roll_up_hours(monitor, [us], lambda hour: 400 if hour >= 2 else None)
    points = look(pair).points[pair[0].pk]
    assert len(points) == 168
    assert points[-1].at > points[0].at
    assert [point.values for point in points[-2:]] == [(None,), (None,)]
    assert list(points[-3].values) == [pytest.approx(300_000, rel=0.02)]


def test_of_very_many_regions_those_come_first_that_measure_all(
    monkeypatch: pytest.MonkeyPatch, fleet: Fleet, pair: list[Monitor]
) -> None:
    monkeypatch.setattr(module, "MAX_REGIONS", 1)
    pair[0].regions = ["us"]
    for monitor in pair:
        measure(monitor, fleet.regions, 200)
    assert [region.code for region in look(pair).regions] == ["us"]


def test_nothing_is_told_before_an_hour_was_rolled_up(pair: list[Monitor]) -> None:
    found = look(pair)
    assert (found.regions, found.rivals, found.quickest) == ((), (), None)
    assert found.since == found.until - timedelta(days=7)
    assert found.points == {one.pk: () for one in pair}
