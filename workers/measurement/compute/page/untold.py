"""Requests that the network log shows and DevTools did not tell of, such as those of a worker that nobody heard.

They are rows like all others, with what the log knows: no priority, and no size on the wire where neither the log can
tell it nor DevTools told of the answer. Who asked for them is found out elsewhere, as far as it can be
(`worker_requests`).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workers.measurement.compute.devtools.exchange import SERVICE_WORKER, SOCKET, Exchange
from workers.measurement.compute.header_lines import header_of, headers_in
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import DOCUMENTS, NOBODY, NetHop, Wait
from workers.measurement.compute.page.join import NEVER_ON_THE_NETWORK, plain_url
from workers.measurement.waterfall import ServedFrom

# A document that the browser asks for while its service worker starts, for that to answer with (Service Workers, 4.6).
FOR_SERVICE_WORKER = "service-worker-navigation-preload"
_SCHEMES = ("http:", "https:", "ws:", "wss:")


@dataclass(frozen=True, slots=True)
class Told:
    """All exchanges of a page in the order in which they began, and the log's hop of each by its place."""

    exchanges: Sequence[Exchange]
    pairs: Mapping[int, NetHop]
    # Sizes on the wire by address, of answers whose requests DevTools did not tell of.
    unasked: Mapping[str, Sequence[int | None]] = field(default_factory=dict)


def with_untold(told: Told, log: NetworkLog, *, zero_us: int, until_us: int | None) -> Told:
    """The same with those that only the log shows, from `zero_us` until DevTools was no longer listened to."""
    known = {id(hop) for hop in told.pairs.values()}
    doubtful = {
        (one.method, one.url)
        for index, one in enumerate(told.exchanges)
        if index not in told.pairs and one.served_from not in NEVER_ON_THE_NETWORK
    }
    answered = {
        (one.method, plain_url(one.url))
        for one in told.exchanges
        if one.is_document and one.served_from is ServedFrom.SERVICE_WORKER
    }
    found = [
        hop
        for hop in log.hops
        if id(hop) not in known
        and zero_us <= hop.started_ms * 1000
        and (until_us is None or hop.started_ms * 1000 < until_us)
        and _counts(hop, answered)
        and (hop.method, hop.url) not in doubtful
    ]
    if not found:
        return told
    mixed = [(exchange, told.pairs.get(index)) for index, exchange in enumerate(told.exchanges)]
    sizes = _sizes(found, told.unasked)
    hints = [(one.hints_ms, one.head_ms or one.hints_ms) for one in log.hops if one.hints_ms and one.kind in DOCUMENTS]
    mixed += [(_exchange(hop, log, hop.received_bytes or sizes.get(hop.url), hints), hop) for hop in found]
    mixed.sort(key=lambda pair: pair[0].started_us)
    pairs = {index: hop for index, (_, hop) in enumerate(mixed) if hop is not None}
    return Told([exchange for exchange, _ in mixed], pairs)


def _sizes(found: Sequence[NetHop], unasked: Mapping[str, Sequence[int | None]]) -> dict[str, int | None]:
    """By address, where one request stands against one answer: of several nobody knows which is whose."""
    asked = Counter(hop.url for hop in found)
    return {url: sizes[0] for url, sizes in unasked.items() if len(sizes) == asked[url] == 1}


def _counts(hop: NetHop, answered: Collection[tuple[str, str]]) -> bool:
    """Whether it is the page's and went out for a connection: our mark at the end of a log does not, nor what asks the
    cache alone. What the browser fetches on its own account is no part of a page, but for the documents that it asks
    for while their service workers start: `answered` are those that one answered.
    """
    ahead = header_of(headers_in(hop.sent_lines), FOR_SERVICE_WORKER) is not None
    if hop.kind in DOCUMENTS:
        asked = ahead or (hop.method, plain_url(hop.url)) in answered
    else:
        asked = ahead or hop.initiator != NOBODY
    return asked and hop.url.startswith(_SCHEMES) and hop.controller is not None


def _is_hinted(hop: NetHop, hints: Iterable[Wait]) -> bool:
    """Whether the browser asked for it on behalf of a document that had not come yet: an early answer (103) named it.
    `hints` are the times between such answers and the documents.
    """
    return not hop.pages_own and any(begin_ms <= hop.started_ms <= end_ms for begin_ms, end_ms in hints)


def _exchange(hop: NetHop, log: NetworkLog, transferred_bytes: int | None, hints: Iterable[Wait]) -> Exchange:
    began_us, failure = hop.started_ms * 1000, log.failure_of(hop)
    is_connected = hop.is_socket and failure is None
    return Exchange(
        request_id=f"log {hop.source}",
        url=hop.url,
        method=hop.method,
        started_us=began_us,
        kind=SOCKET if hop.is_socket else "Other",
        asker=SERVICE_WORKER if hop.kind in DOCUMENTS else None,
        preloaded=_is_hinted(hop, hints),
        untold=True,
        pages_own=hop.pages_own,
        net_started_us=began_us,
        request_headers=headers_in(hop.sent_lines),
        is_sent_known=True,
        response=answer_in(hop),
        response_headers=headers_in(hop.answer_lines),
        ended_us=None if hop.ended_ms is None or is_connected else hop.ended_ms * 1000,
        body_bytes=hop.body_bytes or None,
        transferred_bytes=transferred_bytes,
        redirected_to=hop.redirected_to,
        net_error=failure,
        cancelled=hop.cancelled,
    )


def is_cached(hop: NetHop) -> bool:
    """Whether the cache had it and nobody else was asked."""
    return hop.cached and not hop.transactions


def answer_in(hop: NetHop) -> dict[str, Any] | None:
    """An answer in DevTools' words, as far as the log tells; None where there was none."""
    if hop.status is None:
        return None
    told = {"status": hop.status, "protocol": hop.protocol, "fromDiskCache": is_cached(hop)}
    kind = header_of(headers_in(hop.answer_lines), "content-type")
    return told if kind is None else told | {"mimeType": kind.partition(";")[0].strip().lower()}
