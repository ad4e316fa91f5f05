from datetime import timedelta

import pytest
import redis

from backend.runs import outbox
from backend.runs.ingest import ingest
from backend.runs.leases import sweep
from backend.runs.models import PendingRun, Run
from backend.runs.queries import RunState, progress
from backend.runs.tests.factories import NOW, Fleet, make_agent, make_fleet, make_monitors, make_pending
from backend.runs.tests.results import line_of
from backend.sites.models import Monitor
from workers.measurement.identity import run_id
from workers.measurement.messages import ReceiptStatus

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


@pytest.fixture
def fleet(broker_client: redis.Redis) -> Fleet:
    return make_fleet("eu")


def _lost(fleet: Fleet, **fields: object) -> PendingRun:
    """A run whose agent fell silent."""
    (monitor,) = make_monitors(fleet)
    return make_pending(fleet, monitor, **{"lease_until": NOW - SECOND, "agent": "agent-1"} | fields)


def test_a_lost_run_is_begun_anew_once_under_its_own_id(fleet: Fleet) -> None:
    first = _lost(fleet, stage="loading", requests=7, has_screenshot=True)
    assert sweep(NOW).retried == 1
    second = PendingRun.objects.get()
    assert second.run_id == run_id(
        monitor_id=first.monitor.public_id, region="eu", scheduled_for=first.scheduled_for, attempt=2
    )
    assert (second.attempt, second.first_run_id, second.published_at, second.lease_until) == (
        2,
        first.run_id,
        None,
        None,
    )
    assert (second.agent, second.stage, second.requests, second.has_screenshot) == ("", "queued", None, False)
    (message,) = outbox.waiting(NOW)
    assert message.run_id == second.run_id


def test_a_run_that_is_lost_twice_is_missed(fleet: Fleet) -> None:
    first = _lost(fleet)
    sweep(NOW)
    outbox.publish(outbox.waiting(NOW), now=NOW)
    PendingRun.objects.update(agent="agent-2", lease_until=NOW - SECOND)
    assert sweep(NOW).missed == 1
    run = Run.objects.get()
    assert (run.outcome, run.missed_reason, run.attempt, run.first_run_id) == (
        "missed",
        "agent_lost",
        2,
        first.run_id,
    )
    assert not PendingRun.objects.exists()


def test_a_picture_that_came_before_its_run_was_given_up_is_kept_for_the_late_result(fleet: Fleet) -> None:
    lost = _lost(fleet, attempt=2, has_screenshot=True, has_film=True)
    assert sweep(NOW).missed == 1
    assert ingest(fleet.region, [line_of(lost)], now=NOW) == [ReceiptStatus.STORED]
    run = Run.objects.get()
    assert (run.outcome, run.late, run.has_screenshot, run.has_film) == ("measured", True, True, True)


def test_whoever_waits_for_the_first_attempt_is_told_of_the_second(fleet: Fleet) -> None:
    first = _lost(fleet)
    PendingRun.objects.update(phases={"wait_us": 40, "ttfb_us": 40})
    sweep(NOW)
    (line,) = progress(fleet.organisation, [first.run_id], now=NOW)
    second = PendingRun.objects.get()
    assert line.phases is None, "what the first attempt saw is not measured"
    assert (line.asked_id, line.run_id, line.state) == (first.run_id, second.run_id, RunState.QUEUED)
    second.published_at = NOW
    second.save()
    assert ingest(fleet.region, [line_of(second)], now=NOW) == [ReceiptStatus.STORED]
    (line,) = progress(fleet.organisation, [first.run_id], now=NOW)
    assert (line.run_id, line.state) == (second.run_id, RunState.DONE)


def test_a_run_that_nobody_takes_is_missed_when_its_window_closes(fleet: Fleet) -> None:
    (monitor,) = make_monitors(fleet)
    make_pending(fleet, monitor, published_at=None, lease_until=None)
    outbox.publish(outbox.waiting(NOW), now=NOW)
    later = NOW + 45 * SECOND
    assert sweep(later).waiting == 1
    assert PendingRun.objects.get().lease_until == later + outbox.LEASE_GRACE
    assert sweep(NOW + 50 * SECOND).missed == 1
    assert Run.objects.get().missed_reason == "no_agent"


def test_with_agents_alive_the_reason_is_the_full_queue(fleet: Fleet) -> None:
    (monitor,) = make_monitors(fleet)
    make_pending(fleet, monitor, published_at=None, lease_until=None, expires_at=NOW + 20 * SECOND)
    make_agent(fleet.region, seen_at=NOW)
    outbox.publish(outbox.waiting(NOW), now=NOW)
    assert sweep(NOW + 20 * SECOND).missed == 1
    assert Run.objects.get().missed_reason == "queue_full"


def test_a_run_that_is_held_is_left_alone(fleet: Fleet) -> None:
    _lost(fleet, lease_until=NOW + SECOND, expires_at=NOW - SECOND)
    assert sweep(NOW) == type(sweep(NOW))()
    assert PendingRun.objects.count() == 1


def test_many_overdue_runs_are_swept_in_batches(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.runs.leases.BATCH", 3)
    for monitor in make_monitors(fleet, 8):
        make_pending(fleet, monitor, agent="agent-1", lease_until=NOW - SECOND)
    assert sweep(NOW).retried == 8


def test_a_lost_run_keeps_the_version_that_was_sent_whatever_the_monitor_asks_for_since(fleet: Fleet) -> None:
    (monitor,) = make_monitors(fleet)
    make_pending(fleet, monitor, published_at=None, publish_after=NOW - SECOND)
    Monitor.objects.update(config_version=2)
    outbox.publish(outbox.waiting(NOW), now=NOW)
    Monitor.objects.update(config_version=3)
    PendingRun.objects.update(agent="agent-1", attempt=2, lease_until=NOW - SECOND)
    assert sweep(NOW).missed == 1
    assert Run.objects.get().config_version == 2


def test_a_second_attempt_keeps_the_version_of_its_own_message(fleet: Fleet) -> None:
    _lost(fleet, config_version=1)
    Monitor.objects.update(config_version=2)
    sweep(NOW)
    outbox.publish(outbox.waiting(NOW), now=NOW)
    PendingRun.objects.update(agent="agent-2", lease_until=NOW - SECOND)
    assert sweep(NOW).missed == 1
    assert Run.objects.get().config_version == 2
