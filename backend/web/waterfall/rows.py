"""The rows of a waterfall: requests, connections, or a probe's hops, in one shape that one component draws."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from backend.web.units import ABSENT, duration, size
from backend.web.waterfall.axis import Axis, Mark, MarkKey, Tick, axis_of, marks_on
from backend.web.waterfall.segments import (
    SPOKEN,
    Phase,
    Segment,
    ahead_of,
    connection_segments,
    end_of,
    segments_of,
)
from backend.web.waterfall.text import host_of, name_of, printable
from workers.measurement.connection import Connection
from workers.measurement.messages import Hop, PageMeasurement, ProbeMeasurement
from workers.measurement.timing import Timing
from workers.measurement.waterfall import Request, ResourceType, ServedFrom

Tint = Literal["", "redirect", "error", "cached"]
# A bar narrower than this would be lost on a screen: a tenth of a percent of 600 pixels is about half a pixel.
MIN_WIDTH_PERCENT = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One stretch of colour, in percent of the axis; `x + width <= 100`."""

    phase: Phase
    x: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line. `spoken` says in words what the bars show; `kind` is what a filter by type looks at."""

    number: int
    name: str
    host: str
    url: str
    kind: str
    status: str
    size: str
    time: str
    note: str
    tint: Tint
    spoken: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """All that is drawn. `unit` names what a row is, in the singular."""

    unit: Literal["request", "connection", "hop"]
    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    length: str
    truncated: bool = False

    @property
    def lanes(self) -> int:
        """How many lines of labels stand above the ticks."""
        return max((mark.lane + 1 for mark in self.marks), default=0)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(sorted({row.host for row in self.rows if row.host}))

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(sorted({row.kind for row in self.rows if row.kind}))


def page_chart(page: PageMeasurement, axis: Axis | None = None) -> Chart:
    """One row a request, in order of start; on an axis of its own, or one that is shared."""
    requests = sorted(page.waterfall.requests, key=lambda request: (request.timing.start_us, request.number))
    axis = axis or own_axis(page)
    return Chart(
        unit="request",
        rows=tuple(_request_row(request, axis) for request in requests),
        ticks=axis.ticks,
        length=duration(axis.length_us),
        marks=_page_marks(page, axis),
        truncated=page.waterfall.truncated,
    )


def connection_chart(page: PageMeasurement) -> Chart:
    """One row a connection: its setting up, then what each request on it waited for and received."""
    axis = own_axis(page)
    by_connection: dict[int, list[Request]] = {}
    for request in page.waterfall.requests:
        if request.connection is not None:
            by_connection.setdefault(request.connection, []).append(request)
    return Chart(
        unit="connection",
        rows=tuple(
            _connection_row(connection, by_connection.get(connection.number, []), axis)
            for connection in page.waterfall.connections
        ),
        ticks=axis.ticks,
        length=duration(axis.length_us),
        marks=_page_marks(page, axis),
        truncated=page.waterfall.truncated,
    )


def probe_chart(probe: ProbeMeasurement, axis: Axis | None = None) -> Chart:
    """One row a hop: the redirects on the way and the answer; on an axis of its own, or one that is shared."""
    axis = axis or own_axis(probe)
    first_byte_us = probe.hops[-1].timing.first_byte_us if probe.hops else None
    name = "First byte" if len(probe.hops) < 2 else "First byte after redirects"
    return Chart(
        unit="hop",
        rows=tuple(_hop_row(number, hop, axis) for number, hop in enumerate(probe.hops, start=1)),
        ticks=axis.ticks,
        length=duration(axis.length_us),
        marks=marks_on(axis, [("first-byte", name, first_byte_us)]),
    )


def document_of(page: PageMeasurement) -> Request | None:
    """The main frame's final request: the one whose first byte people mean."""
    return next((request for request in page.waterfall.requests if request.number == page.document), None)


def bars_of(segments: Iterable[Segment], axis: Axis) -> tuple[Bar, ...]:
    """Where segments stand on the axis. One too narrow to be seen is widened, within the axis."""
    bars = []
    for segment in segments:
        left, right = axis.x(segment.start_us), axis.x(segment.end_us)
        width = max(right - left, MIN_WIDTH_PERCENT)
        x = min(left, 100 - width)
        bars.append(Bar(phase=segment.phase, x=round(x, 3), width=round(width, 3)))
    return tuple(bars)


def own_axis(measured: PageMeasurement | ProbeMeasurement) -> Axis:
    """The axis that holds all of a measurement."""
    if isinstance(measured, ProbeMeasurement):
        return _axis_over([hop.timing for hop in measured.hops], [])
    vitals = measured.vitals
    timings = [request.timing for request in measured.waterfall.requests]
    return _axis_over(timings, [vitals.fcp_us, vitals.lcp_us, vitals.load_us])


