"""A page's hosts: what each was asked for, over which connections, and what opening those held up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workers.measurement.connection import Connection
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request, ServedFrom
from workers.measurement.web_address import host_of

# Connections of these protocols carry one request at a time.
ONE_AT_A_TIME = frozenset({"http/1.0", "http/1.1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHost:
    """One host: its requests that went over the network, and the connections that carried any, in order."""

    name: str
    requests: tuple[Request, ...]
    connections: tuple[Connection, ...]

    @property
    def opening_us(self) -> int:
        """What the first connection took to open, its name lookup included."""
        return opening_us(self.connections[0]) if self.connections else 0

    def over(self, protocol: str) -> tuple[tuple[Connection, ...], ...]:
        """The connections that one of them could stand for: browsers ask with and without credentials over connections
        of their own (Fetch, "obtain a connection")."""
        connections = [one for one in self.connections if one.protocol == protocol]
        with_credentials = {row.connection for row in self.requests if not _may_be_anonymous(row)}
        pools = ([one for one in connections if (one.number in with_credentials) is told] for told in (True, False))
        return tuple(tuple(pool) for pool in pools)


def hosts_of(page: PageMeasurement) -> tuple[PageHost, ...]:
    """In the order in which the page first asked them."""
    asked: dict[str, list[Request]] = {}
    for request in page.waterfall.requests:
        name = host_of(request.url)
        if name and request.served_from is ServedFrom.NETWORK and request.connection is not None:
            asked.setdefault(name, []).append(request)
    return tuple(_page_host(name, requests, page) for name, requests in asked.items())


def document_host(page: PageMeasurement) -> str | None:
    document = next((one for one in page.waterfall.requests if one.number == page.document), None)
    return None if document is None else host_of(document.url) or None


def _may_be_anonymous(row: Request) -> bool:
    """What another origin is asked for by CORS or by a script comes without credentials unless it says otherwise."""
    sent = {header.name.lower(): header.value for header in row.request_headers}
    is_foreign = sent.get("sec-fetch-site") in ("same-site", "cross-site")
    return is_foreign and (sent.get("sec-fetch-mode") == "cors" or sent.get("sec-fetch-dest") == "empty")


def _page_host(name: str, requests: list[Request], page: PageMeasurement) -> PageHost:
    numbers = dict.fromkeys(one.connection for one in requests)
    known = {one.number: one for one in page.waterfall.connections}
    # A connection of another host that this one's requests shared (HTTP/2 coalescing) was not opened for it.
    carried = tuple(known[number] for number in numbers if number in known and known[number].host == name)
    return PageHost(name=name, requests=tuple(requests), connections=carried)


def opening_us(connection: Connection) -> int:
    return sum(span.duration_us for span in _spans(connection))


def full_handshakes(connections: Iterable[Connection]) -> tuple[Connection, ...]:
    """Those that shook hands in full; where the log does not say, nothing is claimed."""
    return tuple(one for one in connections if one.tls is not None and one.resumed is False)


def waited_us(request: Request, connection: Connection | None) -> int:
    """How long the request waited for the opening of its connection."""
    ready = ready_us(connection) if connection is not None else None
    if connection is None or ready is None:
        return 0
    return max(0, min(opening_us(connection), ready - request.timing.start_us))


def ready_us(connection: Connection) -> int | None:
    return max((span.end_us for span in _spans(connection)), default=None)


def trip_us(connection: Connection | None) -> int:
    """A round trip over a connection; 0 where that is not known. Where the first packet was lost, the connect takes a
    second and more, and the handshake with TLS tells better. That of QUIC is one round trip (RFC 9001, 4)."""
    if connection is None:
        return 0
    connect, tls = connection.connect, connection.tls
    count = connection.tls_round_trips or (1 if connection.protocol == "h3" else 0)
    by_tls_us = [] if tls is None or not count else [tls.duration_us // count]
    by_connect_us = [] if connect is None else [connect.duration_us]
    return connection.rtt_us or min([*by_connect_us, *by_tls_us], default=0)


def opening_together_us(connections: Sequence[Connection]) -> int:
    """How long any of these was being opened: those that are opened at once cost that time once."""
    spans = sorted((span for one in connections for span in _spans(one)), key=lambda span: span.start_us)
    total_us, until_us = 0, 0
    for span in spans:
        total_us += max(0, span.end_us - max(span.start_us, until_us))
        until_us = max(until_us, span.end_us)
    return total_us


def _spans(connection: Connection) -> tuple[Span, ...]:
    return tuple(span for span in (connection.dns, connection.connect, connection.tls) if span is not None)
