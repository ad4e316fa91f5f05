from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection
from pytest_django import Settings

from backend.runs.models import Run
from backend.runs.partitions import PARTITIONED, drop_partitions, ensure_partitions
from backend.runs.sql import fetch

pytestmark = pytest.mark.django_db
# The database was made before its tests, perhaps in the week before: it is looked at as of a time before both.
NOW = datetime.now(UTC) - timedelta(hours=1)


def _store_run_at(instant: datetime) -> None:
    Run.objects.create(
        run_id="0d9c6d0b-5b44-4c47-9f0c-6a8c0a8a7f31",
        scheduled_for=instant,
        monitor_id=1,
        region_id=1,
        attempt=1,
        kind="probe",
        trigger="schedule",
        outcome="missed",
        received_at=instant,
    )


def test_a_fresh_database_holds_runs_of_the_whole_retention_and_of_four_weeks_to_come() -> None:
    assert ensure_partitions(NOW) == []
    for instant in (NOW - timedelta(days=30), NOW, NOW + timedelta(weeks=4)):
        _store_run_at(instant)
    assert Run.objects.count() == 3


def test_partitions_are_made_for_every_table_as_time_goes_on() -> None:
    now = datetime.now(UTC)
    ensure_partitions(now)
    later = now + timedelta(weeks=3)
    made = ensure_partitions(later)
    assert len(made) == 3 * len(PARTITIONED)
    assert ensure_partitions(later) == []
    _store_run_at(later + timedelta(weeks=4))


def test_partitions_are_made_backwards_after_a_long_standstill() -> None:
    after = NOW + timedelta(weeks=30)
    ensure_partitions(after)
    _store_run_at(after - timedelta(days=30))


def test_a_partition_is_dropped_only_once_all_of_it_is_older_than_retention(settings: Settings) -> None:
    settings.RETENTION_DAYS = 30
    kept, gone = NOW + timedelta(days=1), NOW - timedelta(days=30)
    _store_run_at(gone)
    _store_run_at(kept)
    assert drop_partitions(NOW) == []
    later = NOW + timedelta(days=7)
    dropped = drop_partitions(later)
    assert {name.rpartition("_")[0] for name in dropped} == set(PARTITIONED)
    assert [run.scheduled_for for run in Run.objects.all()] == [kept]


def test_a_start_after_a_long_standstill_leaves_what_is_over_to_the_sweeper_which_rolls_it_up_first() -> None:
    _store_run_at(NOW)
    call_command("partitions", stdout=StringIO())
    with time_machine.travel(NOW + timedelta(weeks=6), tick=False):
        call_command("partitions", stdout=StringIO())
    assert Run.objects.count() == 1


def test_a_partition_has_the_indexes_of_its_table() -> None:
    ((name,),) = fetch(
        "SELECT max(inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = 'runs_connection'::regclass"
    )
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, name)
    expected = ["host", "region_id", "scheduled_for", "monitor_id", "tls_us"]
    assert expected in [constraint["columns"] for constraint in constraints.values()]
