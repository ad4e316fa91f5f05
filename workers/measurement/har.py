"""A measurement as an HTTP Archive, HAR 1.2, for every tool that reads one. Pure.

In HAR `connect` contains `ssl`, a phase that did not happen is -1, and the phases add up to `time`; what lay between
them is `blocked`. What HAR has no place for has a name with an underscore, as Chrome and WebPageTest have it. Secrets
stay at home unless asked for (see `redaction`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from workers.measurement.compute.pair_hops import as_probe
from workers.measurement.connection import Connection, Header
from workers.measurement.messages import Hop, Measurement, PageMeasurement, ProbeMeasurement
from workers.measurement.redaction import redacted_header, redacted_url
from workers.measurement.timing import PHASES, Timing
from workers.measurement.waterfall import Request, ServedFrom

Document = dict[str, Any]

VERSION = "1.2"
_PAGE = "page_1"
_UNKNOWN = -1
_PROTOCOLS = {"http/1.0": "HTTP/1.0", "http/1.1": "HTTP/1.1", "h2": "HTTP/2", "h3": "HTTP/3"}
_MAX_PARAMETERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What the archive says beside the measurement. `started_at` is the agent's wall clock, `version` that of ours."""

    url: str
    started_at: datetime
    version: str
    redact: bool = True


def har_document(measurement: Measurement | None, about: About) -> Document:
    """The archive. Without a measurement it holds no entries."""
    seen = None if measurement is None else as_probe(measurement)
    log: Document = {
        "version": VERSION,
        "creator": {"name": "Firstbyte", "version": about.version},
        "pages": [_page(seen, about)],
        "entries": _entries(seen, about),
    }
    if isinstance(seen, PageMeasurement) and seen.browser_version:
        name, _, number = seen.browser_version.rpartition(" ")
        log["browser"] = {"name": name or "Chromium", "version": number}
    return {"log": log}


def _page(measurement: ProbeMeasurement | PageMeasurement | None, about: About) -> Document:
    page = measurement if isinstance(measurement, PageMeasurement) else None
    timings: Document = {"onContentLoad": _UNKNOWN, "onLoad": _UNKNOWN}
    if page is not None:
        vitals = page.vitals
        timings = {
            "onContentLoad": _ms_or_unknown(vitals.dom_content_loaded_us),
            "onLoad": _ms_or_unknown(vitals.load_us),
        }
        timings |= _known(
            _firstContentfulPaint=_ms(vitals.fcp_us),
            _largestContentfulPaint=_ms(vitals.lcp_us),
            _cumulativeLayoutShift=vitals.cls,
            _fullyLoaded=_ms(vitals.fully_loaded_us),
        )
    return {
        "startedDateTime": _instant(about, 0),
        "id": _PAGE,
        "title": (page.title if page else None) or _url(about.url, about),
        "pageTimings": timings,
    }


def _entries(measurement: ProbeMeasurement | PageMeasurement | None, about: About) -> list[Document]:
    if measurement is None:
        return []
    if isinstance(measurement, PageMeasurement):
        opened = _by_number(measurement.waterfall.connections)
        return [_of_request(row, opened.get(row.connection or 0), about) for row in measurement.waterfall.requests]
    opened = _by_number(measurement.connections)
    return [_of_hop(hop, opened.get(hop.connection), about) for hop in measurement.hops]


def _by_number(connections: Iterable[Connection]) -> dict[int, Connection]:
    return {connection.number: connection for connection in connections}


def _of_request(row: Request, connection: Connection | None, about: About) -> Document:
    protocol = row.protocol or (connection.protocol if connection else None)
    from_network = row.served_from is ServedFrom.NETWORK
    entry = _entry(row.timing, connection, about, address=row.address)
    entry["request"] = _request(row.method, row.url, row.request_headers, protocol, about)
    entry["response"] = _response(row.status, row.response_headers, protocol, about) | {
        "content": {"size": _or_unknown(row.body_bytes), "mimeType": row.mime_type or "x-unknown"},
        "redirectURL": _url(row.redirected_to or "", about),
    }
    return entry | _known(
        _priority=row.priority,
        _resourceType=str(row.resource_type),
        _transferSize=row.transferred_bytes if from_network else None,
        _servedFrom=None if from_network else str(row.served_from),
        _initiator=None if row.initiator_url is None else {"type": "other", "url": _url(row.initiator_url, about)},
        _renderBlocking=row.render_blocking,
        _connectionReused=row.reused,
        _protocol=protocol,
        _error=row.failure,
    )


