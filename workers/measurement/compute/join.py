"""Which request of the network log is which row of DevTools: by instant, connection and URL, one to one.

Both clocks are the same, so the instant at which the network began (DevTools to the microsecond, the log to the
millisecond) tells even repeated requests for one URL apart, and both call a connection by the same number. What finds
no partner stays without one.
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from urllib.parse import urldefrag

from workers.measurement.compute.exchange import SERVICE_WORKER, SOCKET, Exchange
from workers.measurement.compute.network_log import DOCUMENTS, NetHop
from workers.measurement.waterfall import ServedFrom

# Between DevTools' start of a request and the log's lies the browser's own work; a busy processor stretches it.
_TOLERANCE_MS = 25
# Chrome's number for what is not in the cache where nothing else was asked.
CACHE_MISS = -400
_Address = tuple[str, str]
# What a service worker answers with it may have fetched: then that is a request of its own.
NEVER_ON_THE_NETWORK = frozenset({ServedFrom.DATA, ServedFrom.MEMORY_CACHE, ServedFrom.SERVICE_WORKER})


def join(exchanges: Iterable[Exchange], hops: Iterable[NetHop]) -> dict[int, NetHop]:
    """The log's hop of each exchange, by the exchange's place in the order given."""
    asked: dict[_Address, list[tuple[int, Exchange]]] = defaultdict(list)
    for index, exchange in enumerate(exchanges):
        if exchange.served_from not in NEVER_ON_THE_NETWORK:
            asked[exchange.method, plain_url(exchange.url)].append((index, exchange))
    logged: dict[_Address, list[NetHop]] = defaultdict(list)
    for hop in hops:
        if (hop.method, plain_url(hop.url)) in asked and not _asked_the_cache_alone(hop):
            logged[hop.method, plain_url(hop.url)].append(hop)
    pairs: dict[int, NetHop] = {}
    for address, candidates in logged.items():
        candidates.sort(key=_began)
        pairs |= _pairs_of(asked[address], candidates)
    return pairs


def _pairs_of(asked: list[tuple[int, Exchange]], hops: list[NetHop]) -> dict[int, NetHop]:
    """Of one address, in their order: those whose instants are the same have each other, on the same connection first;
    then those that are near. What has no instant takes of what is left.
    """
    found: dict[int, NetHop] = {}
    timed = [(index, one) for index, one in asked if one.kind != SOCKET and one.net_started_us is not None]
    hops = _exactly(timed, hops, found, connected=True)
    hops = _exactly(timed, hops, found, connected=False)
    hops = _nearly(timed, hops, found)
    for index, exchange in asked:
        partner = None if index in found else _of_the_rest(exchange, hops)
        if partner is not None:
            found[index] = partner
            hops.remove(partner)
    return found


def _exactly(
    timed: list[tuple[int, Exchange]], hops: list[NetHop], found: dict[int, NetHop], *, connected: bool
) -> list[NetHop]:
    """Pairs those of the same instant, and gives the hops that are left."""
    waiting: dict[tuple[int, int | None], deque[NetHop]] = defaultdict(deque)
    for hop in hops:
        waiting[hop.started_ms, hop.link if connected else None].append(hop)
    for index, exchange in timed:
        used = exchange.number("connectionId") if connected else None
        same = waiting.get((_instant_ms(exchange), used))
        if index not in found and same and (used or not connected):
            found[index] = same.popleft()
    return sorted((hop for left in waiting.values() for hop in left), key=_began)


def _nearly(timed: list[tuple[int, Exchange]], hops: list[NetHop], found: dict[int, NetHop]) -> list[NetHop]:
    """Pairs those that are near, in order, and gives the hops that are left."""
    left: list[NetHop] = []
    waiting = deque(hops)
    for index, exchange in sorted(timed, key=lambda one: _instant_ms(one[1])):
        began_ms = _instant_ms(exchange)
        while index not in found and waiting and waiting[0].started_ms < began_ms - _TOLERANCE_MS:
            left.append(waiting.popleft())
        if index not in found and waiting and waiting[0].started_ms <= began_ms + _TOLERANCE_MS:
            found[index] = waiting.popleft()
    return [*left, *waiting]


def _instant_ms(exchange: Exchange) -> int:
    return (exchange.net_started_us or 0) // 1000


def _of_the_rest(exchange: Exchange, candidates: list[NetHop]) -> NetHop | None:
    if exchange.kind == SOCKET:
        return max(
            (hop for hop in candidates if hop.started_ms * 1000 <= exchange.started_us), key=_began, default=None
        )
    return _first_within(exchange, candidates) if exchange.net_started_us is None else None


def _first_within(exchange: Exchange, candidates: list[NetHop]) -> NetHop | None:
    """For a request that failed before DevTools knew when the network began: the first in its lifetime. Or for one of
    a service worker that the browser had made by then, while that started (Service Workers, "race response").
    """
    ended_us = exchange.ended_us
    for hop in candidates:
        ahead = exchange.asker == SERVICE_WORKER and hop.kind in DOCUMENTS
        after = ahead or hop.started_ms >= exchange.started_us // 1000 - 1
        if after and (ended_us is None or hop.started_ms <= ended_us // 1000 + 1):
            return hop
    return None


def _asked_the_cache_alone(hop: NetHop) -> bool:
    """Whether it asked whether the cache has it, in vain: Chrome does so for fonts, and then asks the network for the
    same row by another request.
    """
    return hop.net_error == CACHE_MISS and hop.controller is None


def _began(hop: NetHop) -> int:
    return hop.started_ms


def plain_url(url: str) -> str:
    """An address as it is asked for."""
    return urldefrag(url).url
