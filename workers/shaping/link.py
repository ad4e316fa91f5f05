"""One link: when each packet that enters it leaves it. Knows no sockets; `Departures` is handed on by its process."""

import heapq
import random
from collections import Counter, deque
from itertools import count
from typing import Protocol

from workers.shaping.impairments.behaviour import Passage
from workers.shaping.impairments.impaired import Impaired
from workers.shaping.packets import ETHERNET_BYTES, is_ipv6, parse_packet
from workers.shaping.script import Held, Script
from workers.shaping.settings import Direction, LinkSettings

# How many of the last packets a report of punctuality speaks of.
_REMEMBERED = 10_000


class Outlet(Protocol):
    """Where frames leave."""

    def send(self, frame: bytes, /) -> int: ...


class Departures:
    """Everything that is on its way over all links of a process, by the instant at which it leaves."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Link, Direction, bytes | Held]] = []
        self._order = count()

    def add(self, due_ns: int, link: "Link", direction: Direction, what: bytes | Held) -> None:
        heapq.heappush(self._heap, (due_ns, next(self._order), link, direction, what))

    @property
    def next_ns(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def leave(self, now_ns: int) -> None:
        """Lets out what is due."""
        while self._heap and self._heap[0][0] <= now_ns:
            due_ns, _, link, direction, what = heapq.heappop(self._heap)
            link.let_out(direction, what, due_ns, now_ns)


class _Lane:
    """One direction: packets one after the other at the rate, then all of them by their family's delay later."""

    __slots__ = ("delay6_ns", "delay_ns", "free_ns", "kbit_s", "latest_ns", "outlet", "queue_bytes")

    def __init__(self, outlet: Outlet) -> None:
        self.outlet = outlet
        self.free_ns = 0
        self.latest_ns = 0
        self.delay_ns = self.delay6_ns = 0
        self.kbit_s: int | None = None
        self.queue_bytes = 0

    def departure_ns(self, frame: bytes, arrival_ns: int) -> int | None:
        """When a packet leaves; None if the queue is too full for it."""
        sent_ns = self._sent_ns(len(frame) - ETHERNET_BYTES, arrival_ns)
        if sent_ns is None:
            return None
        return sent_ns + (self.delay6_ns if is_ipv6(frame) else self.delay_ns)

    def _sent_ns(self, size: int, arrival_ns: int) -> int | None:
        if self.kbit_s is None:
            # Stamps are read from two clocks, one after the other: packets that came together must not overtake.
            self.latest_ns = max(self.latest_ns, arrival_ns)
            return self.latest_ns
        begins_ns = max(arrival_ns, self.free_ns)
        waiting_bytes = (begins_ns - arrival_ns) * self.kbit_s // 8_000_000
        if waiting_bytes + size > self.queue_bytes:
            return None
        self.free_ns = begins_ns + size * 8_000_000 // self.kbit_s
        return self.free_ns


class Link:
    """Both directions of one link. `near` is the outlet at the client, `far` the one at the server."""

    def __init__(self, departures: Departures, near: Outlet, far: Outlet, settings: LinkSettings) -> None:
        self._departures = departures
        self._lanes = {Direction.UP: _Lane(far), Direction.DOWN: _Lane(near)}
        self._late_ns: deque[int] = deque(maxlen=_REMEMBERED)
        self._counts: Counter[str] = Counter()
        self._closed = False
        self.change(settings)

    def change(self, settings: LinkSettings) -> None:
        """Other settings from now on; connections are counted anew. What is on its way arrives as it would have."""
        up, down = self._lanes[Direction.UP], self._lanes[Direction.DOWN]
        rtt_ns = settings.rtt_us * 1000
        rtt6_ns = rtt_ns if settings.rtt6_us is None else settings.rtt6_us * 1000
        down.delay_ns, up.delay_ns = rtt_ns // 2, rtt_ns - rtt_ns // 2
        down.delay6_ns, up.delay6_ns = rtt6_ns // 2, rtt6_ns - rtt6_ns // 2
        down.latest_ns = up.latest_ns = 0
        down.kbit_s, up.kbit_s = settings.down_kbit_s, settings.up_kbit_s
        down.queue_bytes = up.queue_bytes = settings.queue_bytes
        self._settings = settings
        self._dice = random.Random(settings.seed)
        delays = settings.delayed_ack_us is not None
        impairment = settings.impairment
        self._impaired = None if impairment is None else Impaired(impairment, settings.seed)
        self._script = Script(settings.drops, settings.overtaken, delays_acks=delays) if settings.scripted else None

    def take_in(self, direction: Direction, frame: bytes, arrival_ns: int) -> None:
        """A frame that came in at an instant of the monotonic clock."""
        if frame[0] & 1:
            return
        self._counts[f"{direction}_packets"] += 1
        late_ns = 0
        if self._script is not None:
            packet = parse_packet(frame)
            if packet is not None:
                if self._script.drops(packet, direction):
                    self._counts[f"{direction}_dropped"] += 1
                    return
                held = self._script.hold(frame, packet, direction)
                if held is not None and self._settings.delayed_ack_us is not None:
                    due_ns = arrival_ns + self._settings.delayed_ack_us * 1000
                    self._departures.add(due_ns, self, direction, held)
                    return
                late_ns = self._script.late_us(packet, direction) * 1000
        self._pass_on(direction, frame, arrival_ns, late_ns)

    def let_out(self, direction: Direction, what: bytes | Held, due_ns: int, now_ns: int) -> None:
        """What was due: a frame to its outlet, a held acknowledgement onto the link."""
        if self._closed:
            return
        if isinstance(what, Held):
            frame = None if self._script is None else self._script.release(what)
            if frame is not None:
                self._pass_on(direction, frame, due_ns)
            return
        try:
            self._lanes[direction].outlet.send(what)
            self._late_ns.append(now_ns - due_ns)
        except OSError:
            self._counts["refused"] += 1

    def close(self) -> None:
        self._closed = True

    def report(self) -> dict[str, int]:
        """Packets by direction and fate, and how late they left: `late_p50_us`, `late_p99_us`, `late_max_us`."""
        late_ns = sorted(self._late_ns) or [0]
        ranks = {"p50": len(late_ns) // 2, "p99": len(late_ns) * 99 // 100, "max": len(late_ns) - 1}
        return dict(self._counts) | {f"late_{name}_us": late_ns[rank] // 1000 for name, rank in ranks.items()}

    def _pass_on(self, direction: Direction, frame: bytes, arrival_ns: int, late_ns: int = 0) -> None:
        if self._settings.loss_ppm and self._dice.random() * 1_000_000 < self._settings.loss_ppm:
            self._counts[f"{direction}_lost"] += 1
            return
        due_ns = self._lanes[direction].departure_ns(frame, arrival_ns)
        if due_ns is None:
            self._counts[f"{direction}_overflowed"] += 1
            return
        leaves_ns = self._impair(direction, frame, arrival_ns, due_ns + late_ns)
        if leaves_ns is None:
            self._counts[f"{direction}_impaired"] += 1
        else:
            self._departures.add(leaves_ns, self, direction, frame)

    def _impair(self, direction: Direction, frame: bytes, arrival_ns: int, due_ns: int) -> int | None:
        if self._impaired is None:
            return due_ns
        return self._impaired.leaves_ns(Passage(direction, frame, arrival_ns, due_ns))
