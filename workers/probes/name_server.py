"""Questions to one name server: sent over one socket, answered in any order, stamped by the kernel.

Anybody may send us packets: what is no answer to a question of ours is passed over, so many times and no more.
"""

import errno
import os
import socket
import time
from dataclasses import dataclass, field

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
from dns.message import QueryMessage
from dns.rcode import Rcode
from dns.rdata import Rdata
from dns.rdatatype import RdataType
from dns.rrset import RRset

from workers.measurement.captures_probe import Arrival, QuestionCapture
from workers.measurement.evidence import Alias
from workers.measurement.failure import FailureKind
from workers.probes.faults import ProbeError
from workers.probes.loop import READABLE, WRITABLE, DeadlineError, ready
from workers.probes.settings import NameServer
from workers.probes.stamps import receive, stamp_arrivals

_HONEST = (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)
# What passes without fragments (DNS flag day 2020).
_UDP_BYTES = 1232
_MAX_MESSAGE_BYTES = 65535
_MAX_PACKETS = 64
# Once the IPv4 address is known, how long its IPv6 twin may still take: the resolution delay of RFC 8305, 3.
_TWIN_PATIENCE_NS = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one answer says: the aliases from the name asked for, and the records at their end, maybe none."""

    arrival: Arrival
    code: Rcode
    aliases: tuple[Alias, ...]
    records: tuple[Rdata, ...]
    ttl_s: int


@dataclass(slots=True)
class Inquiry:
    """Questions about one name to one server, by their ids, and what it has said so far, by type."""

    server: NameServer
    queries: dict[int, QueryMessage]
    asked_ns: dict[RdataType, int] = field(default_factory=dict)
    answers: dict[RdataType, Answer] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, types: tuple[RdataType, ...], server: NameServer) -> "Inquiry":
        """Raises ProbeError for what cannot be a name in the DNS."""
        try:
            absolute = dns.name.from_text(name)
        except dns.exception.DNSException as error:
            raise ProbeError(FailureKind.DNS_NOT_FOUND, f"{name[:60]} is not a host name") from error
        queries = (dns.message.make_query(absolute, kind, use_edns=0, payload=_UDP_BYTES) for kind in types)
        return cls(server=server, queries={query.id: query for query in queries})

    @property
    def is_missing(self) -> bool:
        """Whether the name does not exist, of whatever type."""
        return any(answer.code == dns.rcode.NXDOMAIN for answer in self.answers.values())

    @property
    def enough(self) -> bool:
        return len(self.answers) == len(self.queries) or self.is_missing

    @property
    def has_ipv4(self) -> bool:
        answer = self.answers.get(RdataType.A)
        return answer is not None and bool(answer.records)

    @property
    def answered(self) -> Arrival:
        """The last arrival, by the kernel where all are stamped: one by TCP is read before what came meanwhile."""
        arrivals = [answer.arrival for answer in self.answers.values()]
        if any(arrival.kernel_ns is None for arrival in arrivals):
            return max(arrivals, key=lambda arrival: arrival.user_ns)
        return max(arrivals, key=lambda arrival: arrival.kernel_ns or 0)

    def questions(self) -> tuple[QuestionCapture, ...]:
        return tuple(_question(kind, asked_ns, self.answers.get(kind)) for kind, asked_ns in self.asked_ns.items())


def _question(kind: RdataType, asked_ns: int, answer: Answer | None) -> QuestionCapture:
    return QuestionCapture(
        record_type=dns.rdatatype.to_text(kind),
        asked_ns=asked_ns,
        answered=None if answer is None else answer.arrival,
        code=None if answer is None else dns.rcode.to_text(answer.code),
    )


async def ask(inquiry: Inquiry, until_ns: int) -> None:
    """The server's answers. Raises DeadlineError, OSError, or ProbeError for an error that it answers."""
    server, packets = inquiry.server, 0
    with _socket(server, socket.SOCK_DGRAM) as sock:
        sock.connect((server.address, server.port))
        for query in inquiry.queries.values():
            inquiry.asked_ns[query.question[0].rdtype] = time.monotonic_ns()
            sock.send(query.to_wire())
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
    errors = [answer.code for answer in inquiry.answers.values() if answer.code not in _HONEST]
    if errors and not inquiry.has_ipv4:
        name = next(iter(inquiry.queries.values())).question[0].name.to_text(omit_final_dot=True)
        raise ProbeError(FailureKind.DNS_SERVER_FAILURE, f"{name}: {dns.rcode.to_text(errors[0])}")


def _socket(server: NameServer, kind: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in server.address else socket.AF_INET
    sock = socket.socket(family, kind | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    stamp_arrivals(sock)
    return sock


async def _take(sock: socket.socket, inquiry: Inquiry, until_ns: int) -> None:
    """One packet. A second answer to a question changes nothing."""
    data, arrival = receive(sock, _MAX_MESSAGE_BYTES)
    message = read_answer(data, inquiry.queries)
    if message is None or message.question[0].rdtype in inquiry.answers:
        return
    if message.flags & dns.flags.TC:
        message, arrival = await _ask_again_by_tcp(inquiry.server, inquiry.queries[message.id], until_ns)
    inquiry.answers[message.question[0].rdtype] = _answer(message, arrival)


def _answer(message: QueryMessage, arrival: Arrival) -> Answer:
    """Raises ProbeError for aliases in a circle, and for records of a name that is said not to exist."""
    try:
        chain = message.resolve_chaining()
    except dns.exception.DNSException as error:
        raise ProbeError(FailureKind.DNS_SERVER_FAILURE, "the answer contradicts itself") from error
    return Answer(
        arrival=arrival,
        code=message.rcode(),
        aliases=tuple(_alias(rrset) for rrset in chain.cnames),
        records=tuple(chain.answer or ()),
        ttl_s=chain.minimum_ttl if chain.answer is None else chain.answer.ttl,
    )


def _alias(rrset: RRset) -> Alias:
    target = rrset[0].target.to_text(omit_final_dot=True)
    return Alias(name=rrset.name.to_text(omit_final_dot=True), target=target, ttl_s=rrset.ttl)


def read_answer(data: bytes, queries: dict[int, QueryMessage]) -> QueryMessage | None:
    """The answer in a packet; None for what is none, or answers something else than the query with its id."""
    try:
        message = dns.message.from_wire(data)
    except (dns.exception.DNSException, ValueError):
        return None
    query = queries.get(message.id)
    if query is None or not isinstance(message, QueryMessage) or message.question != query.question:
        return None
    return message if query.is_response(message) else None


async def _ask_again_by_tcp(server: NameServer, query: QueryMessage, until_ns: int) -> tuple[QueryMessage, Arrival]:
    """The whole answer where UDP had only room for its beginning (RFC 7766: two bytes of length, then the message)."""
    with _socket(server, socket.SOCK_STREAM) as sock:
        code = sock.connect_ex((server.address, server.port))
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, os.strerror(code))
        await ready(sock, WRITABLE, until_ns)
        sock.send(query.to_wire(prepend_length=True))
        data, arrival = await _receive_exactly(sock, 2, until_ns)
        data, arrival = await _receive_exactly(sock, int.from_bytes(data), until_ns)
    message = read_answer(data, {query.id: query})
    if message is None:
        raise ProbeError(FailureKind.DNS_SERVER_FAILURE, "the answer by TCP cannot be read")
    return message, arrival


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