def _axis_over(timings: Sequence[Timing], moments_us: Sequence[int | None]) -> Axis:
    """From the run's zero, which is the first navigation or the first packet, to the last thing known."""
    start_us = min([0, *(timing.start_us for timing in timings)])
    ends_us = [end_of(timing) for timing in timings] + [us for us in moments_us if us is not None]
    return axis_of(start_us, max([0, *ends_us]))


def _page_marks(page: PageMeasurement, axis: Axis) -> tuple[Mark, ...]:
    document = document_of(page)
    moments: list[tuple[MarkKey, str, int | None]] = [
        ("first-byte", "First byte", document.timing.first_byte_us if document else None),
        ("fcp", "First paint", page.vitals.fcp_us),
        ("lcp", "Largest paint", page.vitals.lcp_us),
        ("load", "Load", page.vitals.load_us),
    ]
    return marks_on(axis, moments)


def _request_row(request: Request, axis: Axis) -> Row:
    segments = segments_of(request.timing)
    return Row(
        number=request.number,
        name=name_of(request.url),
        host=host_of(request.url),
        url=printable(request.url),
        kind=request.resource_type.value,
        status=status_text(request),
        size=size(request.transferred_bytes),
        time=duration(request.timing.total_us),
        note=_note(request),
        tint=_tint(request.status, request.failure, request.served_from),
        spoken=spoken(request.timing.start_us, segments),
        bars=bars_of((*ahead_of(request.timing), *segments), axis),
    )


def status_text(request: Request) -> str:
    """The status, or the word for what came instead of one."""
    if request.failure:
        return "failed"
    if request.status is None:
        return "no answer" if request.timing.end_us is None else ABSENT
    return str(request.status)


def _note(request: Request) -> str:
    if request.failure:
        return printable(request.failure, 60)
    if request.served_from not in (ServedFrom.NETWORK, ServedFrom.DATA):
        return f"from {request.served_from.value.replace('_', ' ')}"
    if request.render_blocking and request.resource_type is not ResourceType.DOCUMENT:
        return "blocks rendering"
    return ""


def _tint(status: int | None, failure: str | None, served_from: ServedFrom = ServedFrom.NETWORK) -> Tint:
    if failure or (status is not None and status >= 400):
        return "error"
    if status is not None and 300 <= status < 400 and status != 304:
        return "redirect"
    return "" if served_from is ServedFrom.NETWORK and status != 304 else "cached"


def spoken(start_us: int, segments: Sequence[Segment]) -> str:
    """The bars in words: `starts at 212 ms; DNS 9.0 ms; waiting 212 ms`."""
    sums: dict[Phase, int] = {}
    for segment in segments:
        sums[segment.phase] = sums.get(segment.phase, 0) + segment.duration_us
    phases = [f"{SPOKEN[phase]} {duration(us)}" for phase, us in sums.items()]
    return "; ".join([f"starts at {duration(start_us)}", *phases])


def _connection_row(connection: Connection, requests: Sequence[Request], axis: Axis) -> Row:
    setup = connection_segments(connection.dns, connection.connect, connection.tls)
    used = [
        segment
        for request in requests
        for segment in segments_of(request.timing)
        if segment.phase in ("wait", "download")
    ]
    stretches = sorted([*setup, *used], key=lambda segment: segment.start_us)
    begin_us = stretches[0].start_us if stretches else 0
    end_us = max((segment.end_us for segment in stretches), default=begin_us)
    return Row(
        number=connection.number,
        name=printable(connection.host, 120),
        host=printable(connection.address or "", 60),
        url=printable(f"{connection.host}:{connection.port}"),
        kind=connection.protocol or "",
        status=connection.protocol or ABSENT,
        size=size(connection.received_bytes),
        time=duration(end_us - begin_us),
        note=_connection_note(connection),
        tint="error" if connection.certificate_error else "",
        spoken=f"{spoken(begin_us, stretches)}; {connection.requests} requests",
        # Requests share a connection at the same time: what came down is drawn over what was waited for.
        bars=bars_of(sorted(stretches, key=lambda segment: segment.phase == "download"), axis),
    )


def _connection_note(connection: Connection) -> str:
    requests = f"{connection.requests} request{'' if connection.requests == 1 else 's'}"
    return f"{requests}, opened ahead" if connection.preconnected else requests


def _hop_row(number: int, hop: Hop, axis: Axis) -> Row:
    segments = segments_of(hop.timing)
    received = (hop.head_bytes or 0) + (hop.body_bytes or 0)
    return Row(
        number=number,
        name=name_of(hop.url),
        host=host_of(hop.url),
        url=printable(hop.url),
        kind="",
        status="no answer" if hop.status is None else str(hop.status),
        size=size(None if hop.head_bytes is None and hop.body_bytes is None else received),
        time=duration(hop.timing.total_us),
        note="",
        tint=_tint(hop.status, None),
        spoken=spoken(hop.timing.start_us, segments),
        bars=bars_of((*ahead_of(hop.timing), *segments), axis),
    )
