"""What DevTools says of each request: who asked for it, when, what came back. Times are microseconds of the monotonic
clock.

DevTools knows identity (which row is which, what began it) and sizes. Its connection timings are cut to the request's
own waiting (Chromium's "blocking" times), so they only stand in where the network log has none.

Events of one request come in any order, also with its extra info.
"""

import re
from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass, field

from workers.measurement.captures_page import DevToolsEvent
from workers.measurement.compute.devtools.exchange import CARRIED, SOCKET, Exchange, Json, monotonic_us
from workers.measurement.compute.devtools.extra_infos import ExtraInfos
from workers.measurement.compute.devtools.raced import told_once
from workers.measurement.compute.devtools.vitals import parse_reports
from workers.measurement.compute.numbers import number_of
from workers.measurement.compute.texts import without_login

# Chrome follows twenty redirects. More is made up, and each hop is held against the others of its request.
_MAX_HOPS = 64
# Longer URLs may be told cut off.
_MAX_URL_CHARS = 4096
# How Chrome words why there is no WebSocket.
_UPGRADE_REFUSED, _NET_ERROR = re.compile(r"Unexpected response code: (\d{3})\b"), re.compile(r"\bnet::(ERR_\w+)")


@dataclass(slots=True)
class PageEvents:
    """A page load as DevTools tells it.

    The instants are the main frame's last; `reports` are our own scripts' words. `workers` holds, for the URL of each
    worker's script, whether it is a "worker" or a "service_worker". `attached` are frames that were put into another.
    `unsent` are WebSockets that were made and of which no handshake was told, by URL and in order. `unasked` holds, by
    URL, the size on the wire of each answer whose request nobody heard, as of a worker that was heard a moment late.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    dom_content_loaded_us: int | None = None
    load_us: int | None = None
    reports: list[str] = field(default_factory=list)
    workers: dict[str, str] = field(default_factory=dict)
    attached: set[str] = field(default_factory=set)
    unsent: dict[str, list[Exchange]] = field(default_factory=dict)
    unasked: dict[str, list[int | None]] = field(default_factory=dict)


def read_devtools(events: Iterable[DevToolsEvent]) -> PageEvents:
    """Every exchange in the order it was asked for. Events that lack what they must have are passed over."""
    reader = _Reader()
    for event in events:
        handler = _HANDLERS.get(event.method)
        if handler is not None:
            handler(reader, event.params)
    return reader.finish()


_WORKERS = ("worker", "service_worker")


class _Reader:
    def __init__(self) -> None:
        self.page = PageEvents()
        self._hops: dict[str, list[Exchange]] = {}
        # Of answers whose requests were not told of: their addresses with the sizes of their heads, and all of each.
        self._unasked: dict[str, tuple[str, int | None]] = {}
        self._sizes: dict[str, int | None] = {}
        self._extras = ExtraInfos()
        self._memory: set[str] = set()
        # Requests that were told of once more: what they would be if that were another one.
        self._again: dict[str, Exchange] = {}
        self._hinted: set[str] = set()
        self._sockets: dict[str, Json] = {}
        self._socket_errors: dict[str, str] = {}
        self._pieces: dict[str, set[object]] = {}
        # Requests of whose redirects the first was not told of.
        self._late: set[str] = set()
        # Requests of whose hops some were not told of at all: their headers, and if it is the last hop, also its end.
        self._gaps: set[str] = set()
        self._cut_off: set[str] = set()
        # Of the document that reports, its time origin; and what each has come to.
        self._origin: float | None = None
        self._reached: set[tuple[str, float | None]] = set()

    def finish(self) -> PageEvents:
        for request_id, hops in self._hops.items():
            if request_id not in self._gaps:
                self._extras.hand_out(request_id, hops, int(request_id in self._late))
            hops[-1].from_memory |= request_id in self._memory
            hops[-1].hinted = request_id in self._hinted
        for exchange in self.page.exchanges:
            if exchange.frame is None and exchange.kind != SOCKET and not _is_own_script(exchange):
                exchange.asker = self.page.workers.get(exchange.document or "")
        self.page.exchanges = told_once(self.page.exchanges)
        for request_id, (url, head_bytes) in self._unasked.items():
            if request_id not in self._hops:
                size = self._sizes.get(request_id)
                # Of a worker's script the head alone may be counted.
                is_whole = size is not None and head_bytes is not None and 0 < head_bytes < size
                self.page.unasked.setdefault(url, []).append(size if is_whole else None)
        for request_id, made in self._sockets.items():
            socket = _exchange({**made, "type": SOCKET}, made, request_id, 0)
            socket.net_error = self._socket_errors.get(request_id)
            self.page.unsent.setdefault(socket.url, []).append(socket)
        return self.page

    def sent(self, params: Json) -> None:
        request, started_us = params.get("request"), monotonic_us(params.get("timestamp"))
        url = _word(request.get("url")) if isinstance(request, dict) else None
        if not isinstance(request, dict) or started_us is None or not url:
            return
        request_id = str(params.get("requestId"))
        is_full = len(self._hops.get(request_id, ())) >= _MAX_HOPS
        if is_full:
            return
        exchange = _exchange(params, request, request_id, started_us)
        if self._is_repeated(params, request_id, without_login(url), started_us):
            self._again[request_id] = exchange
            return
        before = self._close_redirect(params, request_id, started_us, url)
        if before is not None and not _names(exchange.initiator):
            exchange.initiator = before.initiator
        self._add(exchange)

    def _add(self, exchange: Exchange) -> None:
        # Events may be saved in another order than that in which things happened.
        insort(self._hops.setdefault(exchange.request_id, []), exchange, key=lambda hop: hop.started_us)
        self.page.exchanges.append(exchange)

    def _is_repeated(self, params: Json, request_id: str, url: str, started_us: int) -> bool:
        """Whether another session, such as a worker's beside its page's, tells of the same hop once more."""
        hops = self._hops.get(request_id, [])
        again = "redirectResponse" not in params and hops and hops[-1].url == url
        return bool(again) or any((hop.url, hop.started_us) == (url, started_us) for hop in hops)

    def _close_redirect(self, params: Json, request_id: str, ended_us: int, target: str) -> Exchange | None:
        """The hop that led to this one, if it is known."""
        response, hops = params.get("redirectResponse"), self._hops.get(request_id)
        if not isinstance(response, dict):
            return None
        if not hops:
            self._late.add(request_id)
            return None
        hop = _asker_of(response, [one for one in hops if one.started_us <= ended_us])
        if hop is None:
            self._gaps.add(request_id)
            return None
        self._answer(hop, response)
        hop.ended_us, hop.redirected_to, hop.body_bytes = ended_us, target, 0
        hop.transferred_bytes = _count(response.get("encodedDataLength"))
        hop.has_extra_request = hop.has_extra_response = bool(params.get("redirectHasExtraInfo"))
        return hop

    def responded(self, params: Json) -> None:
        request_id, response = str(params.get("requestId")), params.get("response")
        hops = self._hops.get(request_id)
        if not isinstance(response, dict):
            return
        if not hops:
            head_bytes = _count(response.get("encodedDataLength"))
            self._unasked[request_id] = without_login(str(response.get("url"))), head_bytes
            return
        hop = _asker_of(response, hops[-1:])
        if hop is None:
            if not _is_told(response, hops):
                self._gaps.add(request_id)
                self._cut_off.add(request_id)
            return
        self._answer(hop, response)
        hop.kind = str(params.get("type", hop.kind))
        hop.has_extra_request = hop.has_extra_response = bool(params.get("hasExtraInfo"))

    def _answer(self, hop: Exchange, response: Json) -> None:
        hop.response = response
        headers, timing = response.get("headers"), response.get("timing")
        hop.response_headers = headers if isinstance(headers, dict) else {}
        if isinstance(timing, dict):
            hop.net_started_us = monotonic_us(timing.get("requestTime"))

    def data(self, params: Json) -> None:
        request_id, at_us = str(params.get("requestId")), monotonic_us(params.get("timestamp"))
        hop, count = self._last(request_id), _count(params.get("dataLength"))
        told = self._pieces.setdefault(request_id, set())
        if hop is not None and count and (at_us is None or (at_us, count) not in told):
            told.add((at_us, count))
            hop.body_bytes = (hop.body_bytes or 0) + count
            hop.heard_us = max(hop.heard_us or 0, at_us or 0) or None

    def finished(self, params: Json) -> None:
        request_id = str(params.get("requestId"))
        # Nothing at all is what it says where nobody counted.
        size = _count(params.get("encodedDataLength")) or None
        if (hop := self._last(request_id)) is not None:
            hop.ended_us, hop.transferred_bytes = monotonic_us(params.get("timestamp")), size
        elif request_id in self._unasked:
            self._sizes[request_id] = size

    def failed(self, params: Json) -> None:
        if (hop := self._last(str(params.get("requestId")))) is not None:
            hop.ended_us = monotonic_us(params.get("timestamp"))
            blocked = params.get("blockedReason")
            hop.net_error = str(params.get("errorText") or blocked or "ERR_FAILED").removeprefix("net::")
            hop.cancelled = params.get("canceled") is True
            hop.came_to_nothing = hop.cancelled and not hop.body_bytes

    def extra_sent(self, params: Json) -> None:
        self._extras.keep_sent(params)

    def extra_received(self, params: Json) -> None:
        self._extras.keep_received(params)

    def from_memory(self, params: Json) -> None:
        """Older Chromes call what memory gives by the number of the request that brought it there."""
        request_id = str(params.get("requestId"))
        hop, again = self._last(request_id), self._again.pop(request_id, None)
        if hop is not None and hop.ended_us is not None and again is not None and hop.started_us < again.started_us:
            self._add(hop := again)
        if hop is None:
            self._memory.add(request_id)
        else:
            hop.from_memory = True

    def early_hints(self, params: Json) -> None:
        self._hinted.add(str(params.get("requestId")))

    def worker(self, params: Json) -> None:
        target = params.get("targetInfo")
        if isinstance(target, dict) and target.get("type") in _WORKERS:
            self.page.workers[str(target.get("url"))] = str(target["type"])

    # WebSockets have events of their own, of which only the handshake has an instant.

    def socket_made(self, params: Json) -> None:
        initiator = params.get("initiator")
        self._sockets[str(params.get("requestId"))] = (
            params if isinstance(initiator, dict) else {**params, "initiator": {}}
        )

    def socket_sent(self, params: Json) -> None:
        request_id, started_us = str(params.get("requestId")), monotonic_us(params.get("timestamp"))
        made, request = self._sockets.pop(request_id, None), params.get("request")
        if made is None or started_us is None or not isinstance(request, dict) or request_id in self._hops:
            return
        exchange = _exchange({**made, **params, "type": SOCKET}, {**request, **made}, request_id, started_us)
        self._hops.setdefault(request_id, []).append(exchange)
        self.page.exchanges.append(exchange)

    def socket_answered(self, params: Json) -> None:
        hop, response = self._last(str(params.get("requestId"))), params.get("response")
        if hop is not None and isinstance(response, dict):
            self._answer(hop, response)
            sent = response.get("requestHeaders")
            hop.request_headers = sent if isinstance(sent, dict) else hop.request_headers

    def socket_failed(self, params: Json) -> None:
        """Of a handshake that came to nothing; what goes wrong on an open socket is no failure of its request."""
        request_id, why = str(params.get("requestId")), str(params.get("errorMessage", ""))
        hop, refused, failed = self._last(request_id), _UPGRADE_REFUSED.search(why), _NET_ERROR.search(why)
        if request_id in self._sockets and failed is not None:
            self._socket_errors[request_id] = failed[1]
        if hop is None or hop.response is not None:
            return
        if refused is not None:
            hop.response = {"status": int(refused[1])}
        # As Chrome's network log calls every answer that does not become a WebSocket.
        hop.net_error = failed[1] if failed is not None else "ERR_INVALID_RESPONSE"

    def frame_attached(self, params: Json) -> None:
        self.page.attached.add(str(params.get("frameId")))

    def frame_navigated(self, params: Json) -> None:
        frame = params.get("frame")
        if isinstance(frame, dict) and frame.get("parentId"):
            self.page.attached.add(str(frame.get("id")))

    def content_loaded(self, params: Json) -> None:
        if self._is_first("content"):
            self.page.dom_content_loaded_us = monotonic_us(params.get("timestamp"))

    def loaded(self, params: Json) -> None:
        if self._is_first("load"):
            self.page.load_us = monotonic_us(params.get("timestamp"))

    def _is_first(self, milestone: str) -> bool:
        """A document that a script writes anew comes to its milestones again, which counts for nobody (HTML,
        "document open steps"); without reports nobody knows which document it is."""
        reached = (milestone, self._origin)
        is_first = self._origin is None or reached not in self._reached
        self._reached.add(reached)
        return is_first

    def report(self, params: Json) -> None:
        payload = str(params.get("payload", ""))
        self.page.reports.append(payload)
        for told in parse_reports((payload,)):
            self._origin = told.origin_ms

    def _last(self, request_id: str) -> Exchange | None:
        """The hop that has not led elsewhere, if it is known."""
        hops = self._hops.get(request_id)
        return hops[-1] if hops and hops[-1].redirected_to is None and request_id not in self._cut_off else None


_HANDLERS = {
    "Network.requestWillBeSent": _Reader.sent,
    "Network.requestWillBeSentExtraInfo": _Reader.extra_sent,
    "Network.responseReceived": _Reader.responded,
    "Network.responseReceivedExtraInfo": _Reader.extra_received,
    "Network.responseReceivedEarlyHints": _Reader.early_hints,
    "Network.dataReceived": _Reader.data,
    "Network.loadingFinished": _Reader.finished,
    "Network.loadingFailed": _Reader.failed,
    "Network.requestServedFromCache": _Reader.from_memory,
    "Network.webSocketCreated": _Reader.socket_made,
    "Network.webSocketWillSendHandshakeRequest": _Reader.socket_sent,
    "Network.webSocketHandshakeResponseReceived": _Reader.socket_answered,
    "Network.webSocketFrameError": _Reader.socket_failed,
    "Network.webSocketClosed": _Reader.finished,
    "Target.attachedToTarget": _Reader.worker,
    "Page.frameAttached": _Reader.frame_attached,
    "Page.frameNavigated": _Reader.frame_navigated,
    "Page.domContentEventFired": _Reader.content_loaded,
    "Page.loadEventFired": _Reader.loaded,
    "Runtime.bindingCalled": _Reader.report,
}
# The events that are read; every other one is passed over.
HANDLED = frozenset(_HANDLERS)


def _exchange(params: Json, request: Json, request_id: str, started_us: int) -> Exchange:
    initiator, headers, worker = params.get("initiator"), request.get("headers"), params.get("worker")
    return Exchange(
        request_id=request_id,
        url=without_login(str(request.get("url", ""))),
        method=_word(request.get("method")) or "GET",
        started_us=started_us,
        kind=str(params.get("type", "Other")),
        priority=_word(request.get("initialPriority")),
        initiator=initiator if isinstance(initiator, dict) else {},
        render_blocking=_word(params.get("renderBlockingBehavior")),
        frame=_word(params.get("frameId")),
        document=_word(params.get("documentURL")),
        asker=_word(worker.get("type")) if isinstance(worker, dict) else None,
        preloaded=request.get("isLinkPreload") is True,
        loader=_word(params.get("loaderId")),
        request_headers=headers if isinstance(headers, dict) else {},
    )


def _names(initiator: Json) -> bool:
    """Whether it says who asked: Chrome does not of a redirect that it follows for a script."""
    return bool(initiator.get("url") or initiator.get("stack"))


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _is_own_script(exchange: Exchange) -> bool:
    """Whether this brought a worker itself, for which others asked."""
    return exchange.url == exchange.document and exchange.initiator.get("type") != "script"


def _asker_of(response: Json, hops: list[Exchange]) -> Exchange | None:
    """The last of these that asked for what this answers: answers say for which URL they are. What a worker or the page
    itself gives may have another one.
    """
    url = response.get("url")
    free = [hop for hop in hops if hop.redirected_to is None]
    if not isinstance(url, str) or response.get("fromServiceWorker") or url.startswith(CARRIED):
        return free[-1] if free else None
    told = _bare(url)
    return next((hop for hop in reversed(free) if _bare(hop.url) == told), None)


def _is_told(response: Json, hops: list[Exchange]) -> bool:
    """Whether this is the answer that led on, once more: so older Chromes tell of a redirect that CORS forbids."""
    names = ("url", "status", "timing")
    led = [hop.response for hop in hops if hop.redirected_to is not None and hop.response is not None]
    return any(all(one.get(name) == response.get(name) for name in names) for one in led)


def _bare(url: str) -> str:
    return without_login(url[:_MAX_URL_CHARS]).partition("#")[0]


def _count(value: object) -> int | None:
    number = number_of(value)
    return int(number) if number is not None and number >= 0 else None
