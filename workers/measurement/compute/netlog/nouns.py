"""The nouns of Chrome's network log: requests, connections and who opened them, in milliseconds of the monotonic clock.

The log has a resolution of one millisecond; a span of 0 ms is one that began and ended within the same. DevTools
calls a connection by the number of its socket here, or by that of its session for QUIC.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workers.measurement.compute.netlog.events import Phase

Wait = tuple[int, int]
Stream = tuple[int, int]
# Sources of each kind; a log of many hours may have more than anybody looks at.
MAX_SOURCES = 200_000
# Of one connection: so many ticks in which something came.
MAX_READS = 20_000
# What happens at once may lie on both sides of the clock's next tick.
TICK_MS = 1
# How the log calls documents, and an origin that is not a page's: the browser asks on its own account.
DOCUMENTS = ("main frame", "sub frame")
NOBODY = "not an origin"
# The number of Chrome's error for what was given up; they never change.
ABORTED = -3
# Chrome's name for what a request hears of any search for a name that came to nothing.
NOT_RESOLVED = "ERR_NAME_NOT_RESOLVED"


@dataclass(slots=True)
class Stretch:
    """From `begin_ms` to `end_ms`; None where the log does not show it."""

    begin_ms: int | None = None
    end_ms: int | None = None

    def mark(self, phase: Phase, time_ms: int) -> None:
        """Takes the first beginning and the last end."""
        if phase is Phase.BEGIN:
            self.begin_ms = time_ms if self.begin_ms is None else self.begin_ms
        elif phase is Phase.END:
            self.end_ms = time_ms

    @property
    def whole(self) -> Wait | None:
        """Both instants, when the second is not before the first."""
        if self.begin_ms is None or self.end_ms is None or self.end_ms < self.begin_ms:
            return None
        return self.begin_ms, self.end_ms


@dataclass(slots=True)
class NetHop:
    """One URL of a request: redirects begin a new one, `index` counts them from 0.

    `started_ms` is when the network began with it, `asked_ms` when it was asked for, as far as the log tells: Chrome
    lets what matters little wait. `pages_own` is what a document or a worker asked for, not the browser. `send` and
    `head_ms` are those of the last transaction, of which there are `transactions`: credentials that were asked for, or
    a connection that was lost, make a second. `head_ms` is when the final answer's head was there, `hints_ms` when an
    early one (103) was. `controller`, `job`, `manager` and `opener` are who got it a connection, `former` the
    controllers of attempts before, `session` (HTTP/2) and `link` are that connection, `stream` a session and its number
    there; `follows` is whether that had carried a request before, where the log says so itself. `sent_lines` and
    `answer_lines` are the header lines of that transaction, as the log writes them, `received_bytes` all of its answer
    on the wire. Once it is `over` nothing more of it will come.
    """

    source: int
    url: str
    method: str
    started_ms: int
    index: int = 0
    asked_ms: int | None = None
    kind: str | None = None
    initiator: str | None = None
    pages_own: bool = False
    send: Stretch = field(default_factory=Stretch)
    head_ms: int | None = None
    hints_ms: int | None = None
    ended_ms: int | None = None
    transactions: int = 0
    status: int | None = None
    protocol: str | None = None
    net_error: int | None = None
    cancelled: bool = False
    over: bool = False
    cached: bool = False
    preflight: bool = False
    pushed: bool = False
    redirected_to: str | None = None
    body_bytes: int | None = None
    controller: int | None = None
    former: list[int] = field(default_factory=list)
    job: int | None = None
    manager: int | None = None
    opener: int | None = None
    session: int | None = None
    link: int | None = None
    follows: bool | None = None
    stream: Stream | None = None
    received_bytes: int | None = None
    sent_lines: Sequence[object] = ()
    answer_lines: Sequence[object] = ()

    @property
    def sent_ms(self) -> int | None:
        """When it was sent or, where the log lacks that, the first sign that it had been."""
        signs = (self.send.begin_ms, self.send.end_ms, self.hints_ms, self.head_ms)
        return next((instant for instant in signs if instant is not None), None)

    @property
    def is_socket(self) -> bool:
        """Whether it is a WebSocket's handshake: what follows is no answer, and its end is not the request's."""
        return self.url.startswith(("ws:", "wss:"))


@dataclass(slots=True)
class Opener:
    """A connect job, attempt or QUIC job.

    `made_ms` is when it was made, where the log says so. `resolver` is the lookup it waited for, from `dns.begin_ms`
    on, `dns_error` the number of the error in which that ended; of several questions `dns` is the longest and
    `asked_ms` begins the last. `group` is what the pool calls those who may share its connection, all of one `origin`.
    `manager` made this attempt; a `backup` dials once more when the first job takes long; `address` is where its
    datagrams went.
    """

    made_ms: int | None = None
    dns: Stretch = field(default_factory=Stretch)
    resolver: int | None = None
    dns_error: int | None = None
    asked_ms: int | None = None
    sockets: list[int] = field(default_factory=list)
    manager: int | None = None
    group: str = ""
    origin: str = ""
    backup: bool = False
    address: str | None = None


@dataclass(slots=True)
class NetSocket:
    """One connection: a TCP socket, or a QUIC session (`quic`), whose handshake is `tls` and which has no `connect`.

    `flights` counts turns from our handshake messages to the server's. `turns` are when the server began to speak after
    we had (`asks`), in what TLS carries where there is TLS, `turn_bytes` what it said then. `origin` is known when it
    says so itself; `older` that it was there before the log began; `wrapped` that it leads through TLS with a proxy.
    `tls_fault` is for which of BoringSSL's reasons (<openssl/ssl.h>, SSL_R_…) a handshake failed; `fell_silent` that
    QUIC gave a session up since nothing came any more. `reads` are how many bytes came over TCP by the tick,
    of as many as `MAX_READS`; `pauses` are where nothing came, with what came at once behind each.
    """

    source: int
    opened_ms: int
    opener: int | None = None
    quic: bool = False
    older: bool = False
    wrapped: bool = False
    origin: str = ""
    connect: Stretch = field(default_factory=Stretch)
    tls: Stretch = field(default_factory=Stretch)
    connect_error: bool = False
    address: str | None = None
    tls_facts: Mapping[str, Any] = field(default_factory=dict)
    tls_fault: int | None = None
    fell_silent: bool = False
    certificates: tuple[bytes, ...] = ()
    early_data: bool | None = None
    flights: int = 0
    spoke_last: bool = False
    received_bytes: int = 0
    reads: dict[int, int] = field(default_factory=dict)
    pauses: tuple[tuple[Wait, int], ...] | None = None
    asks: list[int] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    turn_bytes: list[int] = field(default_factory=list)

    @property
    def is_secure(self) -> bool:
        """Whether anything of a handshake was seen so far."""
        return self.tls != Stretch() or self.spoke_last or self.flights > 0

    @property
    def was_opened(self) -> bool:
        opened = self.tls if self.quic else self.connect
        return opened.whole is not None and not self.connect_error


def length_of(wait: Wait) -> int:
    """In milliseconds."""
    return wait[1] - wait[0]
