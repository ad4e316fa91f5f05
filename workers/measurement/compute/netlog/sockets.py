"""What Chrome's network log says of connections: names looked up, sockets dialled, handshakes made."""

import base64

from workers.measurement.compute.netlog.events import NetEvent, Phase
from workers.measurement.compute.netlog.links import Handlers
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import MAX_READS, MAX_SOURCES, NetSocket, Opener, Stretch

# A server's chain is a few certificates; more is somebody's experiment.
MAX_CERTIFICATES = 10
_MAX_PEM_CHARS = 100_000
MAX_WORD_CHARS = 300
# A datagram socket belongs to a client socket, which belongs to who dials.
_MAX_OWNERS = 3
# What the log calls the library's own errors (ERR_LIB_SSL); others are those of the socket below it.
_BORINGSSL = 16
# The search for a name, which Chrome notes before it says who waits for it.
_LOOKUPS = frozenset({"HOST_RESOLVER_MANAGER_JOB", "HOST_RESOLVER_IMPL_JOB"})


class Sockets:
    """Fills `log.sockets` and `log.openers`. `handlers` takes the events by name."""

    def __init__(self, log: NetworkLog) -> None:
        self._log = log
        self._lookups: dict[int, Stretch] = {}
        self._lookup_errors: dict[int, int] = {}
        # Who asked a question about a name that has a source of its own.
        self._askers: dict[int, int] = {}
        self.handlers: Handlers = {
            "SOCKET_POOL_CONNECT_JOB": self._group,
            "SOCKET_POOL_CONNECT_JOB_CREATED": self._group,
            "TLS_STREAM_ATTEMPT_ALIVE": self._place,
            "TCP_BASED_ATTEMPT_BOUND_TO_POOL": self._manager,
            "HTTP_STREAM_POOL_QUIC_ATTEMPT_ALIVE": self._manager,
            "HOST_RESOLVER_MANAGER_REQUEST": self._resolve,
            "HOST_RESOLVER_IMPL_REQUEST": self._resolve_for,
            "HOST_RESOLVER_MANAGER_CACHE_HIT": self._known,
            "HOST_RESOLVER_MANAGER_HOSTS_HIT": self._known,
            "HOST_RESOLVER_IMPL_CACHE_HIT": self._known,
            "HOST_RESOLVER_IMPL_HOSTS_HIT": self._known,
            "HOST_RESOLVER_MANAGER_JOB_ATTACH": self._attach,
            "HOST_RESOLVER_IMPL_JOB_ATTACH": self._attach,
            "HOST_RESOLVER_MANAGER_JOB": self._lookup,
            "HOST_RESOLVER_IMPL_JOB": self._lookup,
            "SOCKET_ALIVE": self._alive,
            "UDP_CONNECT": self._datagrams,
            "TCP_CONNECT_ATTEMPT": self._attempt,
            "TCP_CONNECT": self._connected,
            "HTTP_TRANSACTION_TUNNEL_SEND_REQUEST": self._tunnel,
            "SSL_CONNECT": self._tls,
            "SSL_HANDSHAKE_ERROR": self._tls_fault,
            "SSL_CERTIFICATES_RECEIVED": self._certificates,
            "SSL_HANDSHAKE_MESSAGE_SENT": self._we_spoke,
            "SSL_HANDSHAKE_MESSAGE_RECEIVED": self._server_spoke,
            "SOCKET_BYTES_RECEIVED": self._received,
            "SOCKET_BYTES_SENT": self._we_sent,
            "SSL_SOCKET_BYTES_RECEIVED": self._turned,
            "SSL_SOCKET_BYTES_SENT": self._we_sent,
        }

    def finish(self) -> None:
        """Once all events were taken: what depends on later events, and sockets that were none of ours."""
        log = self._log
        for source, opener in list(log.openers.items()):
            if opener.resolver is not None:
                self._narrow(opener, self._lookups.get(opener.resolver, Stretch()))
                opener.dns_error = self._lookup_errors.get(opener.resolver)
            for socket in opener.sockets if opener.manager is not None and opener.manager != source else ():
                log.adopt(opener.manager or 0, socket)
        idle = [one.source for one in log.sockets.values() if one.connect == one.tls == Stretch() and not one.quic]
        for source in idle:
            del log.sockets[source]

    def _narrow(self, opener: Opener, lookup: Stretch) -> None:
        """To the lookup itself. Of one that began before the log nobody knows how long it took."""
        if lookup.begin_ms is None and not _LOOKUPS.isdisjoint(self._log.known):
            opener.dns = Stretch()
        else:
            _narrow(opener.dns, lookup)

    def _of(self, event: NetEvent) -> NetSocket | None:
        return self._log.sockets.get(event.source)

    # Who opens

    def _group(self, event: NetEvent) -> None:
        group = event.text("group_id") or event.text("group_name")
        if group is not None:
            opener = self._log.opener(event.source)
            opener.made_ms = event.time_ms
            opener.group, opener.backup = group[:MAX_WORD_CHARS], event.params.get("backup_job") is True
            opener.origin = _origin_of(opener.group)

    def _place(self, event: NetEvent) -> None:
        """The new pool tells only of handshakes where they lead."""
        place = event.text("host_port")
        if place is not None:
            opener = self._log.opener(event.source)
            opener.group = opener.origin = f"https://{place[:MAX_WORD_CHARS]}"

    def _manager(self, event: NetEvent) -> None:
        if event.dependency is not None:
            self._log.opener(event.source).manager = event.dependency

    # Names

    def _asker(self, event: NetEvent) -> int:
        return self._askers.get(event.source, event.source)

    def _resolve_for(self, event: NetEvent) -> None:
        """In older logs, such as those of Chrome 37, a question has a source of its own and names who asks."""
        if event.dependency is not None and len(self._askers) < MAX_SOURCES:
            self._askers[event.source] = event.dependency
        self._resolve(event)

    def _resolve(self, event: NetEvent) -> None:
        opener = self._log.opener(self._asker(event))
        if event.phase is Phase.BEGIN:
            opener.asked_ms = event.time_ms
            if opener.dns.begin_ms is None:
                opener.dns.begin_ms = event.time_ms
                self._log.add_asker(event.text("host"), self._asker(event), event.time_ms)
        elif event.phase is Phase.END and opener.asked_ms is not None:
            known = opener.dns.whole
            if known is None or event.time_ms - opener.asked_ms > known[1] - known[0]:
                opener.dns = Stretch(opener.asked_ms, event.time_ms)
            opener.asked_ms = None

    def _known(self, event: NetEvent) -> None:
        """The answer was at hand: no lookup."""
        opener = self._log.openers.get(self._asker(event))
        if opener is not None:
            if opener.dns.begin_ms == opener.asked_ms and opener.dns.end_ms is None:
                opener.dns = Stretch()
            opener.asked_ms = None

    def _attach(self, event: NetEvent) -> None:
        opener = self._log.opener(self._asker(event))
        opener.resolver = event.dependency
        if opener.dns.begin_ms is None:
            opener.dns.begin_ms = event.time_ms

    def _lookup(self, event: NetEvent) -> None:
        if event.source in self._lookups or len(self._lookups) < MAX_SOURCES:
            self._lookups.setdefault(event.source, Stretch()).mark(event.phase, event.time_ms)
            if (error := event.number("net_error")) is not None:
                self._lookup_errors[event.source] = error

    # TCP

    def _alive(self, event: NetEvent) -> None:
        if event.phase is Phase.BEGIN:
            self._log.add_socket(NetSocket(event.source, event.time_ms, event.dependency))

    def _attempt(self, event: NetEvent) -> None:
        if (socket := self._of(event)) is not None:
            socket.connect.mark(event.phase, event.time_ms)
            socket.address = (event.text("address") or socket.address or "")[:MAX_WORD_CHARS] or None
            socket.connect_error = socket.connect_error or "os_error" in event.params

    def _connected(self, event: NetEvent) -> None:
        if (socket := self._of(event)) is not None and event.phase is Phase.END:
            socket.connect_error = "net_error" in event.params
            socket.address = (event.text("remote_address") or socket.address or "")[:MAX_WORD_CHARS] or None

    def _received(self, event: NetEvent) -> None:
        count = event.number("byte_count")
        if (socket := self._of(event)) is not None and count is not None and count > 0:
            socket.received_bytes += count
            if event.time_ms in socket.reads or len(socket.reads) < MAX_READS:
                socket.reads[event.time_ms] = socket.reads.get(event.time_ms, 0) + count
            self._turned(event)

    def _we_sent(self, event: NetEvent) -> None:
        socket = self._of(event)
        if socket is None or not is_carried(event, socket) or len(socket.asks) >= MAX_SOURCES:
            return
        if len(socket.asks) == len(socket.turns):
            socket.asks.append(event.time_ms)

    def _turned(self, event: NetEvent) -> None:
        socket, count = self._of(event), event.number("byte_count") or 0
        if socket is None or not is_carried(event, socket):
            return
        if len(socket.asks) > len(socket.turns):
            socket.turns.append(event.time_ms)
            socket.turn_bytes.append(count)
        elif socket.turn_bytes:
            socket.turn_bytes[-1] += count

    # TLS

    def _tunnel(self, event: NetEvent) -> None:
        """Whatever handshake there was before a proxy is asked for a way to the site was made with the proxy."""
        socket = self._of(event)
        if socket is not None and event.phase is Phase.BEGIN and socket.is_secure:
            _wrap(socket)

    def _tls(self, event: NetEvent) -> None:
        if (socket := self._of(event)) is not None:
            if event.phase is Phase.BEGIN and socket.tls.end_ms is not None:
                _wrap(socket)
            socket.tls.mark(event.phase, event.time_ms)
            if event.phase is Phase.END:
                socket.tls_facts = event.params

    def _tls_fault(self, event: NetEvent) -> None:
        if (socket := self._of(event)) is not None and event.number("error_lib") == _BORINGSSL:
            socket.tls_fault = event.number("error_reason")

    def _certificates(self, event: NetEvent) -> None:
        found = event.params.get("certificates")
        if (socket := self._of(event)) is not None and isinstance(found, list):
            socket.certificates = _der_of([str(pem)[:_MAX_PEM_CHARS] for pem in found[:MAX_CERTIFICATES]])

    def _we_spoke(self, event: NetEvent) -> None:
        if (socket := self._of(event)) is not None:
            socket.spoke_last = True

    def _server_spoke(self, event: NetEvent) -> None:
        socket = self._of(event)
        # Session tickets come after the handshake and are no part of it.
        if socket is not None and socket.tls.end_ms is None and socket.spoke_last:
            socket.flights, socket.spoke_last = socket.flights + 1, False

    # Datagrams

    def _datagrams(self, event: NetEvent) -> None:
        """Chrome also dials addresses just to learn whether IPv6 works; the last one before a session is the host's."""
        address, owner = event.text("address"), event.source
        for _ in range(_MAX_OWNERS):
            if (socket := self._log.sockets.get(owner)) is None or socket.opener is None:
                break
            owner = socket.opener
        opener = self._log.openers.get(owner)
        if address is not None and opener is not None:
            opener.address = address[:MAX_WORD_CHARS]


