"""Everything a page asked for, on one clock: the document behind a waterfall."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from workers.measurement.connection import Connection, Header
from workers.measurement.timing import Span, Timing


class ResourceType(StrEnum):
    DOCUMENT = "document"
    STYLESHEET = "stylesheet"
    SCRIPT = "script"
    IMAGE = "image"
    FONT = "font"
    MEDIA = "media"
    FETCH = "fetch"
    WEBSOCKET = "websocket"
    OTHER = "other"


class ServedFrom(StrEnum):
    """Who answered. Only `network` has connection phases."""

    NETWORK = "network"
    MEMORY_CACHE = "memory_cache"
    DISK_CACHE = "disk_cache"
    SERVICE_WORKER = "service_worker"
    DATA = "data"


# What may have come over the wire.
ON_THE_NETWORK = frozenset({ServedFrom.NETWORK, ServedFrom.SERVICE_WORKER})


class Blocking(StrEnum):
    """What waits for a file, in Chrome's words (CDP `Network.RenderBlockingBehavior`, Resource Timing's
    `renderBlockingStatus` knows the first and the rest).

    `blocking`: every paint. `in_body_parser_blocking`: what stands behind it in the body, which is read no further
    until then. `potentially_blocking`: a script that runs as soon as it is there (`async`), before the first paint or
    after. `non_blocking_dynamic`: nothing, since a script put it there.
    """

    RENDERING = "blocking"
    PARSER = "in_body_parser_blocking"
    MAYBE = "potentially_blocking"
    NOTHING = "non_blocking"
    NOTHING_INSERTED = "non_blocking_dynamic"


# A line and a column of a document, both from 1; columns are UTF-16 units, as DevTools counts them.
Place = tuple[int, int]


class TimingSource(StrEnum):
    """Where the phases of a row come from: Chrome's network log is the truth, DevTools events the fallback.

    `archive` is a file of another tool, whose figures are taken as it wrote them.
    """

    NETLOG = "netlog"
    CDP = "cdp"
    ARCHIVE = "archive"


class RowFlag(StrEnum):
    """What is special about a row, beyond its phases.

    `preconnected`: its connection was begun before the page asked for it. `coalesced`: it used a connection that was
    opened for another host. `resumed` and `early_data`: of its connection's TLS session. `early_hints`: the server
    sent 103 first. `preflight`: the browser's own CORS question. `frame`, `worker`, `service_worker`: who asked, when
    it was not the page itself. `preload`, `prefetch`: asked for by a hint. `pushed`: sent by the server before anybody
    asked (HTTP/2, Chrome before 106). `retried`: sent more than once, as the first try was lost with its connection,
    refused, or answered with what makes a browser ask again (401, 408, 421); its phases are those of the last.
    `cancelled`: given up by the page. `browser_internal`: not the page's doing.
    """

    PRECONNECTED = "preconnected"
    COALESCED = "coalesced"
    RESUMED = "resumed"
    EARLY_DATA = "early_data"
    EARLY_HINTS = "early_hints"
    PREFLIGHT = "preflight"
    FRAME = "frame"
    WORKER = "worker"
    SERVICE_WORKER = "service_worker"
    PRELOAD = "preload"
    PREFETCH = "prefetch"
    PUSHED = "pushed"
    RETRIED = "retried"
    CANCELLED = "cancelled"
    BROWSER_INTERNAL = "browser_internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One row. `connection` is a `Connection.number`; connection phases stand at the first request that used it.

    `transferred_bytes` is what came over the wire, head included; `body_bytes` the decoded body. `failure` is the
    browser's name for a network error (ERR_…). `timing.start_us` is when the page asked for it. `initiator_at` is where
    in the document at `initiator_url` its tag ends, None for what no tag named. `render_blocking` says of `blocking`
    whether every paint waits; older runs and files tell that alone.
    """

    number: int
    url: str
    method: str
    resource_type: ResourceType
    timing: Timing
    timing_source: TimingSource
    served_from: ServedFrom = ServedFrom.NETWORK
    status: int | None = None
    protocol: str | None = None
    connection: int | None = None
    reused: bool | None = None
    address: str | None = None
    mime_type: str | None = None
    transferred_bytes: int | None = None
    body_bytes: int | None = None
    priority: str | None = None
    initiator_url: str | None = None
    initiator_at: Place | None = None
    blocking: Blocking | None = None
    render_blocking: bool | None = None
    redirected_to: str | None = None
    failure: str | None = None
    request_headers: tuple[Header, ...] = ()
    response_headers: tuple[Header, ...] = ()
    flags: tuple[RowFlag, ...] = ()


def received_bytes(rows: Iterable[Request]) -> int | None:
    """What rows brought over the network, heads included, as far as their sizes are known; None where of none that
    used the network it is."""
    sizes = [row.transferred_bytes for row in rows if row.served_from in ON_THE_NETWORK]
    known = [size for size in sizes if size is not None]
    return None if sizes and not known else sum(known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waterfall:
    """Rows in order of start. `truncated` says that the page asked for more than is kept.

    `watched_until_us` is when the load was left: what had no end was still open then. None, as in older waterfalls and
    files of other tools, where that is not known.
    """

    requests: tuple[Request, ...]
    connections: tuple[Connection, ...]
    truncated: bool = False
    watched_until_us: int | None = None

    def open_span(self, row: Request) -> Span | None:
        """From the last that is known of a row to when it was left still open; None of one that is over."""
        since_us, until_us = row.timing.last_us, self.watched_until_us
        is_over = row.timing.end_us is not None or row.failure is not None
        if is_over or until_us is None or until_us <= since_us:
            return None
        return Span(start_us=since_us, end_us=until_us)
