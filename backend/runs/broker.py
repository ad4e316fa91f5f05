"""The queues in Redis, from the service's side: publishing, what stands at their heads, and whether Redis forgot.

Rights that the service's account needs: LPUSH, LLEN, LINDEX, RPOP, TYPE, MEMORY USAGE, UNLINK and DEL on every region's
keys, EVAL, INFO, and GET and SET of `_firstbyte:*`.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from threading import Lock
from typing import Any
from uuid import UUID

import redis
from django.conf import settings

from backend.instants import to_us
from backend.runs.celery_message import Stamp, celery_message
from backend.runs.outgoing import Outgoing
from workers.measurement.broker import region_keys

# A queue without a consumer must not fill Redis: 20,000 messages of 2 kB are 40 MB a queue. More wait in the outbox.
MAX_QUEUE = 20_000
# Larger ones fill it sooner.
MAX_QUEUE_BYTES = 64 << 20
# What a Redis without a limit of its own is taken to hold.
_UNLIMITED_BYTES = 1 << 30
# The scheduler must not stand still for a broker that hangs, nor the platform's probes.
TIMEOUT_S = 2.0
# An underscore cannot be part of a region's code, so no region's account reaches this key.
_SENTINEL = "_firstbyte:sentinel"
_TRIM_BATCH = 10_000
_MAKING = Lock()

BrokerError = redis.RedisError

log = logging.getLogger(__name__)

# The oldest message stands at the right. What is expired, or no message of ours, is taken away: nobody else would do it
# for a queue without a consumer.
_TRIM = """
if redis.call('TYPE', KEYS[1]).ok ~= 'list' then return redis.call('DEL', KEYS[1]) end
local function expiry(message)
  return cjson.decode(message).headers.expires_us + 0
end
for removed = 0, tonumber(ARGV[2]) - 1 do
  local message = redis.call('LINDEX', KEYS[1], -1)
  if not message then return removed end
  local ok, expires = pcall(expiry, message)
  if ok and expires > tonumber(ARGV[1]) then return removed end
  redis.call('RPOP', KEYS[1])
end
return tonumber(ARGV[2])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How long a queue is and how much memory it takes, and when its oldest message was published; None when there is
    none.
    """

    length: int
    published_us: int | None
    size_bytes: int = field(default=0, compare=False)

    @property
    def full(self) -> bool:
        return self.length >= MAX_QUEUE or self.size_bytes >= MAX_QUEUE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """How much of its memory Redis uses, and may."""

    used_bytes: int
    limit_bytes: int

    @property
    def percent(self) -> int:
        return round(100 * self.used_bytes / self.limit_bytes)


def push(messages: Sequence[Outgoing], *, published_at: datetime) -> list[UUID]:
    """Puts messages on their queues and gives the runs that were taken; a full queue takes none, nor does one that is
    no queue. Raises BrokerError, and only where nothing was taken.
    """
    queues: dict[str, list[bytes]] = defaultdict(list)
    taken: dict[str, list[UUID]] = defaultdict(list)
    for message in messages:
        stamp = Stamp(published_at=published_at, expires_at=message.expires_at)
        name = message.queue.partition(":")[2]
        queues[message.queue].append(celery_message(message.run_id, message.message, name, stamp))
        taken[message.queue].append(message.run_id)
    open_queues = [queue for queue, head in heads(list(queues), with_ages=False).items() if not head.full]
    answers = _pipelined(("LPUSH", queue, *queues[queue]) for queue in open_queues)
    served = [queue for queue, _ in _answered(open_queues, answers)]
    faults = [answer for answer in answers if isinstance(answer, redis.ResponseError)]
    if faults and not served:
        raise faults[0]
    return [run_id for queue in served for run_id in taken[queue]]


def heads(queues: Sequence[str], *, with_ages: bool = True) -> dict[str, Head]:
    """What stands at the head of each queue; nothing of what is no queue. Raises BrokerError."""
    sizes = _pipelined(command for queue in queues for command in (("LLEN", queue), ("MEMORY", "USAGE", queue)))
    lengths = _answered(queues, sizes[::2])
    oldest = _pipelined(("LINDEX", queue, -1) for queue in queues) if with_ages else [None] * len(queues)
    rest = dict(zip(queues, zip(sizes[1::2], oldest, strict=True), strict=True))
    return {
        queue: Head(length=length, size_bytes=rest[queue][0] or 0, published_us=_published_us(rest[queue][1]))
        for queue, length in lengths
    }


def ping() -> None:
    """Raises BrokerError where Redis does not answer."""
    _client(settings.REDIS_URL).ping()


def memory() -> Memory:
    """How full Redis is. Raises BrokerError."""
    told = _client(settings.REDIS_URL).info("memory")
    return Memory(used_bytes=told["used_memory"], limit_bytes=told["maxmemory"] or _UNLIMITED_BYTES)


def held_bytes(regions: Sequence[str]) -> dict[str, int]:
    """How much memory the keys of each region take, to the byte. Raises BrokerError."""
    keys = [(region, key) for region in regions for key in region_keys(region)]
    sizes = _pipelined(("MEMORY", "USAGE", key, "SAMPLES", 0) for _, key in keys)
    held = dict.fromkeys(regions, 0)
    for (region, _), size in zip(keys, sizes, strict=True):
        held[region] += size or 0
    return held


def empty(region: str) -> None:
    """Takes away all that a region holds. Raises BrokerError."""
    _client(settings.REDIS_URL).unlink(*region_keys(region))


def trim(queues: Sequence[str], *, now: datetime) -> int:
    """Takes what expired before `now` from the heads of the queues, and away what is no queue at all; how many
    messages. Raises BrokerError.
    """
    counts = _pipelined(("EVAL", _TRIM, 1, queue, to_us(now), _TRIM_BATCH) for queue in queues)
    return sum(count for _, count in _answered(queues, counts))


def has_forgotten() -> bool:
    """Whether Redis has lost everything since `remember` (or never knew). Raises BrokerError."""
    return _client(settings.REDIS_URL).get(_SENTINEL) is None


def remember() -> None:
    """Lets `has_forgotten` say no until Redis is emptied. Raises BrokerError."""
    _client(settings.REDIS_URL).set(_SENTINEL, "1")


def _published_us(message: bytes | None) -> int | None:
    """None also for what is no message of ours: it is taken away by `trim`, and holds up nothing."""
    try:
        return int(json.loads(message or b"")["headers"]["published_us"])
    except (ValueError, TypeError, KeyError):
        return None


def _answered(queues: Iterable[str], answers: Sequence[Any]) -> list[tuple[str, Any]]:
    """Without what Redis refused: a region's account may make anything of its own keys, and keeps no other waiting."""
    pairs = list(zip(queues, answers, strict=True))
    for queue, answer in pairs:
        if isinstance(answer, redis.ResponseError):
            log.warning("queue %s: %s", queue, answer)
    return [(queue, answer) for queue, answer in pairs if not isinstance(answer, redis.ResponseError)]


def _pipelined(commands: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The answers in order; what Redis refuses of one command is its answer. Raises BrokerError without a Redis."""
    with _client(settings.REDIS_URL).pipeline(transaction=False) as pipeline:
        execute: Callable[..., object] = pipeline.execute_command
        for command in commands:
            execute(*command)
        return pipeline.execute(raise_on_error=False)


def _client(url: str) -> redis.Redis:
    """The process's own. Made once: of two made at once a cache keeps the last, and the other one closes its
    connections when it goes, which a thread may be reading from."""
    with _MAKING:
        return _made(url)


@cache
def _made(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
