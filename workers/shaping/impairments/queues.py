"""Ways that are fuller than they look: a queue that others fill, and rates that hold once a burst is spent."""

from math import pi, sin
from random import Random
from typing import ClassVar

from workers.shaping.impairments.behaviour import MS, Behaviour, Passage
from workers.shaping.packets import ETHERNET_BYTES
from workers.shaping.settings import QUEUE_BYTES, Direction

# Thirteen full packets: more than a handshake, less than a page. Usual are some 10 ms at the line's full rate.
_BURST_BYTES = 20_000


class Bufferbloat(Behaviour):
    """A download beside ours that fills and drains the queue of the line, between 0 and 120 ms, as Reno and CUBIC do at
    a deep one. 1.3 s is a period of such a sawtooth on a line of some Mbit/s.
    """

    _DEEP_NS = 120 * MS
    _PERIOD_NS = 1300 * MS

    def __init__(self, dice: Random) -> None:
        self._phase_ns = dice.randrange(self._PERIOD_NS)

    def leaves_ns(self, passage: Passage) -> int:
        if passage.direction is Direction.UP:
            return passage.due_ns
        turn = 2 * pi * ((passage.due_ns + self._phase_ns) % self._PERIOD_NS) / self._PERIOD_NS
        return passage.due_ns + round(self._DEEP_NS * (1 + sin(turn)) / 2)


class _TokenBucket(Behaviour):
    """Bytes that may pass at once, `_BURST_BYTES` at most, and as many more as the rate gives."""

    _kbit_s: ClassVar[int]

    def __init__(self, dice: Random) -> None:
        """Nothing of it is by chance."""
        self._level_bytes = float(_BURST_BYTES)
        self._latest_ns = 0

    def _lack_bytes(self, passage: Passage) -> float:
        """How many bytes are missing for this packet; with 0 or less it may pass."""
        elapsed_ns = max(0, passage.due_ns - self._latest_ns)
        self._latest_ns = max(self._latest_ns, passage.due_ns)
        self._level_bytes = min(_BURST_BYTES, self._level_bytes + elapsed_ns * self._kbit_s / 8_000_000)
        return len(passage.frame) - ETHERNET_BYTES - self._level_bytes

    def _take(self, passage: Passage) -> None:
        self._level_bytes -= len(passage.frame) - ETHERNET_BYTES


class Shaper(_TokenBucket):
    """A tariff whose volume is used up: 500 kbit/s down, what exceeds the burst waits for its turn."""

    _kbit_s = 500

    def leaves_ns(self, passage: Passage) -> int | None:
        if passage.direction is Direction.UP:
            return passage.due_ns
        lack_bytes = self._lack_bytes(passage)
        if lack_bytes > QUEUE_BYTES:
            return None
        self._take(passage)
        return passage.due_ns + max(0, round(lack_bytes * 8_000_000 / self._kbit_s))


class Policer(_TokenBucket):
    """A line whose rate is kept by dropping: what exceeds 1 Mbit/s down and the burst never arrives. Of transfers with
    loss 2 to 7 % were so (Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016).
    """

    _kbit_s = 1000

    def leaves_ns(self, passage: Passage) -> int | None:
        if passage.direction is Direction.UP:
            return passage.due_ns
        if self._lack_bytes(passage) > 0:
            return None
        self._take(passage)
        return passage.due_ns
