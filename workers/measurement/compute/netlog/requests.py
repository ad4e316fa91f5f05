"""What Chrome's network log says of requests: each hop of each, from the wish to the last byte."""

import re
from collections.abc import Callable
from itertools import islice

from workers.measurement.compute.header_lines import header_of, headers_in
from workers.measurement.compute.netlog.events import NetEvent, Phase
from workers.measurement.compute.netlog.frames import Frames
from workers.measurement.compute.netlog.links import follows
from workers.measurement.compute.netlog.log import MAX_TRIES, NetworkLog
from workers.measurement.compute.netlog.nouns import ABORTED, NetHop, Stretch
from workers.measurement.statuses import WITHOUT_BODY

# A page has thousands at most; a log of many hours may have more than anybody looks at.
MAX_HOPS = 50_000
_MAX_URL_CHARS = 4096
# Requests that may be about to be sent when one of them is found to be answered already.
_MAX_WAITING = 64
# What Chrome writes behind a URL from which it took a name and a password.
_REDACTED = " (credentials redacted)"
# More header lines than are ever shown of a request, and more text than those of a page of thousands of rows have.
_MAX_LINES = 100
_MAX_LINES_CHARS = 16_000_000
# What Chrome tells, there and on the console, of an answer other than 101.
_UPGRADE_REFUSED = re.compile(r"Unexpected response code: (\d{3})$")
_STATUS_LINE = re.compile(r"HTTP/(\d(?:\.\d)?) (\d{3})(?:\D|$)")
# How Chrome notes that a document or a worker asks: hashes of "blink_resource_loader" and "websocket_stream" (Chromium,
# tools/traffic_annotation). Scripts of workers, documents, and what the browser itself asks for have others.
_PAGES_OWN = frozenset({101_845_102, 17_188_928})

# Without these nobody knows of a request that is over when its last byte came, or when it was given up.
_BODY = frozenset(
    {"CANCELLED", "URL_REQUEST_START_JOB", "HTTP_TRANSACTION_READ_BODY", "URL_REQUEST_JOB_FILTERED_BYTES_READ"}
)


