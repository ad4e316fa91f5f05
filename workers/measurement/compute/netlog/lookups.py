"""Which lookup a connection waited for: its own, or somebody else's that it was held back for."""

from bisect import bisect_right
from collections.abc import Iterator

from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import TICK_MS, NetHop, NetSocket, Wait, length_of

# A name is asked for by a few at a time.
_MAX_ASKERS = 64


def lookup_for(log: NetworkLog, socket: NetSocket, hop: NetHop | None) -> Wait | None:
    """The longest lookup that this connection waited for: its opener's own, that of an attempt in vain before it,
    or one by somebody else who tried to get the same request a connection, such as QUIC that had to go first.
    """
    began_ms = socket.tls.begin_ms if socket.quic else socket.connect.begin_ms
    own = log.dns_of(log.opener_of(socket))
    if own is not None and _was_anothers(log, own, socket, hop):
        own = None
    vain = [log.dns_of(log.opener_of(other)) for other in log.in_vain(socket)]
    others = [] if hop is None else [wait for wait in _waits_of(log, socket, hop) if hop.started_ms <= wait[1]]
    early = [wait for wait in (*vain, *others) if wait and began_ms is not None and wait[1] <= began_ms]
    known = [wait for wait in (own, *early) if wait]
    if not known and hop is not None and began_ms is not None:
        known += _held_back(log, socket, hop, began_ms)
    return max(known, key=length_of, default=None)


def _waits_of(log: NetworkLog, socket: NetSocket, hop: NetHop) -> Iterator[Wait]:
    """Those for this request, and for the try of it that got it this connection: a later try has others."""
    yield from log.waits_of(hop)
    controller = None if socket.opener is None else log.controller_of.get(socket.opener)
    if controller is not None and controller != hop.controller:
        yield from log.waits_for(controller)


def _held_back(log: NetworkLog, socket: NetSocket, hop: NetHop, began_ms: int) -> Iterator[Wait]:
    """Lookups of its origin with whose end it was dialled. TCP waits until QUIC's job knows the name, and then finds it
    at hand; of what is dialled ahead no event says so. Who asked for the connection later waited for none.
    """
    opener = log.opener_of(socket)
    if opener is None or socket.quic:
        return
    # On a busy machine who was made as the name was known dials milliseconds later.
    made_ms = began_ms if opener.made_ms is None else min(opener.made_ms, began_ms)
    askers = log.askers.get(opener.origin, [])
    end = bisect_right(askers, began_ms, key=lambda asker: asker[0])
    for _, source in askers[max(0, end - _MAX_ASKERS) : end]:
        wait = log.dns_of(log.openers.get(source))
        if wait is not None and hop.started_ms < wait[1] and made_ms - TICK_MS <= wait[1] <= made_ms:
            yield wait


def _was_anothers(log: NetworkLog, wait: Wait, socket: NetSocket, hop: NetHop | None) -> bool:
    """Whether a manager's lookup was over and used before anybody wanted this connection of the same manager."""
    connect = log.connect_of(socket)
    opener = log.opener_of(socket)
    if connect is None or opener is None or opener.manager not in log.openers:
        return False
    if hop is not None and wait[1] < hop.started_ms <= connect[0]:
        return True
    others = (log.sockets.get(source) for source in log.openers[opener.manager].sockets)
    spans = (other.connect.whole for other in others if other is not None and other is not socket)
    return any(span is not None and span[1] < connect[0] for span in spans)
