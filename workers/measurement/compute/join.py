"""Which request of the network log is which row of DevTools: by URL and time, one to one.

Both clocks are the same, so the instant at which the network began (DevTools to the microsecond, the log to the
millisecond) tells even repeated requests for one URL apart. What finds no partner stays without one.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from urllib.parse import urldefrag

from workers.measurement.compute.exchange import SOCKET, Exchange
from workers.measurement.compute.network_log import NetHop
from workers.measurement.waterfall import ServedFrom

# Between DevTools' start of a request and the log's lies the browser's own work; a busy processor stretches it.
_TOLERANCE_MS = 25
_ABORTED = "ERR_ABORTED"
# What a service worker answers with it may have fetched: then that is a request of its own.
_NEVER_ON_THE_NETWORK = {ServedFrom.DATA, ServedFrom.MEMORY_CACHE, ServedFrom.SERVICE_WORKER}


def join(exchanges: Iterable[Exchange], hops: Iterable[NetHop]) -> dict[int, NetHop]:
    """The log's hop of each exchange, by the exchange's place in the order given."""
    waiting: dict[tuple[str, str], list[NetHop]] = defaultdict(list)
    for hop in hops:
        waiting[hop.method, _address(hop.url)].append(hop)
    pairs: dict[int, NetHop] = {}
    for index, exchange in enumerate(exchanges):
        candidates = waiting[exchange.method, _address(exchange.url)]
        partner = None if exchange.served_from in _NEVER_ON_THE_NETWORK else _nearest(exchange, candidates)
        if partner is not None:
            candidates.remove(partner)
            pairs[index] = partner
    return pairs


def settle(exchanges: Iterable[Exchange], pairs: Mapping[int, NetHop]) -> None:
    """Sets right what DevTools tells of some requests too late, wrongly or not at all."""
    for index, exchange in enumerate(exchanges):
        if (hop := pairs.get(index)) is None:
            continue
        if exchange.kind == SOCKET:
            # DevTools gives the instant at which its handshake was sent, the connection being there.
            exchange.started_us = min(exchange.started_us, hop.started_ms * 1000)
        if exchange.response is None and hop.status is not None:
            # The answer to a worker's script is told in a session that nobody may have opened in time.
            exchange.response = {"status": hop.status, "protocol": hop.protocol}
        if _was_whole(exchange, hop):
            exchange.net_error, exchange.cancelled = None, False
        if exchange.body_bytes is None and exchange.response is not None:
            # DevTools counts no bytes of what a script fetches, and the log none of what goes into the cache unread.
            exchange.body_bytes = 0 if _is_empty(exchange) else hop.body_bytes or None


def _is_empty(exchange: Exchange) -> bool:
    headers = {name.lower(): value for name, value in exchange.response_headers.items()}
    return exchange.number("status") == 204 or headers.get("content-length") == "0" or exchange.method == "HEAD"


def _was_whole(exchange: Exchange, hop: NetHop) -> bool:
    """Chrome's reader gives an answer without a body up once it is complete, which DevTools calls aborted."""
    aborted = exchange.cancelled and exchange.net_error == _ABORTED and exchange.response is not None
    return aborted and hop.ended_ms is not None and not hop.cancelled and hop.net_error is None


def _nearest(exchange: Exchange, candidates: list[NetHop]) -> NetHop | None:
    if exchange.kind == SOCKET:
        return max(
            (hop for hop in candidates if hop.started_ms * 1000 <= exchange.started_us), key=_began, default=None
        )
    if exchange.net_started_us is None:
        return _first_within(exchange, candidates)
    began_ms = exchange.net_started_us // 1000
    nearest = min(candidates, key=lambda hop: abs(hop.started_ms - began_ms), default=None)
    return nearest if nearest is not None and abs(nearest.started_ms - began_ms) <= _TOLERANCE_MS else None


def _first_within(exchange: Exchange, candidates: list[NetHop]) -> NetHop | None:
    """For a request that failed before DevTools knew when the network began: the first in its lifetime."""
    ended_us = exchange.ended_us
    for hop in candidates:
        after = hop.started_ms >= exchange.started_us // 1000 - 1
        if after and (ended_us is None or hop.started_ms <= ended_us // 1000 + 1):
            return hop
    return None


def _began(hop: NetHop) -> int:
    return hop.started_ms


def _address(url: str) -> str:
    return urldefrag(url).url
