from datetime import timedelta

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries, Settings

from backend.runs.claim import claim, next_due
from backend.runs.models import PendingRun, Run, Schedule
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_monitors, schedule
from backend.sites.models import Monitor
from backend.sites.page_settings import stored
from workers.measurement.connection import Header
from workers.measurement.identity import run_id
from workers.measurement.messages import RunRequest
from workers.measurement.page_options import Click, Login, PageOptions
from workers.measurement.wire import decode

pytestmark = pytest.mark.django_db


def test_a_due_slot_becomes_a_pending_run_with_its_message() -> None:
    fleet = make_fleet("eu")
    (monitor,) = make_monitors(fleet)
    schedule(fleet, [monitor])
    (message,) = claim(NOW)
    pending = PendingRun.objects.get()
    request = decode(message.message, RunRequest)
    assert request.run_id == pending.run_id == message.run_id
    assert request.run_id == run_id(
        monitor_id=monitor.public_id, region="eu", scheduled_for=pending.scheduled_for, attempt=1
    )
    assert (request.url, request.region, request.timeout_us) == (monitor.url, "eu", 10_000_000)
    assert request.expires_at == pending.expires_at == pending.scheduled_for + timedelta(seconds=60)
    assert message.queue == "eu:probe"


def test_a_claimed_slot_is_not_due_again_before_its_next() -> None:
    fleet = make_fleet("eu")
    schedule(fleet, make_monitors(fleet))
    (slot,) = Schedule.objects.values_list("next_at", flat=True)
    assert len(claim(NOW)) == 1
    assert claim(NOW) == []
    assert next_due() == slot + timedelta(seconds=60)
    assert len(claim(slot + timedelta(seconds=60))) == 1
    assert sorted(PendingRun.objects.values_list("scheduled_for", flat=True)) == [slot, slot + timedelta(seconds=60)]


def test_after_a_standstill_only_the_newest_slot_runs_and_each_older_one_is_missed() -> None:
    fleet = make_fleet("eu", "us")
    monitors = make_monitors(fleet, 3)
    schedule(fleet, monitors, behind=timedelta(minutes=10))
    assert len(claim(NOW)) == 6
    for entry in Schedule.objects.all():
        newest = entry.next_at - timedelta(seconds=60)
        slots = {newest - timedelta(minutes=n) for n in range(1, 11)}
        missed = Run.objects.filter(monitor_id=entry.monitor_id, region_id=entry.region_id)
        assert {run.scheduled_for for run in missed} == slots
        assert {(run.outcome, run.missed_reason, run.attempt) for run in missed} == {("missed", "service_down", 1)}
        assert PendingRun.objects.get(monitor=entry.monitor, region=entry.region).scheduled_for == newest


def test_slots_older_than_retention_are_not_recorded(settings: Settings) -> None:
    settings.RETENTION_DAYS = 1
    fleet = make_fleet("eu")
    schedule(fleet, make_monitors(fleet, interval_s=3600), behind=timedelta(days=20))
    claim(NOW)
    assert 23 <= Run.objects.count() <= 24
    assert Run.objects.filter(scheduled_for__lt=NOW - timedelta(days=1)).count() == 0


def test_a_batch_takes_the_most_overdue_first() -> None:
    fleet = make_fleet("eu")
    monitors = make_monitors(fleet, 5)
    schedule(fleet, monitors)
    due = list(Schedule.objects.order_by("next_at").values_list("monitor_id", flat=True))
    claim(NOW, limit=2)
    assert set(PendingRun.objects.values_list("monitor_id", flat=True)) == set(due[:2])


def test_a_disabled_schedule_is_never_due() -> None:
    fleet = make_fleet("eu")
    schedule(fleet, make_monitors(fleet))
    Schedule.objects.update(enabled=False)
    assert claim(NOW) == []
    assert next_due() is None


def test_a_slot_that_is_pending_already_is_not_doubled_when_the_clock_was_set_back() -> None:
    fleet = make_fleet("eu")
    schedule(fleet, make_monitors(fleet))
    claim(NOW)
    Schedule.objects.update(next_at=PendingRun.objects.get().scheduled_for)
    claim(NOW)
    assert PendingRun.objects.count() == 1


def test_secrets_reach_the_message_and_stay_encrypted_in_the_database() -> None:
    fleet = make_fleet("eu")
    (monitor,) = make_monitors(fleet)
    options = PageOptions(login=Login(user="me", password="open sesame"), steps=(Click(selector="#go"),))
    monitor.headers, monitor.page = [["Authorization", "Bearer sesame"]], stored(options)
    monitor.save()
    schedule(fleet, [monitor])
    (message,) = claim(NOW)
    request = decode(message.message, RunRequest)
    assert request.headers == (Header(name="Authorization", value="Bearer sesame"),)
    assert request.page == options
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_jsonb(m)::text || to_jsonb(p)::text FROM sites_monitor m, runs_pendingrun p")
        assert "sesame" not in cursor.fetchone()[0]


def test_a_claim_costs_the_same_statements_for_one_slot_as_for_many(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    fleet = make_fleet("eu", "us")
    schedule(fleet, make_monitors(fleet, 20))
    with django_assert_num_queries(4):  # a savepoint around the two, since the test itself is a transaction
        assert len(claim(NOW)) == 40


def _depths_of_a_day(fleet: Fleet, monitors: list[Monitor]) -> list[str]:
    """Of 24 slots, one an hour."""
    schedule(fleet, monitors)
    requests = [decode(one.message, RunRequest) for n in range(24) for one in claim(NOW + timedelta(hours=n))]
    return [request.depth.value for request in requests]


def test_a_probe_looks_deeper_once_a_day_in_each_region() -> None:
    fleet = make_fleet("eu", "us")
    monitors = make_monitors(fleet, interval_s=3600)
    depths = _depths_of_a_day(fleet, monitors)
    assert sorted(depths) == ["deep"] * 2 + ["light"] * 46
    assert PendingRun.objects.filter(depth="deep").values("region").distinct().count() == 2


def test_a_page_has_no_depth() -> None:
    fleet = make_fleet("eu")
    assert set(_depths_of_a_day(fleet, make_monitors(fleet, interval_s=3600, kind="page"))) == {"light"}


def test_after_a_standstill_of_days_the_newest_slot_looks_deeper() -> None:
    fleet = make_fleet("eu")
    schedule(fleet, make_monitors(fleet, 3, interval_s=3600), behind=timedelta(days=2))
    assert {decode(one.message, RunRequest).depth.value for one in claim(NOW)} == {"deep"}


def test_slots_that_nobody_ran_keep_the_version_that_they_were_due_for() -> None:
    fleet = make_fleet("eu")
    monitors = make_monitors(fleet)
    Monitor.objects.update(config_version=7)
    schedule(fleet, monitors, behind=timedelta(minutes=2))
    claim(NOW)
    assert set(Run.objects.values_list("outcome", "config_version")) == {("missed", 7)}
    assert PendingRun.objects.get().config_version == 7
