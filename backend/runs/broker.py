"""The queues in Redis, from the service's side: publishing, what stands at their heads, and whether Redis forgot.

Rights that the service's account needs: LPUSH, LLEN, LINDEX and RPOP on every region's keys, EVAL, and GET and SET of
`_firstbyte:*`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

import redis
from django.conf import settings

from backend.runs.celery_message import Stamp, celery_message, microseconds
from backend.runs.outgoing import Outgoing

# A queue without a consumer must not fill Redis: 20,000 messages of 2 kB are 40 MB a queue. More wait in the outbox.
MAX_QUEUE = 20_000
# The scheduler must not stand still for a broker that hangs.
TIMEOUT_S = 2.0
# An underscore cannot be part of a region's code, so no region's account reaches this key.
_SENTINEL = "_firstbyte:sentinel"
_TRIM_BATCH = 10_000

BrokerError = redis.RedisError

# The oldest message stands at the right. What is expired, or no message of ours, is taken away: nobody else would do it
# for a queue without a consumer.
_HEAD = """
local function stamps(message)
  local headers = cjson.decode(message).headers
  return {published = headers.published_us + 0, expires = headers.expires_us + 0}
end
for _ = 1, tonumber(ARGV[2]) do
  local message = redis.call('LINDEX', KEYS[1], -1)
  if not message then break end
  local ok, head = pcall(stamps, message)
  if ok and head.expires > tonumber(ARGV[1]) then
    return {redis.call('LLEN', KEYS[1]), string.format('%.0f', head.published)}
  end
  redis.call('RPOP', KEYS[1])
end
return {redis.call('LLEN', KEYS[1]), 0}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How long a queue is, and when its oldest message was published (None when it is empty)."""

    length: int
    published_us: int | None

    @property
    def full(self) -> bool:
        return self.length >= MAX_QUEUE


def push(messages: Sequence[Outgoing], *, published_at: datetime) -> list[UUID]:
    """Puts messages on their queues and gives the runs that were taken; a full queue takes none. Raises BrokerError."""
    queues: dict[str, list[bytes]] = defaultdict(list)
    taken: dict[str, list[UUID]] = defaultdict(list)
    for message in messages:
        stamp = Stamp(published_at=published_at, expires_at=message.expires_at)
        name = message.queue.partition(":")[2]
        queues[message.queue].append(celery_message(message.run_id, message.message, name, stamp))
        taken[message.queue].append(message.run_id)
    lengths = _pipelined(("LLEN", queue) for queue in queues)
    open_queues = [queue for queue, length in zip(queues, lengths, strict=True) if length < MAX_QUEUE]
    _pipelined(("LPUSH", queue, *queues[queue]) for queue in open_queues)
    return [run_id for queue in open_queues for run_id in taken[queue]]


def heads(queues: Sequence[str], *, now: datetime) -> dict[str, Head]:
    """What stands at the head of each queue, after what expired before `now` was taken away. Raises BrokerError."""
    answers = _pipelined(("EVAL", _HEAD, 1, queue, microseconds(now), _TRIM_BATCH) for queue in queues)
    return {
        queue: Head(length=int(length), published_us=int(published) or None)
        for queue, (length, published) in zip(queues, answers, strict=True)
    }


def has_forgotten() -> bool:
    """Whether Redis has lost everything since `remember` (or never knew). Raises BrokerError."""
    return _client(settings.REDIS_URL).get(_SENTINEL) is None


def remember() -> None:
    """Lets `has_forgotten` say no until Redis is emptied. Raises BrokerError."""
    _client(settings.REDIS_URL).set(_SENTINEL, "1")


def _pipelined(commands: Iterable[tuple[Any, ...]]) -> list[Any]:
    with _client(settings.REDIS_URL).pipeline(transaction=False) as pipeline:
        execute: Callable[..., object] = pipeline.execute_command
        for command in commands:
            execute(*command)
        return pipeline.execute()


@cache
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
