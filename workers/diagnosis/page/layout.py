"""How what came lies on the line, computed once for all that is asked of it: since when each came, and beside what.

A row that waited for its turn may have come since it was due, and came together with what it waited for.
"""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from workers.diagnosis.page.burst import Burst
from workers.diagnosis.page.hosts import ONE_AT_A_TIME
from workers.diagnosis.page.instants import CLOCKS_US
from workers.diagnosis.page.loads import MIN_RATE_BYTES, RECORD_BYTES, Load, begun, load_of, rest_bytes, rest_rate
from workers.diagnosis.page.spans import overlaps
from workers.measurement.connection import Pause
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request

# Connections of these protocols carry many answers, in the order that the server likes: mostly the urgent ones first.
_MULTIPLEXED = frozenset({"h2", "h3"})


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What came of `rows` in round trips of `trip_us`, the same for all over one connection. By connection, `paused`
    are all pauses where anybody looked, `idle` those in which the line was idle."""

    rows: Sequence[Request]
    trip_us: Callable[[Request], int]
    paused: Mapping[int | None, Sequence[Pause]] = field(default_factory=dict)
    idle: Mapping[int | None, Sequence[Pause]] = field(default_factory=dict)

    @cached_property
    def _loads(self) -> dict[int, Load]:
        """By number. One that was due before the last that had come ahead of it over its connection was waiting for its
        turn, and might have come since it was due: where it came directly behind that, or no pause was seen between."""
        loads: dict[int, Load] = {}
        ended: dict[int | None, list[tuple[int, int]]] = defaultdict(list)
        found = [(row, load) for row in self.rows if (load := load_of(row))]
        for row, load in sorted(found, key=lambda one: one[1].span.start_us):
            loads[row.number] = turned = self._in_turn(row, load, ended[row.connection])
            insort(ended[row.connection], (turned.span.end_us, turned.span.start_us))
        return loads

    def _in_turn(self, row: Request, load: Load, ended: Sequence[tuple[int, int]]) -> Load:
        since_us = load.span.start_us
        before = _last_before(ended, since_us) if row.protocol in _MULTIPLEXED else None
        pauses, due_us = self.paused.get(row.connection), _due_us(row, self.trip_us(row))
        if before is not None and due_us <= before.end_us:
            since_us = min(since_us, _since_us(load, before, due_us, pauses))
        elif row.protocol in ONE_AT_A_TIME:
            since_us = stopped_us(due_us, since_us, pauses or ())
        # Where nobody saw the bytes themselves, one that came at once came as quickly as it seems. QUIC has no records.
        is_held = since_us == load.span.start_us and pauses is not None
        return replace(
            begun(load, since_us),
            held_bytes=min(load.size_bytes, RECORD_BYTES) if is_held else 0,
            held_us=max(0, since_us - due_us) if is_held else 0,
        )

    @cached_property
    def _bursts(self) -> dict[int, Burst]:
        """By number, as its connection was seen."""
        connections = {row.number: row.connection for row in self.rows}
        found: dict[int, Burst] = {}
        for loads in _apart(self._loads):
            together = {connections[number] for number in loads}
            seen = {one: self._burst(loads, one, is_one_window=len(together) == 1) for one in together}
            found |= {number: seen[connections[number]] for number in loads}
        return found

    @cached_property
    def _rows_over(self) -> dict[int | None, list[Request]]:
        """By connection."""
        found: dict[int | None, list[Request]] = defaultdict(list)
        for row in self.rows:
            found[row.connection].append(row)
        return found

    def _burst(self, loads: Mapping[int, Load], connection: int | None, *, is_one_window: bool) -> Burst:
        rows = self._rows_over[connection]
        return Burst(
            seen=loads,
            rows=rows,
            trip_us=self.trip_us(rows[0]),
            pauses=self.idle.get(connection, ()),
            is_one_window=is_one_window,
        )

    def burst_of(self, row: Request) -> Burst | None:
        """What it came with; None where it brought nothing."""
        return self._bursts.get(row.number)

    def carried_rate(self, pauses: Sequence[Pause]) -> float:
        """The most bytes in a microsecond that a connection was seen to bring between its pauses of what came together;
        0 where too little came to tell."""
        bursts = [burst.values() for burst in _apart(self._loads)]
        return max((rest_rate(burst, pauses) for burst in bursts if rest_bytes(burst) >= MIN_RATE_BYTES), default=0.0)


def _last_before(ended: Sequence[tuple[int, int]], at_us: int) -> Span | None:
    """Of those that came over a connection, by their ends and beginnings, the last one that had come at an instant."""
    place = bisect_right(ended, (at_us + CLOCKS_US, at_us + CLOCKS_US))
    return Span(start_us=ended[place - 1][1], end_us=ended[place - 1][0]) if place else None


def _since_us(load: Load, before: Span, due_us: int, pauses: Sequence[Pause] | None) -> int:
    """Since when one may have come that was due before another had come: what is read between the two is its own, of
    the record that ends as it begins. `pauses` are those of its connection."""
    first_us, shared_us = load.span.start_us, max(due_us, before.start_us)
    if first_us - before.end_us <= CLOCKS_US:
        return shared_us
    if pauses is None:
        return first_us
    between = Span(start_us=before.end_us, end_us=first_us)
    return max((pause.span.end_us for pause in pauses if overlaps(pause.span, between)), default=shared_us)


def stopped_us(due_us: int, first_us: int, pauses: Sequence[Pause]) -> int:
    """Since when one may have come that had its connection for itself, was due at one instant and could be read at
    another: a part of its first record had come when the connection stood still between the two. `pauses` are those of
    its connection."""
    return next((one.span.start_us for one in pauses if due_us < one.span.start_us < first_us), first_us)


def _due_us(row: Request, trip_us: int) -> int:
    return trip_us + (row.timing.start_us if row.timing.send is None else row.timing.send.end_us)


def _apart(loads: Mapping[int, Load]) -> Iterator[dict[int, Load]]:
    """Those that came while others of them did."""
    found: dict[int, Load] = {}
    until_us = 0
    for number, load in sorted(loads.items(), key=lambda one: one[1].span.start_us):
        if found and load.span.start_us >= until_us:
            yield found
            found = {}
        found[number], until_us = load, max(until_us, load.span.end_us)
    if found:
        yield found
