"""What DevTools tells of some requests too late, wrongly or not at all, set right by the network log."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urljoin

from workers.measurement.compute.devtools.exchange import ON_THE_NETWORK, SERVICE_WORKER, SOCKET, Exchange
from workers.measurement.compute.header_lines import header_of, headers_in
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import DOCUMENTS, NOT_RESOLVED, NetHop
from workers.measurement.compute.page.untold import answer_in, is_cached
from workers.measurement.statuses import NOT_MODIFIED, REDIRECTS, WITHOUT_BODY

_ABORTED = "ERR_ABORTED"
# Chrome's names for redirects that it does not follow (net/base/net_error_list.h).
_REFUSALS = frozenset({"ERR_UNSAFE_REDIRECT", "ERR_TOO_MANY_REDIRECTS", "ERR_INVALID_REDIRECT"})

# Less than a petabyte; what a server says besides is no length of anything.
_LENGTH = re.compile("[0-9]{1,15}")


def settle(
    exchanges: Sequence[Exchange], pairs: Mapping[int, NetHop], log: NetworkLog, told_us: int | None = None
) -> None:
    """Sets exchanges right by their hops in `log`, which `pairs` gives by the place of each. At `told_us` the load was
    over: what ended later it had not ended itself.
    """
    for index, exchange in enumerate(exchanges):
        if (hop := pairs.get(index)) is not None:
            _settle_one(exchange, hop, log, told_us)
    _settle_given([one for index, one in enumerate(exchanges) if index not in pairs], exchanges)


def _settle_one(exchange: Exchange, hop: NetHop, log: NetworkLog, told_us: int | None) -> None:
    if exchange.kind == SOCKET:
        _settle_socket(exchange, hop, log)
    elif exchange.asker == SERVICE_WORKER and hop.kind in DOCUMENTS:
        # The browser asked before its service worker did.
        exchange.started_us = min(exchange.started_us, hop.started_ms * 1000)
    if exchange.net_error == NOT_RESOLVED:
        exchange.net_error = log.failure_of(hop) or NOT_RESOLVED
    _settle_answer(exchange, hop)
    if exchange.ended_us is None and _is_over(hop, told_us):
        _settle_end(exchange, hop, log)
    if _was_whole(exchange, hop):
        exchange.net_error, exchange.cancelled = None, False
    elif _broke_off(exchange, hop):
        exchange.net_error, exchange.transferred_bytes = log.failure_of(hop), hop.received_bytes
    if not exchange.is_sent_known and hop.sent_lines and exchange.kind != SOCKET:
        exchange.request_headers = headers_in(hop.sent_lines)
    if exchange.response is not None:
        _settle_received(exchange, hop)
        _settle_sizes(exchange, hop)


def _settle_answer(exchange: Exchange, hop: NetHop) -> None:
    if is_cached(hop):
        _settle_cached(exchange, hop)
    elif exchange.response is None and hop.status is not None:
        _settle_untold_answer(exchange, hop)
    elif _is_begun_anew(exchange, hop):
        exchange.response, exchange.response_headers = answer_in(hop), headers_in(hop.answer_lines)
        # Nobody reads the answer that wanted hints, though all of it may come.
        exchange.transferred_bytes = exchange.body_bytes = None


def _settle_given(left: Iterable[Exchange], exchanges: Iterable[Exchange]) -> None:
    """Of a worker's script that the page's service worker gives, and of what is given up before that answers, DevTools
    tells no answer: nobody asked the network for it, but the service worker for the same in its time.
    """
    fetched: dict[tuple[str, str], list[int]] = defaultdict(list)
    for one in exchanges:
        if one.asker == SERVICE_WORKER:
            fetched[one.method, one.url].append(one.started_us)
    for one in left:
        starts = fetched.get((one.method, one.url), ())
        in_time = (one.started_us <= at_us <= (one.ended_us or at_us) for at_us in starts)
        if one.response is None and one.asker != SERVICE_WORKER and any(in_time):
            one.response = {"fromServiceWorker": True}


def _settle_socket(exchange: Exchange, hop: NetHop, log: NetworkLog) -> None:
    """DevTools gives the instant at which its handshake was sent, the connection being there, and of one that failed
    only that it is closed.
    """
    exchange.started_us = min(exchange.started_us, hop.started_ms * 1000)
    if exchange.response is None and exchange.ended_us is not None:
        exchange.net_error = exchange.net_error or log.failure_of(hop)


def _is_over(hop: NetHop, told_us: int | None) -> bool:
    """Whether it came to its end in the load."""
    if hop.ended_ms is None or not hop.over or hop.is_socket:
        return False
    return not hop.cancelled if told_us is None else hop.ended_ms * 1000 < told_us


def _settle_end(exchange: Exchange, hop: NetHop, log: NetworkLog) -> None:
    """DevTools tells no end of what a script fetched and never read, if it must not be stored, and none of what a
    document was waiting for when it gave way to another.
    """
    exchange.ended_us = (hop.ended_ms or 0) * 1000
    exchange.net_error, exchange.cancelled = log.failure_of(hop), hop.cancelled


def _settle_cached(exchange: Exchange, hop: NetHop) -> None:
    """DevTools says of what the cache is just being given, as by an early hint, that it comes from the network, and of
    a worker's script that the cache has nothing. What it was answered with the log does not say.
    """
    exchange.from_cache = True
    if exchange.ended_us is None and hop.ended_ms is not None:
        exchange.ended_us = hop.ended_ms * 1000


def _settle_untold_answer(exchange: Exchange, hop: NetHop) -> None:
    """The answer to a worker's script is told in a session that nobody may have opened in time. Its page then hears of
    its end when the worker has read it, and counts its head alone; what a service worker fetches is counted whole.
    """
    exchange.response = answer_in(hop)
    exchange.response_headers = exchange.response_headers or headers_in(hop.answer_lines)
    if (target := _target_of(hop)) is not None:
        # What was told of its end is that of another hop, but for where the browser does not go.
        exchange.redirected_to, exchange.body_bytes, exchange.transferred_bytes = target, 0, None
        exchange.net_error = exchange.net_error if exchange.net_error in _REFUSALS else None
        exchange.cancelled = False
    if exchange.net_error is not None or hop.ended_ms is None:
        return
    exchange.ended_us = hop.ended_ms * 1000
    body_bytes = 0 if _is_empty(exchange) else _encoded_bytes(exchange, hop)
    if exchange.transferred_bytes is not None:
        counted = None if body_bytes is None else exchange.transferred_bytes + body_bytes
        is_whole = exchange.asker == SERVICE_WORKER
        exchange.transferred_bytes = hop.received_bytes or (exchange.transferred_bytes if is_whole else counted)


def _is_begun_anew(exchange: Exchange, hop: NetHop) -> bool:
    """Whether the browser asks once more for what was answered, since the answer wants hints (Critical-CH): DevTools
    tells of a redirect in its place that nobody sent.
    """
    is_told_to_lead = exchange.redirected_to is not None and exchange.number("status") in REDIRECTS
    return is_told_to_lead and hop.status is not None and hop.status not in REDIRECTS


def _target_of(hop: NetHop) -> str | None:
    """Where it led. The redirect of a worker's script is followed by a request of its own."""
    location = header_of(headers_in(hop.answer_lines), "location") if hop.status in REDIRECTS else None
    if hop.redirected_to is not None or location is None:
        return hop.redirected_to
    try:
        return urljoin(hop.url, location)
    except ValueError:
        return None


