"""Keeps what DevTools tells of one page load, within bounds, and knows whether anything is still going on."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from workers.browser.settings import MIB
from workers.measurement.captures_page import DevToolsEvent, PieceSeen
from workers.measurement.compute.devtools.exchange import CARRIED
from workers.measurement.thresholds import UNUSED_BYTES

Json = dict[str, Any]

MAX_EVENTS = 40_000
# Of all events that are kept, about: a page of a thousand requests takes a tenth of it, one whose server answers with
# hundreds of kilobytes of headers would take all that the agent has.
MAX_BYTES = 128 * MIB
# What Python needs for anything beside the letters of a text.
_LEAST_BYTES = 50
MAX_URL_CHARS = 4096
# Of a document; the words that are painted first stand at its beginning.
_MAX_PIECES = 1_000
_LOAD = "Page.loadEventFired"
# The browser waits for nothing more of a frame.
_STOPPED = "Page.frameStoppedLoading"
# By then Chromium has said what was preloaded and not used (measured 2,998 to 3,010 ms behind the load).
_WORD_S = 3.3
_ASKED = "Network.requestWillBeSent"
_DATA = "Network.dataReceived"
SOCKET_MADE = "Network.webSocketCreated"
_REPORT = "Runtime.bindingCalled"
# What our own scripts call.
BINDING = "firstbyteReport"
# A worker of the page, or of one of its workers.
WORKER_BEGAN = "Target.attachedToTarget"
_FAILED = "Network.loadingFailed"
_ENDED = ("Network.loadingFinished", _FAILED)
EVENTS = (
    _ASKED,
    _DATA,
    *_ENDED,
    _LOAD,
    _STOPPED,
    "Network.requestWillBeSentExtraInfo",
    "Network.responseReceived",
    "Network.responseReceivedExtraInfo",
    "Network.requestServedFromCache",
    SOCKET_MADE,
    "Network.webSocketWillSendHandshakeRequest",
    "Network.webSocketHandshakeResponseReceived",
    "Network.webSocketClosed",
    "Page.domContentEventFired",
    _REPORT,
)
# A stream for events stays open as long as the page: waiting for its end would be waiting for ever.
_ENDLESS = frozenset({"EventSource", "WebSocket", "Ping"})
_STREAM = "EventSource"
# What a page is about to become; of one that it only fetches ahead DevTools tells in all else the same.
_DOCUMENT = "Document"


@dataclass(frozen=True, slots=True)
class _Standing:
    """A document that stands in the frame: its request, the pieces it came in, its load, in seconds of `now`, whether
    it was read no further, and what it broke off with."""

    document: str
    pieces: list[PieceSeen]
    load_seen: bool
    load_s: float | None
    cut_short: bool
    error: str | None = None


class Recorder:
    """One run's events. `changed` is set when it has loaded or ended; times are those of `now`, in seconds.

    A page that stops itself (`window.stop`) or sets out for what is no page before it has loaded is read no further by
    Chrome, and has no load event (`cut_short`). It counts as loaded when the browser says that it stopped and nothing
    that it asked for is open. What a page was waiting for when it gave way to another has no end that is told, and is
    open no more once that other one has loaded.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.changed = asyncio.Event()
        self.main_frame = ""
        self.crashed = False
        self.lost = False
        self.load_seen = False
        self.cut_short = False
        self.requests = 0
        self.body_bytes = 0
        self._kept_bytes = 0
        self.dropped = False
        self.last_activity_s = now()
        self.load_s: float | None = None
        self._now = now
        self._events: list[DevToolsEvent] = []
        self._open: dict[str, str] = {}
        # The document that gives way to this one, and what it has open.
        self._leaving = ""
        self._left: set[str] = set()
        self._carried: set[str] = set()
        self._streams: set[str] = set()
        self._preloads: set[str] = set()
        self._received: defaultdict[str, int] = defaultdict(int)
        # When the last piece of each came, on Chrome's own clock in seconds.
        self._heard: dict[str, object] = {}
        self._document = ""
        self.pieces: list[PieceSeen] = []
        # What stood when the frame set out for that document, as long as nothing of it has come.
        self._before: _Standing | None = None
        self._stopped = False
        # Chrome's name (ERR_…) for what kept the last document from coming, or from coming whole.
        self.document_error: str | None = None
        self._closed = False

    def take(self, method: str, params: Json) -> None:
        """Called for each event of `EVENTS`."""
        if self._closed or (method == _REPORT and params.get("name") != BINDING):
            return
        self._follow(method, params)
        if method == _STOPPED:
            return
        if method == _DATA:
            self._count(str(params.get("requestId")), params)
        else:
            self._keep(DevToolsEvent(method, _slim(method, params)))

    def _keep(self, event: DevToolsEvent) -> None:
        size_bytes = _weight(event.params)
        if len(self._events) >= MAX_EVENTS or self._kept_bytes + size_bytes > MAX_BYTES:
            self.dropped = True
            return
        self._events.append(event)
        self._kept_bytes += size_bytes

    def _count(self, request_id: str, params: Json) -> None:
        self._received[request_id] += int(params.get("dataLength", 0))
        self._heard[request_id] = params.get("timestamp")
        if request_id == self._document and len(self.pieces) < _MAX_PIECES:
            self.pieces.append(PieceSeen(float(params.get("timestamp", 0)), self._received[request_id]))

    def crash(self, _page: object) -> None:
        """Called when the page's process has ended."""
        self.crashed = True
        self.changed.set()

    def lose(self, _browser: object) -> None:
        """Called when the browser itself has ended."""
        self.lost = True
        self.changed.set()

    def close(self) -> tuple[DevToolsEvent, ...]:
        """Everything so far; later events are another page's. The pieces of a body are told as one, the last."""
        self._closed = True
        return tuple(self._with_pieces())

    def _with_pieces(self) -> Iterator[DevToolsEvent]:
        """Those of a request before its end, or behind everything where it has none."""
        left = dict(self._received)
        for event in self._events:
            if event.method in _ENDED:
                yield from self._pieces_of(str(event.params.get("requestId")), left)
            yield event
        for key in tuple(left):
            yield from self._pieces_of(key, left)

    def _pieces_of(self, key: str, left: dict[str, int]) -> Iterator[DevToolsEvent]:
        if (size := left.pop(key, None)) is not None:
            yield DevToolsEvent(_DATA, {"requestId": key, "dataLength": size, "timestamp": self._heard[key]})

    @property
    def is_idle(self) -> bool:
        """Whether every request has ended."""
        return not self._open

    @property
    def word_s(self) -> float | None:
        """When Chromium has said what was preloaded and not used; None where it has nothing to say that matters."""
        matters = any(self._received.get(request_id, 0) >= UNUSED_BYTES for request_id in self._preloads)
        return self.load_s + _WORD_S if matters and self.load_s is not None else None

    def _follow(self, method: str, params: Json) -> None:
        request_id = str(params.get("requestId"))
        if method == _ASKED:
            self._asked(request_id, params)
        elif method in _ENDED:
            self._open.pop(request_id, None)
            if method == _FAILED:
                self._failed(request_id, params)
        elif method == WORKER_BEGAN:
            self._has_script(_url_in(params, "targetInfo"))
        elif method == _LOAD:
            self.load_seen, self.load_s, self.cut_short = True, self._now(), False
            if self._document in self._received:
                self._leave()
            self.changed.set()
        elif method == _STOPPED and params.get("frameId") == self.main_frame:
            self._stop()
        elif method == _DATA:
            self.body_bytes += int(params.get("dataLength", 0))
        if method.startswith("Network.") and not self._is_quiet(method, request_id):
            self.last_activity_s = self._now()
        if method in _ENDED:
            self._carried.discard(request_id)
            self._streams.discard(request_id)
        if self._stopped and self.is_idle and not self.load_seen:
            self.load_seen, self.load_s = True, self._now()
            self.changed.set()

    def _is_quiet(self, method: str, request_id: str) -> bool:
        """Whether this is not the network at work for the page: its own content, or one more message of a stream, of
        which those of a WebSocket are not even told."""
        return request_id in self._carried or (method == _DATA and request_id in self._streams)

    def _has_script(self, url: str) -> None:
        """A worker that is there has its script, whose end is told to who was attached to it in time alone."""
        for request_id in [key for key, asked in self._open.items() if asked == url]:
            del self._open[request_id]

    def _asked(self, request_id: str, params: Json) -> None:
        self.requests += 1
        kind, url = params.get("type"), _url_in(params, "request")
        if url.startswith(CARRIED):
            self._carried.add(request_id)
        if kind == _STREAM:
            self._streams.add(request_id)
        if (params.get("request") or {}).get("isLinkPreload"):
            self._preloads.add(request_id)
        if kind not in _ENDLESS:
            self._open[request_id] = url
        if self._leaving and params.get("loaderId") == self._leaving:
            self._left.add(request_id)
        if kind == _DOCUMENT and params.get("frameId") == self.main_frame and params.get("loaderId") == request_id:
            # The page gives way to another document: its load is what now counts.
            if self._document in self._received:
                self._before = _Standing(self._document, self.pieces, self.load_seen, self.load_s, self.cut_short)
            if request_id != self._document:
                self._leaving, self._left = self._document, {*self._open} - {request_id}
            self.load_seen, self.load_s, self.document_error = False, None, None
            self.cut_short = self._stopped = False
            self._document, self.pieces = request_id, []

    def _failed(self, request_id: str, params: Json) -> None:
        error = None if params.get("canceled") else str(params.get("errorText") or "ERR_FAILED").removeprefix("net::")
        if request_id != self._document:
            if self._before is not None and request_id == self._before.document:
                self._before = replace(self._before, error=error)
        elif error is not None:
            self.document_error = error
            self.changed.set()
        elif request_id not in self._received and self._before is not None:
            self._stand(self._before)
            self.changed.set()

    def _stop(self) -> None:
        """The browser waits for nothing more of the top frame. Of a document that stopped itself no end is told."""
        if not self.cut_short and not self.load_seen and self._document in self._received:
            self.cut_short = True
            self._open.pop(self._document, None)
        self._stopped = self._stopped or self.cut_short

    def _leave(self) -> None:
        """What the page before was waiting for ended with it."""
        for request_id in self._left:
            self._open.pop(request_id, None)
        self._leaving, self._left = "", set()

    def _stand(self, before: _Standing) -> None:
        """What gives nothing up but its way leaves the page as it stands: a download, an answer without a page, the
        address of a mailbox or an app."""
        self._document, self.pieces, self.document_error = before.document, before.pieces, before.error
        self._leaving, self._left = "", set()
        if not self.load_seen:
            self.load_seen, self.load_s = before.load_seen, before.load_s
            self.cut_short = before.cut_short or not before.load_seen


