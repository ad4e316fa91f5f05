"""What Chrome's network log says of QUIC's connections, which are dialled and shake hands at once."""

from workers.measurement.compute.netlog.events import NetEvent, Phase
from workers.measurement.compute.netlog.links import Handlers
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import MAX_SOURCES, NetSocket, Stretch
from workers.measurement.compute.netlog.quic_handshake import QuicHandshake
from workers.measurement.compute.netlog.sockets import MAX_CERTIFICATES, MAX_WORD_CHARS

# Chrome's word for a session that sent its first request with its first flight, and was heard.
_EARLY = {"AttemptedAndSucceeded": True, "AttemptedAndRejected": False, "NotAttempted": False}
# QUIC_NETWORK_IDLE_TIMEOUT, …HANDSHAKE_TIMEOUT, …TOO_MANY_RTOS (quiche's quic_error_codes.h).
_SILENCES = frozenset({25, 67, 85})
_HANDSHAKE_ENDS = frozenset({"QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE", "QUIC_SESSION_ZERO_RTT_STATE"})


class Sessions:
    """Fills `log.sockets` with QUIC sessions. `handlers` takes the events by name."""

    def __init__(self, log: NetworkLog) -> None:
        self._log = log
        self._dialling: int | None = None
        self._dialled: dict[int, int] = {}
        self._handshakes: dict[int, QuicHandshake] = {}
        self.handlers: Handlers = {
            "QUIC_SESSION_POOL_JOB_CONNECT": self._dial,
            "QUIC_STREAM_FACTORY_JOB_CONNECT": self._dial,
            "QUIC_SESSION_CREATED": self._created,
            "QUIC_SESSION": self._session,
            "QUIC_SESSION_TRANSPORT_PARAMETERS_SENT": self._first_flight,
            "QUIC_SESSION_TRANSPORT_PARAMETERS_RESUMED": self._resumed,
            "QUIC_SESSION_VERSION_NEGOTIATED": self._version,
            "QUIC_SESSION_CRYPTO_FRAME_RECEIVED": self._server_spoke,
            "QUIC_SESSION_PACKET_RECEIVED": self._received,
            "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE": self._complete,
            "QUIC_SESSION_ZERO_RTT_STATE": self._complete,
            "QUIC_SESSION_CLOSE_ON_ERROR": self._error,
            "QUIC_SESSION_CLOSED": self._closed,
        }

    def finish(self) -> None:
        """Once all events were taken: what servers said in pieces, and a handshake's end, which older Chromes tell only
        by that of the job that made it.
        """
        for source, handshake in self._handshakes.items():
            _learn(self._log.sockets[source], handshake)
        if not _HANDSHAKE_ENDS.isdisjoint(self._log.known):
            return
        for socket in self._log.sockets.values():
            if socket.quic and socket.tls.end_ms is None and not socket.connect_error and socket.opener is not None:
                socket.tls.end_ms = self._dialled.get(socket.opener)

    def _of(self, event: NetEvent) -> NetSocket | None:
        socket = self._log.sockets.get(event.source)
        return socket if socket is not None and socket.quic else None

    def _dial(self, event: NetEvent) -> None:
        if event.phase is Phase.BEGIN:
            self._dialling = event.source
        elif event.phase is Phase.END and "net_error" not in event.params and len(self._dialled) < MAX_SOURCES:
            self._dialled[event.source] = event.time_ms

    def _session(self, event: NetEvent) -> None:
        if event.phase is not Phase.BEGIN:
            return
        host, port = event.text("host") or "", event.number("port") or 443
        origin = f"https://{_bracketed(host[:MAX_WORD_CHARS])}:{port}" if host else ""
        socket = NetSocket(event.source, event.time_ms, quic=True, origin=origin, tls=Stretch(event.time_ms))
        self._log.add_socket(socket)
        # Dialling and the session that comes of it are one go; newer Chromes also name it.
        self._belongs(socket, self._dialling)
        self._dialling = None

    def _created(self, event: NetEvent) -> None:
        socket = None if event.dependency is None else self._log.sockets.get(event.dependency)
        if socket is not None and socket.quic:
            self._belongs(socket, event.source)

    def _belongs(self, socket: NetSocket, opener: int | None) -> None:
        if opener is None:
            return
        socket.opener = opener
        socket.address = self._log.opener(opener).address
        self._log.adopt(opener, socket.source)

    def _first_flight(self, event: NetEvent) -> None:
        if (socket := self._of(event)) is not None and socket.tls.end_ms is None:
            socket.tls.begin_ms = event.time_ms

    def _resumed(self, event: NetEvent) -> None:
        if (socket := self._of(event)) is not None:
            socket.tls_facts = {**socket.tls_facts, "is_resumed": True}

    def _version(self, event: NetEvent) -> None:
        version = event.text("version") or ""
        # QUIC's own versions carry TLS 1.3 (RFC 9001); what Google had before carried its own handshake.
        if (socket := self._of(event)) is not None and version.startswith(("RFC", "draft", "h3", "ff00")):
            socket.tls_facts = {**socket.tls_facts, "version": "TLS 1.3"}

    def _received(self, event: NetEvent) -> None:
        if (socket := self._of(event)) is not None:
            socket.received_bytes += max(0, event.number("size") or 0)

    def _server_spoke(self, event: NetEvent) -> None:
        level, offset, data = event.text("encryption_level"), event.number("offset"), event.text("bytes")
        if self._of(event) is not None and level is not None and offset is not None and data is not None:
            self._handshakes.setdefault(event.source, QuicHandshake()).take(level, offset, data)

    def _complete(self, event: NetEvent) -> None:
        if (socket := self._of(event)) is None:
            return
        if socket.tls.end_ms is None:
            socket.tls.end_ms = event.time_ms
        if event.name == "QUIC_SESSION_ZERO_RTT_STATE":
            socket.early_data = _EARLY.get(event.text("state") or "")

    def _error(self, event: NetEvent) -> None:
        if (socket := self._of(event)) is not None and socket.tls.end_ms is None:
            socket.connect_error = True
            socket.tls_facts = {**socket.tls_facts, "net_error": event.params.get("net_error")}

    def _closed(self, event: NetEvent) -> None:
        if (socket := self._of(event)) is not None and event.params.get("from_peer") is False:
            socket.fell_silent = event.number("quic_error") in _SILENCES


def _learn(socket: NetSocket, handshake: QuicHandshake) -> None:
    """In the words in which Chrome tells the same of TCP's handshakes."""
    said = {"cipher_suite": handshake.cipher, "is_resumed": handshake.resumed}
    socket.tls_facts = {**said, **socket.tls_facts}
    socket.certificates = handshake.chain[:MAX_CERTIFICATES]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
