"""Tells the requests of several DevTools sessions apart whose ids are the same, as pages of one file may have them.

An id is a request's own within one browser process. Two sessions that tell of the same URL at the same instant tell of
the same request, such as a worker's and its page's; what one of them tells without the beginning is of that one too.
Sessions that use one id for two requests are of different browsers, which number their connections each for itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from workers.measurement.captures_page import DevToolsEvent
from workers.measurement.compute.devtools.exchange import Exchange

_BEGIN = frozenset({"Network.requestWillBeSent", "Network.webSocketCreated"})
_APART = "\0"
# Events without a beginning, of requests that began before the file did.
_MAX_WAITING = 100_000
# No browser has opened as many connections.
_MAX_CONNECTIONS = 10**9
_Key = tuple[str, str]


def own_id(request_id: str) -> str:
    """The id as the file has it."""
    return request_id.partition(_APART)[0]


class Sessions:
    """`take` gives events on with an id that is their request's alone; `settled` does what can be done only then."""

    def __init__(self) -> None:
        self._ids: dict[_Key, str] = {}
        self._begun: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self._waiting: dict[_Key, list[DevToolsEvent]] = defaultdict(list)
        self._waiting_count = 0
        # Sessions of other browsers than the first.
        self._others: dict[str, int] = {}

    def take(self, event: DevToolsEvent, session: str | None) -> Iterator[DevToolsEvent]:
        """What is certain now; what comes before its request's beginning waits for that."""
        request_id = event.params.get("requestId")
        if session is None or not isinstance(request_id, str):
            yield event
            return
        key = session, request_id
        if event.method in _BEGIN:
            self._begin(key, event)
            for one in (event, *self._waiting.pop(key, ())):
                yield _named(one, self._ids[key])
        elif key in self._ids:
            yield _named(event, self._ids[key])
        elif self._waiting_count < _MAX_WAITING:
            self._waiting_count += 1
            self._waiting[key].append(event)

    def rest(self) -> Iterator[DevToolsEvent]:
        """At the end: what a session told without the beginning, where all are of one browser."""
        for (_, request_id), events in self._waiting.items():
            if request_id in self._begun and not self._others:
                yield from events

    def settled(self, exchanges: Iterable[Exchange]) -> list[Exchange]:
        """In the order in which they began, each told once and with connections of its own browser."""
        told: dict[tuple[str, str, int], Exchange] = {}
        for exchange in exchanges:
            place = own_id(exchange.request_id), exchange.url, exchange.started_us
            known = told.setdefault(place, exchange)
            if known.response is None and exchange.response is not None:
                told[place] = exchange
        browsers = {request_id: session for (session, _), request_id in self._ids.items()}
        for exchange in told.values():
            _open_again(exchange)
            _move(exchange, self._others.get(browsers.get(exchange.request_id, ""), 0))
        return sorted(told.values(), key=lambda exchange: exchange.started_us)

    def _begin(self, key: _Key, event: DevToolsEvent) -> None:
        session, request_id = key
        mark = _mark(event)
        if key not in self._ids:
            is_same = request_id not in self._begun or mark in self._begun[request_id]
            self._ids[key] = request_id if is_same else f"{request_id}{_APART}{session}"
            if not is_same:
                self._others.setdefault(session, len(self._others) + 1)
        self._begun[self._ids[key]].add(mark)


def _mark(event: DevToolsEvent) -> tuple[str, str]:
    request = event.params.get("request")
    url = request.get("url") if isinstance(request, dict) else event.params.get("url")
    return str(url), str(event.params.get("timestamp"))


def _named(event: DevToolsEvent, request_id: str) -> DevToolsEvent:
    if event.params.get("requestId") == request_id:
        return event
    return DevToolsEvent(event.method, {**event.params, "requestId": request_id})


def _move(exchange: Exchange, browser: int) -> None:
    connection = exchange.number("connectionId")
    if browser and connection:
        exchange.response = {**(exchange.response or {}), "connectionId": connection + browser * _MAX_CONNECTIONS}


def _open_again(exchange: Exchange) -> None:
    """The end of a request is that of its last hop. Whose answer is not told may have led elsewhere untold."""
    if exchange.response is None and exchange.net_error is None:
        exchange.ended_us = exchange.transferred_bytes = exchange.body_bytes = None
