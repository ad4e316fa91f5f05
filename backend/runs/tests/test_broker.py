import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Barrier, BrokenBarrierError
from unittest.mock import Mock
from uuid import uuid4

import pytest
import redis
from pytest_django import Settings

from backend.instants import to_us
from backend.runs import broker
from backend.runs.outgoing import Outgoing
from backend.runs.tests.factories import NOW

SECOND = timedelta(seconds=1)


def _messages(count: int, *, queue: str = "eu:probe", expires_at: timedelta = 60 * SECOND) -> list[Outgoing]:
    return [
        Outgoing(
            run_id=uuid4(),
            queue=queue,
            expires_at=NOW + expires_at,
            timeout_s=10,
            config_version=1,
            message=b'{"text":"\xc3\xa9 \\" \\\\"}',
        )
        for _ in range(count)
    ]


def test_messages_stand_in_their_queues_in_the_order_of_publishing(broker_client: redis.Redis) -> None:
    first, second, other = *_messages(2), *_messages(1, queue="us:page.now")
    assert set(broker.push([first, second, other], published_at=NOW)) == {first.run_id, second.run_id, other.run_id}
    tasks = [json.loads(task)["headers"]["id"] for task in reversed(broker_client.lrange("eu:probe", 0, -1))]
    assert tasks == [str(first.run_id), str(second.run_id)]
    assert broker_client.llen("us:page.now") == 1


def test_a_full_queue_takes_nothing_and_others_are_served(
    broker_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "MAX_QUEUE", 2)
    broker.push(_messages(2), published_at=NOW)
    held, served = *_messages(1), *_messages(1, queue="us:probe")
    assert broker.push([held, served], published_at=NOW) == [served.run_id]


def test_the_head_tells_how_long_a_queue_is_and_when_its_oldest_message_was_published(
    broker_client: redis.Redis,
) -> None:
    broker.push(_messages(1), published_at=NOW - SECOND)
    broker.push(_messages(1), published_at=NOW)
    heads = broker.heads(["eu:probe", "eu:page"])
    assert heads["eu:probe"] == broker.Head(length=2, published_us=to_us(NOW - SECOND))
    assert heads["eu:page"] == broker.Head(length=0, published_us=None)


def test_expired_messages_are_taken_from_the_head_so_that_an_unattended_queue_ends(
    broker_client: redis.Redis,
) -> None:
    broker.push(_messages(3, expires_at=-SECOND), published_at=NOW - 60 * SECOND)
    broker.push(_messages(1), published_at=NOW)
    assert broker.trim(["eu:probe", "eu:page"], now=NOW) == 3
    assert broker.heads(["eu:probe"])["eu:probe"] == broker.Head(length=1, published_us=to_us(NOW))


@pytest.mark.parametrize("junk", [b"junk", b"{}", b'{"headers":{"published_us":"x"}}', b"[]"])
def test_what_a_stolen_account_pushes_is_taken_away(broker_client: redis.Redis, junk: bytes) -> None:
    broker_client.rpush("eu:probe", junk)
    assert broker.heads(["eu:probe"])["eu:probe"] == broker.Head(length=1, published_us=None)
    assert broker.trim(["eu:probe"], now=NOW) == 1
    assert broker_client.llen("eu:probe") == 0


def test_a_queue_that_a_stolen_account_made_no_queue_keeps_no_other_region_waiting(broker_client: redis.Redis) -> None:
    broker_client.set("eu:probe", "no list")
    held, served = *_messages(1), *_messages(1, queue="us:probe")
    assert broker.push([held, served], published_at=NOW) == [served.run_id]
    assert broker.heads(["eu:probe", "us:probe"]).keys() == {"us:probe"}
    broker.trim(["eu:probe", "us:probe"], now=NOW)
    assert broker.push([held], published_at=NOW) == [held.run_id]


def test_what_a_redis_took_before_it_was_full_is_not_published_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([[0, None, 0, None], [1, redis.exceptions.OutOfMemoryError("used memory > 'maxmemory'")]])
    monkeypatch.setattr(broker, "_pipelined", lambda commands: next(answers))
    taken, refused = *_messages(1), *_messages(1, queue="us:probe")
    assert broker.push([taken, refused], published_at=NOW) == [taken.run_id]


def test_a_redis_that_takes_nothing_is_no_broker(broker_client: redis.Redis) -> None:
    broker_client.config_set("maxmemory", 1)
    try:
        with pytest.raises(broker.BrokerError):
            broker.push(_messages(1), published_at=NOW)
    finally:
        broker_client.config_set("maxmemory", 0)


def test_a_redis_that_was_emptied_is_noticed(broker_client: redis.Redis) -> None:
    assert broker.has_forgotten()
    broker.remember()
    assert not broker.has_forgotten()
    broker_client.flushall()
    assert broker.has_forgotten()


def test_threads_that_ask_first_at_the_same_moment_have_one_client(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two, the one that is not kept would close its connections while a thread reads from them."""
    both, made = Barrier(2), list[Mock]()

    def make(_: str, **__: object) -> Mock:
        with suppress(BrokenBarrierError):
            both.wait(timeout=0.2)
        made.append(Mock())
        return made[-1]

    settings.REDIS_URL = "redis://asked-first.test"
    monkeypatch.setattr(redis.Redis, "from_url", make)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: broker.ping(), range(2)))
    assert len(made) == 1
