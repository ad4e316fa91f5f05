"""Connections that came to nothing for a request: such as were refused for their certificate, before Chrome was told to
accept it all the same. It then begins anew, with a connection whose certificate it no longer looks at.
"""

from collections.abc import Iterable
from dataclasses import replace

from workers.measurement.compute.netlog.connection_facts import certificate_error
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import NetHop, NetSocket
from workers.measurement.connection import Connection


def opened_for(log: NetworkLog, hop: NetHop) -> list[int]:
    """The connections that a request opened and did not use: none of them was opened ahead."""
    return opened_in_vain(log, hop) + [
        socket.source
        for controller in hop.former
        for opener in log.controllers.get(controller, ())
        for socket in _sockets_of(log, opener)
        if certificate_error(log, socket.tls_facts.get("net_error")) is not None
    ]


def opened_in_vain(log: NetworkLog, hop: NetHop) -> list[int]:
    """The connections that were opened for a request that failed, such as one with a wrong certificate; the last one
    first.
    """
    if hop.send.begin_ms is not None or log.failure_of(hop) is None:
        return []
    known = (log.sockets[source] for source in reversed(log.tries_of(hop)) if source in log.sockets)
    return [one.source for one in known if one.was_opened and one.opened_ms >= hop.started_ms]


def with_accepted_errors(connections: Iterable[Connection]) -> tuple[Connection, ...]:
    """The same, with the error of a certificate also where it was accepted: at the later connections to that server, as
    far as they show no other certificate.
    """
    refused: dict[tuple[str, int, str | None], str] = {}
    told = []
    for one in connections:
        sha256 = None if one.certificate is None else one.certificate.sha256
        if one.certificate_error is not None:
            refused |= {(one.host, one.port, shown): one.certificate_error for shown in (sha256, None)}
        error = one.certificate_error or refused.get((one.host, one.port, sha256))
        told.append(replace(one, certificate_error=error))
    return tuple(told)


def _sockets_of(log: NetworkLog, opener: int) -> Iterable[NetSocket]:
    sources = log.openers[opener].sockets if opener in log.openers else ()
    return [log.sockets[source] for source in sources if source in log.sockets]
