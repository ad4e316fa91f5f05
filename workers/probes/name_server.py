"""Questions to one name server: sent over one socket, answered in any order, stamped by the kernel.

Anybody may send us packets: what is no answer to a question of ours is passed over, so many times and no more.
"""

import errno
import os
import socket
import time
from dataclasses import dataclass, field

import dns.rcode
from dns.rdatatype import RdataType

from workers.measurement.captures_probe import Arrival, QuestionCapture
from workers.measurement.failure import FailureKind
from workers.probes.dns_wire import NXDOMAIN, ContradictionError, Query, Reply, make_query, read_reply
from workers.probes.faults import ProbeError
from workers.probes.loop import READABLE, WRITABLE, DeadlineError, ready
from workers.probes.settings import NameServer
from workers.probes.stamps import receive, stamp_arrivals

_HONEST = (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)
_MAX_MESSAGE_BYTES = 65535
_MAX_PACKETS = 64
# Once the IPv4 address is known, how long its IPv6 twin may still take: the resolution delay of RFC 8305, 3.
_TWIN_PATIENCE_NS = 50_000_000


@dataclass(slots=True)
class Inquiry:
    """Questions about one name to one server, and what it has said so far, by type. `cut` are answers that were too
    long for UDP."""

    name: str
    server: NameServer
    queries: tuple[Query, ...]
    asked_ns: dict[RdataType, int] = field(default_factory=dict)
    replies: dict[RdataType, Reply] = field(default_factory=dict)
    arrivals: dict[RdataType, Arrival] = field(default_factory=dict)
    cut: dict[RdataType, Reply] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, types: tuple[RdataType, ...], server: NameServer) -> "Inquiry":
        """Raises ProbeError for what cannot be a name in the DNS."""
        try:
            queries = tuple(make_query(name, kind) for kind in types)
        except ValueError as error:
            raise ProbeError(FailureKind.DNS_NOT_FOUND, str(error)) from error
        return cls(name=name, server=server, queries=queries)

    @property
    def is_missing(self) -> bool:
        """Whether the name does not exist, of whatever type."""
        return any(reply.code == NXDOMAIN for reply in self.replies.values())

    @property
    def enough(self) -> bool:
        return len(self.replies) == len(self.queries) or self.is_missing

    @property
    def has_ipv4(self) -> bool:
        reply = self.replies.get(RdataType.A)
        return reply is not None and bool(reply.addresses)

    @property
    def answered(self) -> Arrival:
        """The last arrival, by the kernel where all are stamped: one by TCP is read before what came meanwhile."""
        arrivals = list(self.arrivals.values())
        if any(arrival.kernel_ns is None for arrival in arrivals):
            return max(arrivals, key=lambda arrival: arrival.user_ns)
        return max(arrivals, key=lambda arrival: arrival.kernel_ns or 0)

    def questions(self) -> tuple[QuestionCapture, ...]:
        heard = self.cut | self.replies
        return tuple(
            QuestionCapture(
                record_type=kind.name,
                asked_ns=asked_ns,
                answered=self.arrivals.get(kind),
                code=_code_name(heard[kind]) if kind in heard else None,
            )
            for kind, asked_ns in self.asked_ns.items()
        )


def _code_name(reply: Reply) -> str:
    return "NOERROR" if not reply.code else dns.rcode.to_text(dns.rcode.Rcode.make(reply.code))


async def ask(inquiry: Inquiry, until_ns: int) -> None:
    """The server's answers. Raises DeadlineError, OSError, or ProbeError for an error that it answers."""
    server, packets = inquiry.server, 0
    with _socket(server, socket.SOCK_DGRAM) as sock:
        sock.connect((server.address, server.port))
        for query in inquiry.queries:
            inquiry.asked_ns[query.kind] = time.monotonic_ns()
            sock.send(query.wire)
        try:
            while not inquiry.enough:
                await ready(sock, READABLE, until_ns)
                packets += 1
                if packets > _MAX_PACKETS:
                    raise ProbeError(FailureKind.DNS_SERVER_FAILURE, "a flood of packets that answer no question")
                await _take(sock, inquiry, until_ns)
                if inquiry.has_ipv4:
                    until_ns = min(until_ns, inquiry.answered.user_ns + _TWIN_PATIENCE_NS)
        except DeadlineError:
            if not inquiry.has_ipv4:
                raise
    _check(inquiry)


def _check(inquiry: Inquiry) -> None:
    """Raises ProbeError when an error of the server leaves the name without an address."""
    errors = [_code_name(reply) for reply in inquiry.replies.values() if reply.code not in _HONEST]
    if errors and not inquiry.has_ipv4:
        raise ProbeError(FailureKind.DNS_SERVER_FAILURE, f"{inquiry.name}: {errors[0]}")


def _socket(server: NameServer, kind: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in server.address else socket.AF_INET
    sock = socket.socket(family, kind | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    stamp_arrivals(sock)
    return sock


async def _take(sock: socket.socket, inquiry: Inquiry, until_ns: int) -> None:
    """One packet. A second answer to a question changes nothing."""
    data, arrival = receive(sock, _MAX_MESSAGE_BYTES)
    for query in inquiry.queries:
        reply = None if query.kind in inquiry.replies else _reply(data, query)
        if reply is not None:
            if reply.truncated:
                inquiry.cut[query.kind] = reply
                reply, arrival = await _ask_again_by_tcp(inquiry.server, query, until_ns)
            inquiry.replies[query.kind], inquiry.arrivals[query.kind] = reply, arrival
            return


def _reply(data: bytes, query: Query) -> Reply | None:
    try:
        return read_reply(data, query)
    except ContradictionError as error:
        raise ProbeError(FailureKind.DNS_SERVER_FAILURE, f"the answer contradicts itself: {error}") from error


async def _ask_again_by_tcp(server: NameServer, query: Query, until_ns: int) -> tuple[Reply, Arrival]:
    """The whole answer where UDP had only room for its beginning (RFC 7766: two bytes of length, then the message)."""
    with _socket(server, socket.SOCK_STREAM) as sock:
        code = sock.connect_ex((server.address, server.port))
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, os.strerror(code))
        await ready(sock, WRITABLE, until_ns)
        sock.send(len(query.wire).to_bytes(2) + query.wire)
        data, arrival = await _receive_exactly(sock, 2, until_ns)
        data, arrival = await _receive_exactly(sock, int.from_bytes(data), until_ns)
    reply = _reply(data, query)
    if reply is None or reply.truncated:
        raise ProbeError(FailureKind.DNS_SERVER_FAILURE, "the answer by TCP cannot be read")
    return reply, arrival


async def _receive_exactly(sock: socket.socket, size: int, until_ns: int) -> tuple[bytes, Arrival]:
    data = b""
    while True:
        await ready(sock, READABLE, until_ns)
        part, arrival = receive(sock, size - len(data))
        data += part
        if len(data) >= size:
            return data, arrival
        if not part:
            raise OSError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