def _wrap(socket: NetSocket) -> None:
    """Forgets the handshake with a proxy: that with the site is to come, within it."""
    socket.wrapped, socket.tls, socket.tls_facts, socket.certificates = True, Stretch(), {}, ()
    socket.flights, socket.spoke_last = 0, False


def _der_of(pems: list[str]) -> tuple[bytes, ...]:
    try:
        return tuple(base64.b64decode("".join(pem.split("\n")[1:-2])) for pem in pems)
    except ValueError:
        return ()


def is_carried(event: NetEvent, socket: NetSocket) -> bool:
    """Whether these bytes are of what was asked and answered, and none of the handshake or its tickets. Of TLS within
    TLS the log tells those of both by one name: there nobody knows.
    """
    return not socket.wrapped and event.name.startswith("SSL_") == socket.is_secure


def _narrow(wait: Stretch, lookup: Stretch) -> None:
    """To the lookup itself: what Chrome took to begin it, and to hear of its end, is nobody's answer's time."""
    begins = [instant for instant in (wait.begin_ms, lookup.begin_ms) if instant is not None]
    ends = [instant for instant in (wait.end_ms, lookup.end_ms) if instant is not None]
    narrowed = Stretch(max(begins, default=None), min(ends, default=None))
    if wait.whole is None or narrowed.whole is not None:
        wait.begin_ms, wait.end_ms = narrowed.begin_ms, narrowed.end_ms


def _origin_of(group: str) -> str:
    """The classic pool puts words before an origin, and behind it the sites that may share. Before 2021 it said "ssl/"
    for a scheme, as in "pm/ssl/shop.example:443", or nothing at all.
    """
    place = group.partition(" ")[0]
    before, scheme, host = place.rpartition("://")
    if scheme:
        return f"{before.rpartition('/')[2]}://{host}"
    *words, host = place.split("/")
    return f"{'https' if 'ssl' in words else 'http'}://{host}"
