"""The timing of one row: what it paid for its connection, and its own send, wait and download."""

from dataclasses import dataclass, replace

from workers.measurement.compute.devtools.exchange import ON_THE_NETWORK, Exchange
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import NetHop
from workers.measurement.compute.page.connections import Connections, Network
from workers.measurement.compute.page.phases import devtools_spans, exchange_spans, marks_of, shift
from workers.measurement.timing import Span, Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What getting a connection cost one request. Counted from the run's start."""

    dns: Span | None = None
    connect: Span | None = None
    tls: Span | None = None


_NOTHING = Opening()


def row_timing(network: Network, connections: Connections, index: int) -> Timing:
    """The timing of `network.exchanges[index]`. What came from a cache has a start and an end and no phases."""
    exchange, hop, zero_us = network.exchanges[index], network.pairs.get(index), network.zero_us
    start_us = exchange.started_us - zero_us
    end_us = None if exchange.ended_us is None else max(exchange.ended_us - zero_us, start_us)
    bare = Timing(start_us=start_us, end_us=end_us)
    if exchange.served_from not in ON_THE_NETWORK:
        return bare
    paid = _paid(connections, index)
    if hop is None and index not in connections.used:
        paid = _told(exchange, zero_us)
    if hop is None:
        return _with_opening(_devtools_timing(exchange, zero_us, bare), paid)
    if paid == _NOTHING and exchange.response is None:
        paid = _attempts(network.log, hop, zero_us)
    spans = exchange_spans(exchange, hop, network.log.first_byte_of(hop))
    return _with_opening(_log_timing(bare, [shift(span, zero_us) for span in spans]), paid)


def _paid(connections: Connections, index: int) -> Opening:
    used = connections.used.get(index)
    if used is None or connections.first[used.number] != index:
        return Opening(dns=connections.lookups.get(index))
    return Opening(dns=used.dns, connect=used.connect, tls=used.tls)


def _told(exchange: Exchange, zero_us: int) -> Opening:
    """What a connection without a number cost, as DevTools says: Chrome long gave those of QUIC none."""
    if exchange.found_connection is not False:
        return _NOTHING
    spans = devtools_spans(marks_of(exchange.timing), is_quic=exchange.is_quic)
    dns, connect, tls = (shift(spans.get(phase), zero_us) for phase in ("dns", "connect", "tls"))
    return Opening(dns=dns, connect=connect, tls=tls)


def _with_opening(timing: Timing, opening: Opening) -> Timing:
    return replace(timing, dns=opening.dns, connect=opening.connect, tls=opening.tls)


def _log_timing(bare: Timing, spans: list[Span | None]) -> Timing:
    send, wait, download = spans
    end_us = bare.end_us if download is None else max(bare.end_us or 0, download.end_us)
    return replace(bare, end_us=end_us, send=send, wait=wait, download=download)


def _attempts(log: NetworkLog, hop: NetHop, zero_us: int) -> Opening:
    """What a request that failed spent on a connection that came to nothing: every attempt, first to last."""
    opener = None if hop.opener is None else log.openers.get(hop.opener)
    sockets = [] if opener is None else [log.sockets[source] for source in opener.sockets if source in log.sockets]
    tries = [socket.connect.whole for socket in sockets if socket.connect.whole is not None]
    connect = (min(begin for begin, _ in tries), max(end for _, end in tries)) if tries else None
    tls = next((socket.tls.whole for socket in reversed(sockets) if socket.tls.whole is not None), None)
    dns, connect_span, tls_span = (_from_ms(pair, zero_us) for pair in (log.dns_of(opener), connect, tls))
    return Opening(dns=dns, connect=connect_span, tls=tls_span)


def _from_ms(pair: tuple[int, int] | None, zero_us: int) -> Span | None:
    return None if pair is None else Span(start_us=pair[0] * 1000 - zero_us, end_us=pair[1] * 1000 - zero_us)


def _devtools_timing(exchange: Exchange, zero_us: int, bare: Timing) -> Timing:
    if exchange.is_made_up:
        return bare
    marks = marks_of(exchange.timing)
    if exchange.hinted and "receiveHeadersEnd" in marks:
        # What DevTools calls the first byte is that of the early answer.
        marks.pop("receiveHeadersStart", None)
    spans = devtools_spans(marks, is_quic=exchange.is_quic)
    send, wait = spans.get("send"), spans.get("wait")
    download = None
    # A redirect's body is not read, and it ends when the browser has come to follow it.
    is_read = exchange.net_error is None and exchange.redirected_to is None
    if wait is not None and is_read and (exchange.ended_us or 0) >= wait.end_us:
        download = Span(start_us=wait.end_us, end_us=exchange.ended_us or wait.end_us)
    return replace(bare, send=shift(send, zero_us), wait=shift(wait, zero_us), download=shift(download, zero_us))
