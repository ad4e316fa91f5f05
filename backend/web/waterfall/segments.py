"""One exchange cut into stretches that follow each other without overlap, so that they add up to its total."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from workers.measurement.timing import Span, Timing

# `wait` includes sending; `queued` is the time before the first phase, `idle` a gap between phases, `open` what lies
# between the last that is known and when the load was left.
Phase = Literal["queued", "dns", "connect", "tls", "wait", "download", "idle", "open"]

PHASE_NAMES: dict[Phase, str] = {
    "queued": "Queued",
    "dns": "DNS",
    "connect": "Connect (TCP)",
    "tls": "TLS",
    "wait": "Waiting (first byte)",
    "download": "Download",
    "idle": "In no phase",
    "open": "Still open",
}
SPOKEN: dict[Phase, str] = {
    "queued": "queued",
    "dns": "DNS",
    "connect": "connect",
    "tls": "TLS",
    "wait": "waiting",
    "download": "download",
    "idle": "in no phase",
    "open": "still open",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of one phase on the run's clock; without a length it is an instant."""

    phase: Phase
    start_us: int
    end_us: int

    @property
    def duration_us(self) -> int:
        return self.end_us - self.start_us


def segments_of(timing: Timing, still_open: Span | None = None) -> tuple[Segment, ...]:
    """The whole of an exchange from its wish to its end, or to when it was left still open; the durations add up.

    Where spans overlap the earlier keeps the time. What lies before `start_us` is left to `ahead_of`.
    """
    found: list[Segment] = []
    cursor_us = timing.start_us
    for phase, span in _spans(timing):
        if span.start_us > cursor_us:
            found.append(_gap(found, cursor_us, span.start_us))
            cursor_us = span.start_us
        if span.end_us > cursor_us:
            found.append(Segment(phase=phase, start_us=cursor_us, end_us=span.end_us))
            cursor_us = span.end_us
    if timing.end_us is not None and timing.end_us > cursor_us:
        found.append(_gap(found, cursor_us, timing.end_us))
    if still_open is not None:
        found.append(Segment(phase="open", start_us=still_open.start_us, end_us=still_open.end_us))
    return tuple(found)


def joined(segments: Iterable[Segment]) -> Iterator[Segment]:
    """The same without seams: stretches of one phase that touch are one, as an eye sees them."""
    last: Segment | None = None
    for segment in segments:
        if last and last.phase == segment.phase and last.end_us == segment.start_us:
            last = replace(last, end_us=segment.end_us)
            continue
        if last:
            yield last
        last = segment
    if last:
        yield last


def ahead_of(timing: Timing) -> tuple[Segment, ...]:
    """What the browser did for this exchange before the page asked for it: a connection opened in advance."""
    return tuple(
        Segment(phase=phase, start_us=span.start_us, end_us=min(span.end_us, timing.start_us))
        for phase, span in _spans(timing)
        if span.start_us < min(span.end_us, timing.start_us)
    )


def total_name(timing: Timing, still_open: Span | None = None) -> str:
    """What the sum of the phases is called: an exchange whose end was not seen has no total."""
    if still_open is not None:
        return "Still open after"
    return "Total" if timing.end_us is not None else "Seen of it"


def connection_segments(dns: Span | None, connect: Span | None, tls: Span | None) -> tuple[Segment, ...]:
    """The setting up of one connection, gaps left open."""
    named: tuple[tuple[Phase, Span | None], ...] = (("dns", dns), ("connect", connect), ("tls", tls))
    return tuple(
        Segment(phase=phase, start_us=span.start_us, end_us=span.end_us)
        for phase, span in named
        if span is not None and span.duration_us > 0
    )


def _spans(timing: Timing) -> list[tuple[Phase, Span]]:
    named: tuple[tuple[Phase, Span | None], ...] = (
        ("dns", timing.dns),
        ("connect", timing.connect),
        ("tls", timing.tls),
        ("wait", timing.send),
        ("wait", timing.wait),
        ("download", timing.download),
    )
    present = [(phase, span) for phase, span in named if span is not None]
    return sorted(present, key=lambda pair: pair[1].start_us)


def _gap(found: list[Segment], start_us: int, end_us: int) -> Segment:
    return Segment(
        phase="idle" if any(segment.phase != "queued" for segment in found) else "queued",
        start_us=start_us,
        end_us=end_us,
    )
