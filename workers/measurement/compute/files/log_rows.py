"""A waterfall from Chrome's network log alone, without DevTools: every request of the file, hop by hop.

The log knows identity, phases and connections; it does not know who asked, what for, or how large an answer was on the
wire where others came with it. Its resolution is one millisecond.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

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
from workers.measurement.compute.netlog.nouns import ABORTED, DOCUMENTS, NetHop, NetSocket, Wait
from workers.measurement.compute.netlog.payers import payers_of, reused_by, waited_for
from workers.measurement.compute.netlog.refusals import opened_for, opened_in_vain, with_accepted_errors
from workers.measurement.compute.page.join import asked_cache_alone
from workers.measurement.compute.page.row_flags import connection_flags, hop_flags
from workers.measurement.compute.texts import plain, short_url
from workers.measurement.connection import Connection, Pause
from workers.measurement.timing import Span, Timing
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom, TimingSource, Waterfall


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRows:
    """`waterfall.requests[i]` is the row of `hops[i]`. `zero_ms` is the tick that is counted from."""

    waterfall: Waterfall
    hops: tuple[NetHop, ...]
    zero_ms: int


@dataclass(frozen=True, slots=True)
class _Uses:
    """Who used which connection: its number by its source, the hop that its cost stands at, and further hosts' lookups
    by the hop (source and index) that waited for them. `in_vain` are those that requests opened and did not use.
    """

    numbers: Mapping[int, int]
    payers: Mapping[int, NetHop]
    reused: Callable[[NetHop], bool | None]
    lookups: Mapping[tuple[int, int], Wait]
    in_vain: frozenset[int]

    def pays(self, hop: NetHop) -> bool:
        return hop.link is not None and self.payers.get(hop.link) is hop


def rows_of(log: NetworkLog, *, limit: int, zero_ms: int | None = None) -> LogRows:
    """The first `limit` requests in the order in which they began, and as many connections; counted from the first
    event of a request, or from `zero_ms`.
    """
    hops, users = log.hops[:limit], _users(log)
    kept = [socket for socket in log.sockets.values() if socket.source in users or socket.was_opened]
    kept.sort(key=lambda socket: (socket.opened_ms, socket.source))
    kept = kept[:limit]
    uses = _Uses(
        numbers={socket.source: number for number, socket in enumerate(kept, 1)},
        payers=payers_of(log, users),
        reused=reused_by(log, users),
        lookups=_lookups_of_guests(log, users),
        in_vain=frozenset(source for hop in log.hops for source in opened_for(log, hop)),
    )
    view = _View(log, uses, zero_ms if zero_ms is not None else log.zero_ms or 0)
    seen = [view.connection(socket, users.get(socket.source, [])) for socket in kept]
    connections = {socket.source: one for socket, one in zip(kept, with_accepted_errors(seen), strict=True)}
    waterfall = Waterfall(
        requests=tuple(view.row(hop, number, connections) for number, hop in enumerate(hops, 1)),
        connections=tuple(connections.values()),
        truncated=log.truncated or len(log.hops) > limit,
    )
    return LogRows(waterfall=waterfall, hops=tuple(hops), zero_ms=view.zero_ms)


def _users(log: NetworkLog) -> dict[int, list[NetHop]]:
    """The hops of each connection in the order in which they were sent, the first stream of HTTP/2 first."""
    users: dict[int, list[NetHop]] = {}
    for hop in log.hops:
        if hop.link is not None and hop.link in log.sockets and hop.sent_ms is not None:
            users.setdefault(hop.link, []).append(hop)
    for hops in users.values():
        hops.sort(key=lambda hop: (hop.follows is not False, hop.sent_ms or 0))
    for source, hops in users.items():
        payer = waited_for(log, log.sockets[source], hops)
        users[source] = [payer, *(hop for hop in hops if hop is not payer)]
    for hop in log.hops:
        for source in opened_in_vain(log, hop):
            if source not in users:
                hop.link, users[source] = source, [hop]
                break
    return users


def _lookups_of_guests(log: NetworkLog, users: Mapping[int, list[NetHop]]) -> dict[tuple[int, int], Wait]:
    """The lookup of each further host on a connection, at the first request for it."""
    found: dict[tuple[int, int], Wait] = {}
    for hops in users.values():
        hosts = {host_and_port(hops[0].url)}
        for hop in hops[1:]:
            host = host_and_port(hop.url)
            wait = None if host in hosts else log.own_wait(hop)
            hosts.add(host)
            if wait is not None:
                found[hop.source, hop.index] = wait
    return found


@dataclass(frozen=True, slots=True)
class _View:
    """The log seen from its zero."""

    log: NetworkLog
    uses: _Uses
    zero_ms: int

    def row(self, hop: NetHop, number: int, connections: Mapping[int, Connection]) -> Request:
        known = hop.link is not None and (hop.send.begin_ms is not None or self.uses.pays(hop))
        socket = self.log.sockets.get(hop.link) if known and hop.link is not None else None
        used = None if socket is None else connections.get(socket.source)
        return Request(
            number=number,
            url=short_url(hop.url),
            method=plain(hop.method, 32),
            resource_type=ResourceType.DOCUMENT if hop.kind in DOCUMENTS else ResourceType.OTHER,
            timing=self._timing(hop, socket),
            timing_source=TimingSource.NETLOG,
            served_from=_served_from(hop),
            status=hop.status,
            protocol=hop.protocol,
            connection=None if used is None else used.number,
            reused=None if used is None else self.uses.reused(hop),
            address=None if used is None else used.address,
            body_bytes=hop.body_bytes,
            redirected_to=None if hop.redirected_to is None else short_url(hop.redirected_to),
            failure=self.log.failure_of(hop),
            flags=self._flags(hop, used),
        )

    def connection(self, socket: NetSocket, hops: list[NetHop]) -> Connection:
        log, facts, first = self.log, socket.tls_facts, hops[0] if hops else None
        host, port = self._place(socket, first)
        told = facts.get("next_proto")
        agreed = told if told in ("h2", "http/1.1") else None if first is None else first.protocol
        connect = log.connect_of(socket)
        began = connect or socket.tls.whole
        return Connection(
            number=self.uses.numbers[socket.source],
            host=host,
            port=port,
            address=bare_address(socket.address),
            protocol="h3" if socket.quic else agreed,
            dns=self._span(lookup_for(log, socket, first)),
            connect=self._span(connect),
            tls=self._span(socket.tls.whole),
            tls_round_trips=socket.flights or None,
            tls_version=tls_version(facts.get("version")),
            cipher=cipher_name(facts.get("cipher_suite")),
            resumed=flag(facts.get("is_resumed")),
            certificate_error=certificate_error(log, facts.get("net_error")),
            received_bytes=socket.received_bytes or None,
            requests=len(hops),
            preconnected=socket.source not in self.uses.in_vain and _is_early(began, first),
            pauses=self._pauses(socket),
        )

    def _pauses(self, socket: NetSocket) -> tuple[Pause, ...] | None:
        if socket.pauses is None:
            return None
        return tuple(Pause(span=self._seen(wait), behind_bytes=size) for wait, size in socket.pauses)

    def _place(self, socket: NetSocket, first: NetHop | None) -> tuple[str, int]:
        if socket.origin:
            return host_and_port(socket.origin)
        if first is not None:
            return host_and_port(first.url)
        opener = self.log.opener_of(socket)
        return ("", 0) if opener is None else host_and_port(opener.origin)

    def _timing(self, hop: NetHop, socket: NetSocket | None) -> Timing:
        start_us = (_asked_ms(hop) - self.zero_ms) * 1000
        ended_ms = _ended_ms(self.log, hop)
        ends = [instant for instant in (ended_ms, hop.head_ms) if instant is not None and ended_ms is not None]
        end_us = max((max(ends) - self.zero_ms) * 1000, start_us) if ends else None
        dns, connect, tls = self._opening(hop, socket)
        send, wait, download = self._exchange(hop)
        return Timing(
            start_us=start_us,
            end_us=end_us,
            dns=self._span(dns),
            connect=self._span(connect),
            tls=self._span(tls),
            send=self._span(send),
            wait=self._span(wait),
            download=self._span(download),
        )

    def _opening(self, hop: NetHop, socket: NetSocket | None) -> tuple[Wait | None, Wait | None, Wait | None]:
        if socket is not None and self.uses.pays(hop):
            return lookup_for(self.log, socket, hop), self.log.connect_of(socket), socket.tls.whole
        if hop.send.begin_ms is None and self.log.failure_of(hop) is not None:
            return self.log.attempts_of(hop)
        return self.uses.lookups.get((hop.source, hop.index)), None, None

    def _exchange(self, hop: NetHop) -> tuple[Wait | None, Wait | None, Wait | None]:
        send = hop.send.whole or _given_up(self.log, hop)
        first_ms = self.log.first_byte_of(hop)
        if send is None or first_ms is None:
            return send, None, None
        first_ms, ended_ms = max(first_ms, send[1]), _ended_ms(self.log, hop)
        if ended_ms is None or hop.is_socket or self.log.failure_of(hop):
            return send, (send[1], first_ms), None
        return send, (send[1], first_ms), (first_ms, max(ended_ms, first_ms))

    def _flags(self, hop: NetHop, used: Connection | None) -> tuple[RowFlag, ...]:
        cancelled = hop.cancelled and hop.net_error == ABORTED
        own = hop_flags(hop) + ((RowFlag.CANCELLED,) if cancelled else ())
        if used is None:
            return own
        early = self.log.sockets[hop.link].early_data if hop.link in self.log.sockets and hop.link is not None else None
        return connection_flags(used, hop.url, early_data=early, pays=self.uses.pays(hop)) + own

    def _span(self, wait: Wait | None) -> Span | None:
        return None if wait is None else self._seen(wait)

    def _seen(self, wait: Wait) -> Span:
        return Span(start_us=(wait[0] - self.zero_ms) * 1000, end_us=(wait[1] - self.zero_ms) * 1000)


def _asked_ms(hop: NetHop) -> int:
    return hop.started_ms if hop.asked_ms is None else min(hop.asked_ms, hop.started_ms)


def _ended_ms(log: NetworkLog, hop: NetHop) -> int | None:
    """Of what is still open the log has the last byte so far, which is no end."""
    is_open = not hop.over and hop.redirected_to is None
    is_connected = hop.is_socket and log.failure_of(hop) is None
    return None if is_open or is_connected else hop.ended_ms


def _given_up(log: NetworkLog, hop: NetHop) -> Wait | None:
    """The sending of what ended while it was sent, such as an upload that was cancelled: Chrome tells no end of it."""
    begin_ms, ended_ms = hop.send.begin_ms, _ended_ms(log, hop)
    if begin_ms is None or ended_ms is None or hop.send.end_ms is not None or hop.head_ms is not None:
        return None
    return (begin_ms, ended_ms) if begin_ms <= ended_ms and log.failure_of(hop) is not None else None


def _served_from(hop: NetHop) -> ServedFrom:
    is_cached = (hop.cached and not hop.transactions) or asked_cache_alone(hop)
    return ServedFrom.DISK_CACHE if is_cached else ServedFrom.NETWORK


def _is_early(began: Wait | None, first: NetHop | None) -> bool:
    """Whether a connection was begun before anybody asked for what it first carried."""
    return began is not None and (first is None or began[0] < _asked_ms(first))
