"""Connections whose certificate Chrome refused before it was told to accept it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from workers.measurement.certificate import Certificate
from workers.measurement.compute.netlog.events import NetEvent, Phase
from workers.measurement.compute.netlog.refusals import opened_for, with_accepted_errors
from workers.measurement.connection import Connection
from workers.tests.measurement.test_lookups import URL, log_of, points_to

NOW = datetime(2026, 8, 1, tzinfo=UTC)
ERROR = "ERR_CERT_AUTHORITY_INVALID"
REFUSED = Connection(number=1, host="shop.test", port=443, certificate_error=ERROR)


def certificate(sha256: str) -> Certificate:
    return Certificate(subject="a", issuer="b", names=(), not_before=NOW, not_after=NOW, sha256=sha256)


def tried(controller: int, socket: int, at_ms: int, facts: dict[str, int]) -> list[NetEvent]:
    """A request's try for a connection, from its controller to the end of the handshake."""
    job, opener = controller + 1, controller + 2
    return [
        NetEvent("HTTP_STREAM_JOB_CONTROLLER_BOUND", Phase.NONE, 1, at_ms, points_to(controller)),
        NetEvent("HTTP_STREAM_JOB", Phase.BEGIN, job, at_ms, points_to(controller)),
        NetEvent("SOCKET_ALIVE", Phase.BEGIN, socket, at_ms, points_to(opener)),
        NetEvent("TCP_CONNECT_ATTEMPT", Phase.BEGIN, socket, at_ms, {"address": "192.0.2.1:443"}),
        NetEvent("TCP_CONNECT_ATTEMPT", Phase.END, socket, at_ms + 1, {}),
        NetEvent("SSL_CONNECT", Phase.BEGIN, socket, at_ms + 1, {}),
        NetEvent("SSL_CONNECT", Phase.END, socket, at_ms + 9, facts),
        NetEvent("SOCKET_POOL_BOUND_TO_CONNECT_JOB", Phase.NONE, job, at_ms + 9, points_to(opener)),
    ]


@pytest.mark.parametrize(("net_error", "sockets"), [(-202, [80]), (-107, [])])
def test_a_request_that_began_anew_had_opened_the_connection_that_was_refused(
    net_error: int, sockets: list[int]
) -> None:
    log = log_of(
        [
            NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 90, URL),
            *tried(10, 80, 100, {"net_error": net_error}),
            *tried(20, 81, 110, {}),
            NetEvent("HTTP_TRANSACTION_SEND_REQUEST", Phase.BEGIN, 1, 120, {}),
        ]
    )
    log.errors = {-202: ERROR, -107: "ERR_SSL_PROTOCOL_ERROR"}
    assert opened_for(log, log.hops[0]) == sockets


def test_an_error_stands_at_the_later_connections_to_that_server() -> None:
    used = Connection(number=2, host="shop.test", port=443, requests=3)
    others = [replace(used, port=8443), replace(used, host="other.test")]
    told = with_accepted_errors([used, REFUSED, used, *others])
    assert [one.certificate_error for one in told] == [None, ERROR, ERROR, None, None]


def test_a_server_that_showed_another_certificate_later_is_not_blamed_for_the_first() -> None:
    refused = replace(REFUSED, certificate=certificate("one"))
    used = [replace(refused, certificate_error=None, certificate=certificate(name)) for name in ("one", "two")]
    told = with_accepted_errors([refused, *used])
    assert [one.certificate_error for one in told] == [ERROR, ERROR, None]
