"""Names to addresses by our own questions to the system's resolvers, so that the lookup can be timed by the kernel.

A and AAAA are asked for at once over one socket. The span of a lookup runs from the first packet sent to the last
answer that was used. A name that this machine knows by itself (`LocalNames`) has no span: nobody was asked.
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

from workers.measurement.captures_probe import Arrival, LookupCapture
from workers.measurement.failure import FailureKind, Stage
from workers.probes.faults import ProbeError, is_ours
from workers.probes.loop import READABLE, WRITABLE, DeadlineError, ready
from workers.probes.names import LocalNames
from workers.probes.settings import NameServer, NameSettings
from workers.probes.stamps import receive, stamp_arrivals

_TYPES = (dns.rdatatype.A, dns.rdatatype.AAAA)
_HONEST = (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)
# What passes without fragments (DNS flag day 2020).
_UDP_BYTES = 1232
_MAX_MESSAGE_BYTES = 65535
# Once the IPv4 address is known, how long its IPv6 twin may still take: the resolution delay of RFC 8305, 3.
_TWIN_PATIENCE_NS = 50_000_000
# How often a chain of aliases that a resolver left loose is taken up again.
_MAX_FOLLOWED = 4
_MAX_ADDRESSES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Every address of a name, maybe none; `lookup` is None when no name server was asked."""

    addresses: tuple[str, ...]
    exists: bool = True
    lookup: LookupCapture | None = None


@dataclass(slots=True)
class _Inquiry:
    """One pair of questions to one server, by their ids, and what it has said so far, by type."""

    server: NameServer
    queries: dict[int, QueryMessage]
    messages: dict[dns.rdatatype.RdataType, QueryMessage] = field(default_factory=dict)
    arrivals: list[Arrival] = field(default_factory=list)

    @property
    def enough(self) -> bool:
        return len(self.messages) == len(_TYPES) or any(
            message.rcode() == dns.rcode.NXDOMAIN for message in self.messages.values()
        )

    @property
    def has_ipv4(self) -> bool:
        message = self.messages.get(dns.rdatatype.A)
        return message is not None and bool(_chain(message).addresses)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chain:
    addresses: tuple[str, ...]
    aliases: tuple[str, ...]
    min_ttl_s: int


async def resolve(host: str, local: LocalNames, settings: NameSettings, deadline_ns: int) -> Resolution:
    """Every address of the host. Raises ProbeError when no server gives an honest answer, or DeadlineError."""
    known = local.addresses(host)
    if known:
        return Resolution(addresses=known)
    asked_ns = time.monotonic_ns()
    name = host
    aliases: tuple[str, ...] = ()
    for _ in range(_MAX_FOLLOWED):
        answers = await _ask_in_turn(name, local.servers(), settings, deadline_ns)
        chains = [_chain(message) for message in answers.messages.values()]
        addresses = tuple(address for chain in chains for address in chain.addresses)[:_MAX_ADDRESSES]
        longest = max(chains, key=lambda chain: len(chain.aliases))
        aliases = (*aliases, *longest.aliases)
        if addresses or not longest.aliases or _is_missing(answers):
            break
        name = longest.aliases[-1]
    return Resolution(
        addresses=addresses,
        exists=not _is_missing(answers),
        lookup=LookupCapture(
            asked_ns=asked_ns,
            answered=answers.arrivals[-1],
            aliases=aliases,
            min_ttl_s=min(chain.min_ttl_s for chain in chains),
        ),
    )


def _is_missing(answers: _Inquiry) -> bool:
    return any(message.rcode() == dns.rcode.NXDOMAIN for message in answers.messages.values())


def _chain(message: QueryMessage) -> _Chain:
    try:
        result = message.resolve_chaining()
    except dns.exception.DNSException as error:
        raise ProbeError(FailureKind.DNS_SERVER_FAILURE, "the answer contradicts itself") from error
    return _Chain(
        addresses=tuple(data.address for data in result.answer or ()),
        aliases=tuple(data.target.to_text(omit_final_dot=True) for rrset in result.cnames for data in rrset[:1]),
        min_ttl_s=result.minimum_ttl,
    )


