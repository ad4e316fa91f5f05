"""Stretches of time and what can be said of several of them together. Instants and lengths are whole microseconds."""

from collections.abc import Iterable
from itertools import chain

# When a stretch begins, and when it is over: (since_us, until_us).
Span = tuple[int, int]
# Disjoint, in order, none empty.
Spans = tuple[Span, ...]


def union(*many: Iterable[Span]) -> Spans:
    """All that at least one of them covers, whatever their order."""
    merged: list[Span] = []
    for since_us, until_us in sorted(span for span in chain(*many) if span[0] < span[1]):
        if merged and since_us <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], until_us))
        else:
            merged.append((since_us, until_us))
    return tuple(merged)


def common(one: Spans, other: Spans) -> Spans:
    """All that both of them cover."""
    found: list[Span] = []
    i = j = 0
    while i < len(one) and j < len(other):
        since_us, until_us = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if since_us < until_us:
            found.append((since_us, until_us))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def without(one: Spans, other: Spans) -> Spans:
    """What of the one the other does not cover."""
    if not one:
        return ()
    gaps = [one[0][0], *chain(*other), one[-1][1]]
    return common(
        one, tuple((since, until) for since, until in zip(gaps[::2], gaps[1::2], strict=True) if since < until)
    )


def length_us(spans: Spans) -> int:
    """How long they are together."""
    return sum(until_us - since_us for since_us, until_us in spans)
