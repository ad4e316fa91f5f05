"""What sharing the line means for a file that is asked for sooner: it comes no sooner while others fill the line. And
for one that comes with others that have become smaller: it need not wait for what no longer comes.

Servers and browsers give those that come at once about as much each (without priorities, as most do), so the line is
modelled as one that all share equally (processor sharing).
"""

import heapq
import math
from bisect import bisect_right, insort
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from types import MappingProxyType

from workers.diagnosis.page.hosts import ONE_AT_A_TIME
from workers.diagnosis.page.instants import CLOCKS_US
from workers.diagnosis.page.pauses import flow_rate
from workers.diagnosis.page.spans import overlaps
from workers.diagnosis.probe.slow_start import FIRST_FLIGHT_BYTES, further_flights, line_rate
from workers.measurement.connection import Pause
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request

# Smaller ones come with a few packets, and say nothing of how much the line carries.
_MIN_RATE_BYTES = 10_000
# So many of the largest tell what the line carries.
_TELLING = 10
# A line that carries less than this share of what it was seen to carry waits for something else.
_FULL = 0.75
# What is less than this share of all bytes says little of the line.
_PART = 0.25
# So near to what was seen a model explains it, as a share of the time.
_ALIKE = 0.1
# Connections of these protocols carry many answers, in the order that the server likes: mostly the urgent ones first.
_MULTIPLEXED = frozenset({"h2", "h3"})
# A record can be read when it is whole, at once then, however slowly it came (RFC 8446, 5.1).
RECORD_BYTES = 2**14
_NOBODY_LOOKED: Mapping[int | None, Sequence[Pause]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Bytes that came over the line, from the first one on that could be read. Of these `held_bytes` may have come
    before, for `held_us` at most, held back until a record was whole (RFC 8446, 5.1)."""

    span: Span
    size_bytes: int
    held_bytes: int = 0
    held_us: int = 0

    def bytes_in(self, span: Span) -> float:
        overlap_us = min(self.span.end_us, span.end_us) - max(self.span.start_us, span.start_us)
        return self.size_bytes * max(0, overlap_us) / self.span.duration_us


def sooner_us(row: Request, rows: Iterable[Request], first_byte_sooner_us: int) -> int:
    """By how much sooner the last byte of a row comes if its first one does by so much, with all others as they were;
    never more than that."""
    own = load_of(row)
    others = [load for one in rows if one is not row and (load := load_of(one))]
    if own is None:
        return first_byte_sooner_us
    rate = _rate(own, others)
    now_us = _end_us(own.span.start_us, own, others, rate)
    then_us = _end_us(own.span.start_us - first_byte_sooner_us, own, others, rate)
    return max(0, min(first_byte_sooner_us, round(now_us - then_us)))


def sooner_by_fewer_us(
    row: Request,
    rows: Iterable[Request],
    fewer: Mapping[int, int],
    trip_us: int,
    pauses: Sequence[Pause] = (),
    paused: Mapping[int | None, Sequence[Pause]] = _NOBODY_LOOKED,
) -> int:
    """By how much sooner the last byte of a row comes if so many bytes fewer come of each of `rows`, by number, in
    round trips of `trip_us`: nothing where those that came together left the line idle at times. The first byte comes
    as late as it did, what it waited for not being known, but where it waited for its turn. `pauses` are those of the
    row's connection in which the line was idle, `paused` all of each connection where anybody looked."""
    rows = tuple(rows)
    loads = _in_turn(rows, trip_us, paused)
    if row.number not in loads:
        return 0
    together = _with_first_record(_together(row.number, loads), pauses)
    own = together[row.number]
    carried, rate = _mean_rate(together.values()), _quick_rate(together.values())
    if carried < _FULL * rate:
        return 0
    smaller = {number: _smaller(load, fewer.get(number, 0)) for number, load in together.items()}
    whole, end_us = _whole(together.values()), own.span.end_us
    one_window = all(one.connection == row.connection for one in rows if one.number in together)
    had_grown = one_window and _had_grown(whole, trip_us, pauses)
    rate = max(carried, rate)
    came = _came(together, Span(start_us=whole.start_us, end_us=end_us), rate)
    if one_window and not had_grown:
        rate = max(rate, _grown_rate(together, trip_us, pauses))
    left = sum(size * smaller[number].size_bytes / together[number].size_bytes for number, size in came.items())
    before_bytes = _before_bytes(row, rows, whole.start_us, fewer) if had_grown else 0
    least_us = max(
        own.span.start_us + smaller[row.number].size_bytes / rate,
        whole.start_us + trip_us * further_flights(left, FIRST_FLIGHT_BYTES + before_bytes),
        _flown_us(row, smaller[row.number], trip_us),
    )
    gained_us = max((sum(came.values()) - left) / rate, _shared_gain_us(row.number, together, smaller, rate))
    return max(0, round(min(gained_us, end_us - least_us)))


def _flown_us(row: Request, load: Load, trip_us: int) -> int:
    """When the last flight of one comes at the earliest that had begun to come before its first byte could be read, and
    had a window for itself."""
    first_us = row.timing.first_byte_us or 0
    is_alone = row.protocol in ONE_AT_A_TIME and load.span.start_us < first_us
    return load.span.start_us + trip_us * further_flights(load.size_bytes) if is_alone else 0


def _had_grown(coming: Span, trip_us: int, pauses: Sequence[Pause]) -> bool:
    """Whether the window of a connection had grown as large as its line is: it had stood still for less than a round
    trip, so that such pauses were seen, and did so no more."""
    has_paused = any(one.span.end_us <= coming.start_us and one.span.duration_us < trip_us for one in pauses)
    return has_paused and not any(overlaps(one.span, coming) for one in pauses)


def _before_bytes(row: Request, rows: Iterable[Request], at_us: int, fewer: Mapping[int, int]) -> int:
    """What would have come over a row's connection before an instant, with so many bytes fewer of each."""
    before = (one for one in rows if one.connection == row.connection and (one.timing.end_us or at_us) < at_us)
    return sum((one.transferred_bytes or 0) - fewer.get(one.number, 0) for one in before)


def _grown_rate(together: Mapping[int, Load], trip_us: int, pauses: Sequence[Pause]) -> float:
    """What the line carried once the window of a connection that all of these came over had grown, and between its
    pauses; 0 where round trips alone took that long."""
    whole, size_bytes = _whole(together.values()), sum(map(_size, together.values()))
    rate = line_rate(size_bytes, whole.duration_us, trip_us)
    return max(rate, flow_rate(size_bytes, whole, pauses)) if rate < math.inf else 0.0


def _shared_gain_us(number: int, loads: Mapping[int, Load], smaller: Mapping[int, Load], rate: float) -> float:
    """Where all shared the line equally, a smaller file has less to wait for of those that stay as they were. Nothing
    where they came in another way."""
    own, others = loads[number], [load for one, load in loads.items() if one != number]
    now_us = _end_us(own.span.start_us, own, others, rate)
    if abs(now_us - own.span.end_us) > _ALIKE * own.span.duration_us:
        return 0.0
    others = [load for one, load in smaller.items() if one != number]
    return now_us - _end_us(own.span.start_us, smaller[number], others, rate)


def _smaller(load: Load, fewer: int) -> Load:
    return replace(load, size_bytes=max(1, load.size_bytes - fewer))


def _in_turn(rows: Iterable[Request], trip_us: int, paused: Mapping[int | None, Sequence[Pause]]) -> dict[int, Load]:
    """By number. One that was due before the last that had come ahead of it over its connection was waiting for its
    turn, and might have come since it was due: where it came directly behind that, or no pause was seen between."""
    loads: dict[int, Load] = {}
    ended: dict[int | None, list[tuple[int, int]]] = defaultdict(list)
    found = [(row, load) for row in rows if (load := load_of(row))]
    for row, load in sorted(found, key=lambda one: one[1].span.start_us):
        since_us = load.span.start_us
        before = _last_before(ended[row.connection], since_us) if row.protocol in _MULTIPLEXED else None
        pauses = paused.get(row.connection)
        due_us = _due_us(row, trip_us)
        if before is not None and due_us <= before.end_us:
            since_us = min(since_us, _since_us(load, before, due_us, pauses))
        elif row.protocol in ONE_AT_A_TIME:
            since_us = stopped_us(due_us, since_us, pauses or ())
        # Where nobody saw the bytes themselves, one that came at once came as quickly as it seems. QUIC has no records.
        is_held = since_us == load.span.start_us and pauses is not None
        load = replace(
            begun(load, since_us),
            held_bytes=min(load.size_bytes, RECORD_BYTES) if is_held else 0,
            held_us=max(0, since_us - due_us) if is_held else 0,
        )
        loads[row.number] = load
        insort(ended[row.connection], (load.span.end_us, load.span.start_us))
    return loads


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


def _together(number: int, loads: Mapping[int, Load]) -> dict[int, Load]:
    """Those that came while one did, and while those did."""
    return next(burst for burst in _bursts(loads) if number in burst)


def _bursts(loads: Mapping[int, Load]) -> Iterator[dict[int, Load]]:
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


def carried_rate(rows: Sequence[Request], trip_us: int, pauses: Sequence[Pause]) -> float:
    """The most bytes in a microsecond that a connection was seen to bring between its pauses of what came together; 0
    where too little came to tell."""
    bursts = [burst.values() for burst in _bursts(_in_turn(rows, trip_us, {rows[0].connection: pauses}))]
    return max((_rest_rate(burst, pauses) for burst in bursts if _rest_bytes(burst) >= _MIN_RATE_BYTES), default=0.0)


def _with_first_record(burst: Mapping[int, Load], pauses: Sequence[Pause]) -> dict[int, Load]:
    """With what the line took for the record that the first one began with: it carried none of it quicker than the
    rest."""
    number, first = min(burst.items(), key=lambda one: one[1].span.start_us)
    rate = _rest_rate(burst.values(), pauses)
    if not first.held_bytes or not rate:
        return dict(burst)
    took_us = min(first.held_us, round(first.held_bytes / rate))
    return dict(burst) | {number: begun(first, first.span.start_us - took_us)}


def _rest_rate(burst: Collection[Load], pauses: Sequence[Pause]) -> float:
    """What came between pauses but for the record that the first one began with; 0 where that was all."""
    return flow_rate(_rest_bytes(burst), _whole(burst), pauses)


def _rest_bytes(burst: Collection[Load]) -> int:
    return sum(map(_size, burst)) - min(burst, key=lambda load: load.span.start_us).held_bytes


def _whole(loads: Iterable[Load]) -> Span:
    spans = [load.span for load in loads]
    return Span(start_us=min(span.start_us for span in spans), end_us=max(span.end_us for span in spans))


def _mean_rate(loads: Collection[Load]) -> float:
    return sum(load.size_bytes for load in loads) / _whole(loads).duration_us


def busy_rate(loads: Iterable[Load]) -> float:
    """The mean while any came: short ones in many connections tell of the most only by chance."""
    busy_us, until_us, size_bytes = 0, 0, 0
    for load in sorted(loads, key=lambda load: load.span.start_us):
        size_bytes += load.size_bytes
        busy_us += max(0, load.span.end_us - max(load.span.start_us, until_us))
        until_us = max(until_us, load.span.end_us)
    return size_bytes / busy_us


def _quick_rate(loads: Collection[Load]) -> float:
    """What the quickest came at, as far as they are no small part: a few bytes come at any rate."""
    rates = sorted(((_rate_of(load), load.size_bytes) for load in loads), reverse=True)
    part, sums = _PART * sum(load.size_bytes for load in loads), accumulate(size_bytes for _, size_bytes in rates)
    return next(rate for (rate, _), so_far in zip(rates, sums, strict=True) if so_far >= part)


def _rate_of(load: Load) -> float:
    return (load.size_bytes - load.held_bytes) / load.span.duration_us


def _came(loads: Mapping[int, Load], span: Span, rate: float) -> dict[int, float]:
    """How many bytes of each had come at the end of a span: all of what ended in it, and of the others together no more
    than the line had to spare."""
    came = {number: load.bytes_in(span) for number, load in loads.items()}
    later = {number: size for number, size in came.items() if loads[number].span.end_us > span.end_us}
    spare = max(0.0, rate * span.duration_us - sum(came.values()) + sum(later.values()))
    share = min(1.0, spare / max(1.0, sum(later.values())))
    return came | {number: size * share for number, size in later.items()}


def load_of(row: Request) -> Load | None:
    span, size_bytes = row.timing.download, row.transferred_bytes or 0
    if span is None or size_bytes <= 0:
        return None
    return Load(span=Span(start_us=span.start_us, end_us=max(span.end_us, span.start_us + 1)), size_bytes=size_bytes)


def _rate(own: Load, others: Sequence[Load]) -> float:
    """The most bytes that the line was seen to carry in a microsecond, while any large file came."""
    large = heapq.nlargest(_TELLING, (one for one in others if one.size_bytes >= _MIN_RATE_BYTES), key=_size)
    return max(_rate_in(one.span, (own, *others)) for one in (own, *large))


def _size(load: Load) -> int:
    return load.size_bytes


def _rate_in(span: Span, loads: Iterable[Load]) -> float:
    return sum(one.bytes_in(span) for one in loads) / span.duration_us


def _end_us(start_us: int, own: Load, others: Iterable[Load], rate: float) -> float:
    """When a file that begins to come at an instant has come."""
    return ends_us([begun(own, start_us), *others], rate)[0]


def begun(load: Load, start_us: int) -> Load:
    return replace(load, span=Span(start_us=start_us, end_us=max(start_us, load.span.end_us)))


def ends_us(loads: Sequence[Load], rate: float) -> list[float]:
    """When each has come, by processor sharing: `share` is how many bytes each that is on its way has got since the
    first began, and a file is there when that has grown by its size (the virtual time of Parekh and Gallager, 1993)."""
    coming = deque(sorted((load.span.start_us, load.size_bytes, place) for place, load in enumerate(loads)))
    at_us, share, ends = float(coming[0][0]), 0.0, [0.0] * len(loads)
    under_way: list[tuple[float, int]] = []
    while coming or under_way:
        ready_us = at_us + (under_way[0][0] - share) * len(under_way) / rate if under_way else math.inf
        if coming and coming[0][0] <= ready_us:
            begun_us, size_bytes, place = coming.popleft()
            share += (begun_us - at_us) * rate / len(under_way) if under_way else 0.0
            at_us = begun_us
            heapq.heappush(under_way, (share + size_bytes, place))
        else:
            share, place = heapq.heappop(under_way)
            at_us = ends[place] = ready_us
    return ends
