"""The connections that a page opened, and which request each of them stands at.

The cost of a connection goes to the first request that used it, or that waited for it from its beginning; the others
reused it. A connection whose opening began before that request did was opened ahead (preconnected): its true time is
shown. What was opened and never used is listed too.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from workers.measurement.compute.certificate import certificate_of
from workers.measurement.compute.devtools.exchange import ON_THE_NETWORK, Exchange
from workers.measurement.compute.netlog.connection_facts import (
    bare_address,
    certificate_error,
    cipher_name,
    flag,
    host_and_port,
    tls_version,
)
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.lookups import lookup_for
from workers.measurement.compute.netlog.nouns import NetHop, NetSocket
from workers.measurement.compute.netlog.payers import waited_for
from workers.measurement.compute.netlog.refusals import opened_for, with_accepted_errors
from workers.measurement.compute.page.phases import devtools_spans, marks_of, shift, span_between
from workers.measurement.compute.texts import plain_or_none
from workers.measurement.connection import Connection, Pause
from workers.measurement.timing import Span

MAX_CONNECTIONS = 1000


@dataclass(frozen=True, slots=True)
class Network:
    """All that is known of a page's traffic.

    `pairs` joins exchanges (by index) to the log; `zero_us` is the run's start, `main_frame` the page's top frame.
    """

    exchanges: Sequence[Exchange]
    pairs: Mapping[int, NetHop]
    log: NetworkLog
    zero_us: int
    main_frame: str = ""


@dataclass(frozen=True, slots=True)
class Connections:
    """`used` gives the connection of an exchange by its index; `first` the exchange that a connection's cost stands
    at.
    """

    all: tuple[Connection, ...] = ()
    used: Mapping[int, Connection] = field(default_factory=dict)
    first: Mapping[int, int] = field(default_factory=dict)
    lookups: Mapping[int, Span] = field(default_factory=dict)


def connections_of(network: Network) -> Connections:
    """Every connection in the order of opening, numbered from 1."""
    users = _users(network)
    opened = {key: _opened_us(network, key, indexes) for key, indexes in users.items()}
    opened |= {key: socket.opened_ms * 1000 for key, socket in network.log.sockets.items() if _is_unused(socket, users)}
    keys = sorted(opened, key=lambda key: (opened[key], key))[:MAX_CONNECTIONS]
    built = {key: _connection(network, key, users.get(key, []), number) for number, key in enumerate(keys, 1)}
    in_vain = {source for hop in network.pairs.values() for source in opened_for(network.log, hop)}
    seen = {
        key: replace(one, preconnected=one.preconnected and key not in in_vain) for key, one in built.items() if one
    }
    kept = dict(zip(seen, with_accepted_errors(seen.values()), strict=True))
    return Connections(
        all=tuple(kept.values()),
        used={index: kept[key] for key, indexes in users.items() if key in kept for index in indexes},
        first={kept[key].number: indexes[0] for key, indexes in users.items() if key in kept},
        lookups=_coalesced_lookups(network, {key: indexes for key, indexes in users.items() if key in kept}),
    )


def _coalesced_lookups(network: Network, users: Mapping[int, list[int]]) -> dict[int, Span]:
    """The lookup of each further host on a connection, at the first request for it."""
    found: dict[int, Span] = {}
    for indexes in users.values():
        hosts = {host_and_port(network.exchanges[indexes[0]].url)}
        for index in indexes[1:]:
            host = host_and_port(network.exchanges[index].url)
            span = None if host in hosts else _lookup(network, index, host)
            hosts.add(host)
            if span is not None:
                found[index] = span
    return found


def _lookup(network: Network, index: int, host: tuple[str, int]) -> Span | None:
    """The longest lookup of this host within the request's own wait to be sent: by who got it its connection, else by
    a connect job that opened nothing.
    """
    hop, log = network.pairs.get(index), network.log
    if hop is None or hop.send.begin_ms is None:
        return None
    bounds = hop.started_ms, hop.send.begin_ms
    waits = [wait for wait in log.waits_of(hop) if _within(wait, bounds)] or [
        wait
        for opener in log.openers.values()
        if not opener.sockets and host_and_port(opener.origin) == host and _within(wait := log.dns_of(opener), bounds)
    ]
    longest = max(waits, key=lambda wait: wait[1] - wait[0], default=None)
    return shift(span_between(longest, {}, "", ""), network.zero_us)


def _within(wait: tuple[int, int] | None, bounds: tuple[int, int]) -> TypeGuard[tuple[int, int]]:
    return wait is not None and bounds[0] <= wait[0] <= wait[1] <= bounds[1]


def _users(network: Network) -> dict[int, list[int]]:
    """The exchanges of each connection, by Chrome's number of it, in the order in which they were sent. Many are sent
    in one instant: the log knows the first stream of HTTP/2, and DevTools who found the connection new.
    """
    users: dict[int, list[int]] = defaultdict(list)
    same = _told_numbers(network)
    for index, exchange in enumerate(network.exchanges):
        key = _key(exchange, network.pairs.get(index))
        if key is not None:
            users[same.get(key, key)].append(index)
    for indexes in users.values():
        indexes.sort(key=lambda index: (*_place_of(network, index), _sent_us(network, index)))
    return {key: _payer_first(network, key, indexes) for key, indexes in users.items()}


def _payer_first(network: Network, key: int, indexes: list[int]) -> list[int]:
    """With the one at the head that the connection's cost stands at, as far as the log knows all of them."""
    socket, known = network.log.sockets.get(key), [network.pairs.get(index) for index in indexes]
    hops = [hop for hop in known if hop is not None]
    if socket is None or len(hops) < len(indexes):
        return indexes
    one = waited_for(network.log, socket, hops)
    payer = next(index for index, hop in zip(indexes, hops, strict=True) if hop is one)
    return [payer, *(index for index in indexes if index != payer)]


