"""When the frames of a request went out, over HTTP/2 and HTTP/3.

Chrome ends the sending of such a request in a task of its own, after those of other requests, and on a busy machine
milliseconds late: the wait for the answer would be short by as much. The bytes of its last frame are told at once. Over
HTTP/1.1 sending ends with the write itself.
"""

from workers.measurement.compute.netlog.events import NetEvent
from workers.measurement.compute.netlog.links import Handlers
from workers.measurement.compute.netlog.nouns import MAX_SOURCES, NetHop, Stream


class Frames:
    """`handlers` takes the events by name."""

    def __init__(self) -> None:
        self._sessions: dict[int, int] = {}
        self._asked: dict[int, Stream] = {}
        self._quic: dict[int, int] = {}
        self._due: dict[int, set[Stream]] = {}
        self._left: dict[Stream, int] = {}
        self.handlers: Handlers = {
            "HTTP2_SESSION_INITIALIZED": self._session,
            "HTTP2_SESSION_SEND_HEADERS": self._headers,
            "HTTP2_SESSION_SEND_DATA": self._frame,
            "SOCKET_BYTES_SENT": self._written,
            "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS": self._quic_headers,
            "QUIC_SESSION_STREAM_FRAME_SENT": self._frame,
            "QUIC_SESSION_PACKET_SENT": self._packet,
        }

    def stream_of(self, hop: NetHop) -> Stream | None:
        """The stream of a request that has just been sent; None where it has none, or the log does not tell."""
        number = self._quic.pop(hop.source, None)
        if number is not None and hop.link is not None:
            return hop.link, number
        # A session names who asked, which may be the request's job.
        own, jobs = (None if who is None else self._asked.pop(who, None) for who in (hop.source, hop.job))
        return own or jobs

    def left_ms(self, stream: Stream | None) -> int | None:
        """When the last frame of such a request went out; None where the log does not tell."""
        return None if stream is None else self._left.pop(stream, None)

    def _session(self, event: NetEvent) -> None:
        if event.dependency is not None and len(self._sessions) < MAX_SOURCES:
            self._sessions[event.dependency] = event.source

    def _headers(self, event: NetEvent) -> None:
        number = event.number("stream_id")
        if event.dependency is not None and number is not None and len(self._asked) < MAX_SOURCES:
            self._asked[event.dependency] = (event.source, number)
        self._frame(event)

    def _quic_headers(self, event: NetEvent) -> None:
        number = event.number("quic_stream_id")
        if number is not None and len(self._quic) < MAX_SOURCES:
            self._quic[event.source] = number

    def _frame(self, event: NetEvent) -> None:
        number, due = event.number("stream_id"), self._due.get(event.source)
        if number is None or (due is None and len(self._due) >= MAX_SOURCES):
            return
        if due is None:
            due = self._due[event.source] = set()
        if len(due) < MAX_SOURCES:
            due.add((event.source, number))

    def _written(self, event: NetEvent) -> None:
        session = self._sessions.get(event.source)
        if session is not None:
            self._leave(session, event.time_ms)

    def _packet(self, event: NetEvent) -> None:
        self._leave(event.source, event.time_ms)

    def _leave(self, session: int, at_ms: int) -> None:
        for stream in self._due.pop(session, ()):
            if stream in self._left or len(self._left) < MAX_SOURCES:
                self._left[stream] = at_ms
