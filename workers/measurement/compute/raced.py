"""Requests for which a page's service worker and the network were asked at once (its static route
"race-network-and-fetch-handler"): where the worker fetches what it was asked for, Chrome gives it what the network was
asked for already, and DevTools tells of that one request for each of them.
"""

from collections.abc import Sequence

from workers.measurement.compute.exchange import SERVICE_WORKER, Exchange

_RACE = "race-network-and-fetch-handler"
_Asked = tuple[str, str, int | None]


def told_once(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Without the worker's own word of such a request, which alone tells its size on the wire."""
    pages = {_asked(one): one for one in exchanges if one.asker != SERVICE_WORKER and _is_raced(one)}
    return [one for one in exchanges if not _is_another(one, pages.get(_asked(one)))]


def _is_another(exchange: Exchange, pages: Exchange | None) -> bool:
    if pages is None or exchange.asker != SERVICE_WORKER or not _is_raced(exchange):
        return False
    pages.transferred_bytes = pages.transferred_bytes or exchange.transferred_bytes
    return True


def _asked(exchange: Exchange) -> _Asked:
    return exchange.method, exchange.url, exchange.net_started_us


def _is_raced(exchange: Exchange) -> bool:
    info = (exchange.response or {}).get("serviceWorkerRouterInfo")
    return isinstance(info, dict) and info.get("matchedSourceType") == _RACE
