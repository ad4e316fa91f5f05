"""The waterfall by connections: a row each, with its setting up once and what every request on it did there."""

from collections.abc import Sequence
from heapq import heappop, heappush

from backend.runs.differences import UNTOLD
from backend.web.units import duration, size
from backend.web.waterfall.axis import Axis
from backend.web.waterfall.moments import page_moments
from backend.web.waterfall.rows import Bar, Chart, Row, bars_of, own_axis, spoken
from backend.web.waterfall.segments import Segment, connection_segments, segments_of
from backend.web.waterfall.shapes import MAX_LANES
from backend.web.waterfall.text import authority, host_of, hostname_of, name_of, printable
from workers.measurement.connection import Connection
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request, Waterfall

_MAX_HOSTS = 6
# What a request does once it has its connection.
_TRAVELLING = ("wait", "download", "open")


def connection_chart(page: PageMeasurement, axis: Axis | None = None) -> Chart:
    """One row a connection, in order of opening; on an axis of its own, or one that is shared."""
    axis = axis or own_axis(page)
    by_connection: dict[int, list[Request]] = {}
    for request in sorted(page.waterfall.requests, key=lambda request: (request.timing.start_us, request.number)):
        if request.connection is not None:
            by_connection.setdefault(request.connection, []).append(request)
    rows = (_row(one, by_connection.get(one.number, []), page.waterfall, axis) for one in page.waterfall.connections)
    return Chart(
        unit="connection",
        rows=tuple(rows),
        axis=axis,
        moments=page_moments(page, axis.zero_us),
        truncated=page.waterfall.truncated,
    )


def hosts_on(connection: Connection, requests: Sequence[Request]) -> tuple[str, ...]:
    """The hosts whose requests travelled over a connection, the one it was opened for first."""
    return tuple(dict.fromkeys([printable(connection.host, 120), *(hostname_of(request.url) for request in requests)]))


def _row(connection: Connection, requests: Sequence[Request], waterfall: Waterfall, axis: Axis) -> Row:
    setup = connection_segments(connection.dns, connection.connect, connection.tls)
    travels = sorted(
        ((request, _travel(request, waterfall.open_span(request))) for request in requests),
        key=lambda pair: _extent(pair[1]),
    )
    lanes = lanes_of([_extent(travel) for _, travel in travels])
    stretches = sorted([*setup, *(one for _, travel in travels for one in travel)], key=lambda one: one.start_us)
    begin_us = stretches[0].start_us if stretches else min((one.timing.start_us for one in requests), default=0)
    total_us = max(segment.end_us for segment in stretches) - begin_us if stretches else None
    told = spoken(begin_us - axis.zero_us, stretches) if stretches else "times not known"
    refused = _is_refused(connection, requests)
    return Row(
        number=connection.number,
        name=printable(connection.host, 120),
        host=printable(connection.address or "", 60),
        url=authority(connection.host, connection.port),
        kind=connection.protocol or "",
        status=connection.protocol or UNTOLD,
        size=size(connection.received_bytes),
        time=duration(total_us),
        notes=_notes(connection, hosts_on(connection, requests), refused=refused),
        tint="error" if refused else "",
        traits=("failed",) if refused else (),
        spoken=_spoken(connection, told, max(lanes, default=0) + 1),
        start_us=begin_us,
        total_us=total_us,
        size_bytes=connection.received_bytes,
        bars=_bars(setup, travels, lanes, axis),
        lanes=min(max(lanes, default=0) + 1, MAX_LANES),
    )


def _bars(
    setup: Sequence[Segment], travels: Sequence[tuple[Request, Sequence[Segment]]], lanes: Sequence[int], axis: Axis
) -> tuple[Bar, ...]:
    bars = [*bars_of(setup, axis, lane=-1)]
    for (request, travel), lane in zip(travels, lanes, strict=True):
        title = f"{request.number}. {name_of(request.url)} from {host_of(request.url)}"
        bars.extend(bars_of(travel, axis, lane=lane % MAX_LANES, title=title))
    return tuple(bars)


def lanes_of(extents: Sequence[tuple[int, int]]) -> list[int]:
    """For each stretch of time (from, to), in order of begin, the lowest lane that is free then."""
    lanes: list[int] = []
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for start_us, end_us in extents:
        while busy and busy[0][0] <= start_us:
            heappush(free, heappop(busy)[1])
        lane = heappop(free) if free else len(busy)
        lanes.append(lane)
        heappush(busy, (end_us, lane))
    return lanes


def _travel(request: Request, still_open: Span | None) -> tuple[Segment, ...]:
    """What a request does on its connection: being sent and waiting, being answered, and hanging."""
    return tuple(segment for segment in segments_of(request.timing, still_open) if segment.phase in _TRAVELLING)


def _extent(travel: Sequence[Segment]) -> tuple[int, int]:
    return (travel[0].start_us, travel[-1].end_us) if travel else (0, 0)


def _notes(connection: Connection, hosts: Sequence[str], *, refused: bool) -> tuple[str, ...]:
    notes = [_use(connection)]
    if len(hosts) > 1:
        more = f" and {len(hosts) - 1 - _MAX_HOSTS} more" if len(hosts) - 1 > _MAX_HOSTS else ""
        notes.append(f"also {', '.join(hosts[1 : _MAX_HOSTS + 1])}{more}")
    if connection.preconnected:
        notes.append("opened ahead")
    if connection.resumed:
        notes.append("TLS resumed")
    if connection.certificate_error:
        error = printable(connection.certificate_error, 60)
        notes.insert(0, error if refused else f"accepted all the same: {error}")
    return tuple(notes)


def _use(connection: Connection) -> str:
    if not connection.requests:
        return "never used"
    return f"{connection.requests} request{'' if connection.requests == 1 else 's'}"


def _is_refused(connection: Connection, requests: Sequence[Request]) -> bool:
    """Whether its certificate ended it: what was accepted all the same has brought an answer."""
    return connection.certificate_error is not None and all(request.status is None for request in requests)


def _spoken(connection: Connection, bars: str, at_once: int) -> str:
    return f"{bars}; {_use(connection)}" + (f", up to {at_once} at a time" if at_once > 1 else "")
