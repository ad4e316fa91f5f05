"""What stays of runs that are gone: counts and medians by the hour and the day."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.runs.ingest import ingest
from backend.runs.models import Rollup, Run
from backend.runs.queries import Wanted, long_series
from backend.runs.rollups import roll_up
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_monitors, make_pending
from backend.runs.tests.results import FAILED, line_of
from backend.sites.models import Monitor

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# The begin of an hour in the past, so that a stretch is known to the minute.
AT = NOW.replace(minute=0, second=0, microsecond=0) - 5 * HOUR


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu", "us")


@pytest.fixture
def monitor(fleet: Fleet) -> Monitor:
    return make_monitors(fleet)[0]


def _run(fleet: Fleet, monitor: Monitor, at: datetime, *, ttfb_us: int | None = None) -> None:
    """A measured run with this first byte, or a failed one."""
    pending = make_pending(fleet, monitor, scheduled_for=at)
    ingest(fleet.regions[0], [line_of(pending, None if ttfb_us else FAILED)], now=NOW)
    if ttfb_us:
        Run.objects.filter(run_id=pending.run_id).update(ttfb_us=ttfb_us, lcp_us=None)


def test_an_hour_that_is_over_has_its_outcomes_counted_and_its_medians_kept(
    fleet: Fleet, monitor: Monitor, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for minute, ttfb_us in enumerate([80_000, 100_000, 3_000_000]):
        _run(fleet, monitor, AT + minute * MINUTE, ttfb_us=ttfb_us)
    _run(fleet, monitor, AT + 9 * MINUTE)
    roll_up(NOW)
    with django_assert_num_queries(4):
        (series,) = long_series(monitor, Wanted(since=AT - 10 * HOUR, until=NOW, metrics=("ttfb_us", "lcp_us")))
    (point,) = series.points
    assert (series.region.code, point.at) == ("eu", AT)
    assert (point.measured, point.failed, point.missed) == (3, 1, 0)
    first_byte_us, largest_us = point.values
    assert first_byte_us == pytest.approx(100_000, rel=0.01)
    assert largest_us is None


def test_what_was_disturbed_is_kept_only_where_there_is_nothing_else(fleet: Fleet, monitor: Monitor) -> None:
    for hour in (0, 1):
        _run(fleet, monitor, AT + hour * HOUR, ttfb_us=900_000)
    Run.objects.update(contended=True)
    _run(fleet, monitor, AT + HOUR + MINUTE, ttfb_us=80_000)
    roll_up(NOW)
    (series,) = long_series(monitor, Wanted(since=AT, until=AT + 2 * HOUR, metrics=("ttfb_us",)))
    assert [(point.measured, point.disturbed) for point in series.points] == [(1, 1), (2, 1)]
    values = [value for point in series.points for value in point.values]
    assert values == [pytest.approx(900_000, rel=0.01), pytest.approx(80_000, rel=0.01)]


def test_rolling_up_again_changes_nothing_but_takes_in_what_came_late(fleet: Fleet, monitor: Monitor) -> None:
    _run(fleet, monitor, AT + MINUTE, ttfb_us=80_000)
    roll_up(NOW)
    before = list(Rollup.objects.order_by("pk").values("width_s", "at", "measured", "sketches"))
    roll_up(NOW)
    assert list(Rollup.objects.order_by("pk").values("width_s", "at", "measured", "sketches")) == before
    _run(fleet, monitor, AT, ttfb_us=90_000)
    roll_up(NOW)
    assert Rollup.objects.get(width_s=3600).measured == 2


def test_only_what_came_late_is_written_again(fleet: Fleet, monitor: Monitor) -> None:
    (other,) = make_monitors(fleet)
    for each in (monitor, other):
        _run(fleet, each, AT + MINUTE, ttfb_us=80_000)
    hours = roll_up(NOW)
    assert roll_up(NOW) == 0
    _run(fleet, other, AT + 2 * MINUTE)
    assert roll_up(NOW) == hours / 2
    assert sorted(Rollup.objects.filter(width_s=3600).values_list("measured", "failed")) == [(1, 0), (1, 1)]


def test_the_hour_that_is_not_over_waits(fleet: Fleet, monitor: Monitor) -> None:
    _run(fleet, monitor, NOW.replace(minute=0, second=0, microsecond=0), ttfb_us=80_000)
    roll_up(NOW)
    assert not Rollup.objects.exists()


def test_months_are_drawn_by_the_day(fleet: Fleet, monitor: Monitor) -> None:
    for days_ago in (3, 2):
        _run(fleet, monitor, NOW - days_ago * DAY, ttfb_us=80_000)
    roll_up(NOW)
    (series,) = long_series(monitor, Wanted(since=NOW - 365 * DAY, until=NOW))
    assert [point.measured for point in series.points] == [1, 1]
    assert {point.at.hour for point in series.points} == {0}


def test_a_few_days_are_drawn_by_the_day_where_hours_are_more_than_was_asked_for(
    fleet: Fleet, monitor: Monitor
) -> None:
    yesterday = NOW.replace(hour=0, minute=0, second=0, microsecond=0) - DAY
    for hour in (1, 3):
        _run(fleet, monitor, yesterday + hour * HOUR, ttfb_us=80_000)
    roll_up(NOW)
    (by_hour,) = long_series(monitor, Wanted(since=NOW - 3 * DAY, until=NOW, max_points=80))
    (by_day,) = long_series(monitor, Wanted(since=NOW - 3 * DAY, until=NOW, max_points=70))
    assert [point.at - yesterday for point in by_hour.points] == [HOUR, 3 * HOUR]
    assert [(point.at, point.measured) for point in by_day.points] == [(yesterday, 2)]


def test_months_go_on_to_the_newest_run(fleet: Fleet, monitor: Monitor) -> None:
    today = NOW.replace(hour=0, minute=0, second=0, microsecond=0)
    _run(fleet, monitor, today + MINUTE, ttfb_us=80_000)
    wanted = Wanted(since=NOW - 90 * DAY, until=NOW, metrics=("ttfb_us",))
    (series,) = long_series(monitor, wanted)
    assert [(point.at, point.measured, point.values) for point in series.points] == [(today, 1, (80_000,))]
    _run(fleet, monitor, today - HOUR, ttfb_us=90_000)
    roll_up(NOW)
    (series,) = long_series(monitor, wanted)
    assert [(point.at, point.measured) for point in series.points] == [(today - DAY, 1), (today, 1)]


def test_months_of_one_region_are_the_same_as_among_all(fleet: Fleet, monitor: Monitor) -> None:
    for region, hours_ago, trigger in ((0, 5, "schedule"), (1, 4, "schedule"), (0, 3, "manual"), (1, 1, "schedule")):
        pending = make_pending(
            fleet, monitor, region=fleet.regions[region], scheduled_for=NOW - hours_ago * HOUR, trigger=trigger
        )
        ingest(fleet.regions[region], [line_of(pending)], now=NOW)
    roll_up(NOW)
    wanted = Wanted(since=NOW - 10 * HOUR, until=NOW + HOUR)
    eu, us = long_series(monitor, wanted)
    assert long_series(monitor, replace(wanted, region="eu")) == [eu]
    assert long_series(monitor, replace(wanted, region="us")) == [us]


def test_a_long_pause_is_caught_up_in_bounded_steps(fleet: Fleet, monitor: Monitor) -> None:
    for hours_ago in (100, 3):
        _run(fleet, monitor, NOW - hours_ago * HOUR, ttfb_us=80_000)
    roll_up(NOW)
    assert Rollup.objects.filter(width_s=3600).count() == 1
    roll_up(NOW)
    roll_up(NOW)
    assert Rollup.objects.filter(width_s=3600).count() == 2


def test_a_deleted_site_leaves_nothing_behind(fleet: Fleet, monitor: Monitor) -> None:
    _run(fleet, monitor, AT, ttfb_us=80_000)
    roll_up(NOW)
    monitor.delete()
    assert not Rollup.objects.exists()
    assert roll_up(NOW) == 0
