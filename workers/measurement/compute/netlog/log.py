"""Everything that Chrome's network log says of one run, and what follows from it for a request or a connection."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from workers.measurement.compute.netlog.events import WANTED
from workers.measurement.compute.netlog.nouns import (
    ABORTED,
    MAX_SOURCES,
    NOT_RESOLVED,
    TICK_MS,
    NetHop,
    NetSocket,
    Opener,
    Stretch,
    Wait,
    length_of,
)

# A question that a search answers names it, and one that needs none says so; Chrome before 2020 said IMPL for MANAGER.
_SEARCHES = frozenset({"HOST_RESOLVER_MANAGER_JOB_ATTACH", "HOST_RESOLVER_IMPL_JOB_ATTACH"})
_AT_HAND = (
    frozenset({"HOST_RESOLVER_MANAGER_CACHE_HIT", "HOST_RESOLVER_MANAGER_HOSTS_HIT"}),
    frozenset({"HOST_RESOLVER_IMPL_CACHE_HIT", "HOST_RESOLVER_IMPL_HOSTS_HIT"}),
)
# Attempts of one opener, or for one request: Chrome tries a handful of addresses, in a handful of ways.
_MAX_ATTEMPTS = 64
MAX_TRIES = 16
# Numbers of what Chrome calls an error and is none: there is more to come, or the connection goes on as a WebSocket.
_NO_FAILURES = frozenset({-1, -173})


@dataclass(slots=True)
class NetworkLog:
    """Everything of one run. `missing` names events that this Chrome does not write and that phases need, `known` all
    that we read and it may write: what it never tells was not seen, which is no sign that it was not there. `strangers`
    were under way before the log began: they have no URL and are told of nowhere, but may have used a connection first.

    `controllers` holds, for who got a request its connection, everybody who tried to open one for it, and
    `controller_of` for whom each of these tried first. `askers` asked for the addresses of an origin, with when, in
    order. `zero_ms` is the first event of any request. `groups` holds when which sockets were opened for an origin,
    once anybody asked. `truncated` says that there was more than is kept.
    """

    hops: list[NetHop] = field(default_factory=list)
    strangers: list[NetHop] = field(default_factory=list)
    sockets: dict[int, NetSocket] = field(default_factory=dict)
    openers: dict[int, Opener] = field(default_factory=dict)
    controllers: dict[int, list[int]] = field(default_factory=dict)
    controller_of: dict[int, int] = field(default_factory=dict)
    askers: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    errors: Mapping[int, str] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    known: frozenset[str] = WANTED
    groups: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    zero_ms: int | None = None
    truncated: bool = False

    def opener(self, source: int) -> Opener:
        """The opener of that number, a new one if need be."""
        if source not in self.openers and len(self.openers) >= MAX_SOURCES:
            self.truncated = True
            return Opener()
        return self.openers.setdefault(source, Opener())

    def add_socket(self, socket: NetSocket) -> None:
        """Keeps a connection and tells its opener."""
        if len(self.sockets) >= MAX_SOURCES:
            self.truncated = True
            return
        self.sockets[socket.source] = socket
        if socket.opener is not None:
            self.adopt(socket.opener, socket.source)

    def adopt(self, opener: int, socket: int) -> None:
        """Counts a socket among an opener's attempts."""
        attempts = self.opener(opener).sockets
        if socket not in attempts and len(attempts) < _MAX_ATTEMPTS:
            attempts.append(socket)

    def add_try(self, controller: int, opener: int) -> None:
        """Notes that somebody tried to open a connection for the requests of a controller."""
        if controller not in self.controllers and len(self.controllers) >= MAX_SOURCES:
            self.truncated = True
            return
        tries = self.controllers.setdefault(controller, [])
        if opener not in tries and len(tries) < MAX_TRIES:
            tries.append(opener)
            self.controller_of.setdefault(opener, controller)

    def failure_of(self, hop: NetHop) -> str | None:
        """Chrome's name (ERR_…) for what ended a request, if anything did."""
        if hop.net_error is None or hop.net_error in _NO_FAILURES:
            return None
        name = self._name_of(hop.net_error)
        return self._vain_search_of(hop) or name if name == NOT_RESOLVED else name

    def _vain_search_of(self, hop: NetHop) -> str | None:
        """Why the search for a request's name came to nothing: none is there, or whoever was asked told none."""
        openers = self._openers_of(hop)
        managers = (self.openers.get(opener.manager or 0) for opener in openers)
        errors = [one.dns_error for one in (*managers, *openers) if one is not None]
        told = [error for error in errors if error is not None and error != ABORTED]
        return self._name_of(told[-1]) if told else None

    def _name_of(self, error: int) -> str:
        return self.errors.get(error, f"ERR_{-error}")

    def first_byte_of(self, hop: NetHop) -> int | None:
        """When the final answer began: over HTTP/1.1 and behind no early one (103) its socket was read, else its head
        was there. None where there was no answer.
        """
        socket = None if hop.link is None else self.sockets.get(hop.link)
        sent, head_ms = hop.send.whole, hop.head_ms
        is_alone = (hop.protocol or "").startswith("http/1") and hop.hints_ms is None
        if head_ms is None or sent is None or socket is None or not is_alone:
            return head_ms
        at, after = bisect_left(socket.asks, sent[0]), bisect_right(socket.asks, sent[1])
        # Of two that were sent while this one was, to the tick, nobody knows which it is.
        return head_ms if after - at > 1 else min([head_ms, *socket.turns[at : at + 1]])

    def opener_of(self, socket: NetSocket) -> Opener | None:
        return None if socket.opener is None else self.openers.get(socket.opener)

    def dns_of(self, opener: Opener | None) -> Wait | None:
        """How long it waited for the name: to the answer, or to the first attempt made with a part of it.

        None where no lookup was made: the answer was in Chrome's cache, or the host is an address.
        """
        if opener is None:
            return None
        manager = None if opener.manager is None else self.openers.get(opener.manager)
        if manager is not None and manager.manager is None and opener.dns.begin_ms is None:
            return self.dns_of(manager)
        begin_ms, end_ms = opener.dns.begin_ms, opener.dns.end_ms
        if begin_ms is None or (opener.resolver is None and self._may_have_been_known(opener.dns)):
            return None
        attempts = [began for began in map(self._began, opener.sockets) if began is not None and began >= begin_ms]
        ends = [end for end in (end_ms, min(attempts, default=None)) if end is not None and end >= begin_ms]
        return (begin_ms, min(ends)) if ends else None

    def _may_have_been_known(self, wait: Stretch) -> bool:
        """Whether an answer for which no search is seen may have been at hand. A log that names searches would show
        one; of one that does not, only what was neither in memory nor at once was searched for.
        """
        if self.known & _SEARCHES or not any(choice <= self.known for choice in _AT_HAND):
            return True
        whole = wait.whole
        return whole is not None and length_of(whole) <= TICK_MS

    def add_asker(self, host: str | None, opener: int, time_ms: int) -> None:
        """Notes that somebody asked for the addresses of an origin."""
        if host is not None and opener in self.openers:
            self.askers.setdefault(host, []).append((time_ms, opener))

    def waits_of(self, hop: NetHop) -> Iterator[Wait]:
        """Every lookup that was made to get this request a connection, also at tries of it before the last."""
        own = () if hop.opener is None else (hop.opener,)
        for former in hop.former:
            yield from self.waits_for(former)
        yield from self.waits_for(hop.controller, own)

    def waits_for(self, controller: int | None, more: Sequence[int] = ()) -> Iterator[Wait]:
        """The lookups of everybody who tried for a controller, and of these openers."""
        tries = () if controller is None else self.controllers.get(controller, ())
        waits = (self.dns_of(self.openers.get(source)) for source in dict.fromkeys([*tries, *more]))
        return (wait for wait in waits if wait is not None)

    def own_wait(self, hop: NetHop) -> Wait | None:
        """The longest lookup within a request's own wait to be sent."""
        sent_ms = hop.send.begin_ms
        waits = [wait for wait in self.waits_of(hop) if sent_ms is None or wait[1] <= sent_ms]
        return max((wait for wait in waits if wait[0] >= hop.started_ms), key=length_of, default=None)

    def tries_of(self, hop: NetHop) -> list[int]:
        """Every socket that was opened to get this request a connection."""
        sources = (source for opener in self._openers_of(hop) for source in opener.sockets)
        return list(dict.fromkeys(islice(sources, _MAX_ATTEMPTS)))

    def all_tries_of(self, hop: NetHop) -> list[int]:
        """The same, and before them those of its former beginnings: Chrome begins anew where a connection broke."""
        tries = (source for former in hop.former for source in self.controllers.get(former, ()))
        openers = [self.openers[source] for source in tries if source in self.openers]
        sources = (source for opener in openers for source in opener.sockets)
        return list(dict.fromkeys([*islice(sources, _MAX_ATTEMPTS), *self.tries_of(hop)]))

    def _openers_of(self, hop: NetHop) -> list[Opener]:
        """Everybody who tried to open a connection for it."""
        tries = () if hop.controller is None else self.controllers.get(hop.controller, ())
        openers = [self.openers.get(source) for source in dict.fromkeys([*tries, hop.opener or 0])]
        return [opener for opener in openers if opener is not None]

    def attempts_of(self, hop: NetHop) -> tuple[Wait | None, Wait | None, Wait | None]:
        """What a request spent on connections that came to nothing: its lookup, every attempt, the last handshake."""
        sockets = [self.sockets[source] for source in self.tries_of(hop) if source in self.sockets]
        spans = [socket.connect.whole for socket in sockets if socket.connect.whole is not None]
        connect = (min(begin for begin, _ in spans), max(end for _, end in spans)) if spans else None
        tls = next((socket.tls.whole for socket in reversed(sockets) if socket.tls.whole is not None), None)
        # What was dialled ahead looked the name up before the request began.
        waits = (wait for wait in self.waits_of(hop) if wait[1] > hop.started_ms)
        return max(waits, key=length_of, default=None), connect, tls

    def connect_of(self, socket: NetSocket) -> Wait | None:
        """From the first attempt at any of the host's addresses to the end of the one that was kept."""
        whole = socket.connect.whole
        if whole is None:
            return None
        vain = [other.connect.begin_ms for other in self.in_vain(socket)]
        return min([whole[0], *(began_ms for began_ms in vain if began_ms is not None)]), whole[1]

    def in_vain(self, socket: NetSocket) -> list[NetSocket]:
        """Attempts for the same connection that came to nothing before this one: since the last that came to something
        they failed, or nobody waited for their end.
        """
        begin_ms = socket.connect.begin_ms
        if begin_ms is None or socket.quic:
            return []
        others = [
            (other.connect.begin_ms, other)
            for other in self._relatives(socket)
            if other is not socket and other.connect.begin_ms is not None and other.connect.begin_ms <= begin_ms
        ]
        came = [began_ms for began_ms, other in others if _came_to_something(other) and began_ms < begin_ms]
        since_ms = max(came, default=0)
        return [other for began_ms, other in others if began_ms >= since_ms and not _came_to_something(other)]

    def _relatives(self, socket: NetSocket) -> Iterator[NetSocket]:
        """Who dialled for the same: the opener, its manager's other attempts, the job that a second one backs up."""
        opener = self.opener_of(socket)
        if opener is None:
            return
        sources = list(opener.sockets)
        if opener.manager in self.openers:
            sources += self.openers[opener.manager].sockets
        if opener.backup:
            sources += self._sockets_of_group(opener.group, socket.opened_ms)
        for source in dict.fromkeys(sources):
            if (other := self.sockets.get(source)) is not None and not other.quic:
                yield other

    def _sockets_of_group(self, group: str, until_ms: int) -> list[int]:
        """The last few that were opened for an origin up to an instant. Once all events were taken."""
        if not self.groups:
            for one in self.openers.values():
                known = (self.sockets[source] for source in one.sockets if source in self.sockets)
                self.groups.setdefault(one.group, []).extend((socket.opened_ms, socket.source) for socket in known)
            for opened in self.groups.values():
                opened.sort()
        opened = self.groups.get(group, [])
        end = bisect_right(opened, until_ms, key=lambda pair: pair[0])
        return [source for _, source in opened[max(0, end - _MAX_ATTEMPTS) : end]]

    def _began(self, source: int) -> int | None:
        socket = self.sockets.get(source)
        if socket is None:
            return None
        return socket.tls.begin_ms if socket.quic else socket.connect.begin_ms


def _came_to_something(socket: NetSocket) -> bool:
    return socket.connect.whole is not None and not socket.connect_error