def _told_numbers(network: Network) -> dict[int, int]:
    """DevTools' number of each connection of HTTP/2 from before the log began, of which that knows only the session."""
    told = ((hop.link, _told(network.exchanges[index])) for index, hop in network.pairs.items())
    sockets = network.log.sockets
    return {
        link: number
        for link, number in told
        if link is not None and number and (link not in sockets or sockets[link].older)
    }


def _key(exchange: Exchange, hop: NetHop | None) -> int | None:
    """Both witnesses call a connection by the same number; the log also knows that of a request without an answer."""
    if exchange.served_from not in ON_THE_NETWORK:
        return None
    return _told(exchange) or (None if hop is None else hop.link)


def _told(exchange: Exchange) -> int | None:
    return exchange.number("connectionId") if exchange.timing is not None else None


def _place_of(network: Network, index: int) -> tuple[bool, bool]:
    """Last are those that DevTools alone knows to have found the connection, first the one that the log says it was."""
    hop = network.pairs.get(index)
    if hop is None:
        return network.exchanges[index].found_connection is True, True
    return False, hop.follows is not False


def _sent_us(network: Network, index: int) -> int:
    hop = network.pairs.get(index)
    if hop is not None:
        return (hop.started_ms if hop.send.begin_ms is None else hop.send.begin_ms) * 1000
    exchange = network.exchanges[index]
    return marks_of(exchange.timing).get("sendStart", exchange.started_us)


def _opened_us(network: Network, key: int, indexes: list[int]) -> int:
    socket = network.log.sockets.get(key)
    return network.exchanges[indexes[0]].started_us if socket is None else socket.opened_ms * 1000


def _is_unused(socket: NetSocket, users: Mapping[int, list[int]]) -> bool:
    return socket.source not in users and socket.was_opened


def _connection(network: Network, key: int, indexes: list[int], number: int) -> Connection | None:
    socket = network.log.sockets.get(key)
    first = network.exchanges[indexes[0]] if indexes else None
    host, port = _place(network.log, socket, first)
    if not host:
        return None
    if socket is None:
        return _from_devtools(network, first, Connection(number=number, host=host, port=port, requests=len(indexes)))
    hop = network.pairs.get(indexes[0]) if indexes else None
    return _from_log(
        network, socket, first, hop, Connection(number=number, host=host, port=port, requests=len(indexes))
    )


