"""What sharing the line means for a file that is asked for sooner: it comes no sooner while others fill the line.

Servers and browsers give those that come at once about as much each (without priorities, as most do), so the line is
modelled as one that all share equally (processor sharing).
"""

import heapq
import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workers.measurement.timing import Span
from workers.measurement.waterfall import Request

# Smaller ones come with a few packets, and say nothing of how much the line carries.
_MIN_RATE_BYTES = 10_000
# So many of the largest tell what the line carries.
_TELLING = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """Bytes that came over the line, from the first one on."""

    span: Span
    size_bytes: int

    def bytes_in(self, span: Span) -> float:
        overlap_us = min(self.span.end_us, span.end_us) - max(self.span.start_us, span.start_us)
        return self.size_bytes * max(0, overlap_us) / self.span.duration_us


def sooner_us(row: Request, rows: Iterable[Request], first_byte_sooner_us: int) -> int:
    """By how much sooner the last byte of a row comes if its first one does by so much, with all others as they were;
    never more than that."""
    own = _load_of(row)
    others = [load for one in rows if one is not row and (load := _load_of(one))]
    if own is None:
        return first_byte_sooner_us
    rate = _rate(own, others)
    now_us = _end_us(own.span.start_us, own, others, rate)
    then_us = _end_us(own.span.start_us - first_byte_sooner_us, own, others, rate)
    return max(0, min(first_byte_sooner_us, round(now_us - then_us)))


def _load_of(row: Request) -> _Load | None:
    span, size_bytes = row.timing.download, row.transferred_bytes or 0
    if span is None or size_bytes <= 0:
        return None
    return _Load(span=Span(start_us=span.start_us, end_us=max(span.end_us, span.start_us + 1)), size_bytes=size_bytes)


def _rate(own: _Load, others: Sequence[_Load]) -> float:
    """The most bytes that the line was seen to carry in a microsecond, while any large file came."""
    large = heapq.nlargest(_TELLING, (one for one in others if one.size_bytes >= _MIN_RATE_BYTES), key=_size)
    return max(_rate_in(one.span, (own, *others)) for one in (own, *large))


def _size(load: _Load) -> int:
    return load.size_bytes


def _rate_in(span: Span, loads: Iterable[_Load]) -> float:
    return sum(one.bytes_in(span) for one in loads) / span.duration_us


def _end_us(start_us: int, own: _Load, others: Iterable[_Load], rate: float) -> float:
    """When a file that begins to come at an instant has come, by processor sharing: `share` is how many bytes each that
    is on its way has got since the first began, and a file is there when that has grown by its size (the virtual time
    of Parekh and Gallager, 1993)."""
    arrivals = [(one.span.start_us, one.size_bytes, False) for one in others]
    coming = deque(sorted([*arrivals, (start_us, own.size_bytes, True)]))
    at_us, share, is_there = float(coming[0][0]), 0.0, False
    under_way: list[tuple[float, bool]] = []
    while not is_there:
        ready_us = at_us + (under_way[0][0] - share) * len(under_way) / rate if under_way else math.inf
        if coming and coming[0][0] <= ready_us:
            begun_us, size_bytes, is_own = coming.popleft()
            share += (begun_us - at_us) * rate / len(under_way) if under_way else 0.0
            at_us = begun_us
            heapq.heappush(under_way, (share + size_bytes, is_own))
        else:
            share, is_there = heapq.heappop(under_way)
            at_us = ready_us
    return at_us
