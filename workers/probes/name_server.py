"""Questions to one name server: sent over one socket, answered in any order and however late, stamped by the kernel.

Anybody may send us packets: what is no answer to a question of ours is passed over, so many times and no more.
"""

import errno
import os
import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType

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


@dataclass(slots=True, eq=False)
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


class Line(AbstractContextManager["Line"]):
    """One server, asked over one socket as often as need be. An answer to what was asked before counts as well: a
    resolver may search for longer than anybody has patience, and asks nobody else sooner for being asked again."""

    def __init__(self, server: NameServer) -> None:
        self._server = server
        self._sock: socket.socket | None = None
        self._asked: list[Inquiry] = []

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hang_up()

    async def ask(self, inquiry: Inquiry, until_ns: int) -> Inquiry:
        """Asks, and gives what was answered first, this or an earlier one. Raises DeadlineError, OSError, or ProbeError
        for an error that the server answers to this one."""
        try:
            return await self._asked_for(inquiry, until_ns)
        except OSError:
            # Whatever else went wrong is told by a socket's next use, as if that had.
            self._hang_up()
            raise

    def _hang_up(self) -> None:
        self._asked.clear()
        if self._sock is not None:
            self._sock.close()
            self._sock = None

    async def _asked_for(self, inquiry: Inquiry, until_ns: int) -> Inquiry:
        sock = self._connected()
        self._asked.append(inquiry)
        for query in inquiry.queries:
            inquiry.asked_ns[query.kind] = time.monotonic_ns()
            sock.send(query.wire)
        while True:
            answered = await self._answered(sock, until_ns)
            self._asked.remove(answered)
            fault = _fault_of(answered)
            if fault is None:
                return answered
            if answered is inquiry:
                raise fault

    def _connected(self) -> socket.socket:
        if self._sock is None:
            self._sock = _socket(self._server, socket.SOCK_DGRAM)
            self._sock.connect((self._server.address, self._server.port))
        return self._sock

    async def _answered(self, sock: socket.socket, until_ns: int) -> Inquiry:
        packets = 0
        try:
            while (answered := self._first(lambda one: one.enough)) is None:
                await ready(sock, READABLE, until_ns)
                packets += 1
                if packets > _MAX_PACKETS:
                    raise ProbeError(FailureKind.DNS_SERVER_FAILURE, "a flood of packets that answer no question")
                await self._take(sock, until_ns)
                known = self._first(lambda one: one.has_ipv4)
                if known is not None:
                    until_ns = min(until_ns, known.answered.user_ns + _TWIN_PATIENCE_NS)
        except DeadlineError:
            answered = self._first(lambda one: one.has_ipv4)
            if answered is None:
                raise
        return answered

    def _first(self, fits: Callable[[Inquiry], bool]) -> Inquiry | None:
        return next(filter(fits, self._asked), None)

    async def _take(self, sock: socket.socket, until_ns: int) -> None:
        """One packet. A second answer to a question changes nothing."""
        data, arrival = receive(sock, _MAX_MESSAGE_BYTES)
        for inquiry in self._asked:
            for query in inquiry.queries:
                reply = None if query.kind in inquiry.replies else _reply(data, query)
                if reply is not None:
                    if reply.truncated:
                        inquiry.cut[query.kind] = reply
                        reply, arrival = await _ask_again_by_tcp(self._server, query, until_ns)
                    inquiry.replies[query.kind], inquiry.arrivals[query.kind] = reply, arrival
                    return


def _fault_of(inquiry: Inquiry) -> ProbeError | None:
    """An error of the server that leaves the name without an address."""
    errors = [_code_name(reply) for reply in inquiry.replies.values() if reply.code not in _HONEST]
    if not errors or inquiry.has_ipv4:
        return None
    return ProbeError(FailureKind.DNS_SERVER_FAILURE, f"{inquiry.name}: {errors[0]}")


def _socket(server: NameServer, kind: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in server.address else socket.AF_INET
    sock = socket.socket(family, kind | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    stamp_arrivals(sock)
    return sock


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
