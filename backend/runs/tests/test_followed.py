"""User timings of pages, as they are stored, drawn and kept."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.analysis.user_timings import KINDS
from backend.runs.ingest import ingest
from backend.runs.models import Rollup, Run
from backend.runs.queries import Wanted, long_series, phase_series, recent_runs
from backend.runs.queries.overview import site_overview
from backend.runs.reading import measurement_of, read_result
from backend.runs.rollups import roll_up
from backend.runs.rows import timings_of
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_monitors, make_pending
from backend.runs.tests.results import line_of, page, timed_page
from backend.sites.followed import timings_in
from backend.sites.models import Monitor
from workers.measurement.messages import Measured, PageMeasurement

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
AT = NOW.replace(minute=0, second=0, microsecond=0) - 5 * HOUR
# What SQL, formats and lookups would each read something else in.
HOSTILE = "mark:a__b'\"%s%(x)s;--<b>"


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu")


@pytest.fixture
def monitor(fleet: Fleet) -> Monitor:
    return make_monitors(fleet, kind="page")[0]


def run(fleet: Fleet, monitor: Monitor, seen: Measured, at: datetime = AT) -> Run:
    pending = make_pending(fleet, monitor, scheduled_for=at)
    ingest(fleet.region, [line_of(pending, seen)], now=NOW)
    return Run.objects.get(run_id=pending.run_id)


def follow(monitor: Monitor, *timings: str) -> None:
    Monitor.objects.filter(pk=monitor.pk).update(user_timings=list(timings))


def test_a_run_keeps_what_its_monitor_follows_and_nothing_else(fleet: Fleet, monitor: Monitor) -> None:
    follow(monitor, "mark:hero", "mark:gone", "measure:cart")
    seen = timed_page({"mark:hero": 300_000, "measure:cart": 50_000, "mark:other": 1_000})
    assert run(fleet, monitor, seen).timings == {"mark:hero": 300_000, "mark:gone": None, "measure:cart": 50_000}
    nothing = {"mark:hero": None, "mark:gone": None, "measure:cart": None}
    assert run(fleet, monitor, timed_page({}), AT + HOUR / 2).timings == nothing
    # Nobody looked.
    assert run(fleet, monitor, page(2), AT + HOUR).timings is None
    follow(monitor)
    assert run(fleet, monitor, seen, AT + 2 * HOUR).timings is None


def test_who_follows_another_name_draws_no_value_of_the_first_one(fleet: Fleet, monitor: Monitor) -> None:
    follow(monitor, "mark:hero")
    run(fleet, monitor, timed_page({"mark:hero": 300_000, "mark:cart": 900_000}))
    follow(monitor, "mark:cart")
    run(fleet, monitor, timed_page({"mark:hero": 310_000, "mark:cart": 910_000}), AT + HOUR)
    wanted = Wanted(since=AT, until=AT + 2 * HOUR, metrics=("mark:hero", "mark:cart"), max_points=2)
    (series,) = phase_series(monitor, wanted)
    assert [point.values for point in series.points] == [(300_000, None), (None, 910_000)]


@pytest.mark.parametrize("timing", ["mark:hero", "mark:hero_ms", HOSTILE])
def test_a_timing_is_drawn_from_runs_and_from_what_stays_of_them(
    fleet: Fleet, monitor: Monitor, timing: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    follow(monitor, timing)
    for minute, us in enumerate((200_000, 300_000, 400_000)):
        run(fleet, monitor, timed_page({timing: us}), AT + minute * timedelta(minutes=1))
    run(fleet, monitor, timed_page({}), AT + timedelta(minutes=9))
    roll_up(NOW)
    wanted = Wanted(since=AT - 10 * HOUR, until=NOW, metrics=("lcp_us", timing), max_points=10)
    by_hours = replace(wanted, max_points=400)
    with django_assert_num_queries(2):
        ((from_runs,),) = [one.points for one in phase_series(monitor, wanted)]
    with django_assert_num_queries(4):
        ((rolled_up,),) = [one.points for one in long_series(monitor, by_hours)]
    assert from_runs.values == (420_000, 300_000)
    assert list(rolled_up.values) == pytest.approx([420_000, 300_000], rel=0.01)
    hour = Rollup.objects.get(width_s=3_600)
    assert sum(hour.sketches[timing].values()) == 3


def test_a_run_reads_the_same_by_plain_sql(fleet: Fleet, monitor: Monitor) -> None:
    follow(monitor, HOSTILE)
    stored = run(fleet, monitor, timed_page({HOSTILE: 5}))
    assert stored.timings == {HOSTILE: 5}
    (line,) = recent_runs(monitor, None, limit=1)
    assert line.run.timings == stored.timings
    assert site_overview(fleet.organisation)


def test_what_a_network_that_kept_no_profile_delayed_is_nobodys(fleet: Fleet, monitor: Monitor) -> None:
    follow(monitor, "mark:hero")
    assert run(fleet, monitor, timed_page({"mark:hero": 5}, profile_verified=False)).timings is None


def test_times_that_no_page_has_are_left_out_and_spoil_no_chart(fleet: Fleet, monitor: Monitor) -> None:
    follow(monitor, "mark:late", "mark:early", "mark:hero")
    seen = timed_page({"mark:late": 2**63, "mark:early": -1, "mark:hero": 2**63 - 1})
    assert run(fleet, monitor, seen).timings == {
        "mark:late": None,
        "mark:early": None,
        "mark:hero": 2**63 - 1,
    }


def test_both_readers_of_a_result_name_its_timings_alike(fleet: Fleet, monitor: Monitor) -> None:
    seen = timed_page({f"{kind}:{name}": place for place, kind in enumerate(KINDS) for name in ("a", "b:c")})
    line = line_of(make_pending(fleet, monitor), seen)
    assert isinstance(seen.measurement, PageMeasurement)
    read = measurement_of(read_result(line))
    assert read is not None
    assert timings_of(read) == timings_in(seen.measurement.vitals.user_timings or ())
    twice = json.loads(line)
    vitals = twice["body"]["outcome"]["measurement"]["vitals"]
    vitals["user_timings"].append(vitals["user_timings"][0] | {"at_us": 77})
    again = measurement_of(read_result(json.dumps(twice).encode()))
    assert again is not None
    assert timings_of(again) == timings_in(seen.measurement.vitals.user_timings or ())
