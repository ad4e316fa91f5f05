"""What a document that was never answered waited for: when the time of its page was up, or when a connection ended."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from workers.measurement.compute.netlog.connection_facts import host_and_port
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import TICK_MS, NetHop, NetSocket, Stretch
from workers.measurement.failure import FailureKind, Stage

WAITED_FOR: Mapping[Stage, FailureKind] = {
    Stage.DNS: FailureKind.DNS_TIMEOUT,
    Stage.CONNECT: FailureKind.CONNECT_TIMEOUT,
    Stage.TLS: FailureKind.TLS_TIMEOUT,
    Stage.WAIT: FailureKind.RESPONSE_TIMEOUT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """For what, and for how long it had waited for that alone."""

    stage: Stage
    waited_us: int


def waiting_of(hop: NetHop, log: NetworkLog, until_us: int) -> Waiting | None:
    """Until that instant of the monotonic clock. None of a document that was answered, or whose wait the log does not
    show, as where a connection was there and carried nothing."""
    until_ms = until_us // 1000
    if hop.head_ms is not None and hop.head_ms < until_ms:
        return None
    stage, since_ms = (Stage.WAIT, hop.sent_ms) if hop.sent_ms is not None else _unsent(hop, log, until_ms)
    if stage is None or since_ms is None:
        return None
    return Waiting(stage=stage, waited_us=until_us - max(since_ms, hop.started_ms) * 1000)


def ended_at(hop: NetHop, tried: Iterable[NetSocket]) -> Stage | None:
    """At what the connections over TCP of a request that was never sent were when it ended. A handshake that failed
    with the request's own error ended it. None where otherwise one dialled and another shook hands: whoever ends with a
    request may have been given up for it."""
    sockets = [socket for socket in tried if not socket.quic]
    tcp = [socket for socket in sockets if not _is_left_behind(socket, sockets)]
    if any(socket.tls_facts.get("net_error") == hop.net_error for socket in tcp if hop.net_error is not None):
        return Stage.TLS
    last = _last_under_way(tcp, hop.ended_ms)
    shaking = [socket for socket in last if socket.tls.begin_ms is not None]
    if not shaking:
        return Stage.CONNECT
    return Stage.TLS if len(shaking) == len(last) else None


def _is_left_behind(dialled: NetSocket, sockets: Iterable[NetSocket]) -> bool:
    """Whether its opener had another connection since: it waits for one address as long as none answers, and the log
    tells of no end of what it gives up."""
    began_ms = dialled.connect.begin_ms
    if dialled.opener is None or began_ms is None or dialled.was_opened:
        return False
    siblings = (one for one in sockets if one is not dialled and one.opener == dialled.opener and one.was_opened)
    return any((one.connect.end_ms or 0) >= began_ms for one in siblings)


def _last_under_way(sockets: Sequence[NetSocket], ended_ms: int | None) -> list[NetSocket]:
    """Those at which something was under way until then or, if nothing was, for the longest."""
    ends = [((socket.tls if socket.tls.begin_ms is not None else socket.connect).end_ms, socket) for socket in sockets]
    newest_ms = max((end_ms for end_ms, _ in ends if end_ms is not None), default=0)
    for until_ms in (newest_ms if ended_ms is None else ended_ms, newest_ms):
        if last := [socket for end_ms, socket in ends if end_ms is None or end_ms >= until_ms - TICK_MS]:
            return last
    return []


def _unsent(hop: NetHop, log: NetworkLog, until_ms: int) -> tuple[Stage | None, int | None]:
    """By who went to its host: for whom they went the log says when they come back."""
    host = host_and_port(hop.url)
    openers = [opener for opener in log.openers.values() if host_and_port(opener.origin) == host]
    sockets = [log.sockets[source] for opener in openers for source in opener.sockets if source in log.sockets]
    if any(_is_ready(socket, until_ms) for socket in sockets):
        return None, None
    for stage, stretches in (
        (Stage.TLS, [socket.tls for socket in sockets]),
        (Stage.CONNECT, [socket.connect for socket in sockets]),
        (Stage.DNS, [opener.dns for opener in openers]),
    ):
        since_ms = _open_since_ms(stretches, until_ms)
        if since_ms is not None:
            return stage, since_ms
    return None, None


def _open_since_ms(stretches: Iterable[Stretch], until_ms: int) -> int | None:
    """When the first began of those that had not ended; what ends later is ended by the browser's own end."""
    begun = (one.begin_ms for one in stretches if one.end_ms is None or one.end_ms >= until_ms)
    return min((begin for begin in begun if begin is not None and begin < until_ms), default=None)


def _is_ready(socket: NetSocket, until_ms: int) -> bool:
    """Whether a request could have been sent over it."""
    last = socket.tls if socket.is_secure else socket.connect
    return last.whole is not None and last.whole[1] < until_ms and not socket.connect_error
