"""At which request of a network log the cost of a connection stands: the first that was sent over it, or one that had
waited for it from its beginning and was overtaken.

A log that begins in the middle, or that lacks an event, does not lead every request to its connection. Where one of
those may have been the first, nobody pays: better no cost than another's.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from workers.measurement.compute.netlog.connection_facts import host_and_port
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import NetHop, NetSocket

# What waits for a session of HTTP/2 or HTTP/3 is sent at once when that is there; a busy processor stretches it.
_AT_ONCE_MS = 10
# Requests that were under way before the log began: of them there is no URL.
_ANYWHERE = ("", 0)
_Sent = dict[tuple[str, int], list[int]]


def payers_of(log: NetworkLog, users: Mapping[int, list[NetHop]]) -> dict[int, NetHop]:
    """By the connection's source; `users` are those that are known, in the order in which they were sent."""
    lost, before = _lost(log), _used_before(log)
    return {
        source: hops[0]
        for source, hops in users.items()
        if not _was_another_first(log.sockets[source], hops[0], lost, before)
    }


def waited_for(log: NetworkLog, socket: NetSocket, hops: Sequence[NetHop]) -> NetHop:
    """Of requests that used a connection, in the order in which they were sent, the one that its cost stands at.

    That is the first, unless it was asked for when the connection was being opened already, and overtook another that
    had waited from the beginning: all that wait for a session of HTTP/2 or HTTP/3 are sent at once, the urgent ones
    first.
    """
    first, began = hops[0], log.connect_of(socket) or socket.tls.whole
    if began is None or first.sent_ms is None or not (socket.quic or first.protocol == "h2"):
        return first
    if first.started_ms <= began[0]:
        return first
    until_ms, place = first.sent_ms + _AT_ONCE_MS, host_and_port(first.url)
    waiting = [
        hop
        for hop in hops
        if hop.started_ms <= began[0] and (hop.sent_ms or 0) <= until_ms and host_and_port(hop.url) == place
    ]
    return min(waiting, key=lambda hop: hop.started_ms, default=first)


def reused_by(log: NetworkLog, users: Mapping[int, list[NetHop]]) -> Callable[[NetHop], bool | None]:
    """Whether a request found its connection used; None where that cannot be known."""
    payers, before = payers_of(log, users), _used_before(log)

    def is_reused(hop: NetHop) -> bool | None:
        if hop.link is None or hop.link not in users:
            return None
        first = users[hop.link][0]
        if first is not hop:
            return True
        if payers.get(hop.link) is hop:
            return False
        sent_ms = before.get(hop.link)
        is_second = sent_ms is not None and hop.sent_ms is not None and sent_ms < hop.sent_ms
        return True if is_second else hop.follows

    return is_reused


def _was_another_first(socket: NetSocket, first: NetHop, lost: _Sent, before: Mapping[int, int]) -> bool:
    """Whether a connection is older than the log, or may have been used before its first known user."""
    sent_ms = first.sent_ms
    if socket.older or sent_ms is None:
        return socket.older
    if before.get(socket.source, sent_ms + 1) <= sent_ms:
        return True
    ends = (instant for instant in (socket.tls.end_ms, socket.connect.end_ms) if instant is not None)
    ready_ms = next(ends, socket.opened_ms)
    if socket.early_data is not None:
        # It was ready for early data before its handshake was over.
        ready_ms = socket.opened_ms
    return any(
        _is_any(lost[place], ready_ms, sent_ms) for place in (_ANYWHERE, host_and_port(first.url)) if place in lost
    )


def _is_any(instants: list[int], begin_ms: int, end_ms: int) -> bool:
    at = bisect_left(instants, begin_ms)
    return at < len(instants) and instants[at] <= end_ms


def _lost(log: NetworkLog) -> _Sent:
    """When requests were sent of which nobody knows over which connection, by host and in order."""
    found: _Sent = defaultdict(list)
    for hop in (*log.hops, *log.strangers):
        if hop.link is None and hop.sent_ms is not None:
            found[host_and_port(hop.url) if hop.url else _ANYWHERE].append(hop.sent_ms)
    for instants in found.values():
        instants.sort()
    return found


def _used_before(log: NetworkLog) -> dict[int, int]:
    """When a request that was under way before the log began was first sent over each connection."""
    found: dict[int, int] = {}
    for hop in log.strangers:
        if hop.link is not None and hop.sent_ms is not None:
            found[hop.link] = min(hop.sent_ms, found.get(hop.link, hop.sent_ms))
    return found
