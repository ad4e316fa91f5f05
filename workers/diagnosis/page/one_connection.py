"""What one connection of HTTP/2 means for answers that came over several of HTTP/1.1: none waits for another to open or
to be free, and all share a window that begins small.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from workers.diagnosis.page.hosts import ONE_AT_A_TIME
from workers.diagnosis.page.layout import stopped_us
from workers.diagnosis.page.line import busy_rate, ends_us
from workers.diagnosis.page.loads import Load, begun, load_of
from workers.diagnosis.probe.flights import USUAL_MSS_BYTES
from workers.diagnosis.probe.gaps import USUAL_WINDOW
from workers.measurement.connection import Pause
from workers.measurement.waterfall import Request

# What a browser works to send a request and to read its answer, which over several connections it does while it waits:
# measured with Chromium on two processors, of 7 to 24 requests.
_HANDLING_US = 3_000
# What does not fit into the first flight takes so much more of the later ones: frames, records, packets that are not
# full, and windows that do not quite double. Without it 24 files of 8 kB, which would just fit into four flights, were
# said to gain 360 ms at a round trip of 200; there they gained 160 to 210.
_MORE = 1.1


def sooner_over_one_us(
    rows: Sequence[Request], sooner: Mapping[int, int], trip_us: int, paused: Mapping[int | None, Sequence[Pause]]
) -> dict[int, int]:
    """By how much sooner the last byte of each of these comes, later where negative, if they are asked for by so much
    sooner, by number, over one connection in round trips of `trip_us`, which shares the line with all other rows; as
    much as that where nobody knows how one came. `paused` are the pauses of each connection where anybody looked."""
    loads = {row.number: load for row in rows if (load := load_of(row))}
    moved = {number: begun(load, load.span.start_us - sooner.get(number, 0)) for number, load in loads.items()}
    ours = sorted((number for number in sooner if number in moved), key=lambda number: moved[number].span.start_us)
    if not ours:
        return dict(sooner)
    rate = busy_rate(_with_waiting(rows, loads, trip_us, paused))
    shared = dict(zip(moved, ends_us(list(moved.values()), rate), strict=True))
    in_turn = zip(ours, _ends_in_turn_us([moved[number] for number in ours], rate, trip_us), strict=True)
    ends = {number: max(shared[number], end_us) for number, end_us in in_turn}
    gained = {number: math.floor(loads[number].span.end_us - end_us) for number, end_us in ends.items()}
    return dict(sooner) | {number: min(sooner[number], us) for number, us in gained.items()}


def _with_waiting(
    rows: Iterable[Request], loads: Mapping[int, Load], trip_us: int, paused: Mapping[int | None, Sequence[Pause]]
) -> list[Load]:
    """What came of rows, with what came before their first bytes could be read: of a record nothing can be before its
    last byte has come. One that was due when another came shared the line with that; of others it may be their server
    that made them late, but where a part of the record had come."""
    ends = sorted(load.span.end_us for load in loads.values())
    came = ((row, loads[row.number], paused.get(row.connection) or ()) for row in rows if row.number in loads)
    return [_from_due(row, load, ends, trip_us, pauses) for row, load, pauses in came]


def _from_due(row: Request, load: Load, ends: Sequence[int], trip_us: int, pauses: Sequence[Pause]) -> Load:
    first_us = load.span.start_us
    due_us = first_us if row.timing.wait is None else row.timing.wait.start_us + trip_us
    place = bisect_right(ends, first_us)
    if place > 0 and ends[place - 1] > due_us:
        return begun(load, due_us)
    return begun(load, stopped_us(due_us, first_us, pauses)) if row.protocol in ONE_AT_A_TIME else load


def _ends_in_turn_us(loads: Sequence[Load], rate: float, trip_us: int) -> list[float]:
    """When each has come if they come in turn, none before the window has let it go."""
    ends: list[float] = []
    window, at_us = _Window(), 0.0
    for load in loads:
        # What was sent is acknowledged a round trip later.
        if not ends or load.span.start_us >= max(at_us, window.begun_us + trip_us):
            window.begin(load.span.start_us)
        flown_us = trip_us * window.flight_of(load.size_bytes) + _HANDLING_US * window.answers
        at_us = max(at_us, load.span.start_us, window.begun_us + flown_us)
        at_us += load.size_bytes / rate
        ends.append(at_us)
    return ends


@dataclass(kw_only=True)
class _Window:
    """What a server may send before it hears that it came: of the first flight `_packets` are left, `_waiting_bytes`
    come with later ones, each twice as large as the one before. It stays as large as it grew. `answers` have been sent
    since it began."""

    begun_us: int = 0
    answers: int = 0
    _size: int = USUAL_WINDOW
    _packets: int = USUAL_WINDOW
    _waiting_bytes: int = 0

    def begin(self, at_us: int) -> None:
        """Nothing is on its way any more, and the next answer begins to come."""
        self._size *= 2**self._flight
        self.begun_us, self.answers, self._packets, self._waiting_bytes = at_us, 0, self._size, 0

    def flight_of(self, size_bytes: int) -> int:
        """With which flight after the first an answer has come. A server writes each by itself, so that each takes
        packets of its own; what has to wait fills up whole ones."""
        self.answers += 1
        self._waiting_bytes += max(0, size_bytes - self._packets * USUAL_MSS_BYTES)
        self._packets = max(0, self._packets - math.ceil(size_bytes / USUAL_MSS_BYTES))
        return self._flight

    @property
    def _flight(self) -> int:
        return math.ceil(math.log2(_MORE * self._waiting_bytes / (2 * self._size * USUAL_MSS_BYTES) + 1))
