"""Requests for which a page's service worker and the network were asked at once (its static route
"race-network-and-fetch-handler"): where the worker fetches what it was asked for, Chrome gives it what the network was
asked for already, and DevTools tells of that one request for each of them.
"""

from collections.abc import Sequence

from workers.measurement.compute.devtools.exchange import SERVICE_WORKER, Exchange

_RACE = "race-network-and-fetch-handler"
_Asked = tuple[str, str, int]


def told_once(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Without the worker's own word of such a request, which alone tells its size on the wire."""
    pages = {asked: one for one in exchanges if one.asker != SERVICE_WORKER and (asked := _asked(one))}
    told = []
    for one in exchanges:
        asked = _asked(one) if one.asker == SERVICE_WORKER else None
        if asked in pages:
            pages[asked].transferred_bytes = pages[asked].transferred_bytes or one.transferred_bytes
        else:
            told.append(one)
    return told


def _asked(exchange: Exchange) -> _Asked | None:
    """What tells a raced request from all others: two for the same URL begin at no one instant. None for those that
    were not raced, or of which no instant is known."""
    info = (exchange.response or {}).get("serviceWorkerRouterInfo")
    is_raced = isinstance(info, dict) and info.get("matchedSourceType") == _RACE
    if not is_raced or exchange.net_started_us is None:
        return None
    return exchange.method, exchange.url, exchange.net_started_us