def _encoded_bytes(exchange: Exchange, hop: NetHop) -> int | None:
    """A body's size on the wire: the log counts what was unpacked."""
    length = header_of(exchange.response_headers, "content-length")
    if length is not None and _LENGTH.fullmatch(length):
        return int(length)
    return hop.body_bytes if header_of(exchange.response_headers, "content-encoding") is None else None


def _settle_sizes(exchange: Exchange, hop: NetHop) -> None:
    """DevTools counts no bytes of what a script fetches, and the log none of what goes into the cache unread. Of an
    answer that was given up once it was whole, as one without a body or an error in place of a script, DevTools tells
    the size of its head; so it does at times of a worker's script.
    """
    empty = _is_empty(exchange)
    if exchange.body_bytes is None:
        exchange.body_bytes = 0 if empty else hop.body_bytes or None
    whole = exchange.net_error is None and exchange.ended_us is not None
    head_bytes = exchange.number("encodedDataLength")
    if exchange.transferred_bytes in (None, head_bytes) and whole and head_bytes:
        body_bytes = 0 if empty or hop.status == NOT_MODIFIED else _encoded_bytes(exchange, hop)
        # Where DevTools tells late, what it calls the head has the body in it.
        is_head_alone = exchange.transferred_bytes is None or (body_bytes or 0) > head_bytes
        if exchange.served_from in ON_THE_NETWORK and is_head_alone:
            exchange.transferred_bytes = None if body_bytes is None else head_bytes + body_bytes


def _settle_received(exchange: Exchange, hop: NetHop) -> None:
    """Where DevTools counted nothing of an answer, as of one that was given up or goes on, or its head alone, as of
    redirects, the log may have counted all that came."""
    told = exchange.transferred_bytes not in (None, exchange.number("encodedDataLength"))
    if hop.received_bytes is not None and not told and exchange.served_from in ON_THE_NETWORK:
        exchange.transferred_bytes = hop.received_bytes


def _is_empty(exchange: Exchange) -> bool:
    length = header_of(exchange.response_headers, "content-length")
    return exchange.number("status") in WITHOUT_BODY or length == "0" or exchange.method == "HEAD"


def _was_whole(exchange: Exchange, hop: NetHop) -> bool:
    return _is_given_up(exchange) and hop.ended_ms is not None and not hop.cancelled and hop.net_error is None


def _broke_off(exchange: Exchange, hop: NetHop) -> bool:
    """Of a picture that is cut short Chrome shows what came, and DevTools calls it finished, with some of its bytes."""
    called_finished = exchange.net_error is None and exchange.ended_us is not None and exchange.response is not None
    return called_finished and hop.over and not hop.cancelled and hop.net_error is not None and not hop.is_socket


def _is_given_up(exchange: Exchange) -> bool:
    """Chrome's reader gives an answer that it has no use for up, also once it is complete, which DevTools calls
    aborted."""
    return exchange.cancelled and exchange.net_error == _ABORTED and exchange.response is not None


def settle_empty(exchanges: Iterable[Exchange]) -> None:
    """Without a log only an answer of which nothing more was to come is known to be whole, though it was given up."""
    for exchange in exchanges:
        if _is_given_up(exchange) and _is_empty(exchange):
            exchange.net_error, exchange.cancelled = None, False
