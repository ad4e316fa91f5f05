"""One entry of an archive: a request of a page, or a hop of a probe. Pure.

What HAR has no place for has a name with an underscore, as Chrome or WebPageTest have it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from workers.measurement.connection import Connection, Header
from workers.measurement.har_timing import UNKNOWN, earliest_us, places_of, timings_of
from workers.measurement.messages import Hop
from workers.measurement.redaction import REDACTED, Masks
from workers.measurement.statuses import NOT_MODIFIED
from workers.measurement.timing import Timing
from workers.measurement.waterfall import Request, ServedFrom

Entry = dict[str, Any]

_PROTOCOLS = {"http/1.0": "HTTP/1.0", "http/1.1": "HTTP/1.1", "h2": "HTTP/2", "h3": "HTTP/3"}
_CACHES = {ServedFrom.MEMORY_CACHE: "memory", ServedFrom.DISK_CACHE: "disk"}
_WITHOUT_BODY = frozenset({"GET", "HEAD"})
_MAX_PARAMETERS = 200
_MAX_COOKIES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The page that entries belong to. `started_at` is the instant that the timings of its rows count from."""

    page: str
    started_at: datetime
    masks: Masks
    connections: dict[int, Connection] = field(default_factory=dict)
    document: int | None = None

    def instant(self, after_us: int) -> str:
        at = self.started_at.astimezone(UTC) + timedelta(microseconds=after_us)
        return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def entry_of_request(row: Request, scene: Scene) -> Entry:
    """A row of a waterfall."""
    connection = scene.connections.get(row.connection or 0)
    protocol = row.protocol or (connection.protocol if connection else None)
    from_network = row.served_from is ServedFrom.NETWORK
    entry = _entry(row.timing, connection, scene, address=row.address)
    entry["request"] = _request(row.method, row.url, row.request_headers, _Http(protocol, scene))
    entry["response"] = _response(row.status, row.response_headers, _Http(protocol, scene)) | {
        "content": {"size": _or_unknown(row.body_bytes), "mimeType": row.mime_type or "x-unknown"},
        "redirectURL": scene.masks.url(row.redirected_to or ""),
        "bodySize": 0 if not from_network or row.status == NOT_MODIFIED else UNKNOWN,
    }
    if row.transferred_bytes is not None and from_network:
        entry["response"]["_transferSize"] = row.transferred_bytes
    return entry | known(
        _priority=row.priority,
        _resourceType=str(row.resource_type),
        _transferSize=row.transferred_bytes if from_network else None,
        _servedFrom=None if from_network else str(row.served_from),
        _fromCache=_CACHES.get(row.served_from),
        _fetchedViaServiceWorker=True if row.served_from is ServedFrom.SERVICE_WORKER else None,
        _initiator=_initiator(row, scene),
        _renderBlocking=row.render_blocking if row.blocking is None else str(row.blocking),
        _connectionReused=row.reused,
        _protocol=protocol,
        _error=None if row.failure is None else scene.masks.words(row.failure),
        _flags=[str(flag) for flag in row.flags] or None,
        _final_base_page=True if row.number == scene.document else None,
        **places_of(row.timing),
    )


def entry_of_hop(hop: Hop, scene: Scene) -> Entry:
    """A hop of a probe."""
    connection = scene.connections.get(hop.connection)
    protocol = connection.protocol if connection else None
    location = _value_of(hop.response_headers, "location") or ""
    encoded = _value_of(hop.response_headers, "content-encoding") is not None
    mime_type = _value_of(hop.response_headers, "content-type") or "x-unknown"
    entry = _entry(hop.timing, connection, scene, address=None)
    entry["request"] = _request("GET", hop.url, (), _Http(protocol, scene))
    entry["response"] = _response(hop.status, hop.response_headers, _Http(protocol, scene)) | {
        "content": {"size": UNKNOWN if encoded else _or_unknown(hop.body_bytes), "mimeType": mime_type},
        "redirectURL": scene.masks.url(location) if 300 <= (hop.status or 0) < 400 else "",
        "headersSize": _or_unknown(hop.head_bytes),
        "bodySize": _or_unknown(hop.body_bytes),
    }
    return entry | known(_protocol=protocol, **places_of(hop.timing))


