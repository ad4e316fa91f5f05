"""What PostgreSQL reads for a question: a list must not become slow because there is more of all else."""

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backend.fleet.models import Region
from backend.runs import queries
from backend.runs.models import Run
from backend.runs.partitions import ensure_partitions
from backend.runs.sql import fetch
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_monitors
from backend.sites.models import Monitor

pytestmark = pytest.mark.django_db
_RARE = [
    queries.RunFilter(outcome="failed"),
    queries.RunFilter(outcome="missed"),
    queries.RunFilter(trigger="gate"),
]


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet("eu", "us")


def plans_of(ask: Callable[[], object]) -> str:
    """The plans of all statements that name runs."""
    with CaptureQueriesContext(connection) as captured:
        ask()
    asked = [each["sql"] for each in captured if "runs_run" in each["sql"]]
    assert asked
    return "\n".join(line for sql in asked for (line,) in fetch(f"EXPLAIN {sql.replace('%', '%%')}", []))


def indexes_of(parent: str) -> set[str]:
    """An index's own on each partition."""
    rows = fetch("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", [parent])
    return {name for (name,) in rows}


def test_the_newest_runs_are_not_looked_for_in_weeks_to_come(fleet: Fleet) -> None:
    make_monitors(fleet)
    ensure_partitions(NOW)
    plan = plans_of(lambda: queries.site_overview(fleet.organisation))
    weeks = [NOW + n * timedelta(weeks=1) for n in range(2, 4)]
    ahead = [f"runs_run_{week - timedelta(days=week.weekday()):%Y%m%d}" for week in weeks]
    assert "runs_run_2" in plan
    assert [name for name in ahead if name in plan] == []


@pytest.mark.parametrize("wanted", _RARE)
def test_a_list_of_what_is_rare_reads_nothing_else(fleet: Fleet, wanted: queries.RunFilter) -> None:
    make_monitors(fleet, 5)
    _seek_by_index()
    plan = plans_of(lambda: queries.listed_runs(fleet.organisation, wanted, before=None, limit=100, now=NOW))
    used = re.findall(r"Index Scan (?:Backward )?using (\S+) on runs_run_", plan)
    assert used
    assert set(used) <= indexes_of("run_unusual")


def test_a_series_of_one_region_reads_no_other() -> None:
    fleet = make_fleet("eu", "us")
    monitors = make_monitors(fleet, 20)
    _fill(monitors, fleet.regions)
    _seek_by_index()
    wanted = queries.Wanted(since=NOW - timedelta(days=1), until=NOW, region="eu")
    plan = plans_of(lambda: queries.phase_series(monitors[0], wanted))
    sought = re.findall(r"Index Cond: (.*)", plan)
    assert "region_id = " in "\n".join(each for each in sought if "monitor_id = " in each)


def _seek_by_index() -> None:
    """A planner that sees few rows takes whatever is there: all of a small table by its times, where the rows that
    other tests took back have left an index large.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")


def _fill(monitors: Sequence[Monitor], regions: Sequence[Region]) -> None:
    """So many runs that PostgreSQL has a choice, and knows of it: of empty tables any index is as good."""
    Run.objects.bulk_create(
        Run(
            run_id=uuid4(),
            scheduled_for=NOW - timedelta(minutes=minute),
            monitor_id=monitor.pk,
            region_id=region.pk,
            attempt=1,
            kind=monitor.kind,
            trigger="schedule",
            outcome="measured",
            received_at=NOW,
            config_version=1,
        )
        for minute in range(50)
        for monitor in monitors
        for region in regions
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE runs_run")


def test_new_weeks_have_the_index_of_what_is_rare() -> None:
    ensure_partitions(NOW + timedelta(weeks=6))
    ((partitions,),) = fetch("SELECT count(*) FROM pg_inherits WHERE inhparent = 'runs_run'::regclass")
    assert len(indexes_of("run_unusual")) == partitions
    ((valid,),) = fetch("SELECT indisvalid FROM pg_index WHERE indexrelid = 'run_unusual'::regclass")
    assert valid
