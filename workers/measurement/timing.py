"""When things happened inside one exchange: spans on the run's own clock, and the phases that follow from them.

Every instant is an integer number of microseconds since the run began (`_us`). The run has one wall-clock anchor,
`started_at`; everything else is the kernel's or the monotonic clock relative to it. What was not seen is None.
"""

from collections.abc import Sequence
from dataclasses import replace

from workers.measurement.nouns import noun

PHASES = ("dns", "connect", "tls", "send", "wait", "download")


@noun(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time; `start_us <= end_us`. Raises ValueError when it would end before it starts."""

    start_us: int
    end_us: int

    def __post_init__(self) -> None:
        if self.end_us < self.start_us:
            raise ValueError(f"a span cannot end ({self.end_us} us) before it starts ({self.start_us} us)")

    @property
    def duration_us(self) -> int:
        return self.end_us - self.start_us


@noun(frozen=True, slots=True, kw_only=True)
class Timing:
    """One request from the wish to its last byte. W3C Resource Timing meanings, but `connect` never contains `tls`.

    `wait` runs from the last byte of the request sent to the first byte of the response. `end_us` is None when the
    exchange never finished. Gaps between spans are real time in no phase (queueing, the browser's own work): shown.
    Raises ValueError when it would end before it starts.
    """

    start_us: int
    end_us: int | None = None
    dns: Span | None = None
    connect: Span | None = None
    tls: Span | None = None
    send: Span | None = None
    wait: Span | None = None
    download: Span | None = None

    def __post_init__(self) -> None:
        if self.end_us is not None and self.end_us < self.start_us:
            raise ValueError(f"an exchange cannot end ({self.end_us} us) before it starts ({self.start_us} us)")

    @property
    def first_byte_us(self) -> int | None:
        return None if self.wait is None else self.wait.end_us

    @property
    def last_us(self) -> int:
        """The last instant that is known of it, also where it never finished."""
        spans = (self.dns, self.connect, self.tls, self.send, self.wait, self.download)
        ends = [span.end_us for span in spans if span is not None]
        return max([self.start_us, *ends] if self.end_us is None else [self.start_us, *ends, self.end_us])

    @property
    def total_us(self) -> int | None:
        return None if self.end_us is None else self.end_us - self.start_us


@noun(frozen=True, slots=True, kw_only=True)
class Phases:
    """How long each phase took. `ttfb_us` is start to first byte; `total_us` start to last byte."""

    dns_us: int | None = None
    connect_us: int | None = None
    tls_us: int | None = None
    send_us: int | None = None
    wait_us: int | None = None
    download_us: int | None = None
    ttfb_us: int | None = None
    total_us: int | None = None


def phases_of(timing: Timing) -> Phases:
    """The durations of a timing's spans; a span that is absent gives None, one of no length gives 0."""
    first_byte_us = timing.first_byte_us
    return Phases(
        dns_us=_duration_us(timing.dns),
        connect_us=_duration_us(timing.connect),
        tls_us=_duration_us(timing.tls),
        send_us=_duration_us(timing.send),
        wait_us=_duration_us(timing.wait),
        download_us=_duration_us(timing.download),
        ttfb_us=None if first_byte_us is None else first_byte_us - timing.start_us,
        total_us=timing.total_us,
    )


def document_phases(timing: Timing) -> Phases:
    """Those of a page's final document: first and last byte count from navigation start, as paints do.

    W3C Navigation Timing's responseStart. The redirects before the document are in `ttfb` and in no phase.
    """
    return replace(phases_of(timing), ttfb_us=timing.first_byte_us, total_us=timing.end_us)


def answer_phases(hops: Sequence[Timing]) -> Phases:
    """Those of a probe's answer, which is its last hop: first and last byte count from the start of the first, as a
    visitor waits for them. The redirects before the answer are in `ttfb` and `total` and in no phase.
    """
    if not hops:
        return Phases()
    phases, ahead_us = phases_of(hops[-1]), hops[-1].start_us - hops[0].start_us
    return replace(phases, ttfb_us=_later(phases.ttfb_us, ahead_us), total_us=_later(phases.total_us, ahead_us))


def _later(us: int | None, by_us: int) -> int | None:
    return None if us is None else us + by_us


def _duration_us(span: Span | None) -> int | None:
    return None if span is None else span.duration_us