def known(**extras: Any) -> Entry:
    """Of what HAR does not ask for, only what is known."""
    return {name: value for name, value in extras.items() if value is not None}


@dataclass(frozen=True, slots=True)
class _Http:
    """What both sides of an exchange share."""

    protocol: str | None
    scene: Scene

    @property
    def version(self) -> str:
        return _PROTOCOLS.get((self.protocol or "").lower(), self.protocol or "unknown")

    def headers(self, headers: Sequence[Header]) -> list[Entry]:
        return [{"name": header.name, "value": header.value} for header in self.scene.masks.headers(headers)]


def _entry(timing: Timing, connection: Connection | None, scene: Scene, *, address: str | None) -> Entry:
    """All of an entry but request and response."""
    timings = timings_of(timing)
    phases = [timings[name] for name in ("blocked", "dns", "connect", "send", "wait", "receive")]
    peer = scene.masks.only_below_strict(address or (connection.address if connection else None))
    return {
        "pageref": scene.page,
        "startedDateTime": scene.instant(earliest_us(timing)),
        "time": round(sum(phase for phase in phases if phase > 0), 3),
        "cache": {},
        "timings": timings,
    } | known(serverIPAddress=peer, connection=None if connection is None else str(connection.number))


def _request(method: str, url: str, headers: Sequence[Header], http: _Http) -> Entry:
    shown = http.scene.masks.url(url)
    return {
        "method": method,
        "url": shown,
        "httpVersion": http.version,
        "cookies": [] if http.scene.masks.is_strict else _cookies_sent(headers),
        "headers": http.headers(headers),
        "queryString": _query(shown),
        "headersSize": UNKNOWN,
        "bodySize": 0 if method in _WITHOUT_BODY else UNKNOWN,
    }


def _response(status: int | None, headers: Sequence[Header], http: _Http) -> Entry:
    return {
        "status": status or 0,
        "statusText": _phrase(status),
        "httpVersion": http.version,
        "cookies": [] if http.scene.masks.is_strict else _cookies_set(headers),
        "headers": http.headers(headers),
        "headersSize": UNKNOWN,
        "bodySize": UNKNOWN,
    }


def _cookies_sent(headers: Sequence[Header]) -> list[Entry]:
    """The names, as far as they were kept; values never."""
    values = [header.value for header in headers if header.name.lower() == "cookie" and header.value != REDACTED]
    pairs = [pair.strip() for value in values for pair in value.split(";") if "=" in pair]
    return [_cookie(pair) for pair in pairs[:_MAX_COOKIES]]


def _cookies_set(headers: Sequence[Header]) -> list[Entry]:
    lines = [header.value for header in headers if header.name.lower() == "set-cookie" and "=" in header.value]
    return [_cookie(line) for line in lines[:_MAX_COOKIES]]


def _cookie(text: str) -> Entry:
    return {"name": text.partition("=")[0].strip(), "value": REDACTED}


def _initiator(row: Request, scene: Scene) -> Entry | None:
    """As DevTools writes it, which counts lines and columns from 0."""
    if row.initiator_url is None:
        return None
    initiator: Entry = {"type": "other", "url": scene.masks.url(row.initiator_url)}
    if row.initiator_at is not None:
        line, column = row.initiator_at
        initiator |= {"type": "parser", "lineNumber": line - 1, "columnNumber": column - 1}
    return initiator


def _query(url: str) -> list[Entry]:
    try:
        pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        return []
    return [{"name": name, "value": value} for name, value in pairs]


def _value_of(headers: Sequence[Header], name: str) -> str | None:
    return next((header.value for header in headers if header.name.lower() == name), None)


def _phrase(status: int | None) -> str:
    try:
        return HTTPStatus(status or 0).phrase
    except ValueError:
        return ""


def _or_unknown(value: int | None) -> int:
    return UNKNOWN if value is None else value
