"""Stretches of time, and how they lie to each other."""

from collections.abc import Iterable

from workers.measurement.timing import Span


def overlaps(one: Span, other: Span) -> bool:
    return one.start_us < other.end_us and other.start_us < one.end_us


def within(one: Span, other: Span) -> Span:
    """The part of one that lies in another which it overlaps."""
    return Span(start_us=max(one.start_us, other.start_us), end_us=min(one.end_us, other.end_us))


def merged(spans: Iterable[Span]) -> list[Span]:
    """When it was any of these, in order; what touches is one."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start_us):
        if found and span.start_us <= found[-1].end_us:
            found[-1] = Span(start_us=found[-1].start_us, end_us=max(found[-1].end_us, span.end_us))
        else:
            found.append(span)
    return found


def covered_us(spans: Iterable[Span]) -> int:
    """How long it was any of these."""
    return sum(span.duration_us for span in merged(spans))
