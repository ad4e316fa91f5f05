"""How long a region's queues are, or that the broker does not say."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from backend.fleet.models import Region
from backend.runs.broker import BrokerError, Head, heads
from backend.runs.outgoing import queue_key
from workers.measurement.messages import Kind
from workers.measurement.routes import Lane

_NO_QUEUE = Head(length=0, published_us=None)
LANES = tuple((kind.value, lane) for kind in Kind for lane in Lane)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One queue of a region. `age_s` is how long its oldest message waits; None when it is empty."""

    kind: str
    lane: str
    length: int
    age_s: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionQueues:
    queues: tuple[Queue, ...]

    @property
    def length(self) -> int:
        return sum(queue.length for queue in self.queues)

    @property
    def age_s(self) -> int | None:
        return max((queue.age_s for queue in self.queues if queue.age_s is not None), default=None)


def queues_of(regions: Sequence[Region], *, now: datetime) -> dict[str, RegionQueues] | None:
    """The queues by region code; None when the broker cannot be asked."""
    keys = {(region.code, kind, lane): queue_key(region.code, kind, lane) for region in regions for kind, lane in LANES}
    try:
        found = heads(list(keys.values()))
    except BrokerError:
        return None
    return {
        region.code: RegionQueues(
            queues=tuple(
                Queue(
                    kind=kind,
                    lane=lane,
                    length=found.get(keys[region.code, kind, lane], _NO_QUEUE).length,
                    age_s=_age_s(found.get(keys[region.code, kind, lane], _NO_QUEUE).published_us, now),
                )
                for kind, lane in LANES
            )
        )
        for region in regions
    }


def _age_s(published_us: int | None, now: datetime) -> int | None:
    return None if published_us is None else max(0, int(now.timestamp() - published_us / 1_000_000))
