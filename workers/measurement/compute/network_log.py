"""The nouns of Chrome's network log: requests, connections and who opened them, in milliseconds of the monotonic clock.

The log has a resolution of one millisecond; a span of 0 ms is one that began and ended within the same. DevTools
calls a connection by the number of its socket here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Stretch:
    """From `begin_ms` to `end_ms`; None where the log does not show it."""

    begin_ms: int | None = None
    end_ms: int | None = None

    @property
    def whole(self) -> tuple[int, int] | None:
        return None if self.begin_ms is None or self.end_ms is None else (self.begin_ms, self.end_ms)


@dataclass(slots=True)
class NetHop:
    """One URL of a request: redirects begin a new one. `opener` is who had to open a connection for it, if anybody."""

    source: int
    url: str
    method: str
    started_ms: int
    send: Stretch = field(default_factory=Stretch)
    head_ms: int | None = None
    ended_ms: int | None = None
    net_error: int | None = None
    socket: int | None = None
    opener: int | None = None
    job: int | None = None


@dataclass(slots=True)
class Opener:
    """A connect job or attempt.

    `resolver` is the lookup it waited for, from `dns.begin_ms` on. `group` names its host.
    """

    dns: Stretch = field(default_factory=Stretch)
    resolver: int | None = None
    sockets: list[int] = field(default_factory=list)
    manager: int | None = None
    group: str = ""

    @property
    def url(self) -> str:
        """The origin it opened connections to. The classic pool may prefix it; the new one leaves the scheme out."""
        return self.group[self.group.find("http") :] if "http" in self.group else f"https://{self.group}"


@dataclass(slots=True)
class NetSocket:
    """One TCP socket. `flights` counts turns from our handshake messages to the server's."""

    source: int
    opened_ms: int
    opener: int | None = None
    connect: Stretch = field(default_factory=Stretch)
    tls: Stretch = field(default_factory=Stretch)
    connect_error: bool = False
    address: str | None = None
    tls_facts: Mapping[str, Any] = field(default_factory=dict)
    certificates: tuple[str, ...] = ()
    flights: int = 0
    spoke_last: bool = False
    received_bytes: int = 0


@dataclass(slots=True)
class NetworkLog:
    """Everything of one run. `missing` names events that this Chrome does not write and that phases need."""

    hops: list[NetHop] = field(default_factory=list)
    sockets: dict[int, NetSocket] = field(default_factory=dict)
    openers: dict[int, Opener] = field(default_factory=dict)
    errors: Mapping[int, str] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()

    def opener_of(self, socket: NetSocket) -> Opener | None:
        return None if socket.opener is None else self.openers.get(socket.opener)

    def dns_of(self, opener: Opener | None) -> tuple[int, int] | None:
        """How long it waited for the name: to the answer, or to the first attempt made with a part of it."""
        if opener is None:
            return None
        if opener.manager is not None and opener.dns.begin_ms is None:
            return self.dns_of(self.openers.get(opener.manager))
        begin_ms, end_ms = opener.dns.begin_ms, opener.dns.end_ms
        if begin_ms is None:
            return None
        attempts = [started for started in map(self._connect_began, opener.sockets) if started is not None]
        ends = [end for end in (end_ms, min(attempts, default=None)) if end is not None and end >= begin_ms]
        return (begin_ms, min(ends)) if ends else None

    def connect_of(self, socket: NetSocket) -> tuple[int, int] | None:
        """From the first attempt at any of the host's addresses to the end of the one that was kept."""
        whole, opener = socket.connect.whole, self.opener_of(socket)
        if whole is None or opener is None:
            return whole
        begins = [began for began in map(self._connect_began, opener.sockets) if began is not None]
        return min([whole[0], *begins]), whole[1]

    def _connect_began(self, source: int) -> int | None:
        socket = self.sockets.get(source)
        return None if socket is None else socket.connect.begin_ms
