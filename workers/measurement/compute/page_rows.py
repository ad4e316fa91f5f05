"""One row of a waterfall from one exchange."""

from collections.abc import Mapping

from workers.measurement.compute.cdp import Exchange
from workers.measurement.compute.netlog import NetHop, NetworkLog
from workers.measurement.compute.page_connections import Connections, Network
from workers.measurement.compute.phases import devtools_spans, exchange_spans, marks_of, shift
from workers.measurement.compute.texts import headers_of, plain, plain_or_none, short_url
from workers.measurement.connection import Connection
from workers.measurement.timing import Span, Timing
from workers.measurement.waterfall import Request, ResourceType, ServedFrom, TimingSource

_TYPES = {
    "Document": ResourceType.DOCUMENT,
    "Stylesheet": ResourceType.STYLESHEET,
    "Script": ResourceType.SCRIPT,
    "Image": ResourceType.IMAGE,
    "Font": ResourceType.FONT,
    "Media": ResourceType.MEDIA,
    "XHR": ResourceType.FETCH,
    "Fetch": ResourceType.FETCH,
    "EventSource": ResourceType.FETCH,
    "WebSocket": ResourceType.WEBSOCKET,
}
# Chrome's words for what holds up the first paint; the others say that it does not, or only the parser.
_BLOCKS = {
    "Blocking": True,
    "InBodyParserBlocking": False,
    "NonBlocking": False,
    "NonBlockingDynamic": False,
    "PotentiallyBlocking": False,
}
_WORLDLY = {ServedFrom.NETWORK, ServedFrom.SERVICE_WORKER}
_MAX_WORD_CHARS = 100


def row(network: Network, connections: Connections, index: int, secret: frozenset[str]) -> Request:
    """The row of `network.exchanges[index]`, numbered from 1. `secret` names request headers to redact."""
    exchange, hop, used = network.exchanges[index], network.pairs.get(index), connections.used.get(index)
    over_network = exchange.served_from in _WORLDLY
    pays = used is not None and connections.first[used.number] == index
    return Request(
        number=index + 1,
        url=short_url(exchange.url),
        method=plain(exchange.method, 32),
        resource_type=_TYPES.get(exchange.kind, ResourceType.OTHER),
        timing=_timing(network, index, used if pays else None),
        timing_source=TimingSource.NETLOG if hop is not None or not over_network else TimingSource.CDP,
        served_from=exchange.served_from,
        status=exchange.number("status"),
        protocol=plain_or_none(exchange.text("protocol"), _MAX_WORD_CHARS),
        connection=None if used is None else used.number,
        reused=None if used is None else not pays,
        address=_address(exchange, used) if over_network else None,
        mime_type=plain_or_none(exchange.text("mimeType"), _MAX_WORD_CHARS),
        transferred_bytes=exchange.transferred_bytes if over_network else 0,
        body_bytes=exchange.body_bytes,
        priority=plain_or_none(exchange.priority, _MAX_WORD_CHARS),
        initiator_url=_initiator(exchange),
        render_blocking=_BLOCKS.get(exchange.render_blocking or ""),
        redirected_to=None if exchange.redirected_to is None else short_url(exchange.redirected_to),
        failure=plain_or_none(exchange.net_error, _MAX_WORD_CHARS),
        request_headers=headers_of(exchange.request_headers, secret=secret),
        response_headers=headers_of(exchange.response_headers),
    )


def _timing(network: Network, index: int, paid: Connection | None) -> Timing:
    exchange, hop, zero_us = network.exchanges[index], network.pairs.get(index), network.zero_us
    start_us = exchange.started_us - zero_us
    end_us = None if exchange.ended_us is None else max(exchange.ended_us - zero_us, start_us)
    if exchange.served_from not in _WORLDLY:
        return Timing(start_us=start_us, end_us=end_us)
    if hop is None:
        return _devtools_timing(exchange, zero_us, paid, Timing(start_us=start_us, end_us=end_us))
    opened = _opening(network.log, hop, zero_us) if exchange.response is None else _paid(paid)
    send, wait, download = (shift(span, zero_us) for span in exchange_spans(exchange, hop))
    return Timing(
        start_us=start_us,
        end_us=end_us if download is None else max(end_us or 0, download.end_us),
        dns=opened.get("dns"),
        connect=opened.get("connect"),
        tls=opened.get("tls"),
        send=send,
        wait=wait,
        download=download,
    )


def _paid(paid: Connection | None) -> dict[str, Span | None]:
    return {} if paid is None else {"dns": paid.dns, "connect": paid.connect, "tls": paid.tls}


def _opening(log: NetworkLog, hop: NetHop, zero_us: int) -> dict[str, Span | None]:
    """What a request that failed spent on a connection that came to nothing: every attempt, first to last."""
    opener = None if hop.opener is None else log.openers.get(hop.opener)
    sockets = [] if opener is None else [log.sockets[source] for source in opener.sockets if source in log.sockets]
    tries = [socket.connect.whole for socket in sockets if socket.connect.whole is not None]
    tls = next((socket.tls.whole for socket in reversed(sockets) if socket.tls.whole is not None), None)
    connect = (min(begin for begin, _ in tries), max(end for _, end in tries)) if tries else None
    spans = {"dns": log.dns_of(opener), "connect": connect, "tls": tls}
    return {name: shift(_whole_ms(pair), zero_us) for name, pair in spans.items()}


def _whole_ms(pair: tuple[int, int] | None) -> Span | None:
    return None if pair is None else Span(start_us=pair[0] * 1000, end_us=pair[1] * 1000)


def _devtools_timing(exchange: Exchange, zero_us: int, paid: Connection | None, bare: Timing) -> Timing:
    spans: Mapping[str, Span] = devtools_spans(marks_of(exchange.timing))
    wait = spans.get("wait")
    ended_us = exchange.ended_us
    finished = wait is not None and ended_us is not None and ended_us >= wait.end_us and exchange.net_error is None
    download = (
        Span(start_us=wait.end_us, end_us=ended_us) if finished and wait is not None and ended_us is not None else None
    )
    opened = _paid(paid)
    return Timing(
        start_us=bare.start_us,
        end_us=bare.end_us,
        dns=opened.get("dns"),
        connect=opened.get("connect"),
        tls=opened.get("tls"),
        send=shift(spans.get("send"), zero_us),
        wait=shift(wait, zero_us),
        download=shift(download, zero_us),
    )


def _address(exchange: Exchange, used: Connection | None) -> str | None:
    seen = exchange.text("remoteIPAddress")
    return plain(seen.strip("[]"), 64) if seen else None if used is None else used.address


def _initiator(exchange: Exchange) -> str | None:
    url = exchange.initiator.get("url")
    if isinstance(url, str) and url:
        return short_url(url)
    stack = exchange.initiator.get("stack")
    frames = stack.get("callFrames") if isinstance(stack, dict) else None
    return next(
        (short_url(frame["url"]) for frame in frames or () if isinstance(frame, dict) and frame.get("url")), None
    )
