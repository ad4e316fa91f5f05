"""How many bytes each answer brought on the wire, its head included, where the log tells it beyond doubt.

The log counts what was read of a connection, and of HTTP/2 names the frames in it without their sizes. An answer of
HTTP/1.1 is what the server said in its turn. One of HTTP/2 is what was read while nothing else came; of answers that
came mixed nobody knows which was how large. HTTP/3 numbers the bytes of each stream.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from workers.measurement.compute.netlog.events import NetEvent
from workers.measurement.compute.netlog.links import Handlers
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import MAX_SOURCES, NetHop, Stream
from workers.measurement.compute.netlog.sockets import is_carried

# Without these nobody knows whose frames were in a read.
_FRAMES = frozenset({"HTTP2_SESSION_RECV_HEADERS", "HTTP2_SESSION_RECV_DATA"})
# The stream of what the connection says for itself (RFC 9113, 5.1.1).
_NONE = 0


@dataclass(slots=True)
class _Session:
    """A connection of HTTP/2: `heard` are the streams of the frames in what was `read_bytes` last. `order` holds
    streams as they came and `places` where they stand in it; of those that are `mixed` something came together with
    something else.
    """

    read_bytes: int = 0
    heard: set[int] = field(default_factory=set)
    order: list[int] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    mixed: set[int] = field(default_factory=set)

    def read(self, size: int) -> None:
        """Takes a read. The beginning of a frame, of which nothing is told yet, is read together with its end."""
        if self.heard:
            self.close()
        self.read_bytes += size

    def close(self) -> None:
        """Counts the last read for whom it was."""
        for stream in self.heard - {_NONE}:
            if stream in self.sizes or len(self.sizes) < MAX_SOURCES:
                self._comes(stream)
                self.sizes[stream] = self.sizes.get(stream, 0) + self.read_bytes
        if len(self.heard) > 1:
            self.mixed |= self.heard
        self.read_bytes, self.heard = 0, set()

    def _comes(self, stream: int) -> None:
        """What came since a stream was heard before came in the midst of it."""
        place = self.places.get(stream)
        if place is None:
            self.places[stream] = len(self.order)
            self.order.append(stream)
        elif place < len(self.order) - 1:
            self.mixed.update(self.order[place:])
            for later in self.order[place + 1 :]:
                del self.places[later]
            del self.order[place + 1 :]


class Received:
    """`handlers` takes the events by name; `count` tells the hops, once all were taken."""

    def __init__(self, log: NetworkLog) -> None:
        self._log = log
        self._sessions: dict[int, _Session] = {}
        self._by_socket: dict[int, _Session] = {}
        self._quic: dict[Stream, int] = {}
        self.handlers: Handlers = {
            "HTTP2_SESSION_INITIALIZED": self._session,
            "SOCKET_BYTES_RECEIVED": self._read,
            "SSL_SOCKET_BYTES_RECEIVED": self._read,
            "HTTP2_SESSION_RECV_HEADERS": self._head,
            "HTTP2_SESSION_RECV_DATA": self._frame,
            "HTTP2_SESSION_RECV_RST_STREAM": self._frame,
            "HTTP2_SESSION_RECV_PUSH_PROMISE": self._own_frame,
            "HTTP2_SESSION_RECV_SETTINGS": self._own_frame,
            "HTTP2_SESSION_RECV_SETTINGS_ACK": self._own_frame,
            "HTTP2_SESSION_RECV_WINDOW_UPDATE": self._own_frame,
            "HTTP2_SESSION_RECV_GOAWAY": self._own_frame,
            "HTTP2_SESSION_RECV_ACCEPT_CH": self._own_frame,
            "HTTP2_SESSION_PING": self._own_frame,
            "QUIC_SESSION_STREAM_FRAME_RECEIVED": self._quic_frame,
        }

    def count(self, hops: Iterable[NetHop]) -> None:
        """Sets `received_bytes` of what was answered once, as far as it came, once hops lead to their connections."""
        alone: dict[int, list[NetHop]] = defaultdict(list)
        for session in self._sessions.values():
            session.close()
        for hop in hops:
            if (hop.protocol or "").startswith("http/1") and hop.link is not None and hop.head_ms is not None:
                alone[hop.link].append(hop)
            elif hop.stream is not None and _is_answered_once(hop):
                hop.received_bytes = self._of_stream(hop.stream)
        for link, users in alone.items():
            self._count_turns(link, users)

    def _count_turns(self, link: int, users: list[NetHop]) -> None:
        """Of a connection of HTTP/1.1, where as many requests were answered as there were turns."""
        socket = self._log.sockets.get(link)
        users.sort(key=lambda hop: hop.send.begin_ms or 0)
        instants = {hop.send.begin_ms for hop in users}
        if socket is None or not len(users) == len(instants) == len(socket.turn_bytes):
            return
        for hop, size in zip(users, socket.turn_bytes, strict=True):
            hop.received_bytes = size if _is_answered_once(hop) else None

    def _of_stream(self, stream: Stream) -> int | None:
        session, number = self._sessions.get(stream[0]), stream[1]
        if session is None:
            return self._quic.get(stream)
        return None if number in session.mixed else session.sizes.get(number)

    def _session(self, event: NetEvent) -> None:
        socket = self._log.sockets.get(event.dependency or 0)
        if socket is not None and socket.wrapped:
            return
        if event.dependency is not None and len(self._sessions) < MAX_SOURCES and self._log.known >= _FRAMES:
            self._by_socket[event.dependency] = self._sessions[event.source] = _Session()

    def _read(self, event: NetEvent) -> None:
        session, size = self._by_socket.get(event.source), event.number("byte_count")
        socket = self._log.sockets.get(event.source)
        if session is not None and size is not None and socket is not None and is_carried(event, socket):
            session.read(size)

    def _head(self, event: NetEvent) -> None:
        """An early answer (103) ends before the one that it announces, between which others come."""
        session, stream = self._sessions.get(event.source), event.number("stream_id")
        if session is None or stream is None:
            return
        lines = event.params.get("headers")
        if isinstance(lines, list) and lines and str(lines[0]).startswith(":status: 1"):
            session.mixed.add(stream)
            session.heard.add(_NONE)
        else:
            session.heard.add(stream)

    def _frame(self, event: NetEvent) -> None:
        session, stream = self._sessions.get(event.source), event.number("stream_id")
        if session is not None and stream is not None:
            session.heard.add(stream)

    def _own_frame(self, event: NetEvent) -> None:
        if (session := self._sessions.get(event.source)) is not None:
            session.heard.add(_NONE)

    def _quic_frame(self, event: NetEvent) -> None:
        number, offset, size = (event.number(name) for name in ("stream_id", "offset", "length"))
        if number is None or offset is None or size is None:
            return
        stream = event.source, number
        if stream in self._quic or len(self._quic) < MAX_SOURCES:
            self._quic[stream] = max(self._quic.get(stream, 0), offset + size)


def _is_answered_once(hop: NetHop) -> bool:
    """What follows on a WebSocket is no answer."""
    return hop.transactions == 1 and not hop.is_socket
