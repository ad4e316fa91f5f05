"""What one region's account can do to the broker's memory, and that others go on."""

from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
import redis

from backend.fleet import actions
from backend.fleet.models import Region
from backend.runs import broker
from backend.runs.hoards import empty_hoards
from backend.runs.sweeper import Sweeper
from backend.runs.tests.factories import NOW, make_region
from backend.runs.tests.test_broker import _messages
from backend.testing import wait_until
from workers.measurement.broker import acl_rules, region_keys
from workers.measurement.messages import Kind

pytestmark = pytest.mark.django_db
MEGABYTE = 1 << 20


@pytest.fixture
def small(broker_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> Iterator[redis.Redis]:
    """A broker with as much room as it holds empty, and 30 MB more, of which a queue is full at 3."""
    monkeypatch.setattr(broker, "MAX_QUEUE_BYTES", 3 * MEGABYTE)
    used = int(broker_client.info("memory")["used_memory"])
    broker_client.config_set("maxmemory", used + 30 * MEGABYTE)
    yield broker_client
    broker_client.config_set("maxmemory", 0)


@pytest.fixture
def thief(broker: str, broker_client: redis.Redis) -> Iterator[redis.Redis]:
    """Whoever has the broker password of region eu."""
    broker_client.execute_command("ACL", "SETUSER", "region-eu", "on", ">secret", *acl_rules("eu").split())  # type: ignore[no-untyped-call]  # redis-py leaves this one without types
    with redis.Redis.from_url(urlsplit(broker)._replace(netloc="region-eu:secret@").geturl()) as client:
        yield client


def fill(thief: redis.Redis, key: str = "eu:probe") -> None:
    """Until Redis takes no more."""
    for size in (MEGABYTE, 1_000):
        with suppress(redis.exceptions.OutOfMemoryError):
            while True:
                thief.rpush(key, b"x" * size)


def test_a_region_that_fills_the_broker_keeps_no_other_waiting(small: redis.Redis, thief: redis.Redis) -> None:
    make_region("eu")
    make_region("us")
    fill(thief, "eu:unacked")
    # A moment later Redis has back what it kept for the thief's next words: with less room it stays full.
    limit = small.info("memory")["maxmemory"] - 3 * MEGABYTE
    small.config_set("maxmemory", limit)
    other = _messages(1, queue="us:probe")
    with pytest.raises(broker.BrokerError):
        broker.push(other, published_at=NOW)
    Sweeper().step()
    wait_until(lambda: small.info("memory")["used_memory"] < limit, "room")
    assert broker.push(other, published_at=NOW) == [other[0].run_id]
    assert small.exists("eu:unacked") == 0


@pytest.mark.parametrize("key", ["eu:unacked", "eu:page.gate", "eu:_kombu.binding.probe"])
def test_whatever_of_its_keys_it_fills_is_found(key: str, small: redis.Redis, thief: redis.Redis) -> None:
    region, other = make_region("eu"), make_region("us")
    small.rpush("us:probe", b"work")
    fill(thief, key)
    [(code, size)] = empty_hoards(NOW)
    assert code == "eu"
    assert size > 20 * MEGABYTE
    assert small.exists(key) == 0
    assert small.llen("us:probe") == 1
    region.refresh_from_db()
    other.refresh_from_db()
    assert region.emptied_at == NOW
    assert other.emptied_at is None


def test_two_stolen_accounts_that_fill_it_together_are_both_found(small: redis.Redis, thief: redis.Redis) -> None:
    make_region("eu")
    make_region("us")
    # Each takes a quarter more than its size: twelve are half of the room, so that either half is above a third of all.
    for _ in range(12):
        small.rpush("us:page", b"x" * MEGABYTE)
    fill(thief)
    assert {code for code, _ in empty_hoards(NOW)} == {"eu", "us"}


def test_big_ones_behind_small_ones_are_found_too(small: redis.Redis, thief: redis.Redis) -> None:
    make_region("eu")
    for _ in range(20_000):
        thief.rpush("eu:probe", b"x" * 50)
    fill(thief)
    assert [code for code, _ in empty_hoards(NOW)] == ["eu"]


def test_a_region_whose_agents_are_away_is_let_be(small: redis.Redis) -> None:
    region = make_region("eu")
    small.config_set("maxmemory", 200 * MEGABYTE)
    message = b"x" * 2_400
    for _ in range(broker.MAX_QUEUE // 1_000):
        small.lpush("eu:probe", *[message] * 1_000)
    assert empty_hoards(NOW) == []
    assert small.llen("eu:probe") == broker.MAX_QUEUE
    region.refresh_from_db()
    assert region.emptied_at is None


def test_what_the_service_itself_may_put_there_is_no_hoard_however_small_the_broker(
    small: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_region("eu")
    monkeypatch.setattr(broker, "MAX_QUEUE_BYTES", 9 * MEGABYTE)
    for kind in Kind:
        for _ in range(5):
            small.lpush(f"eu:{kind}", b"x" * MEGABYTE)
    assert empty_hoards(NOW) == []
    assert small.llen("eu:page") == 5


def test_a_queue_of_large_messages_is_full_by_its_size(
    broker_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "MAX_QUEUE_BYTES", MEGABYTE)
    broker_client.lpush("eu:probe", b"x" * MEGABYTE)
    held, served = *_messages(1), *_messages(1, queue="us:probe")
    assert broker.push([held, served], published_at=NOW) == [served.run_id]


def test_a_region_may_write_to_the_keys_of_its_queues_and_to_no_others(
    broker_client: redis.Redis, thief: redis.Redis
) -> None:
    for key in region_keys("eu"):
        assert thief.rpush(key, "x") == 1
    for key in ("eu:another", "eu:_kombu.binding.another", "eu:"):
        with pytest.raises(redis.exceptions.NoPermissionError):
            thief.rpush(key, "x")


def test_new_secrets_end_what_is_said_of_it(small: redis.Redis) -> None:
    region = make_region("eu")
    Region.objects.update(emptied_at=NOW)
    region.refresh_from_db()
    actions.rotate_token(actor=None, region=region)
    region.refresh_from_db()
    assert region.emptied_at is None
