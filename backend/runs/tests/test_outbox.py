from datetime import timedelta

import pytest
import redis
from cryptography.fernet import Fernet
from pytest_django import Settings

from backend.runs import broker, outbox
from backend.runs.broker import BrokerError
from backend.runs.claim import PUBLISH_GRACE, claim
from backend.runs.leases import sweep
from backend.runs.models import PendingRun, Run
from backend.runs.tests.factories import NOW, Fleet, make_fleet, make_monitors, make_pending, schedule
from backend.sites.models import Monitor

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


@pytest.fixture
def fleet(broker_client: redis.Redis) -> Fleet:
    fleet = make_fleet("eu")
    schedule(fleet, make_monitors(fleet, 3))
    return fleet


def test_publishing_starts_the_lease_with_the_timeout_and_some_grace(fleet: Fleet, broker_client: redis.Redis) -> None:
    assert outbox.publish(claim(NOW), now=NOW) == 3
    assert broker_client.llen("eu:probe") == 3
    leases = set(PendingRun.objects.values_list("published_at", "lease_until"))
    assert leases == {(NOW, NOW + 10 * SECOND + outbox.LEASE_GRACE)}


def test_what_a_killed_scheduler_claimed_is_published_by_another(fleet: Fleet, broker_client: redis.Redis) -> None:
    claim(NOW)
    PendingRun.objects.update(expires_at=NOW + 60 * SECOND)
    assert outbox.waiting(NOW) == [], "its own process may be just publishing it"
    later = NOW + PUBLISH_GRACE
    messages = outbox.waiting(later)
    assert outbox.waiting(later) == [], "a third scheduler leaves it alone"
    assert outbox.publish(messages, now=later) == 3
    assert outbox.waiting(later + 60 * SECOND) == []


def test_the_message_from_the_outbox_is_the_one_that_was_claimed(fleet: Fleet) -> None:
    claimed = [message for message in claim(NOW) if message.expires_at > NOW + PUBLISH_GRACE]
    again = outbox.waiting(NOW + PUBLISH_GRACE)
    assert sorted(again, key=lambda message: message.run_id) == sorted(claimed, key=lambda message: message.run_id)


def test_without_a_broker_claimed_runs_wait_and_are_missed_in_the_end(fleet: Fleet, settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    with pytest.raises(BrokerError):
        outbox.publish(claim(NOW), now=NOW)
    assert PendingRun.objects.filter(published_at=None).count() == 3
    sweep(NOW + 60 * SECOND)
    assert set(Run.objects.values_list("outcome", "missed_reason")) == {("missed", "service_down")}


def test_a_full_queue_holds_runs_back_for_a_while(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "MAX_QUEUE", 0)
    assert outbox.publish(claim(NOW), now=NOW) == 0
    PendingRun.objects.update(expires_at=NOW + 60 * SECOND)
    assert outbox.waiting(NOW + 4 * SECOND) == []
    assert len(outbox.waiting(NOW + outbox.HELD_BACK)) == 3


def test_after_redis_was_emptied_everything_that_no_agent_has_named_is_published_again(
    fleet: Fleet, broker_client: redis.Redis
) -> None:
    broker.remember()
    outbox.publish(claim(NOW), now=NOW)
    PendingRun.objects.update(expires_at=NOW + 60 * SECOND)
    held = make_pending(fleet, make_monitors(fleet)[0], agent="agent-1")
    assert outbox.publish_again_after_loss(NOW) is None
    broker_client.flushall()
    assert outbox.publish_again_after_loss(NOW) == 3
    assert outbox.publish_again_after_loss(NOW) is None
    assert outbox.publish(outbox.waiting(NOW), now=NOW) == 3
    held.refresh_from_db()
    assert held.published_at is not None


def test_a_monitor_that_cannot_be_read_misses_its_runs_and_holds_no_other_up(
    fleet: Fleet, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, _ = Monitor.objects.order_by("pk")
    Monitor.objects.filter(pk=first.pk).update(headers=[["X-Key", "s3cret"]])
    Monitor.objects.filter(pk=second.pk).update(page={"loads": 2})
    settings.FERNET_KEYS = (Fernet.generate_key().decode(),)
    assert len(claim(NOW)) == 1
    missed = Run.objects.filter(outcome="missed", missed_reason="settings_unreadable")
    assert set(missed.values_list("monitor_id", flat=True)) == {first.pk, second.pk}
    assert PendingRun.objects.count() == 1
    assert "s3cret" not in caplog.text
    assert "2 runs are missed, such as that of monitor" in caplog.text
    assert "none of FIRSTBYTE_FERNET_KEYS opens the stored value" in caplog.text


def test_a_run_that_waits_in_the_outbox_is_missed_too_when_its_key_goes(fleet: Fleet, settings: Settings) -> None:
    monitor = Monitor.objects.order_by("pk")[0]
    Monitor.objects.filter(pk=monitor.pk).update(headers=[["X-Key", "s3cret"]])
    claim(NOW)
    PendingRun.objects.update(expires_at=NOW + 60 * SECOND)
    settings.FERNET_KEYS = (Fernet.generate_key().decode(),)
    assert len(outbox.waiting(NOW + PUBLISH_GRACE)) == 2
    missed = Run.objects.filter(missed_reason="settings_unreadable")
    assert list(missed.values_list("monitor_id", flat=True)) == [monitor.pk]


def test_a_pair_that_another_version_wrote_misses_its_runs_and_holds_no_other_up(fleet: Fleet) -> None:
    newer = Monitor.objects.order_by("pk")[0]
    pair = {"url": "https://origin.example/", "of_a_newer_version": True}
    Monitor.objects.filter(pk=newer.pk).update(kind="pair", pair=pair)
    assert len(claim(NOW)) == 2
    missed = Run.objects.filter(missed_reason="settings_unreadable")
    assert list(missed.values_list("monitor_id", flat=True)) == [newer.pk]
