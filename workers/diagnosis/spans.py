"""Stretches of time, and how they lie to each other."""

from collections.abc import Iterable
from itertools import accumulate, chain

from workers.measurement.timing import Span


def overlaps(one: Span, other: Span) -> bool:
    return one.start_us < other.end_us and other.start_us < one.end_us


def within(one: Span, other: Span) -> Span:
    """The part of one that lies in another which it overlaps."""
    return Span(start_us=max(one.start_us, other.start_us), end_us=min(one.end_us, other.end_us))


def covered_us(spans: Iterable[Span]) -> int:
    """How long it was any of these."""
    ordered = sorted(spans, key=lambda span: span.start_us)
    until = accumulate(chain([0], (span.end_us for span in ordered)), max)
    return sum(
        max(0, span.end_us - max(span.start_us, before_us)) for span, before_us in zip(ordered, until, strict=False)
    )
