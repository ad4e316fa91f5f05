"""One entry of an HTTP Archive as a row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from workers.measurement.compute.page.parser_place import parser_place
from workers.measurement.compute.texts import MAX_HEADERS, plain
from workers.measurement.connection import Header
from workers.measurement.imports.draft import Draft
from workers.measurement.imports.fields import (
    MAX_COUNT,
    Fields,
    UnreadableError,
    address_or_none,
    count_or_none,
    duration,
    instant,
    list_of,
    number_or_none,
    object_of,
    text_or_none,
    url_or_none,
    word_or_none,
)
from workers.measurement.imports.imported import MAX_NAME_CHARS
from workers.measurement.imports.spans import Exchange, laid, placed
from workers.measurement.imports.words import (
    blocks_of,
    cache_of,
    flags_of,
    header_of,
    joined,
    parts_of,
    protocol_of,
    type_of,
    url_of,
)
from workers.measurement.statuses import NOT_MODIFIED
from workers.measurement.timing import Timing
from workers.measurement.waterfall import ON_THE_NETWORK, Request, ServedFrom, TimingSource

# No load takes longer: what is further from its page's start was stamped by another clock.
LONGEST = timedelta(days=1)
_REDIRECTS = range(300, 400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a tool departs from HAR 1.2.

    `ssl_apart`: TLS is counted beside `connect`. `ports_for_connections`: `connection` holds a port, not an id.
    `size_in_body`: `bodySize` is all that came over the wire. `no_start`: a page's start is no start of its load.
    `sends_queue`: without a connection to open, the queue stands in `send` once more.
    """

    ssl_apart: bool = False
    ports_for_connections: bool = False
    size_in_body: bool = False
    no_start: bool = False
    sends_queue: bool = False


def draft_of(entry: Any, zero: datetime, dialect: Dialect) -> Draft:
    """The row of an entry, on a clock that begins at `zero`. Raises UnreadableError."""
    if not isinstance(entry, dict):
        raise UnreadableError("it is not an object")
    url = url_or_none(object_of(entry, "request"), "url")
    if url is None:
        raise UnreadableError("request.url is missing")
    row = _row(entry, url, zero, dialect)
    return Draft(
        request=row,
        connection=_connection(entry, row, dialect),
        tls_version=tls_version_of(entry, "_"),
        final=entry.get("_final_base_page") is True,
        frame=text_or_none(entry, "_frame_id", MAX_NAME_CHARS) or text_or_none(entry, "_frameref", MAX_NAME_CHARS),
    )


def _row(entry: Fields, url: str, zero: datetime, dialect: Dialect) -> Request:
    request, response = object_of(entry, "request"), object_of(entry, "response")
    parts, protocol = parts_of(url), _protocol(entry, request, response)
    served_from = _served_from(entry, response, url)
    exchange = Exchange(
        begin_us=_begin_us(entry, zero),
        protocol=protocol,
        is_secure=parts is None or parts.scheme in ("https", "wss"),
        ssl_apart=dialect.ssl_apart,
        sends_queue=dialect.sends_queue,
    )
    status, mime_type = _status(response), _mime_type(response)
    word = text_or_none(entry, "_resourceType", 32) or text_or_none(entry, "_request_type", 32)
    blocking, render_blocking = blocks_of(entry.get("_renderBlocking"))
    return Request(
        number=0,
        url=url_of(url),
        method=text_or_none(request, "method", 32) or "GET",
        resource_type=type_of(word, mime_type, parts),
        timing=_timing(entry, exchange, served_from),
        timing_source=TimingSource.ARCHIVE,
        served_from=served_from,
        status=status,
        protocol=protocol,
        address=address_or_none(entry.get("serverIPAddress")) if served_from in ON_THE_NETWORK else None,
        mime_type=mime_type,
        transferred_bytes=_transferred(entry, response, served_from, dialect),
        body_bytes=_body_bytes(entry, response),
        priority=word_or_none(entry, "_priority"),
        initiator_url=_initiator(entry.get("_initiator")),
        initiator_at=parser_place(object_of(entry, "_initiator")),
        blocking=blocking,
        render_blocking=render_blocking,
        redirected_to=_redirected_to(url, status, response),
        failure=_failure(entry, response),
        request_headers=_headers(request),
        response_headers=_headers(response),
        flags=flags_of(entry.get("_flags")),
    )


def _status(response: Fields) -> int | None:
    """0 and -1 are words for an answer that never came."""
    status = count_or_none(response, "status")
    return status if status and status < 1000 else None


def _mime_type(response: Fields) -> str | None:
    mime_type = word_or_none(object_of(response, "content"), "mimeType")
    return None if mime_type in ("x-unknown", "x-application/unknown") else mime_type


def _body_bytes(entry: Fields, response: Fields) -> int | None:
    """Decoded; WebPageTest's archives have the size over the wire where HAR asks for this one, and so has mitmproxy,
    which says beside it how much compression saved."""
    told, content = count_or_none(entry, "_objectSizeUncompressed"), object_of(response, "content")
    if told is not None:
        return told
    # Small bodies grow when they are packed.
    size, saved = count_or_none(content, "size"), number_or_none(content, "compression") or 0
    is_on_wire = size is not None and size > 0 and size == count_or_none(response, "bodySize")
    return max(0, size + int(saved)) if size is not None and is_on_wire and abs(saved) < MAX_COUNT else size