def _url_in(params: Json, name: str) -> str:
    return str((params.get(name) or {}).get("url"))[:MAX_URL_CHARS]


def _slim(method: str, params: Json) -> Json:
    """Without what is large and not looked at: raw heads, posted data, the content in data: URLs."""
    if method == _ASKED:
        request = dict(params.get("request") or {})
        request.pop("postData", None)
        request.pop("postDataEntries", None)
        params = {**params, "request": _with_short(request, "url")}
    elif method == "Network.responseReceived":
        params = {**params, "response": _with_short(params.get("response") or {}, "url")}
    elif method == "Network.responseReceivedExtraInfo":
        params = {name: value for name, value in params.items() if name != "headersText"}
    return _with_short(params, "documentURL")


def _with_short(told: Json, name: str) -> Json:
    """The same, with an address that is cut off where it is longer than any."""
    url = told.get(name)
    return {**told, name: url[:MAX_URL_CHARS]} if isinstance(url, str) and len(url) > MAX_URL_CHARS else told


def _weight(value: Any) -> int:
    """How many bytes of memory it takes, about."""
    if isinstance(value, str):
        return _LEAST_BYTES + len(value)
    if isinstance(value, dict):
        return _LEAST_BYTES + sum(_weight(name) + _weight(one) for name, one in value.items())
    if isinstance(value, list):
        return _LEAST_BYTES + sum(map(_weight, value))
    return 0
