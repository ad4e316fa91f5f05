"""Reads Chrome's network log into what it says of each request and each connection.

Both generations of Chrome's pool are read: a socket is opened by a connect job (the classic pool) or by an attempt
bound to an attempt manager (the new one); whoever opened it also waited for the name.
"""

from collections.abc import Callable, Iterable

from workers.measurement.compute.netlog_events import Names, NetEvent, Phase, read_events
from workers.measurement.compute.network_log import NetHop, NetSocket, NetworkLog, Opener, Stretch

# A server's chain is a few certificates; more is somebody's experiment.
_MAX_CERTIFICATES = 10


def read_netlog(names: Names, lines: Iterable[bytes], *, since_ms: int = 0) -> NetworkLog:
    """What happened at or after `since_ms` of the monotonic clock. Unknown and damaged lines are passed over."""
    reader = _Reader(NetworkLog(errors=names.errors, missing=names.missing))
    for event in read_events(names, lines):
        if event.time_ms >= since_ms:
            reader.take(event)
    return reader.finish()


class _Reader:
    def __init__(self, log: NetworkLog) -> None:
        self.log = log
        self._current: dict[int, NetHop] = {}
        self._job_sockets: dict[int, int] = {}
        self._job_openers: dict[int, int] = {}
        self._lookups: dict[int, Stretch] = {}
        self._handlers: dict[str, Callable[[NetEvent], None]] = {
            "URL_REQUEST_START_JOB": self._start_job,
            "REQUEST_ALIVE": self._alive,
            "HTTP_STREAM_REQUEST_BOUND_TO_JOB": self._bound_to_job,
            "HTTP_STREAM_POOL_ATTEMPT_MANAGER_JOB_BOUND": self._bound_to_manager,
            "HTTP_TRANSACTION_SEND_REQUEST": self._send,
            "HTTP_TRANSACTION_READ_RESPONSE_HEADERS": self._head,
            "HTTP_TRANSACTION_READ_BODY": self._body,
            "SOCKET_POOL_BOUND_TO_CONNECT_JOB": self._job_opener,
            "SOCKET_POOL_BOUND_TO_SOCKET": self._job_socket,
            "SOCKET_POOL_CONNECT_JOB_CREATED": self._group,
            "TLS_STREAM_ATTEMPT_ALIVE": self._group,
            "TCP_BASED_ATTEMPT_BOUND_TO_POOL": self._manager,
            "HOST_RESOLVER_MANAGER_REQUEST": self._resolve,
            "HOST_RESOLVER_MANAGER_JOB_ATTACH": self._attach,
            "HOST_RESOLVER_MANAGER_JOB": self._lookup,
            "SOCKET_ALIVE": self._socket_alive,
            "TCP_CONNECT_ATTEMPT": self._attempt,
            "TCP_CONNECT": self._connected,
            "SSL_CONNECT": self._tls,
            "SSL_CERTIFICATES_RECEIVED": self._certificates,
            "SSL_HANDSHAKE_MESSAGE_SENT": self._we_spoke,
            "SSL_HANDSHAKE_MESSAGE_RECEIVED": self._server_spoke,
            "SOCKET_BYTES_RECEIVED": self._received,
        }

    def take(self, event: NetEvent) -> None:
        self._handlers[event.name](event)

    def finish(self) -> NetworkLog:
        for opener in self.log.openers.values():
            if opener.resolver is not None and opener.dns.end_ms is None:
                opener.dns.end_ms = self._lookups.get(opener.resolver, Stretch()).end_ms
        for hop in self.log.hops:
            if hop.job is not None:
                hop.socket = self._job_sockets.get(hop.job)
                hop.opener = self._job_openers.get(hop.job)
        return self.log

    def _opener(self, source: int) -> Opener:
        return self.log.openers.setdefault(source, Opener())

    # Requests

    def _start_job(self, event: NetEvent) -> None:
        if event.phase is Phase.BEGIN:
            url, method = str(event.params.get("url", "")), str(event.params.get("method", "GET"))
            hop = NetHop(event.source, url, method, event.time_ms)
            self._current[event.source] = hop
            self.log.hops.append(hop)
        else:
            self._note_error(event)

    def _alive(self, event: NetEvent) -> None:
        hop = self._current.get(event.source)
        if event.phase is Phase.END and hop is not None:
            hop.ended_ms = event.time_ms if hop.ended_ms is None else hop.ended_ms
            self._note_error(event)

    def _note_error(self, event: NetEvent) -> None:
        hop, code = self._current.get(event.source), event.params.get("net_error")
        if hop is not None and isinstance(code, int) and code < 0:
            hop.net_error = code

    def _bound_to_job(self, event: NetEvent) -> None:
        if (hop := self._current.get(event.source)) is not None:
            hop.job = event.dependency

    def _bound_to_manager(self, event: NetEvent) -> None:
        if (hop := self._current.get(event.source)) is not None:
            hop.opener = event.dependency

    def _send(self, event: NetEvent) -> None:
        if (hop := self._current.get(event.source)) is not None:
            _mark(hop.send, event)

    def _head(self, event: NetEvent) -> None:
        if (hop := self._current.get(event.source)) is not None:
            hop.head_ms = event.time_ms

    def _body(self, event: NetEvent) -> None:
        hop = self._current.get(event.source)
        if event.phase is Phase.END and hop is not None:
            hop.ended_ms = event.time_ms

    # Who opened what

    def _job_opener(self, event: NetEvent) -> None:
        if event.dependency is not None:
            self._job_openers[event.source] = event.dependency

    def _job_socket(self, event: NetEvent) -> None:
        if event.dependency is not None:
            self._job_sockets[event.source] = event.dependency

    def _group(self, event: NetEvent) -> None:
        group = event.params.get("group_id", event.params.get("host_port"))
        if isinstance(group, str):
            self._opener(event.source).group = group

    def _manager(self, event: NetEvent) -> None:
        opener = self._opener(event.source)
        opener.manager = event.dependency
        if event.dependency is not None:
            self._opener(event.dependency).sockets.extend(opener.sockets)

    # Names

    def _resolve(self, event: NetEvent) -> None:
        _mark(self._opener(event.source).dns, event)

    def _attach(self, event: NetEvent) -> None:
        opener = self._opener(event.source)
        opener.resolver = event.dependency
        if opener.dns.begin_ms is None:
            opener.dns.begin_ms = event.time_ms

    def _lookup(self, event: NetEvent) -> None:
        _mark(self._lookups.setdefault(event.source, Stretch()), event)

    # Sockets

    def _socket_alive(self, event: NetEvent) -> None:
        if event.phase is Phase.BEGIN:
            self.log.sockets[event.source] = NetSocket(event.source, event.time_ms, event.dependency)
            if event.dependency is not None:
                self._opener(event.dependency).sockets.append(event.source)

    def _attempt(self, event: NetEvent) -> None:
        if (socket := self.log.sockets.get(event.source)) is None:
            return
        _mark(socket.connect, event)
        address = event.params.get("address")
        if isinstance(address, str):
            socket.address = address
        socket.connect_error = socket.connect_error or "os_error" in event.params

    def _connected(self, event: NetEvent) -> None:
        socket = self.log.sockets.get(event.source)
        if socket is not None and event.phase is Phase.END:
            socket.connect_error = "net_error" in event.params
            socket.address = str(event.params.get("remote_address", socket.address or "")) or None

    def _tls(self, event: NetEvent) -> None:
        if (socket := self.log.sockets.get(event.source)) is not None:
            _mark(socket.tls, event)
            if event.phase is Phase.END:
                socket.tls_facts = event.params

    def _certificates(self, event: NetEvent) -> None:
        found = event.params.get("certificates")
        if (socket := self.log.sockets.get(event.source)) is not None and isinstance(found, list):
            socket.certificates = tuple(str(pem) for pem in found[:_MAX_CERTIFICATES])

    def _we_spoke(self, event: NetEvent) -> None:
        if (socket := self.log.sockets.get(event.source)) is not None:
            socket.spoke_last = True

    def _server_spoke(self, event: NetEvent) -> None:
        socket = self.log.sockets.get(event.source)
        # Session tickets come after the handshake and are no part of it.
        if socket is not None and socket.tls.end_ms is None and socket.spoke_last:
            socket.flights, socket.spoke_last = socket.flights + 1, False

    def _received(self, event: NetEvent) -> None:
        count = event.params.get("byte_count")
        if (socket := self.log.sockets.get(event.source)) is not None and isinstance(count, int):
            socket.received_bytes += count


def _mark(stretch: Stretch, event: NetEvent) -> None:
    if event.phase is Phase.BEGIN:
        stretch.begin_ms = event.time_ms if stretch.begin_ms is None else stretch.begin_ms
    elif event.phase is Phase.END:
        stretch.end_ms = event.time_ms
