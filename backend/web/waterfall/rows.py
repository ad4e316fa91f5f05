"""The rows of a waterfall: requests or a probe's hops, in one shape that one component draws."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from backend.runs.differences import status_text
from backend.web.units import duration, size
from backend.web.waterfall.axis import Axis, Mark, Moment, Tick, axis_of, lanes_of, marks_on
from backend.web.waterfall.flags import FLAG_NOTES
from backend.web.waterfall.moments import document_of, page_moments, probe_moments
from backend.web.waterfall.segments import SPOKEN, Phase, Segment, ahead_of, joined, segments_of
from backend.web.waterfall.shapes import BLOCKS, LARGEST, STILL_OPEN, TRAITS, Trait
from backend.web.waterfall.text import host_of, name_of, printable
from workers.diagnosis.page.largest_paint import largest_row
from workers.measurement.domains import registrable
from workers.measurement.messages import Hop, PageMeasurement, ProbeMeasurement
from workers.measurement.timing import Span, Timing
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom

Tint = Literal["", "redirect", "error", "cached", "blocking"]
# So narrow that nothing is lost, and yet drawn: a rectangle without width is not.
_LEAST_WIDTH = 0.0001


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One stretch of colour, in percent of the axis; `x + width <= 100`.

    Where requests share a row, `lane` counts from 0 (-1 is all lanes) and `title` says whose it is.
    """

    phase: Phase
    x: float
    width: float
    lane: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line. `spoken` says in words what the bars show; `kind` is what a filter by type looks at.

    `notes` are remarks beside the name, the gravest first. `start_us`, `lasted_us` and `size_bytes` are for sorting.
    `open_us` is for how long one that had no end was seen.
    `match` is the number of the same request in the other one of two waterfalls.
    """

    number: int
    name: str
    host: str
    url: str
    kind: str
    status: str
    size: str
    time: str
    notes: tuple[str, ...]
    tint: Tint
    traits: tuple[Trait, ...]
    spoken: str
    start_us: int
    total_us: int | None
    size_bytes: int | None
    bars: tuple[Bar, ...]
    open_us: int | None = None
    lanes: int = 1
    match: int | None = None

    @property
    def lasted_us(self) -> int | None:
        """From its start to its end, or to when it was left still open."""
        return self.total_us if self.open_us is None else self.open_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """All that is drawn: bars in percent of `axis`. `unit` names what a row is, in the singular."""

    unit: Literal["request", "connection", "hop"]
    rows: tuple[Row, ...]
    axis: Axis
    moments: tuple[Moment, ...]
    truncated: bool = False

    @property
    def length(self) -> str:
        return duration(self.axis.length_us)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        return self.axis.ticks

    @property
    def marks(self) -> tuple[Mark, ...]:
        return marks_on(self.axis, self.moments)

    @property
    def lanes(self) -> int:
        """How many lines of labels stand above the ticks."""
        return lanes_of(self.marks)

    @property
    def has_words(self) -> bool:
        """Whether a row has more than one word where others have a status, which needs more room."""
        return any(" " in row.status for row in self.rows)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(sorted({row.host for row in self.rows if row.host}))

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(sorted({row.kind for row in self.rows if row.kind}))

    @property
    def traits(self) -> tuple[Trait, ...]:
        """What at least one row is, in a fixed order."""
        found = {trait for row in self.rows for trait in row.traits}
        return tuple(trait for trait in TRAITS if trait in found)


def page_chart(page: PageMeasurement, axis: Axis | None = None) -> Chart:
    """One row a request, in order of start; on an axis of its own, or one that is shared."""
    requests = sorted(page.waterfall.requests, key=lambda request: (request.timing.start_us, request.number))
    axis = axis or own_axis(page)
    own, largest = own_domain(page), largest_row(page)
    number = None if largest is None else largest.number
    return Chart(
        unit="request",
        rows=tuple(
            _request_row(request, page.waterfall.open_span(request), axis, own, is_largest=request.number == number)
            for request in requests
        ),
        axis=axis,
        moments=page_moments(page, axis.zero_us),
        truncated=page.waterfall.truncated,
    )


def probe_chart(probe: ProbeMeasurement, axis: Axis | None = None) -> Chart:
    """One row a hop: the redirects on the way and the answer; on an axis of its own, or one that is shared."""
    axis = axis or own_axis(probe)
    rows = tuple(_hop_row(number, hop, axis) for number, hop in enumerate(probe.hops, start=1))
    return Chart(unit="hop", rows=rows, axis=axis, moments=probe_moments(probe, axis.zero_us))


def bars_of(segments: Iterable[Segment], axis: Axis, *, lane: int = 0, title: str = "") -> tuple[Bar, ...]:
    """Where segments stand on the axis, in their true lengths."""
    return tuple(_bar(segment, axis, lane, title) for segment in joined(segments))


def own_axis(measured: PageMeasurement | ProbeMeasurement) -> Axis:
    """The axis that holds all of a measurement, but for what a page marked behind its end."""
    if isinstance(measured, ProbeMeasurement):
        return _axis_over([hop.timing for hop in measured.hops], [])
    timings = [request.timing for request in measured.waterfall.requests]
    seen = [moment.at_us for moment in page_moments(measured) if moment.key != "user-timing"]
    return _axis_over(timings, [*seen, *_ends_around(measured)])


def own_domain(page: PageMeasurement) -> str:
    """What the page's owner registered, as far as the name tells; empty without a document."""
    document = document_of(page)
    return "" if document is None else _domain(document.url)


