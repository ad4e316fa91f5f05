"""Which request of the network log is which row of DevTools: by instant, connection and URL, one to one.

Both clocks are the same, so the instants at which the network began, sent and heard the answer (DevTools to the
microsecond, the log to the millisecond) tell even repeated requests for one URL apart, and both call a connection by
the same number. What finds no partner stays without one.
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from urllib.parse import urldefrag

from workers.measurement.compute.devtools.exchange import SERVICE_WORKER, SOCKET, Exchange
from workers.measurement.compute.netlog.nouns import DOCUMENTS, TICK_MS, NetHop
from workers.measurement.compute.page.phases import Marks, marks_of
from workers.measurement.waterfall import ServedFrom

# Between DevTools' start of a request and the log's lies the browser's own work; a busy processor stretches it.
_TOLERANCE_MS = 25
# So many that were sent at the same instant are looked at: a session of HTTP/2 has room for a hundred.
_MAX_ALIKE = 100
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
        if (hop.method, plain_url(hop.url)) in asked and not asked_cache_alone(hop):
            logged[hop.method, plain_url(hop.url)].append(hop)
    pairs: dict[int, NetHop] = {}
    for address, candidates in logged.items():
        candidates.sort(key=_began)
        pairs |= _pairs_of(asked[address], candidates)
    return pairs


def _pairs_of(asked: list[tuple[int, Exchange]], hops: list[NetHop]) -> dict[int, NetHop]:
    """Of one address, in their order: those that were sent at the same instant have each other; then those that began
    at the same, on the same connection first; then those that are near. What has no instant takes of what is left.
    """
    found: dict[int, NetHop] = {}
    timed = [(index, one) for index, one in asked if one.kind != SOCKET and one.net_started_us is not None]
    hops = _sent_alike(timed, hops, found)
    hops = _exactly(timed, hops, found, connected=True)
    hops = _exactly(timed, hops, found, connected=False)
    hops = _nearly(timed, hops, found)
    for index, exchange in asked:
        partner = None if index in found else _of_the_rest(exchange, hops)
        if partner is not None:
            found[index] = partner
            hops.remove(partner)
    return found


def _sent_alike(timed: list[tuple[int, Exchange]], hops: list[NetHop], found: dict[int, NetHop]) -> list[NetHop]:
    """Pairs those that were sent at the same instant, the most alike first, and gives the hops that are left. Of
    requests that began at once, such as the cache lets through one by one, it tells which is which.
    """
    sent: dict[int, list[int]] = defaultdict(list)
    for place, hop in enumerate(hops):
        if hop.send.begin_ms is not None:
            sent[hop.send.begin_ms].append(place)
    alike: list[tuple[int, int, int]] = []
    for index, exchange in timed:
        marks = marks_of(exchange.timing)
        if (sent_us := marks.get("sendStart")) is None:
            continue
        for at_ms in range(sent_us // 1000 - TICK_MS, sent_us // 1000 + TICK_MS + 1):
            for place in sent.get(at_ms, ())[:_MAX_ALIKE]:
                apart_ms = _apart_ms(exchange, hops[place], marks)
                if apart_ms is not None:
                    alike.append((apart_ms, index, place))
    taken: set[int] = set()
    for _, index, place in sorted(alike):
        if index not in found and place not in taken:
            found[index] = hops[place]
            taken.add(place)
    return [hop for place, hop in enumerate(hops) if place not in taken]


def _apart_ms(exchange: Exchange, hop: NetHop, marks: Marks) -> int | None:
    """How far their instants lie apart; None where they cannot be the same."""
    began_ms, used = abs(hop.started_ms - _instant_ms(exchange)), exchange.number("connectionId")
    answered_us = marks.get("receiveHeadersEnd")
    answered_ms = None if answered_us is None or hop.head_ms is None else abs(hop.head_ms - answered_us // 1000)
    is_near = began_ms <= _TOLERANCE_MS or (answered_ms is not None and answered_ms <= TICK_MS)
    if not is_near or (used and hop.link is not None and used != hop.link):
        return None
    return began_ms + abs(marks["sendStart"] // 1000 - (hop.send.begin_ms or 0)) + (answered_ms or 0)


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


def asked_cache_alone(hop: NetHop) -> bool:
    """Whether it asked whether the cache has it, in vain: Chrome does so for fonts, and then asks the network for the
    same row by another request.
    """
    return hop.net_error == CACHE_MISS and hop.controller is None


def _began(hop: NetHop) -> int:
    return hop.started_ms


def plain_url(url: str) -> str:
    """An address as it is asked for."""
    return urldefrag(url).url
