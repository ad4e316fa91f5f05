"""What one run saw, row by row, as the API tells it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from backend.api.v1.shapes import Bytes, Ms, Out
from backend.runs.models import Upload
from backend.runs.queries import RunDetail
from backend.sites.models import MonitorKind
from workers.measurement.compute.probe.pair_hops import as_probe
from workers.measurement.connection import Connection as ConnectionSeen
from workers.measurement.connection import Header as HeaderLine
from workers.measurement.connection import Pause
from workers.measurement.document import milliseconds, place_part
from workers.measurement.messages import Hop, Measurement, PageMeasurement, ProbeMeasurement
from workers.measurement.timing import PHASES, Timing
from workers.measurement.timing import Span as SpanSeen
from workers.measurement.waterfall import Blocking, ResourceType, RowFlag, ServedFrom, TimingSource
from workers.measurement.waterfall import Request as RequestSeen

_SAME_IN_REQUESTS = (
    "number", "url", "method", "resource_type", "timing_source", "served_from", "status", "protocol", "connection",
    "reused", "address", "mime_type", "transferred_bytes", "body_bytes", "priority", "initiator_url",
    "blocking", "render_blocking", "redirected_to", "failure", "flags",
)  # fmt: skip
_SAME_IN_CONNECTIONS = (
    "number", "host", "port", "address", "protocol", "tls_round_trips", "tls_version", "cipher", "resumed",
    "certificate_error", "received_bytes", "requests", "preconnected",
)  # fmt: skip


class Span(Out):
    """From the beginning of the run."""

    start_ms: Ms
    end_ms: Ms


class Spans(Out):
    """When each phase was. What did not happen, or was not seen, is null; gaps are in no phase."""

    dns: Span | None
    connect: Span | None
    tls: Span | None
    send: Span | None
    wait: Span | None
    download: Span | None


class SentHeader(Out):
    name: str
    value: str


class WaterfallRequest(Out):
    """`connection` is the number of one of `connections`. `end_ms` is null for a request that did not end.

    `transferred_bytes` is what came over the wire, head included; `body_bytes` the body. `failure` is the browser's.
    `blocking` is Chrome's word for what waits for it, `render_blocking` whether every paint does. Line and column, from
    1, are where in the document at `initiator_url` its tag ends, null for what no tag named. `flags` are what else is
    to be known of it, such as `resumed`, `coalesced` or `preflight`.
    """

    number: int
    url: str
    method: str
    resource_type: ResourceType
    timing_source: TimingSource | None
    served_from: ServedFrom
    status: int | None
    protocol: str | None
    connection: int | None
    reused: bool | None
    address: str | None
    mime_type: str | None
    transferred_bytes: Bytes | None
    body_bytes: Bytes | None
    priority: str | None
    initiator_url: str | None
    initiator_line: int | None
    initiator_column: int | None
    blocking: Blocking | None
    render_blocking: bool | None
    redirected_to: str | None
    failure: str | None
    flags: list[RowFlag]
    start_ms: Ms
    end_ms: Ms | None
    spans: Spans
    request_headers: list[SentHeader]
    response_headers: list[SentHeader]


class ConnectionCertificate(Out):
    subject: str
    issuer: str
    names: list[str]
    not_before: datetime
    not_after: datetime
    sha256: str


class WaterfallPause(Out):
    """`behind_bytes` came at once when it was over: held back by a lost packet or a full window."""

    start_ms: Ms
    end_ms: Ms
    behind_bytes: Bytes


class WaterfallConnection(Out):
    """`pauses` are when nothing came while an answer was on its way, the longest ones; null where nobody looked."""

    number: int
    host: str
    port: int
    address: str | None
    protocol: str | None
    dns: Span | None
    connect: Span | None
    tls: Span | None
    rtt_ms: Ms | None
    tls_round_trips: int | None
    tls_version: str | None
    cipher: str | None
    resumed: bool | None
    certificate: ConnectionCertificate | None
    certificate_error: str | None
    received_bytes: Bytes | None
    requests: int
    preconnected: bool
    pauses: list[WaterfallPause] | None


class HostDelivery(Out):
    """Who delivered the answers of one host, null where nothing tells, and what shows it."""

    host: str
    cdn: str | None
    evidence: str | None


class Waterfall(Out):
    """`document` is the number of the page's own request, after redirects; `truncated` says that there were more rows.

    `started_at` is when the clock of all spans began, by the agent's wall clock. `deliveries` are of a page's hosts.
    `watched_until_ms` is when a page load was left: a request without an end or a failure was still open then. Null of
    probes and imports, and where it is not known.
    """

    run_id: UUID
    kind: MonitorKind
    url: str
    started_at: datetime
    title: str | None
    browser_version: str | None
    document: int | None
    truncated: bool
    watched_until_ms: Ms | None
    warnings: list[str]
    requests: list[WaterfallRequest]
    connections: list[WaterfallConnection]
    deliveries: list[HostDelivery]


def waterfall_of(detail: RunDetail, url: str, seen: Measurement | None) -> Waterfall:
    """What was seen at an address, also before a failure; of nothing, no rows."""
    measurement = ProbeMeasurement() if seen is None else as_probe(seen)
    began_at = measurement.began_at if isinstance(measurement, PageMeasurement) else None
    return Waterfall(
        run_id=detail.run.run_id,
        kind=MonitorKind(detail.run.kind),
        url=url,
        started_at=began_at or detail.run.started_at or detail.run.scheduled_for,
        **(_of_page(measurement) if isinstance(measurement, PageMeasurement) else _of_probe(measurement)),
    )


def waterfall_of_import(upload: Upload, page: PageMeasurement) -> Waterfall:
    """The same of an imported page load; `run_id` is its own id."""
    return Waterfall(
        run_id=upload.public_id,
        kind=MonitorKind.PAGE,
        url=upload.url,
        started_at=upload.started_at,
        **_of_page(page),
    )


def _of_page(page: PageMeasurement) -> dict[str, Any]:
    return {
        "title": page.title,
        "browser_version": page.browser_version,
        "document": page.document,
        "truncated": page.waterfall.truncated,
        "watched_until_ms": milliseconds(page.waterfall.watched_until_us),
        "warnings": list(page.warnings),
        "requests": [_request(row) for row in page.waterfall.requests],
        "connections": [_connection(connection) for connection in page.waterfall.connections],
        "deliveries": [HostDelivery(host=one.host, cdn=one.cdn, evidence=one.evidence) for one in page.deliveries],
    }


def _of_probe(probe: ProbeMeasurement) -> dict[str, Any]:
    by_number = {connection.number: connection for connection in probe.connections}
    hops = enumerate(probe.hops, start=1)
    return {
        "title": None,
        "browser_version": None,
        "document": len(probe.hops) or None,
        "truncated": False,
        "watched_until_ms": None,
        "warnings": [],
        "requests": [_hop(number, hop, by_number.get(hop.connection)) for number, hop in hops],
        "connections": [_connection(connection) for connection in probe.connections],
        "deliveries": [],
    }


def _request(row: RequestSeen) -> WaterfallRequest:
    same = {name: getattr(row, name) for name in _SAME_IN_REQUESTS} | place_part(row.initiator_at)
    return WaterfallRequest(**same, **_timed(row.timing), **_sent(row.request_headers, row.response_headers))


def _hop(number: int, hop: Hop, connection: ConnectionSeen | None) -> WaterfallRequest:
    sizes = [size for size in (hop.head_bytes, hop.body_bytes) if size is not None]
    same: dict[str, Any] = (
        dict.fromkeys(_SAME_IN_REQUESTS)
        | place_part(None)
        | {
            "number": number,
            "url": hop.url,
            "method": "GET",
            "resource_type": ResourceType.DOCUMENT,
            "served_from": ServedFrom.NETWORK,
            "status": hop.status,
            "protocol": None if connection is None else connection.protocol,
            "connection": hop.connection,
            "address": None if connection is None else connection.address,
            "transferred_bytes": sum(sizes) if sizes else None,
            "body_bytes": hop.body_bytes,
            "flags": (),
        }
    )
    return WaterfallRequest(**same, **_timed(hop.timing), **_sent((), hop.response_headers))


def _connection(seen: ConnectionSeen) -> WaterfallConnection:
    return WaterfallConnection(
        **{name: getattr(seen, name) for name in _SAME_IN_CONNECTIONS},
        dns=_span(seen.dns),
        connect=_span(seen.connect),
        tls=_span(seen.tls),
        rtt_ms=milliseconds(seen.rtt_us),
        certificate=_certificate(seen),
        pauses=None if seen.pauses is None else list(map(_pause, seen.pauses)),
    )


def _certificate(seen: ConnectionSeen) -> ConnectionCertificate | None:
    leaf = seen.certificate
    if leaf is None:
        return None
    same = {name: getattr(leaf, name) for name in ("subject", "issuer", "not_before", "not_after", "sha256")}
    return ConnectionCertificate(**same, names=list(leaf.names))


def _timed(timing: Timing) -> dict[str, Any]:
    spans = Spans(**{phase: _span(getattr(timing, phase)) for phase in PHASES})
    return {"start_ms": milliseconds(timing.start_us), "end_ms": milliseconds(timing.end_us), "spans": spans}


def _sent(asked: Sequence[HeaderLine], answered: Sequence[HeaderLine]) -> dict[str, Any]:
    """Cookies and credentials lost their values at the agent."""
    return {"request_headers": _headers(asked), "response_headers": _headers(answered)}


def _headers(lines: Sequence[HeaderLine]) -> list[SentHeader]:
    return [SentHeader(name=line.name, value=line.value) for line in lines]


def _span(span: SpanSeen | None) -> Span | None:
    return None if span is None else Span(start_ms=span.start_us / 1000, end_ms=span.end_us / 1000)


def _pause(pause: Pause) -> WaterfallPause:
    start_ms, end_ms = pause.span.start_us / 1000, pause.span.end_us / 1000
    return WaterfallPause(start_ms=start_ms, end_ms=end_ms, behind_bytes=pause.behind_bytes)
