"""DevTools' events from a file: an array or one event a line, as whoever saved them wrote them, in bounded memory.

Known forms of an event are {"method", "params"}, {"name", "params"}, ["method", params], each of them in
{"message": …}, as text too, which is what ChromeDriver's performance log writes; or all in a list of one object.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from workers.measurement.captures_page import DevToolsEvent
from workers.measurement.compute.devtools.child_frames import child_frames
from workers.measurement.compute.devtools.exchange import ON_THE_NETWORK, Exchange, monotonic_us
from workers.measurement.compute.devtools.reading import HANDLED, PageEvents, read_devtools
from workers.measurement.compute.devtools.sessions import Sessions, own_id
from workers.measurement.compute.files.json_stream import JsonStream
from workers.measurement.compute.files.kinds import kind_of, names_in
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.page.connections import Network, connections_of
from workers.measurement.compute.page.rows import row
from workers.measurement.compute.page.settle import settle_empty
from workers.measurement.compute.page.worker_requests import name_workers
from workers.measurement.compute.texts import short_url
from workers.measurement.waterfall import Waterfall

# Messages in messages: ChromeDriver's entries hold one as a text, which holds one.
_MAX_WRAPPINGS = 4
_PAIR = 2
_MAX_EVENTS = 2_000_000
_MAX_REQUESTS = 50_000
_MAX_NAMED = 5
_SAVE = "save what a session with Network.enable receives, as an array or one event a line"
_BEGINS = ("[", "{", '"')
_ASKED = "Network.requestWillBeSent"


class NoDevToolsError(Exception):
    """The file holds no events of DevTools; says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DevToolsFile:
    """What a file says. `ids` are the request id and the hop of each row; `zero_us` is DevTools' own clock."""

    waterfall: Waterfall
    ids: tuple[tuple[str, int], ...]
    zero_us: int | None = None
    requests: int = 0
    warnings: tuple[str, ...] = ()


def read_devtools_file(chunks: Iterable[bytes], *, limit: int) -> DevToolsFile:
    """The first `limit` requests of a file. Raises NoDevToolsError."""
    stream = JsonStream(chunks)
    reader = _Reader(stream)
    page = read_devtools(reader.events())
    if not reader.found:
        raise NoDevToolsError(_what_else(stream))
    page.exchanges[:] = reader.sessions.settled(page.exchanges)
    settle_empty(page.exchanges)
    name_workers(page.exchanges, page.workers, all_told=False)
    children = child_frames(page.exchanges, page.attached)
    for exchange in page.exchanges:
        exchange.frame = exchange.frame if exchange.frame in children else None
    page.exchanges.sort(key=_begin)
    kept = page.exchanges[:limit]
    zero_us = kept[0].started_us if kept else 0
    network = Network(exchanges=kept, pairs={}, log=NetworkLog(), zero_us=zero_us)
    connections = connections_of(network)
    rows = tuple(row(network, connections, index, frozenset()) for index in range(len(kept)))
    truncated = reader.truncated or len(page.exchanges) > limit
    return DevToolsFile(
        waterfall=Waterfall(requests=rows, connections=connections.all, truncated=truncated),
        ids=_ids(page, limit),
        zero_us=zero_us if kept else None,
        requests=len(page.exchanges),
        warnings=(*reader.warnings(), *_unconnected(page)),
    )


def _unconnected(page: PageEvents) -> Iterator[str]:
    """DevTools tells when a WebSocket's handshake was sent, and of what was never connected no instant."""
    sockets = [socket for made in page.unsent.values() for socket in made]
    if not sockets:
        return
    named = [
        f"{short_url(one.url)} ({one.net_error})" if one.net_error else short_url(one.url)
        for one in sockets[:_MAX_NAMED]
    ]
    more = f" and {len(sockets) - len(named)} more" if len(sockets) > len(named) else ""
    yield f"WebSockets of which no handshake is told, and so no instant and no row: {', '.join(named)}{more}."


