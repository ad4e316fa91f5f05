"""Whether the disk has room for results: a process whose results would find none asks the broker for no run, as one
that holds all it may. Other agents of the region may have room; a run that waits is worth more than one that is lost.

What was asked for before is taken all the same: it may be on its way, and be nobody's while nobody reads it.
"""

import logging
import time
from collections.abc import Callable
from typing import Any

from kombu.transport import redis

from workers.letting_go import Held

log = logging.getLogger(__name__)

# The disk says that it has no room while what a few seconds bring still finds some.
LOOK_S = 5.0


class Room:
    """Looks every LOOK_S, as `Spool.fault` does, and logs what changed."""

    def __init__(self, fault: Callable[[], str | None], clock_s: Callable[[], float] = time.monotonic) -> None:
        self._fault_now, self._clock_s = fault, clock_s
        self._fault: str | None = None
        self._due_s = clock_s()

    def is_there(self) -> bool:
        if self._clock_s() >= self._due_s:
            self._look()
            self._due_s = self._clock_s() + LOOK_S
        return self._fault is None

    def _look(self) -> None:
        before, self._fault = self._fault, self._fault_now()
        if self._fault is not None and before is None:
            log.error("takes no runs, since their results would find no room: %s", self._fault)
        elif self._fault is None and before is not None:
            log.warning("takes runs again: there is room for results")


def take_on_where(room: Room) -> None:
    """Lets kombu ask for messages only where there is room, in this process."""

    class Roomy(Held):
        def can_consume(self) -> bool:
            channel: Any = self.channel
            return bool(super().can_consume()) and (bool(channel._in_poll) or room.is_there())

    redis.Channel.QoS = Roomy
