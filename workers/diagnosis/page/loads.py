"""Bytes that came over a line, and how many of them at once."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from workers.diagnosis.page.pauses import flow_rate
from workers.measurement.connection import Pause
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request

# A record can be read when it is whole, at once then, however slowly it came (RFC 8446, 5.1).
RECORD_BYTES = 2**14
# Smaller ones come with a few packets, and say nothing of how much the line carries.
MIN_RATE_BYTES = 10_000


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


def load_of(row: Request) -> Load | None:
    span, size_bytes = row.timing.download, row.transferred_bytes or 0
    if span is None or size_bytes <= 0:
        return None
    return Load(span=Span(start_us=span.start_us, end_us=max(span.end_us, span.start_us + 1)), size_bytes=size_bytes)


def begun(load: Load, start_us: int) -> Load:
    return replace(load, span=Span(start_us=start_us, end_us=max(start_us, load.span.end_us)))


def size_of(load: Load) -> int:
    return load.size_bytes


def whole_of(loads: Iterable[Load]) -> Span:
    spans = [load.span for load in loads]
    return Span(start_us=min(span.start_us for span in spans), end_us=max(span.end_us for span in spans))


def rest_bytes(burst: Collection[Load]) -> int:
    """All but the record that the first one began with."""
    return sum(map(size_of, burst)) - min(burst, key=lambda load: load.span.start_us).held_bytes


def rest_rate(burst: Collection[Load], pauses: Sequence[Pause]) -> float:
    """What came between pauses but for the record that the first one began with; 0 where that was all."""
    return flow_rate(rest_bytes(burst), whole_of(burst), pauses)