def _what_else(stream: JsonStream) -> str:
    """What the file is, if that can be told, and what to do."""
    kind = kind_of(names_in(stream.head))
    if kind is not None and kind.command != "firstbyte cdp":
        return f"it is {kind.what}: {kind.reader(_SAVE)}"
    return f"it holds no events of DevTools' network domain, such as Network.requestWillBeSent: {_SAVE}"


def _begin(exchange: Exchange) -> int:
    """Sets and gives its start: of a document older Chromes tell only once its answer has come."""
    if exchange.served_from in ON_THE_NETWORK and exchange.timing is not None and exchange.net_started_us is not None:
        exchange.started_us = min(exchange.started_us, exchange.net_started_us)
    return exchange.started_us


def _ids(page: PageEvents, limit: int) -> tuple[tuple[str, int], ...]:
    seen: dict[str, int] = {}
    found = []
    for exchange in page.exchanges[:limit]:
        hop = seen.get(exchange.request_id, 0)
        seen[exchange.request_id] = hop + 1
        found.append((own_id(exchange.request_id), hop))
    return tuple(found)


class _Reader:
    def __init__(self, stream: JsonStream) -> None:
        self._stream = stream
        self._in_array = False
        self._closed = False
        self.sessions = Sessions()
        self.found = False
        self.truncated = False

    def events(self) -> Iterator[DevToolsEvent]:
        """The events that are read further; of requests no more than are ever told."""
        requests = 0
        for number, raw in enumerate(one for value in self._values() for one in _unpacked(value)):
            if number >= _MAX_EVENTS:
                self.truncated = True
                break
            event = _event(raw)
            if event is None or event.method not in HANDLED:
                continue
            if event.method == _ASKED and monotonic_us(event.params.get("timestamp")) is not None:
                self.found, requests = True, requests + 1
            if event.method == _ASKED and requests > _MAX_REQUESTS:
                self.truncated = True
                continue
            yield from self.sessions.take(event, _session_of(raw))
        yield from self.sessions.rest()

    def _values(self) -> Iterator[object]:
        """Of arrays one after the other, as of who saves what came every second, those in all."""
        while self._stream.take(",") or self._stream.peek() in _BEGINS:
            self._in_array = self._stream.take("[")
            yield from self._stream.objects()
            self._closed = self._stream.take("]")

    def warnings(self) -> Iterator[str]:
        if self._stream.damaged:
            yield f"{self._stream.damaged} events could not be read and were passed over."
        if self._in_array and not self._closed:
            yield "The file breaks off before its end: the last requests may lack phases."
        if self.truncated:
            yield "The file holds more than is kept: what came last is left out."


_NAMES = frozenset({"method", "name", "message"})


def _unpacked(raw: object) -> Iterator[object]:
    """An event, or what is in the lists of an object that is none."""
    if not isinstance(raw, dict) or not _NAMES.isdisjoint(raw):
        yield raw
        return
    for value in raw.values():
        yield from value if isinstance(value, list) else ()


def _event(raw: object) -> DevToolsEvent | None:
    for one in _unwrapped(raw):
        method, params = one.get("method", one.get("name")), one.get("params")
        if isinstance(method, str) and isinstance(params, dict):
            return DevToolsEvent(method, params)
    return None


def _session_of(raw: object) -> str | None:
    """The session of an event, or the page whose it is, by who saved it."""
    sessions = (one.get("sessionId", one.get("webview")) for one in _unwrapped(raw))
    return next((session for session in sessions if isinstance(session, str)), None)


def _unwrapped(raw: object) -> Iterator[dict[str, Any]]:
    """An event as it was saved, and each message that is in it, whether as text or as a pair."""
    for _ in range(_MAX_WRAPPINGS):
        if isinstance(raw, list) and len(raw) == _PAIR:
            raw = {"method": raw[0], "params": raw[1]}
        if isinstance(raw, str):
            try:
                raw = json.loads(raw)
            except (ValueError, RecursionError):
                return
        if not isinstance(raw, dict):
            return
        yield raw
        raw = raw.get("message")
