from datetime import datetime, timedelta
from uuid import uuid4

import pytest
import redis
from django.db import OperationalError
from django.utils import timezone
from pytest_django import Settings

from backend.accounts.models import AuditEntry
from backend.fleet.actions import record_heartbeat
from backend.fleet.models import Region
from backend.runs import sweeper as sweeper_module
from backend.runs.claim import PUBLISH_GRACE
from backend.runs.loop import repeat
from backend.runs.models import DeadLetter, PendingRun, Run, Schedule
from backend.runs.retention import forget
from backend.runs.scheduler import LONGEST_WAIT_S, SHORTEST_WAIT_S, Scheduler
from backend.runs.sweeper import Sweeper
from backend.runs.tests.factories import NOW, make_fleet, make_monitors, make_pending, make_region, schedule
from backend.sites.models import Site
from workers.measurement.messages import Heartbeat
from workers.stopping import Stop


@pytest.mark.django_db
def test_a_tick_claims_and_publishes_what_is_due(broker_client: redis.Redis) -> None:
    fleet = make_fleet("eu")
    schedule(fleet, make_monitors(fleet, 5), now=timezone.now())
    Scheduler().step()
    assert broker_client.llen("eu:probe") == 5
    assert PendingRun.objects.filter(published_at__isnull=False).count() == 5


@pytest.mark.django_db
def test_a_tick_wakes_for_the_next_slot_but_never_sleeps_long(broker_client: redis.Redis) -> None:
    assert Scheduler().step() == LONGEST_WAIT_S
    fleet = make_fleet("eu")
    schedule(fleet, make_monitors(fleet))
    soon = timezone.now() + timedelta(seconds=0.5)
    Schedule.objects.update(next_at=soon)
    assert SHORTEST_WAIT_S <= Scheduler(clock=lambda: soon - timedelta(seconds=0.3)).step() == pytest.approx(0.3)


@pytest.mark.django_db
def test_a_broker_that_is_new_is_no_warning_and_one_that_lost_runs_is(
    broker_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "backend.runs.scheduler")
    Scheduler().step()
    fleet = make_fleet("eu")
    schedule(fleet, make_monitors(fleet, 2), now=timezone.now())
    Scheduler().step()
    broker_client.flushdb()
    Scheduler().step()
    told = [(record.levelname, record.message) for record in caplog.records if "empty" in record.message]
    assert [level for level, _ in told] == ["INFO", "WARNING"], told
    assert "2 runs are published again" in told[1][1]


@pytest.mark.django_db
def test_without_a_broker_claiming_goes_on_and_the_outbox_is_emptied_when_it_is_back(
    broker_client: redis.Redis, settings: Settings
) -> None:
    there, settings.REDIS_URL = settings.REDIS_URL, "unix:///nowhere/redis.sock"
    fleet = make_fleet("eu")
    at = timezone.now()
    schedule(fleet, make_monitors(fleet, 5), now=at)
    Scheduler(clock=lambda: at).step()
    assert PendingRun.objects.filter(published_at=None).count() == 5
    settings.REDIS_URL = there
    PendingRun.objects.update(publish_after=at - PUBLISH_GRACE, expires_at=at + timedelta(hours=1))
    Scheduler(clock=lambda: at).step()
    assert broker_client.llen("eu:probe") == 5


def test_a_loop_outlives_its_database_and_ends_when_it_is_told_to() -> None:
    stop, calls = Stop(), []

    def step() -> float:
        calls.append(1)
        if len(calls) < 3:
            raise OperationalError("the server closed the connection")
        stop.set()
        return 60.0

    repeat("test", step, stop)
    assert len(calls) == 3


@pytest.mark.django_db
def test_a_sweep_does_every_duty(broker_client: redis.Redis) -> None:
    fleet = make_fleet("eu")
    (monitor,) = make_monitors(fleet)
    make_pending(fleet, monitor, agent="agent-1", lease_until=NOW - timedelta(days=1))
    Site.objects.filter(pk=fleet.site.pk).update(status="draft", created_at=NOW - timedelta(days=2))
    Sweeper(clock=lambda: NOW).step()
    assert PendingRun.objects.get().attempt == 2
    assert not Site.objects.filter(pk=fleet.site.pk).exists()
    assert Schedule.objects.filter(monitor=monitor).exists()


@pytest.mark.django_db
def test_a_region_gets_its_schedules_within_a_step_of_its_first_agent(broker_client: redis.Redis) -> None:
    make_monitors(make_fleet("eu"))
    sweeper = Sweeper()
    sweeper.step()
    region = make_region("us", joined_at=None)
    sweeper.step()
    assert set(Schedule.objects.values_list("region__code", flat=True)) == {"eu"}
    beat = Heartbeat(agent="box-1", agent_version="0.1.0", sent_at=NOW)
    record_heartbeat(region=region, heartbeat=beat, now=NOW)
    sweeper.step()
    assert set(Schedule.objects.values_list("region__code", flat=True)) == {"eu", "us"}
    Region.objects.filter(code="eu").update(enabled=False)
    sweeper.step()
    assert set(Schedule.objects.values_list("region__code", flat=True)) == {"us"}


@pytest.mark.django_db
def test_a_duty_that_fails_keeps_no_other_from_its_turn(
    broker_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> int:
        raise PermissionError("the disk is read-only")

    monkeypatch.setattr(sweeper_module, "delete_old_drafts", fail)
    make_monitors(make_fleet("eu"))
    Sweeper().step()
    assert Schedule.objects.exists()


@pytest.mark.django_db
def test_a_storage_is_asked_once_an_hour_and_at_each_step_while_there_is_more(
    broker_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted, asked_at, clock = iter([0, 2_000, 300, 0, 0]), [], [0.0]

    def forget_some(_now: datetime) -> int:
        asked_at.append(clock[0])
        return next(deleted)

    monkeypatch.setattr(sweeper_module, "forget_pictures", forget_some)
    monkeypatch.setattr(sweeper_module, "monotonic", lambda: clock[0])
    sweeper = Sweeper(clock=lambda: NOW)
    for at in (0, 2, 3_598, 3_600, 3_602, 3_604, 3_606, 7_202, 7_204):
        clock[0] = float(at)
        sweeper.step()
    assert asked_at == [0, 3_600, 3_602, 3_604, 7_204]


@pytest.mark.django_db
def test_what_retention_has_passed_is_forgotten(settings: Settings) -> None:
    settings.RETENTION_DAYS = 7
    fleet = make_fleet("eu")
    for days in (3, 8):
        DeadLetter.objects.create(region=fleet.region, received_at=NOW - timedelta(days=days), reason="", body=b"")
    Run.objects.create(
        run_id=uuid4(),
        scheduled_for=NOW - timedelta(days=20),
        monitor_id=1,
        region_id=1,
        attempt=1,
        received_at=NOW,
        outcome="missed",
    )
    for days in (399, 401):
        AuditEntry.objects.create(action="look", object_type="x", object_id="1", at=NOW - timedelta(days=days))
    assert forget(NOW)
    assert DeadLetter.objects.count() == 1
    assert AuditEntry.objects.get().at == NOW - timedelta(days=399)
    assert not Run.objects.exists()
