"""What a document that was never answered waited for when the time of its page was up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workers.measurement.compute.connection_facts import host_and_port
from workers.measurement.compute.netlog_nouns import NetHop, NetSocket, Stretch
from workers.measurement.compute.network_log import NetworkLog
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