def spoken(start_us: int, segments: Sequence[Segment]) -> str:
    """The bars in words: `starts at 212 ms; DNS 9.0 ms; waiting 212 ms`."""
    sums: dict[Phase, int] = {}
    for segment in segments:
        sums[segment.phase] = sums.get(segment.phase, 0) + segment.duration_us
    phases = [f"{SPOKEN[phase]} {duration(us)}" for phase, us in sums.items()]
    return "; ".join([f"starts at {duration(start_us)}", *phases])


def _spoken(timing: Timing, axis: Axis, still_open: Span | None = None) -> str:
    told = spoken(timing.start_us - axis.zero_us, segments_of(timing))
    if still_open is not None:
        return f"{told}; still open after {duration(still_open.end_us - timing.start_us)}"
    return told if timing.end_us is not None else f"{told}; its end was not seen"


def _bar(segment: Segment, axis: Axis, lane: int, title: str) -> Bar:
    left, right = axis.x(segment.start_us), axis.x(segment.end_us)
    width = max(round(right - left, 4), _LEAST_WIDTH)
    return Bar(phase=segment.phase, x=min(left, 100 - _LEAST_WIDTH), width=width, lane=lane, title=title)


def _bars(timing: Timing, axis: Axis, still_open: Span | None = None) -> tuple[Bar, ...]:
    """What took time; of what took none, or of which nothing more was seen, where it was."""
    found = bars_of((*ahead_of(timing), *segments_of(timing, still_open)), axis)
    instant = Segment(phase="idle", start_us=timing.start_us, end_us=timing.start_us)
    return found or (_bar(instant, axis, 0, ""),)


def _axis_over(timings: Sequence[Timing], moments_us: Sequence[int]) -> Axis:
    """From the run's zero, which is the first navigation or the first packet, to the last thing known."""
    start_us = min([0, *(timing.start_us for timing in timings)])
    return axis_of(start_us, max([0, *(timing.last_us for timing in timings), *moments_us]))


def _ends_around(page: PageMeasurement) -> Iterator[int]:
    """Where what stands over and under the rows ends: the film, the long tasks, the machine's activity; and when a
    load was left that hung.
    """
    if page.film is not None:
        yield from (frame.at_us for frame in page.film.frames)
    yield from (task.end_us for task in page.vitals.long_tasks or ())
    if page.hung_until_us is not None:
        yield page.hung_until_us
    if page.activity is not None:
        yield page.activity.end_us