def _from_log(
    network: Network, socket: NetSocket, first: Exchange | None, hop: NetHop | None, bare: Connection
) -> Connection:
    log, facts = network.log, socket.tls_facts
    marks = marks_of(None if first is None else first.timing)
    connect, tls = log.connect_of(socket), socket.tls.whole
    began = tls if connect is None else connect
    connected_by = "sslStart" if tls else "connectEnd"
    dns_span = span_between(lookup_for(log, socket, hop), marks, "dnsStart", "dnsEnd")
    return Connection(
        number=bare.number,
        host=bare.host,
        port=bare.port,
        address=bare_address(socket.address),
        protocol=_protocol(socket, first, hop),
        dns=shift(dns_span, network.zero_us),
        connect=shift(span_between(connect, marks, "connectStart", connected_by), network.zero_us),
        tls=shift(span_between(tls, marks, "sslStart", "sslEnd"), network.zero_us),
        tls_round_trips=socket.flights or None,
        tls_version=tls_version(facts.get("version")),
        cipher=cipher_name(facts.get("cipher_suite")),
        resumed=flag(facts.get("is_resumed")),
        certificate=certificate_of(socket.certificates),
        certificate_error=certificate_error(log, facts.get("net_error")),
        received_bytes=socket.received_bytes or None,
        requests=bare.requests,
        preconnected=_is_early(began, first, hop),
        pauses=_pauses(socket, network.zero_us),
    )


def _pauses(socket: NetSocket, zero_us: int) -> tuple[Pause, ...] | None:
    if socket.pauses is None:
        return None
    spans = [Span(start_us=begin * 1000 - zero_us, end_us=end * 1000 - zero_us) for (begin, end), _ in socket.pauses]
    return tuple(Pause(span=span, behind_bytes=size) for span, (_, size) in zip(spans, socket.pauses, strict=True))


def _is_early(began: tuple[int, int] | None, first: Exchange | None, hop: NetHop | None) -> bool:
    """Whether a connection was begun before anybody asked for what it first carried, if anything."""
    if first is None:
        return True
    # Chrome may let a request wait before it begins with it, while connections for others are opened.
    asked_ms = first.started_us // 1000 if hop is None else min(first.started_us // 1000, hop.started_ms)
    return began is not None and began[0] < asked_ms


def _protocol(socket: NetSocket, first: Exchange | None, hop: NetHop | None) -> str | None:
    told = None if first is None else first.text("protocol")
    agreed = "h3" if socket.quic else socket.tls_facts.get("next_proto")
    named = agreed if isinstance(agreed, str) and agreed in ("http/1.1", "h2", "h3") else None
    return plain_or_none(told, 100) or named or (None if hop is None else hop.protocol)


def _from_devtools(network: Network, first: Exchange | None, bare: Connection) -> Connection | None:
    """A connection that the log does not show, such as all of them when it cannot be read."""
    if first is None:
        return None
    spans = (
        {}
        if first.response is None or first.response.get("connectionReused")
        else devtools_spans(marks_of(first.timing), is_quic=first.is_quic)
    )
    security = (first.response or {}).get("securityDetails")
    version = security.get("protocol") if isinstance(security, dict) else None
    return Connection(
        number=bare.number,
        host=bare.host,
        port=bare.port,
        address=bare_address(first.text("remoteIPAddress")),
        protocol=first.text("protocol"),
        dns=shift(spans.get("dns"), network.zero_us),
        connect=shift(spans.get("connect"), network.zero_us),
        tls=shift(spans.get("tls"), network.zero_us),
        tls_version=tls_version(version),
        requests=bare.requests,
    )


def _place(log: NetworkLog, socket: NetSocket | None, first: Exchange | None) -> tuple[str, int]:
    if first is not None:
        return host_and_port(first.url)
    if socket is not None and socket.origin:
        return host_and_port(socket.origin)
    opener = None if socket is None else log.opener_of(socket)
    return ("", 0) if opener is None else host_and_port(opener.origin)
