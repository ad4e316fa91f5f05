"""What sharing the line means for a file that is asked for sooner: it comes no sooner while others fill the line.

Servers and browsers give those that come at once about as much each (without priorities, as most do), so the line is
modelled as one that all share equally (processor sharing).
"""

import heapq
import math
from collections import deque
from collections.abc import Iterable, Sequence

from workers.diagnosis.page.loads import MIN_RATE_BYTES, Load, begun, load_of, size_of
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request

# So many of the largest tell what the line carries.
_TELLING = 10


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


def busy_rate(loads: Iterable[Load]) -> float:
    """The mean while any came: short ones in many connections tell of the most only by chance."""
    busy_us, until_us, size_bytes = 0, 0, 0
    for load in sorted(loads, key=lambda load: load.span.start_us):
        size_bytes += load.size_bytes
        busy_us += max(0, load.span.end_us - max(load.span.start_us, until_us))
        until_us = max(until_us, load.span.end_us)
    return size_bytes / busy_us


def _rate(own: Load, others: Sequence[Load]) -> float:
    """The most bytes that the line was seen to carry in a microsecond, while any large file came."""
    large = heapq.nlargest(_TELLING, (one for one in others if one.size_bytes >= MIN_RATE_BYTES), key=size_of)
    return max(_rate_in(one.span, (own, *others)) for one in (own, *large))


def _rate_in(span: Span, loads: Iterable[Load]) -> float:
    return sum(one.bytes_in(span) for one in loads) / span.duration_us


def _end_us(start_us: int, own: Load, others: Iterable[Load], rate: float) -> float:
    """When a file that begins to come at an instant has come."""
    return ends_us([begun(own, start_us), *others], rate)[0]


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