def _begin_us(entry: Fields, zero: datetime) -> int:
    after = instant(entry, "startedDateTime") - zero
    if not -LONGEST < after < LONGEST:
        raise UnreadableError(f"startedDateTime is {abs(after.days)} days from its page's")
    return after // timedelta(microseconds=1)


def _timing(entry: Fields, exchange: Exchange, served_from: ServedFrom) -> Timing:
    """What came from a cache has a start and an end and no phases."""
    told, total = placed(entry, "_", exchange), duration(entry, "time")
    timing = told or laid(object_of(entry, "timings"), exchange)
    end_us = timing.end_us
    if timing.wait is None and total and (told is None or end_us is None):
        # Who knows the sum alone may have zeros for its parts.
        summed_us = timing.start_us + round(total * 1000)
        end_us = summed_us if end_us is None else max(end_us, summed_us)
    if served_from not in ON_THE_NETWORK:
        return Timing(start_us=timing.start_us, end_us=end_us)
    return replace(timing, end_us=end_us)


def _served_from(entry: Fields, response: Fields, url: str) -> ServedFrom:
    """In the words of ourselves, Chrome, chrome-har and Safari."""
    if url[:5].lower() in ("data:", "blob:"):
        return ServedFrom.DATA
    own = text_or_none(entry, "_servedFrom", 32)
    if own in list(ServedFrom):
        return ServedFrom(own)
    worker = entry.get("_fetchedViaServiceWorker") is True or response.get("fromServiceWorker") is True
    if worker:
        return ServedFrom.SERVICE_WORKER
    if response.get("fromDiskCache") is True:
        return ServedFrom.DISK_CACHE
    words = (text_or_none(entry, "_fromCache", 32), text_or_none(entry, "_fetchType", 32))
    return next((found for word in words if (found := cache_of(word))), ServedFrom.NETWORK)


def _protocol(entry: Fields, request: Fields, response: Fields) -> str | None:
    words = (entry.get("_protocol"), response.get("httpVersion"), request.get("httpVersion"))
    return next((found for word in words if (found := protocol_of(word))), None)


def _transferred(entry: Fields, response: Fields, served_from: ServedFrom, dialect: Dialect) -> int | None:
    """Head and body as they came over the wire."""
    if served_from not in ON_THE_NETWORK:
        return 0
    for fields, name in ((response, "_transferSize"), (entry, "_transferSize"), (entry, "_bytesIn")):
        size = count_or_none(fields, name)
        if size is not None:
            # What came over the network had a head: Playwright says 0 of redirects.
            is_answered = served_from is ServedFrom.NETWORK and _status(response) is not None
            return size or (None if is_answered else 0)
    body, head = count_or_none(response, "bodySize"), count_or_none(response, "headersSize")
    if body is None or dialect.size_in_body:
        return body
    # Without a body and with a head of unknown size nobody knows how much.
    return body + head if head is not None else body or None


def _redirected_to(url: str, status: int | None, response: Fields) -> str | None:
    """Some tools keep the header Location of any answer there."""
    target = text_or_none(response, "redirectURL", 4096)
    if target is None or status not in _REDIRECTS or status == NOT_MODIFIED:
        return None
    return joined(url, target)


def _failure(entry: Fields, response: Fields) -> str | None:
    for fields, name in ((entry, "_error"), (response, "_error"), (response, "_failureText")):
        text = word_or_none(fields, name)
        if text is not None:
            return text.removeprefix("net::")
    return None


def _initiator(initiator: Any) -> str | None:
    """An address, or Chrome's object with one, or with the calls that led there."""
    if isinstance(initiator, str):
        return url_of(initiator) if initiator else None
    if not isinstance(initiator, dict):
        return None
    frames = list_of(object_of(initiator, "stack"), "callFrames")
    calls = [frame for frame in frames[:50] if isinstance(frame, dict)]
    url = next((found for one in (initiator, *calls) if (found := url_or_none(one, "url"))), None)
    return None if url is None else url_of(url)


def _headers(side: Fields) -> tuple[Header, ...]:
    lines: Sequence[Any] = list_of(side, "headers")[:MAX_HEADERS]
    made = (header_of(line.get("name"), line.get("value")) for line in lines if isinstance(line, dict))
    return tuple(header for header in made if header is not None)


def _connection(entry: Fields, row: Request, dialect: Dialect) -> str | None:
    """Chrome numbers connections from 1 and says 0 where there was none; WebPageTest has sockets."""
    if row.served_from is not ServedFrom.NETWORK:
        return None
    if not dialect.ports_for_connections:
        value = entry.get("connection", entry.get("_connectionId"))
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value) not in ("", "0", "-1"):
            return plain(value, 64)
    socket = count_or_none(entry, "_socket")
    return None if not socket else f"socket {socket}"


def tls_version_of(fields: Fields, prefix: str) -> str | None:
    """In our words: TLSv1.3."""
    details = object_of(fields, f"{prefix}securityDetails")
    text = text_or_none(fields, f"{prefix}tls_version", 16) or text_or_none(details, "protocol", 16)
    return None if text is None else text.replace("TLS ", "TLSv")
