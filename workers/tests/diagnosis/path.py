"""A path and a server as they might be, simulated segment by segment: what TCP does with what the server writes.

Slow start with one acknowledgement a segment, Nagle's algorithm, delayed acknowledgements, a narrow link, jitter that
keeps the order, packets lost and sent again. Times are in microseconds; nothing waits.
"""

import heapq
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from random import Random

MSS = 1448
_DELAYED_ACK_US = 40_000
_AGAIN_US = 200_000
_DUPLICATES = 3
# BBR's gain while it starts: so much quicker than a window a round trip.
_PACING_GAIN = 2.89


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """`jitter` is a share of the round trip, drawn anew for each packet. `rate_bytes_s` is of the last link.

    `lost` are the numbers of the server's segments, from 0, that never arrive the first time. `kept` is a segment
    that something on the way keeps for so long, and with it all that is behind. `behind_us` is what lies behind
    whoever accepts the connection, `looked_into_us` what a box on the way takes for what a client says first.
    `late_ack_us` is by how much every acknowledgement of a single segment is late, and `up_bytes_s` the rate of the
    first link. From `slow_start_until` segments on the window grows by one a round trip, as that of Linux does once
    HyStart takes the path for full. With `grows_whole` a window that was full once grows with all that is
    acknowledged: of Linux both is seen, of one server in connections that follow each other. `slot_us`: the last hop
    speaks in turns, as radio and cable do, and what comes meanwhile waits for the next one. A `paced` sender spreads a
    window over the round trip, as BBR does from the first one on.
    """

    rtt_ms: float = 80
    iw: int = 10
    mss: int = MSS
    nagle: bool = False
    rate_bytes_s: float | None = None
    jitter: float = 0.0
    delayed_ack: bool = False
    idle_restart: bool = False
    lost: tuple[int, ...] = ()
    kept: tuple[int, int] | None = None
    behind_us: int = 0
    looked_into_us: int = 0
    late_ack_us: int = 0
    up_bytes_s: float | None = None
    slow_start_until: int | None = None
    grows_whole: bool = False
    slot_us: int = 0
    paced: bool = False
    seed: int = 0

    @property
    def rtt_us(self) -> int:
        return round(self.rtt_ms * 1000)