class Requests:
    """Fills `log.hops`. `handlers` takes the events by name."""

    def __init__(self, log: NetworkLog, frames: Frames) -> None:
        self._log = log
        self._frames = frames
        self._current: dict[int, NetHop] = {}
        # Of a redirect that is followed by a request of its own, the one that led there, until that is over.
        self._leading: dict[int, NetHop] = {}
        self._lines_chars = 0
        self._hops: dict[int, int] = {}
        self._waiting: dict[int, NetEvent] = {}
        self._preflights: set[int] = set()
        self._strangers: dict[int, NetHop] = {}
        self.handlers: dict[str, Callable[[NetEvent], None]] = {
            "CORS_REQUEST": self._seen,
            "CORS_PREFLIGHT_URL_REQUEST": self._preflight,
            "REQUEST_ALIVE": self._alive,
            "CANCELLED": self._cancelled,
            "URL_REQUEST_START_JOB": self._start,
            "URL_REQUEST_REDIRECTED": self._redirected,
            "URL_REQUEST_FAKE_RESPONSE_HEADERS_CREATED": self._made_up,
            "HTTP_CACHE_READ_INFO": self._from_cache,
            "HTTP_STREAM_JOB_CONTROLLER_BOUND": self._controller,
            "HTTP_STREAM_POOL_ATTEMPT_MANAGER_JOB_BOUND": self._manager,
            "HTTP_STREAM_REQUEST_BOUND_TO_JOB": self._job,
            "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION": self._finds,
            "HTTP2_SESSION_SEND_HEADERS": self._carried,
            "HTTP2_STREAM_ADOPTED_PUSH_STREAM": self._pushed,
            "HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION": self._quic,
            "HTTP_TRANSACTION_SEND_REQUEST": self._send,
            "HTTP_TRANSACTION_SEND_REQUEST_HEADERS": self._http1,
            "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS": self._http2,
            "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS": self._http3,
            "WEBSOCKET_UPGRADE_FAILURE": self._refused,
            "HTTP_TRANSACTION_READ_EARLY_HINTS_RESPONSE_HEADERS": self._hints,
            "HTTP_TRANSACTION_READ_RESPONSE_HEADERS": self._head,
            "HTTP_TRANSACTION_READ_BODY": self._body,
            "URL_REQUEST_JOB_FILTERED_BYTES_READ": self._bytes,
        }

    def finish(self) -> None:
        """Once all events were taken: requests of which only the wish was seen."""
        for event in list(self._waiting.values()):
            self._begin(event)
        self._log.strangers = [hop for hop in self._strangers.values() if hop.send.begin_ms is not None]
        self._log.hops.sort(key=lambda hop: hop.started_ms)

    def _seen(self, event: NetEvent) -> None:
        if self._log.zero_ms is None:
            self._log.zero_ms = event.time_ms

    def _start(self, event: NetEvent) -> None:
        if event.phase is not Phase.BEGIN:
            self._note_error(event)
            return
        self._seen(event)
        if not self._is_begun(event):
            self._begin(event)

    def _is_begun(self, event: NetEvent) -> bool:
        """Whether it began already and nothing has come of it: older Chromes do so with documents."""
        hop = self._current.get(event.source)
        if hop is None or hop.transactions or hop.cached or hop.status is not None or hop.redirected_to is not None:
            return False
        return hop.net_error is None and _url(event) == hop.url

    def _begin(self, event: NetEvent) -> None:
        if len(self._log.hops) >= MAX_HOPS:
            self._log.truncated = True
            self._waiting.pop(event.source, None)
            self._current.pop(event.source, None)
            return
        index = self._hops.get(event.source, 0)
        wish = self._waiting.pop(event.source, event)
        hop = NetHop(
            event.source,
            _url(event),
            (event.text("method") or "GET")[:32],
            event.time_ms,
            index=index,
            asked_ms=wish.time_ms,
            kind=event.text("request_type"),
            initiator=event.text("initiator"),
            pages_own=self._is_pages_own(wish),
            preflight=event.source in self._preflights,
        )
        self._current[event.source] = hop
        self._hops[event.source] = index + 1
        self._log.hops.append(hop)

    def _is_pages_own(self, wish: NetEvent) -> bool:
        """Only the first hop of a request says so."""
        before = self._current.get(wish.source)
        return wish.number("traffic_annotation") in _PAGES_OWN if before is None else before.pages_own

    def _alive(self, event: NetEvent) -> None:
        if event.phase is Phase.BEGIN:
            self._seen(event)
            # What was led elsewhere before the log began is told by its first URL, and not since when it has the last.
            is_known = event.text("url") and "url_chain" not in event.params
            if is_known and event.source not in self._hops and len(self._waiting) < MAX_HOPS:
                self._waiting[event.source] = event
            if (leading := self._current.get(event.source)) is not None:
                leading.ended_ms = leading.head_ms
                self._leading[event.source] = leading
            return
        if (wish := self._waiting.get(event.source)) is not None:
            self._begin(wish)
        hop = self._leading.pop(event.source, None) or self._current.pop(event.source, None)
        if hop is not None:
            if hop.ended_ms is None and self._log.known >= _BODY:
                hop.ended_ms = event.time_ms
            hop.over = True
            _fail(hop, event)

    def _note_error(self, event: NetEvent) -> None:
        if (hop := self._current.get(event.source)) is not None:
            _fail(hop, event)

    def _cancelled(self, event: NetEvent) -> None:
        hop = self._current.get(event.source)
        # What has led elsewhere was not given up, though Chrome calls it that when the next request has begun.
        if hop is None or event.source in self._leading:
            return
        hop.ended_ms = event.time_ms
        if _is_bodyless(hop):
            # Nothing more was to come, as behind a beacon of a page that has gone.
            return
        # What is answered and becomes no WebSocket Chrome itself gives up.
        hop.cancelled = not (hop.is_socket and hop.status is not None)
        # Without a reason it is nobody's but the page's.
        hop.net_error = event.number("net_error") or ABORTED

    def _preflight(self, event: NetEvent) -> None:
        if event.dependency is not None and len(self._preflights) < MAX_HOPS:
            self._preflights.add(event.dependency)
            if (hop := self._current.get(event.dependency)) is not None:
                hop.preflight = True

    def _redirected(self, event: NetEvent) -> None:
        if (hop := self._current.get(event.source)) is not None:
            hop.redirected_to = str(event.params.get("location", ""))[:_MAX_URL_CHARS]
            if hop.ended_ms is None:
                hop.ended_ms = hop.head_ms if hop.head_ms is not None or hop.transactions else event.time_ms

    def _from_cache(self, event: NetEvent) -> None:
        if (hop := self._current.get(event.source)) is not None:
            hop.cached = True

    # Who got it a connection

    def _hop(self, event: NetEvent) -> NetHop:
        """The hop of a request, also of one that was under way before the log began: Chrome may tell at the log's
        beginning that there is such a request. Without that it is only known which connection it used.
        """
        wish = self._waiting.get(event.source)
        if wish is not None and "URL_REQUEST_START_JOB" in self._log.known:
            self._begin(wish)
        known = self._current.get(event.source, self._strangers.get(event.source))
        if known is not None:
            return known
        stranger = NetHop(event.source, "", "", event.time_ms)
        if event.source not in self._hops and len(self._strangers) < MAX_HOPS:
            self._strangers[event.source] = stranger
        return stranger

    def _controller(self, event: NetEvent) -> None:
        hop = self._hop(event)
        if hop.controller is not None and len(hop.former) < MAX_TRIES:
            hop.former.append(hop.controller)
            if hop.manager is not None:
                self._log.add_try(hop.controller, hop.manager)
        hop.controller = event.dependency
        # What follows is about another connection than that of an attempt before.
        hop.job = hop.manager = hop.session = hop.follows = None

    def _manager(self, event: NetEvent) -> None:
        self._hop(event).manager = event.dependency

    def _finds(self, event: NetEvent) -> None:
        self._hop(event).session = event.dependency

    def _carried(self, event: NetEvent) -> None:
        source = -1 if event.dependency is None else event.dependency
        hop = self._current.get(source, self._strangers.get(source))
        if hop is not None:
            hop.session, hop.follows = event.source, follows(event)

    def _job(self, event: NetEvent) -> None:
        self._hop(event).job = event.dependency

    def _quic(self, event: NetEvent) -> None:
        hop = self._hop(event)
        hop.link, hop.protocol = event.dependency, "h3"

    def _pushed(self, event: NetEvent) -> None:
        """Chrome before 106 took what a server had sent before anybody asked. The session tells for which URL alone: it
        is the request for it that has begun last and is not sent yet.
        """
        url = event.text("url")
        for hop in islice(reversed(self._current.values()), _MAX_WAITING):
            if hop.url == url and hop.transactions == 0:
                hop.pushed, hop.session = True, event.source
                return

    # The exchange

    def _send(self, event: NetEvent) -> None:
        hop = self._hop(event)
        if event.phase is Phase.BEGIN:
            hop.transactions += 1
            hop.send, hop.head_ms, hop.hints_ms, hop.ended_ms = Stretch(event.time_ms), None, None, None
            # That of a transaction before, such as 401.
            hop.status, hop.sent_lines, hop.answer_lines = None, (), ()
        elif event.phase is Phase.END:
            hop.stream = self._frames.stream_of(hop)
            left_ms = self._frames.left_ms(hop.stream)
            is_later = left_ms is not None and left_ms >= (hop.send.begin_ms or 0)
            hop.send.end_ms = left_ms if is_later else event.time_ms

    def _http1(self, event: NetEvent) -> None:
        if (hop := self._current.get(event.source)) is not None:
            hop.protocol, hop.link = "http/1.1", None
            hop.sent_lines = self._lines(event)

    def _http2(self, event: NetEvent) -> None:
        if (hop := self._current.get(event.source)) is not None:
            hop.protocol, hop.link = "h2", None
            hop.sent_lines = self._lines(event)

    def _http3(self, event: NetEvent) -> None:
        if (hop := self._current.get(event.source)) is not None:
            hop.sent_lines = self._lines(event)

    def _hints(self, event: NetEvent) -> None:
        hop = self._current.get(event.source)
        if hop is not None and hop.hints_ms is None:
            hop.hints_ms = event.time_ms

    def _head(self, event: NetEvent) -> None:
        if (hop := self._current.get(event.source)) is None:
            return
        hop.head_ms, hop.answer_lines = event.time_ms, self._lines(event)[1:]
        match = _status_line(event)
        if match is not None:
            hop.status = int(match[2])
            # Of HTTP/2 and HTTP/3 Chrome makes up a line of HTTP/1.1.
            if hop.protocol == "http/1.1" and "." in match[1]:
                hop.protocol = f"http/{match[1]}"

    def _lines(self, event: NetEvent) -> list[object]:
        """Header lines, as long as there is room: those of a hostile server are large."""
        found = event.params.get("headers")
        lines = found[:_MAX_LINES] if isinstance(found, list) else []
        self._lines_chars += sum(len(line) for line in lines if isinstance(line, str))
        return lines if self._lines_chars <= _MAX_LINES_CHARS else []

    def _refused(self, event: NetEvent) -> None:
        """Of an answer that does not become a WebSocket the log tells no head, but why, as soon as it has read it."""
        hop, match = self._current.get(event.source), _UPGRADE_REFUSED.search(event.text("message") or "")
        if hop is not None and match is not None:
            hop.head_ms, hop.status = event.time_ms, int(match[1])

    def _made_up(self, event: NetEvent) -> None:
        """Chrome answers for a server that once asked never to be asked in clear (HSTS)."""
        hop, match = self._current.get(event.source), _status_line(event)
        if hop is not None and match is not None:
            hop.status = int(match[2])

    def _body(self, event: NetEvent) -> None:
        hop = self._current.get(event.source)
        if event.phase is Phase.END and hop is not None:
            hop.ended_ms = event.time_ms
            _fail(hop, event)

    def _bytes(self, event: NetEvent) -> None:
        hop, count = self._current.get(event.source), event.number("byte_count")
        if hop is None:
            return
        if count is not None and count >= 0:
            hop.body_bytes = (hop.body_bytes or 0) + count
        if hop.transactions == 0:
            hop.ended_ms = event.time_ms


def _url(event: NetEvent) -> str:
    return (event.text("url") or "").removesuffix(_REDACTED)[:_MAX_URL_CHARS]


def _is_bodyless(hop: NetHop) -> bool:
    """Whether its answer has come and has no body (RFC 9110, 6.4.1)."""
    length = header_of(headers_in(hop.answer_lines), "content-length")
    return hop.status in WITHOUT_BODY or (hop.status is not None and (hop.method == "HEAD" or length == "0"))


def _status_line(event: NetEvent) -> re.Match[str] | None:
    lines = event.params.get("headers")
    line = lines[0] if isinstance(lines, list) and lines else None
    return _STATUS_LINE.match(line) if isinstance(line, str) else None


def _fail(hop: NetHop, event: NetEvent) -> None:
    code = event.number("net_error")
    if code is not None and code < 0:
        hop.net_error = code
