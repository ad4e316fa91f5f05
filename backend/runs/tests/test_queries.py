from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from backend.instants import to_us
from backend.runs import queries
from backend.runs.ingest import ingest
from backend.runs.models import PendingRun, Run
from backend.runs.queries import RunState
from backend.runs.queries.series import METRICS, Wanted, bucket_width
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_monitors, make_pending
from backend.runs.tests.results import FAILED, line_of, result_of
from backend.sites.models import Monitor
from workers.measurement.messages import Outcome
from workers.measurement.timing import Phases

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu", "us")


def make_fleet_of_another() -> Fleet:
    return make_fleet(f"x{uuid4().hex[:8]}")


@pytest.fixture
def monitor(fleet: Fleet) -> Monitor:
    return make_monitors(fleet)[0]


def _ended(
    fleet: Fleet, monitor: Monitor, *, minutes_ago: int, outcome: Outcome | None = None, us: bool = False
) -> Run:
    region = fleet.regions[us]
    pending = make_pending(fleet, monitor, scheduled_for=NOW - minutes_ago * MINUTE, region=region)
    ingest(region, [line_of(pending, outcome)], now=NOW)
    return Run.objects.get(run_id=pending.run_id)


def _ids(lines: Sequence[queries.RunLine]) -> Iterator[object]:
    return (line.run.run_id for line in lines)


