"""Reads Chrome's network log into what it says of each request and each connection.

Both generations of Chrome's pool are read: a socket is opened by a connect job (the classic pool) or by an attempt
bound to an attempt manager (the new one); whoever opened it also waited for the name. `requests` reads the requests,
`frames` when they went out, `sockets` the connections, `sessions` those of QUIC, `links` which request used which,
`received` what each answer brought, `pauses` when nothing came.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable

from workers.measurement.compute.netlog.events import Names, NetEvent, read_events
from workers.measurement.compute.netlog.frames import Frames
from workers.measurement.compute.netlog.links import Links
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import NetSocket
from workers.measurement.compute.netlog.pauses import note_pauses
from workers.measurement.compute.netlog.received import Received
from workers.measurement.compute.netlog.requests import Requests
from workers.measurement.compute.netlog.sessions import Sessions
from workers.measurement.compute.netlog.sockets import Sockets

# Without one of these a connection may have been opened unseen; with them one that was not seen is older than the log.
_OPENINGS = frozenset({"SOCKET_ALIVE", "HTTP2_SESSION_INITIALIZED", "QUIC_SESSION"})


def read_netlog(names: Names, lines: Iterable[bytes], *, since_ms: int | None = None) -> NetworkLog:
    """What happened at or after `since_ms` of the monotonic clock. Unknown and damaged lines are passed over."""
    return gather(names, read_events(names, lines), since_ms=since_ms)


def gather(names: Names, events: Iterable[NetEvent], *, since_ms: int | None = None) -> NetworkLog:
    """The same from events, whoever read them."""
    log = NetworkLog(errors=names.errors, missing=names.missing, known=frozenset(names.by_type.values()))
    links, frames, sockets, sessions = Links(log), Frames(), Sockets(log), Sessions(log)
    requests, received = Requests(log, frames), Received(log)
    handlers: dict[str, list[Callable[[NetEvent], None]]] = defaultdict(list)
    for part in (links, frames, requests, sockets, sessions, received):
        for name, handler in part.handlers.items():
            handlers[name].append(handler)
    for event in events:
        if since_ms is None or event.time_ms >= since_ms:
            for handler in handlers[event.name]:
                handler(event)
    requests.finish()
    sockets.finish()
    sessions.finish()
    for hop in (*log.hops, *log.strangers):
        links.resolve(hop)
        unseen = hop.link is not None and hop.link not in log.sockets
        if hop.link is not None and unseen and hop.send.begin_ms is not None and log.known >= _OPENINGS:
            log.add_socket(NetSocket(hop.link, hop.send.begin_ms, quic=hop.protocol == "h3", older=True))
    received.count((*log.hops, *log.strangers))
    note_pauses(log, (*log.hops, *log.strangers))
    return log
