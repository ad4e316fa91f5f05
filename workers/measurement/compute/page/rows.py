"""One row of a waterfall from one exchange."""

from workers.measurement.compute.devtools.exchange import ON_THE_NETWORK, Exchange
from workers.measurement.compute.netlog.nouns import NetHop
from workers.measurement.compute.page.asker_flags import asker_flags
from workers.measurement.compute.page.blocking import blocking_of, blocks_rendering
from workers.measurement.compute.page.connections import Connections, Network
from workers.measurement.compute.page.parser_place import parser_place
from workers.measurement.compute.page.resource_types import resource_type_of
from workers.measurement.compute.page.row_flags import connection_flags, hop_flags
from workers.measurement.compute.page.row_timing import row_timing
from workers.measurement.compute.texts import headers_of, plain, plain_or_none, short_url
from workers.measurement.connection import Connection
from workers.measurement.waterfall import Request, RowFlag, TimingSource

_MAX_WORD_CHARS = 100
# What Chrome calls who asked for a module that a header named (Fetch, "referrer"): no address.
_CLIENT = "about:client"


def row(network: Network, connections: Connections, index: int, secret: frozenset[str]) -> Request:
    """The row of `network.exchanges[index]`, numbered from 1. `secret` names request headers to redact."""
    exchange, hop, used = network.exchanges[index], network.pairs.get(index), connections.used.get(index)
    over_network, blocking = exchange.served_from in ON_THE_NETWORK, blocking_of(exchange.render_blocking)
    pays = used is not None and connections.first[used.number] == index
    return Request(
        number=index + 1,
        url=short_url(exchange.url),
        method=plain(exchange.method, 32),
        resource_type=resource_type_of(exchange),
        timing=row_timing(network, connections, index),
        timing_source=TimingSource.NETLOG if hop is not None or not over_network else TimingSource.CDP,
        served_from=exchange.served_from,
        status=_status(exchange),
        protocol=plain_or_none(_protocol(exchange, hop), _MAX_WORD_CHARS),
        connection=None if used is None else used.number,
        reused=_is_reused(exchange, hop, used, pays=pays),
        address=_address(exchange, used) if over_network else None,
        mime_type=plain_or_none(exchange.text("mimeType"), _MAX_WORD_CHARS),
        transferred_bytes=exchange.transferred_bytes if over_network else 0,
        body_bytes=exchange.body_bytes,
        priority=plain_or_none(exchange.priority, _MAX_WORD_CHARS),
        initiator_url=_initiator(exchange),
        initiator_at=parser_place(exchange.initiator),
        blocking=blocking,
        render_blocking=blocks_rendering(blocking),
        redirected_to=None if exchange.redirected_to is None else short_url(exchange.redirected_to),
        failure=plain_or_none(exchange.net_error, _MAX_WORD_CHARS),
        request_headers=headers_of(exchange.request_headers, secret=secret),
        response_headers=headers_of(exchange.response_headers),
        flags=_flags(network, index, used, pays=pays),
    )


def _status(exchange: Exchange) -> int | None:
    """Codes have three digits (RFC 9110, 15)."""
    status = exchange.number("status")
    return status if status is not None and 100 <= status <= 999 else None


def _protocol(exchange: Exchange, hop: NetHop | None) -> str | None:
    """DevTools tells none of a WebSocket, nor of a request that nobody answered."""
    if exchange.served_from not in ON_THE_NETWORK:
        return None
    told = None if exchange.is_made_up else exchange.text("protocol")
    return told or (None if hop is None else hop.protocol)


def _flags(network: Network, index: int, used: Connection | None, *, pays: bool) -> tuple[RowFlag, ...]:
    exchange, hop = network.exchanges[index], network.pairs.get(index)
    socket = None if hop is None or hop.link is None else network.log.sockets.get(hop.link)
    early = None if socket is None else socket.early_data
    ways = () if used is None else connection_flags(used, exchange.url, early_data=early, pays=pays)
    told = (RowFlag.EARLY_HINTS,) if hop is None and exchange.hinted else hop_flags(hop)
    return tuple(dict.fromkeys((*ways, *told, *asker_flags(exchange, network.main_frame))))


def _is_reused(exchange: Exchange, hop: NetHop | None, used: Connection | None, *, pays: bool) -> bool | None:
    """The first request of this view on a connection may have found it used too, as in a warm one: nobody pays for
    that here. Of one whose opening was not seen, or that has no number, only Chrome can say it.
    """
    if used is None:
        return exchange.found_connection if exchange.served_from in ON_THE_NETWORK else None
    if not pays:
        return True
    if used.connect is not None or used.tls is not None:
        return False
    told = exchange.found_connection
    return told if told is not None else None if hop is None else hop.follows


def _address(exchange: Exchange, used: Connection | None) -> str | None:
    seen = exchange.text("remoteIPAddress")
    return plain(seen.strip("[]"), 64) if seen else None if used is None else used.address


def _initiator(exchange: Exchange) -> str | None:
    url = exchange.initiator.get("url")
    if isinstance(url, str) and url not in ("", _CLIENT):
        return short_url(url)
    stack = exchange.initiator.get("stack")
    frames = stack.get("callFrames") if isinstance(stack, dict) else None
    called = frames if isinstance(frames, list) else ()
    return next((short_url(frame["url"]) for frame in called if isinstance(frame, dict) and frame.get("url")), None)