def _of_hop(hop: Hop, connection: Connection | None, about: About) -> Document:
    protocol = connection.protocol if connection else None
    location = _value_of(hop.response_headers, "location") or ""
    encoded = _value_of(hop.response_headers, "content-encoding") is not None
    mime_type = _value_of(hop.response_headers, "content-type") or "x-unknown"
    entry = _entry(hop.timing, connection, about, address=None)
    entry["request"] = _request("GET", hop.url, (), protocol, about)
    entry["response"] = _response(hop.status, hop.response_headers, protocol, about) | {
        "content": {"size": _UNKNOWN if encoded else _or_unknown(hop.body_bytes), "mimeType": mime_type},
        "redirectURL": _url(location, about) if 300 <= (hop.status or 0) < 400 else "",
        "headersSize": _or_unknown(hop.head_bytes),
        "bodySize": _or_unknown(hop.body_bytes),
    }
    return entry | _known(_protocol=protocol)


def _entry(timing: Timing, connection: Connection | None, about: About, *, address: str | None) -> Document:
    """All of an entry but request and response."""
    timings = timings_of(timing)
    phases = [timings[name] for name in ("blocked", "dns", "connect", "send", "wait", "receive")]
    peer = address or (connection.address if connection else None)
    return {
        "pageref": _PAGE,
        "startedDateTime": _instant(about, timing.start_us),
        "time": round(sum(phase for phase in phases if phase > 0), 3),
        "cache": {},
        "timings": timings,
    } | _known(serverIPAddress=peer, connection=None if connection is None else str(connection.number))


def timings_of(timing: Timing) -> dict[str, float]:
    """The phases as HAR has them, in milliseconds. `send`, `wait` and `receive` are never -1: HAR does not allow it."""
    spans = {phase: getattr(timing, phase) for phase in PHASES}
    took_us = {phase: None if span is None else span.duration_us for phase, span in spans.items()}
    connect_us = None if spans["connect"] is spans["tls"] is None else (took_us["connect"] or 0) + (took_us["tls"] or 0)
    total_us = (
        max([timing.end_us or timing.start_us, *(span.end_us for span in spans.values() if span)]) - timing.start_us
    )
    return {
        "blocked": _ms_or_unknown(max(0, total_us - sum(took or 0 for took in took_us.values()))),
        "dns": _ms_or_unknown(took_us["dns"]),
        "connect": _ms_or_unknown(connect_us),
        "ssl": _ms_or_unknown(took_us["tls"]),
        "send": _ms(took_us["send"] or 0),
        "wait": _ms(took_us["wait"] or 0),
        "receive": _ms(took_us["download"] or 0),
    }


def _request(method: str, url: str, headers: Sequence[Header], protocol: str | None, about: About) -> Document:
    shown = _url(url, about)
    return {
        "method": method,
        "url": shown,
        "httpVersion": _http_version(protocol),
        "cookies": [],
        "headers": _headers(headers, about),
        "queryString": _query(shown),
        "headersSize": _UNKNOWN,
        "bodySize": _UNKNOWN,
    }


def _response(status: int | None, headers: Sequence[Header], protocol: str | None, about: About) -> Document:
    return {
        "status": status or 0,
        "statusText": _phrase(status),
        "httpVersion": _http_version(protocol),
        "cookies": [],
        "headers": _headers(headers, about),
        "headersSize": _UNKNOWN,
        "bodySize": _UNKNOWN,
    }


def _headers(headers: Sequence[Header], about: About) -> list[Document]:
    shown = map(redacted_header, headers) if about.redact else headers
    return [{"name": header.name, "value": header.value} for header in shown]


def _query(url: str) -> list[Document]:
    try:
        pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        return []
    return [{"name": name, "value": value} for name, value in pairs]


def _url(url: str, about: About) -> str:
    return redacted_url(url) if about.redact else url


def _value_of(headers: Sequence[Header], name: str) -> str | None:
    return next((header.value for header in headers if header.name.lower() == name), None)


def _http_version(protocol: str | None) -> str:
    return _PROTOCOLS.get((protocol or "").lower(), protocol or "unknown")


def _phrase(status: int | None) -> str:
    try:
        return HTTPStatus(status or 0).phrase
    except ValueError:
        return ""


def _instant(about: About, after_us: int) -> str:
    at = about.started_at.astimezone(UTC) + timedelta(microseconds=after_us)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _ms(us: int | None) -> Any:
    return None if us is None else round(us / 1000, 3)


def _ms_or_unknown(us: int | None) -> float:
    return _UNKNOWN if us is None else round(us / 1000, 3)


def _or_unknown(value: int | None) -> int:
    return _UNKNOWN if value is None else value


def _known(**extras: Any) -> Document:
    """Of what HAR does not ask for, only what is known."""
    return {name: value for name, value in extras.items() if value is not None}
