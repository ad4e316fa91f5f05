"""Which requests a worker made, beyond those of which DevTools says so.

DevTools tells of a worker's requests to who is attached to it, which nobody is to a shared worker, and to another only
once it runs. What it does not tell of is found out in two ways.

By its own headers: a worker's requests name its script as their referrer (HTML, "settings object of a worker"). So does
what a script of a page asks for when it is told to; but of a page's own requests DevTools tells, and what is made for a
worker (Sec-Fetch-Dest) takes its referrer from nobody else.

By what is left: of all that documents ask for DevTools tells. So what it did not tell of, and what the browser did not
ask for on its own account, a worker asked for, if one had begun. Where both a worker and a service worker had, nobody
knows which one it was.

What has the address of a request that a service worker answered, that one asked for: it hands on what it was asked,
with the page's headers.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workers.measurement.compute.devtools.exchange import SERVICE_WORKER, SOCKET, Exchange
from workers.measurement.compute.header_lines import header_of
from workers.measurement.compute.page.untold import FOR_SERVICE_WORKER
from workers.measurement.waterfall import ServedFrom

# What is fetched for a worker or a worklet, by Sec-Fetch-Dest: its script and the modules of that.
_WORKERS = {
    "worker": "worker",
    "sharedworker": "worker",
    "serviceworker": "service_worker",
    "audioworklet": "worker",
    "paintworklet": "worker",
}
# Chrome sends hints about itself with what a document asks for over TLS, and never with what a worker does.
_HINT = "sec-ch-ua"


@dataclass(frozen=True, slots=True)
class _Worker:
    """A worker by its script: which kind it is, and since when it may have asked for something."""

    url: str
    kind: str
    since_us: int


def name_workers(
    exchanges: Sequence[Exchange],
    known: Mapping[str, str],
    unsent: Mapping[str, Sequence[Exchange]] | None = None,
    *,
    all_told: bool = True,
) -> None:
    """Sets `asker`, and `initiator` where nobody else told it. `known` are the workers that DevTools told of: their
    scripts' URLs and whether each is a "worker" or a "service_worker". `unsent` are WebSockets of which it told no more
    than that they were made. Unless `all_told`, what it did not tell of may be anybody's.
    """
    _name_sockets(exchanges, unsent or {})
    workers = {one.url: one for one in _workers(exchanges, known)}
    answered = {(one.method, one.url) for one in exchanges if one.served_from is ServedFrom.SERVICE_WORKER}
    for exchange in exchanges:
        if exchange.asker is None and _is_for_service_worker(exchange):
            exchange.asker = "service_worker"
        if exchange.asker is not None:
            continue
        script = _asking_script(exchange)
        if script in workers:
            exchange.asker, exchange.initiator = workers[script].kind, {"type": "script", "url": script}
        elif exchange.untold and (exchange.method, exchange.url) in answered:
            _name_by_what_is_left(exchange, [one for one in workers.values() if one.kind == SERVICE_WORKER])
        elif all_told and _is_left(exchange) and not _is_a_documents(exchange):
            _name_by_what_is_left(exchange, [one for one in workers.values() if one.since_us <= exchange.started_us])


def _is_for_service_worker(exchange: Exchange) -> bool:
    return header_of(exchange.request_headers, FOR_SERVICE_WORKER) is not None and not exchange.is_document


def _name_sockets(exchanges: Sequence[Exchange], unsent: Mapping[str, Sequence[Exchange]]) -> None:
    """Those of one URL were made in the order in which they began."""
    waiting = {url: deque(made) for url, made in unsent.items()}
    for exchange in exchanges:
        if exchange.untold and exchange.kind == SOCKET and waiting.get(exchange.url):
            made = waiting[exchange.url].popleft()
            exchange.asker, exchange.initiator, exchange.pages_own = made.asker, made.initiator, False


def _workers(exchanges: Sequence[Exchange], known: Mapping[str, str]) -> Iterator[_Worker]:
    """Each once for each way in which it is known, the best known last."""
    documents = {one.url for one in exchanges if one.is_document}
    since: dict[str, int] = {}
    for one in exchanges:
        since.setdefault(one.url, one.started_us)
    for one in exchanges:
        kind = _WORKERS.get(_wanted(one), "worker" if _is_made_for_itself(one) else None)
        if kind is not None and one.url not in documents:
            yield _Worker(one.url, kind, since[one.url])
    for url, kind in known.items():
        if url not in documents:
            yield _Worker(url, kind, since.get(url, 0))


def _is_made_for_itself(exchange: Exchange) -> bool:
    """A worker's script, which has no headers where it is a `blob:` or `data:` URL."""
    return exchange.kind == "Script" and exchange.url == exchange.document and exchange.asker is None


def _asking_script(exchange: Exchange) -> str:
    """The script that asked, if it is a worker's; also that to which a worker's script was redirected."""
    if exchange.kind == SOCKET:
        return ""
    if exchange.untold or _wanted(exchange) in _WORKERS:
        return header_of(exchange.request_headers, "referer") or ""
    is_own = exchange.url == exchange.document
    return exchange.document or "" if exchange.frame is None and not is_own else ""


def _is_left(exchange: Exchange) -> bool:
    return exchange.untold and exchange.pages_own and header_of(exchange.request_headers, _HINT) is None


def _is_a_documents(exchange: Exchange) -> bool:
    """Whether it names who asked for a worker or a worklet, which is none of those."""
    return bool(_asking_script(exchange)) and _wanted(exchange) in _WORKERS


def _name_by_what_is_left(exchange: Exchange, workers: Sequence[_Worker]) -> None:
    kinds = {one.kind for one in workers}
    if len(kinds) == 1:
        exchange.asker = kinds.pop()
    if len(workers) == 1:
        exchange.initiator = {"type": "script", "url": workers[0].url}


def _wanted(exchange: Exchange) -> str:
    return header_of(exchange.request_headers, "sec-fetch-dest") or ""