@dataclass(order=True, slots=True)
class _Event:
    at_us: float
    number: int
    kind: str = field(compare=False)
    value: int = field(compare=False, default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A segment at the client, stamped as it came in; `read_us` is when the stream was whole up to its `end`."""

    at_us: int
    read_us: int
    size: int
    end: int


class Wire:
    """The server's half of one connection: `write` in order of time, then `deliver` what those writes come to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._random = Random(path.seed)
        self._numbers = count()
        self._events: list[_Event] = []
        self._writes: list[tuple[int, ...]] = []
        self._queue: deque[int] = deque()
        self._flying: dict[int, int] = {}
        self._window = float(path.iw)
        self._segment, self._filled = 0, False
        self._sizes: list[int] = []
        self._kept: dict[int, float] = {}
        self._expected = 0
        self._link_free_us = self._paced_us = 0.0
        self._turns_from_us = self._random.random() * path.slot_us if path.slot_us else 0.0
        self._last_us = 0.0
        self._held: int | None = None
        self._stream = 0
        self.arrivals: list[Arrival] = []
        self.reordered = 0

    def one_way_us(self) -> float:
        """From the client to the server, or back, now."""
        half = self.path.rtt_us / 2
        return half + self._random.random() * self.path.jitter * self.path.rtt_us / 2

    def connected_us(self) -> float:
        """When the answer to the client's first packet is there. Both find the way as full."""
        return self._turn_us(self._turn_us(0) + 2 * self.one_way_us())

    def at_server_us(self, now_us: float) -> float:
        """When a packet that the client sends now has come."""
        return self._turn_us(now_us) + self.one_way_us()

    def at_client_us(self, now_us: float) -> float:
        return self._turn_us(now_us + self.one_way_us())

    def write(self, at_us: float, *sizes: int) -> None:
        """Several writes right one after the other."""
        self._writes.append(sizes)
        self._put(at_us, "write", len(self._writes) - 1)

    def rest(self) -> None:
        """The connection was idle: what the kernel does to the window."""
        self._filled = False
        if self.path.idle_restart:
            self._window = min(self._window, float(self.path.iw))

    def deliver(self) -> None:
        """All that was written, to the last byte."""
        while self._events:
            event = heapq.heappop(self._events)
            if event.kind == "write":
                self._write(event.at_us, self._writes[event.value])
            elif event.kind == "ack":
                self._acknowledged(event)
            elif event.kind == "again":
                self._put(self._reaches_us(event.at_us, self._sizes[event.value]), "arrival", event.value)
            else:
                self._arrive(event)

    def _put(self, at_us: float, kind: str, value: int = 0) -> None:
        heapq.heappush(self._events, _Event(at_us, next(self._numbers), kind, value))

    def _write(self, now_us: float, sizes: tuple[int, ...]) -> None:
        """Each leaves by itself where it may leave at once. Those that wait are one to the kernel."""
        waiting = len(self._queue)
        for size in sizes:
            self._queue.append(size)
            self._send(now_us)
        late = [self._queue.pop() for _ in range(len(self._queue) - waiting)]
        if late:
            self._queue.append(sum(late))

    def _send(self, now_us: float) -> None:
        while self._queue and len(self._flying) < int(self._window):
            size = self._next_size()
            if not size:
                return
            self._flying[self._segment] = size
            self._sizes.append(size)
            if self.path.kept is not None and self._segment == self.path.kept[0]:
                self._last_us += self.path.kept[1]
            if self._segment in self.path.lost:
                # Nobody noticed in time: the server's own timer.
                self._put(now_us + self.path.rtt_us + _AGAIN_US, "again", self._segment)
            else:
                self._put(self._reaches_us(now_us, size), "arrival", self._segment)
            self._segment += 1
            self._filled = self._filled or len(self._flying) >= int(self._window)

    def _next_size(self) -> int:
        """Of the segment that may leave now: none while Nagle holds a small one back."""
        size = min(sum(self._queue), self.path.mss)
        if not self.path.nagle:
            # Each write leaves by itself where nothing holds it back.
            size = min(size, self._queue[0] if self._queue[0] < self.path.mss else self.path.mss)
        elif size < self.path.mss and any(one < self.path.mss for one in self._flying.values()):
            return 0
        left = size
        while left:
            taken = min(left, self._queue[0])
            self._queue[0] -= taken
            left -= taken
            if not self._queue[0]:
                self._queue.popleft()
        return size

    def _reaches_us(self, now_us: float, size: int) -> float:
        rate = self.path.rate_bytes_s
        leaves_us = self._leaves_us(now_us)
        self._link_free_us = max(self._link_free_us, leaves_us) + (size / rate * 1e6 if rate else 2)
        self._last_us = max(self._last_us + 1, self.at_client_us(self._link_free_us))
        return self._last_us

    def _leaves_us(self, now_us: float) -> float:
        if not self.path.paced:
            return now_us
        leaves_us = max(now_us, self._paced_us)
        self._paced_us = leaves_us + self.path.rtt_us / (_PACING_GAIN * self._window)
        return leaves_us

    def _turn_us(self, at_us: float) -> float:
        """When the last hop speaks next."""
        slot_us = self.path.slot_us
        return at_us + (self._turns_from_us - at_us) % slot_us if slot_us else at_us

    def _arrive(self, event: _Event) -> None:
        """What comes behind a hole is kept, and what it tells makes the server send the missing one again."""
        if event.value < self._expected or event.value in self._kept:
            return
        self._kept[event.value] = event.at_us
        if event.value > self._expected:
            self.reordered += 1
            if len(self._kept) == _DUPLICATES:
                self._put(self.at_server_us(event.at_us), "again", self._expected)
            return
        while self._expected in self._kept:
            self._take(self._kept.pop(self._expected), event.at_us, self._expected)
            self._expected += 1

    def _take(self, stamp_us: float, at_us: float, number: int) -> None:
        size = self._sizes[number]
        self._stream += size
        self.arrivals.append(Arrival(at_us=round(stamp_us), read_us=round(at_us), size=size, end=self._stream))
        delay_us = self.path.late_ack_us or (_DELAYED_ACK_US if self.path.delayed_ack else 0)
        waits = delay_us > 0 and self._held is None
        self._held = number if waits else None
        wait_us = delay_us if waits else 0
        self._put(self.at_server_us(at_us + wait_us), "ack", number)

    def _growth(self) -> float:
        """By one acknowledgement, in segments."""
        until = self.path.slow_start_until
        return 1 if until is None or self._window < until else 1 / self._window

    def _acknowledged(self, event: _Event) -> None:
        self._held = None if self._held == event.value else self._held
        told = [number for number in self._flying if number <= event.value]
        for number in told:
            # The window grows while it is used: Linux's rule in slow start.
            used = len(self._flying) * 2 > self._window or (self.path.grows_whole and self._filled)
            self._window += self._growth() if used else 0
            del self._flying[number]
        if told:
            self._send(event.at_us)