def test_the_overview_has_the_last_run_of_each_monitor_in_each_region(
    fleet: Fleet, monitor: Monitor, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    _ended(fleet, monitor, minutes_ago=3)
    newest = _ended(fleet, monitor, minutes_ago=1, outcome=FAILED)
    with django_assert_num_queries(4):
        rows = queries.site_overview(fleet.organisation)
    assert [row.site.name for row in rows] == ["Shop", "Site 0"]
    (probe,) = rows[1].monitors
    seen = queries.NewestRun(
        run_id=newest.run_id,
        received_us=to_us(newest.received_at),
        outcome="failed",
        failure_blame=newest.failure_blame,
        ttfb_us=None,
        lcp_us=None,
    )
    assert [(last.region.code, last.run) for last in probe.last] == [("eu", seen), ("us", None)]


def test_the_overview_leaves_out_regions_that_a_monitor_does_not_use(fleet: Fleet, monitor: Monitor) -> None:
    monitor.regions = ["us"]
    monitor.save()
    (row,) = queries.site_overview(fleet.organisation, monitor.site)
    assert [last.region.code for last in row.monitors[0].last] == ["us"]


def test_recent_runs_come_newest_first_over_all_regions_and_page_on(
    fleet: Fleet, monitor: Monitor, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    runs = [_ended(fleet, monitor, minutes_ago=n, us=n % 2 == 1) for n in range(1, 7)]
    with django_assert_num_queries(2):
        first = queries.recent_runs(monitor, limit=4)
    assert list(_ids(first)) == [run.run_id for run in runs[:4]]
    assert [line.region.code for line in first] == ["us", "eu", "us", "eu"]
    rest = queries.recent_runs(monitor, limit=4, before=first[-1].run.scheduled_for)
    assert list(_ids(rest)) == [run.run_id for run in runs[4:]]
    assert list(_ids(queries.recent_runs(monitor, fleet.region))) == [run.run_id for run in runs[1::2]]


def test_a_run_is_found_with_what_was_measured_and_its_neighbours(
    fleet: Fleet, monitor: Monitor, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    older, run, newer = (_ended(fleet, monitor, minutes_ago=n) for n in (3, 2, 1))
    _ended(fleet, monitor, minutes_ago=2, us=True)
    with django_assert_num_queries(5):
        detail = queries.run_detail(fleet.organisation, run.run_id)
    assert detail is not None
    assert (detail.run, detail.region, detail.monitor, detail.site) == (run, fleet.region, monitor, monitor.site)
    assert (detail.older, detail.newer) == (older.run_id, newer.run_id)
    assert detail.measurement is not None
    assert detail.measurement.kind == "probe"


def test_the_run_of_another_organisation_does_not_exist(fleet: Fleet, monitor: Monitor) -> None:
    run = _ended(fleet, monitor, minutes_ago=1)
    stranger = make_fleet_of_another().organisation
    assert queries.run_detail(stranger, run.run_id) is None
    assert queries.progress(stranger, [run.run_id], now=NOW) == []


def test_a_document_that_cannot_be_read_leaves_the_rest_of_the_run(fleet: Fleet, monitor: Monitor) -> None:
    run = _ended(fleet, monitor, minutes_ago=1)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE runs_rundocument SET document = 'damaged'::bytea")
    detail = queries.run_detail(fleet.organisation, run.run_id)
    assert detail is not None
    assert (detail.run, detail.result, detail.measurement) == (run, None, None)


def test_a_series_holds_medians_and_counts_for_each_region(
    fleet: Fleet, monitor: Monitor, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for n in (1, 2, 3):
        _ended(fleet, monitor, minutes_ago=n)
    _ended(fleet, monitor, minutes_ago=4, outcome=FAILED)
    _ended(fleet, monitor, minutes_ago=1, us=True)
    with django_assert_num_queries(2):
        series = queries.phase_series(monitor, Wanted(since=NOW - 10 * MINUTE, until=NOW, max_points=1))
    assert [(one.region.code, len(one.points)) for one in series] == [("eu", 1), ("us", 1)]
    (point,) = series[0].points
    assert (point.measured, point.failed, point.missed) == (3, 1, 0)
    seen = dict(zip(METRICS, point.values, strict=True))
    assert (seen["dns_us"], seen["tls_us"], seen["ttfb_us"], seen["fcp_us"]) == (8_000, 34_000, 102_100, None)


def test_a_series_holds_the_metrics_that_are_wanted_in_their_order(fleet: Fleet, monitor: Monitor) -> None:
    _ended(fleet, monitor, minutes_ago=1)
    wanted = Wanted(since=NOW - 10 * MINUTE, until=NOW, max_points=1, metrics=("ttfb_us", "fcp_us", "dns_us"))
    (series,) = queries.phase_series(monitor, wanted)
    assert [point.values for point in series.points] == [(102_100, None, 8_000)]


def test_a_series_draws_runs_that_were_disturbed_only_where_there_are_no_others(fleet: Fleet, monitor: Monitor) -> None:
    wanted = Wanted(since=NOW - 10 * MINUTE, until=NOW, max_points=1, metrics=("ttfb_us", "lcp_us"))
    for n, fields in enumerate([{"contended": True}, {"profile_verified": False}], start=1):
        run = _ended(fleet, monitor, minutes_ago=n)
        Run.objects.filter(pk=run.pk).update(ttfb_us=900_000, lcp_us=900_000, **fields)
    (before,) = queries.phase_series(monitor, wanted)
    _ended(fleet, monitor, minutes_ago=3)
    (after,) = queries.phase_series(monitor, wanted)
    assert [(point.measured, point.disturbed, point.values) for point in (*before.points, *after.points)] == [
        (2, 2, (900_000, 900_000)),
        (3, 2, (102_100, None)),
    ]


def test_a_series_of_one_region_is_the_same_as_among_all(fleet: Fleet, monitor: Monitor) -> None:
    for n in (1, 2, 3):
        _ended(fleet, monitor, minutes_ago=n)
        _ended(fleet, monitor, minutes_ago=n, us=True)
    wanted = Wanted(since=NOW - 10 * MINUTE, until=NOW)
    eu, us = queries.phase_series(monitor, wanted)
    assert queries.phase_series(monitor, replace(wanted, region="eu")) == [eu]
    assert queries.phase_series(monitor, replace(wanted, region="us")) == [us]
    assert queries.phase_series(monitor, replace(wanted, region="nowhere")) == []


@pytest.mark.parametrize(("days", "interval_s"), [(1, 30), (7, 60), (30, 60), (90, 900), (365, 86_400)])
def test_a_series_never_has_more_points_than_a_chart_can_show(days: int, interval_s: int) -> None:
    since = NOW - timedelta(days=days)
    width = bucket_width(Wanted(since=since, until=NOW), interval_s=interval_s)
    assert (NOW - since) / width <= 400
    assert width >= timedelta(seconds=interval_s)


def test_progress_tells_place_stage_and_end_of_each_run_in_the_order_asked(
    fleet: Fleet, monitor: Monitor, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    done = _ended(fleet, monitor, minutes_ago=2)
    failed = _ended(fleet, monitor, minutes_ago=3, outcome=FAILED)
    queued = [
        make_pending(fleet, other, urgent=True, created_at=NOW + n * MINUTE, kind="page")
        for n, other in enumerate(make_monitors(fleet, 3, kind="page"))
    ]
    loading = make_pending(fleet, monitor, stage="loading", requests=14, agent="agent-1")
    asked = [failed.run_id, queued[2].run_id, uuid4(), loading.run_id, done.run_id]
    with django_assert_num_queries(1):
        lines = queries.progress(fleet.organisation, asked, now=NOW)
    assert [(line.run_id, line.state) for line in lines] == [
        (failed.run_id, RunState.FAILED),
        (queued[2].run_id, RunState.QUEUED),
        (loading.run_id, RunState.LOADING),
        (done.run_id, RunState.DONE),
    ]
    assert lines[0].reason == "The server refused the connection: 203.0.113.7"
    assert (lines[1].queue_place, lines[1].about_s) == (3, None)
    assert (lines[2].queue_place, lines[2].requests) == (None, 14)


def test_phases_are_told_while_a_probe_looks_deeper_and_end_with_it(fleet: Fleet, monitor: Monitor) -> None:
    early = Phases(connect_us=20, wait_us=40, download_us=9, ttfb_us=60, total_us=69)
    pending = make_pending(fleet, monitor, stage="loading", agent="agent-1", phases=asdict(early))
    (line,) = queries.progress(fleet.organisation, [pending.run_id], now=NOW)
    assert line.phases == early
    ingest(fleet.region, [line_of(pending, FAILED)], now=NOW)
    (line,) = queries.progress(fleet.organisation, [pending.run_id], now=NOW)
    assert (line.state, line.phases) == (RunState.FAILED, None)


def test_phases_of_what_is_no_probe_are_nobodys(fleet: Fleet) -> None:
    (page,) = make_monitors(fleet, 1, kind="page")
    pending = make_pending(fleet, page, kind="page", stage="loading", phases={"wait_us": 1, "ttfb_us": 1})
    (line,) = queries.progress(fleet.organisation, [pending.run_id], now=NOW)
    assert line.phases is None


def test_the_guess_of_the_time_left_is_the_place_times_the_usual_duration(fleet: Fleet) -> None:
    first, second = make_monitors(fleet, 2, kind="page")
    before = make_pending(fleet, first)
    ingest(fleet.region, [line_of(before, duration_us=8_000_000)], now=NOW)
    runs = [
        make_pending(fleet, monitor, urgent=True, scheduled_for=NOW, created_at=NOW + n * MINUTE)
        for n, monitor in enumerate((first, second))
    ]
    lines = queries.progress(fleet.organisation, [run.run_id for run in runs], now=NOW)
    assert [(line.queue_place, line.about_s) for line in lines] == [(1, 8), (2, 16)]


def test_an_agents_last_word_is_not_the_result_itself(fleet: Fleet, monitor: Monitor) -> None:
    pending = make_pending(fleet, monitor, stage="done")
    (line,) = queries.progress(fleet.organisation, [pending.run_id], now=NOW)
    assert line.state is RunState.COMPUTING
    assert result_of(pending).run_id == line.run_id
    assert PendingRun.objects.exists()