async def _ask_in_turn(
    name: str, servers: tuple[NameServer, ...], settings: NameSettings, deadline_ns: int
) -> _Inquiry:
    """Each server in turn, then all again with twice the patience. The last thing that went wrong is what is told."""
    fault = ProbeError(FailureKind.DNS_TIMEOUT, name)
    for turn in range(settings.rounds):
        for server in servers:
            patience_ns = int(settings.patience_s * 1e9) << turn
            try:
                return await _ask(name, server, min(deadline_ns, time.monotonic_ns() + patience_ns))
            except DeadlineError:
                fault = ProbeError(FailureKind.DNS_TIMEOUT, name)
                if time.monotonic_ns() >= deadline_ns:
                    raise
            except OSError as error:
                if is_ours(error):
                    raise ProbeError(FailureKind.INTERNAL_ERROR, error.strerror, stage=Stage.DNS) from error
                fault = ProbeError(FailureKind.DNS_SERVER_FAILURE, f"{name}: name server: {error.strerror}")
            except ProbeError as caught:
                fault = caught
        if fault.failure.kind is not FailureKind.DNS_TIMEOUT:
            break
    raise fault


async def _ask(name: str, server: NameServer, until_ns: int) -> _Inquiry:
    """One server's answers to both questions. Raises DeadlineError, OSError, or ProbeError for an error it answers."""
    answers = _Inquiry(server=server, queries={query.id: query for query in _queries(name)})
    with _socket(server, socket.SOCK_DGRAM) as sock:
        sock.connect((server.address, server.port))
        for query in answers.queries.values():
            sock.send(query.to_wire())
        try:
            while not answers.enough:
                await ready(sock, READABLE, until_ns)
                await _take(sock, answers, until_ns)
                if answers.has_ipv4:
                    until_ns = min(until_ns, answers.arrivals[-1].user_ns + _TWIN_PATIENCE_NS)
        except DeadlineError:
            if not answers.has_ipv4:
                raise
    return _accepted(answers, name)


def _accepted(answers: _Inquiry, name: str) -> _Inquiry:
    """The answers, unless an error of the server leaves the name without an address."""
    errors = [message.rcode() for message in answers.messages.values() if message.rcode() not in _HONEST]
    if errors and not answers.has_ipv4:
        raise ProbeError(FailureKind.DNS_SERVER_FAILURE, f"{name}: {dns.rcode.to_text(errors[0])}")
    return answers


def _queries(name: str) -> list[QueryMessage]:
    try:
        absolute = dns.name.from_text(name)
    except dns.exception.DNSException as error:
        raise ProbeError(FailureKind.DNS_NOT_FOUND, f"{name[:60]} is not a host name") from error
    return [dns.message.make_query(absolute, rdtype, use_edns=0, payload=_UDP_BYTES) for rdtype in _TYPES]


def _socket(server: NameServer, kind: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in server.address else socket.AF_INET
    sock = socket.socket(family, kind | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    stamp_arrivals(sock)
    return sock


async def _take(sock: socket.socket, answers: _Inquiry, until_ns: int) -> None:
    """One packet. What is no answer to one of our questions is passed over: anybody may send us packets."""
    data, arrival = receive(sock, _MAX_MESSAGE_BYTES)
    message = _read(data, answers.queries)
    if message is None:
        return
    if message.flags & dns.flags.TC:
        message, arrival = await _ask_again_by_tcp(answers.server, answers.queries[message.id], until_ns)
    answers.messages[message.question[0].rdtype] = message
    answers.arrivals.append(arrival)


def _read(data: bytes, queries: dict[int, QueryMessage]) -> QueryMessage | None:
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
    message = _read(data, {query.id: query})
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