def _request_row(request: Request, still_open: Span | None, axis: Axis, own: str, *, is_largest: bool) -> Row:
    open_us = None if still_open is None else still_open.end_us - request.timing.start_us
    return Row(
        number=request.number,
        name=name_of(request.url),
        host=host_of(request.url),
        url=printable(request.url),
        kind=request.resource_type.value,
        status=status_text(request),
        size=size(request.transferred_bytes),
        time=duration(request.timing.total_us) if open_us is None else f">{duration(open_us)}",
        notes=_notes(request, is_open=open_us is not None, is_largest=is_largest),
        tint=_tint(request),
        traits=_traits(request, own),
        spoken=_spoken(request.timing, axis, still_open),
        start_us=request.timing.start_us,
        total_us=request.timing.total_us,
        open_us=open_us,
        size_bytes=request.transferred_bytes,
        bars=_bars(request.timing, axis, still_open),
    )


def _notes(request: Request, *, is_open: bool, is_largest: bool) -> tuple[str, ...]:
    found = [printable(request.failure, 60)] if request.failure else []
    if is_open:
        found.append(STILL_OPEN)
    if _is_blocking(request):
        found.append(BLOCKS)
    if is_largest:
        found.append(LARGEST)
    if request.served_from not in (ServedFrom.NETWORK, ServedFrom.DATA):
        found.append(f"from {request.served_from.value.replace('_', ' ')}")
    return (*found, *(FLAG_NOTES[flag] for flag in request.flags))


def _is_blocking(request: Request) -> bool:
    return bool(request.render_blocking) and request.resource_type is not ResourceType.DOCUMENT


def _tint(request: Request) -> Tint:
    tint = _status_tint(request.status, request.failure)
    if tint:
        return tint
    if request.served_from is not ServedFrom.NETWORK or request.status == 304:
        return "cached"
    return "blocking" if _is_blocking(request) else ""


def _status_tint(status: int | None, failure: str | None) -> Tint:
    if failure or (status is not None and status >= 400):
        return "error"
    return "redirect" if status is not None and 300 <= status < 400 and status != 304 else ""


def _traits(request: Request, own: str) -> tuple[Trait, ...]:
    tint = _status_tint(request.status, request.failure)
    is_internal = RowFlag.BROWSER_INTERNAL in request.flags
    domain = _domain(request.url)
    present: tuple[tuple[Trait, bool], ...] = (
        ("failed", tint == "error"),
        ("blocking", _is_blocking(request)),
        ("third-party", bool(own and domain) and domain != own and not is_internal),
        ("redirect", tint == "redirect"),
        ("cached", _tint(request) == "cached" and request.served_from is not ServedFrom.DATA),
    )
    return tuple(trait for trait, holds in present if holds)


def _domain(url: str) -> str:
    try:
        return registrable(urlsplit(url).hostname or "")
    except ValueError:
        return ""


def _hop_row(number: int, hop: Hop, axis: Axis) -> Row:
    is_silent = hop.head_bytes is None and hop.body_bytes is None
    received = None if is_silent else (hop.head_bytes or 0) + (hop.body_bytes or 0)
    tint = _status_tint(hop.status, None)
    return Row(
        number=number,
        name=name_of(hop.url),
        host=host_of(hop.url),
        url=printable(hop.url),
        kind="",
        status="no answer" if hop.status is None else str(hop.status),
        size=size(received),
        time=duration(hop.timing.total_us),
        notes=(),
        tint=tint,
        traits=("failed",) if tint == "error" else ("redirect",) if tint == "redirect" else (),
        spoken=_spoken(hop.timing, axis),
        start_us=hop.timing.start_us,
        total_us=hop.timing.total_us,
        size_bytes=received,
        bars=_bars(hop.timing, axis),
    )
