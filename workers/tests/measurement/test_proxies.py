"""Requests that go through a proxy: what is of the way there, of the site, and of neither."""

from typing import Any

from workers.measurement.compute.files.log_rows import rows_of
from workers.measurement.compute.netlog.events import NetEvent, Phase, names_of
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.reading import gather
from workers.measurement.compute.page.row_flags import connection_flags
from workers.measurement.connection import Connection
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request, RowFlag
from workers.tests.measurement.log_files import shown

# A lookup of 100 to 180, TCP until 220, TLS with the proxy until 360, the way through it until 480, TLS with the site
# until 580.
JOB, SOCKET, STREAM_JOB = 40, 58, 15
SITE = "https://shop.test"


def points_to(source: int) -> dict[str, Any]:
    return {"source_dependency": {"id": source}}


def event(name: str, source: int, time_ms: int, *, phase: Phase = Phase.NONE, **params: object) -> NetEvent:
    return NetEvent(name, phase, source, time_ms, params)


def stretch(name: str, begin_ms: int, end_ms: int, **params: object) -> list[NetEvent]:
    return [
        event(name, SOCKET, begin_ms, phase=Phase.BEGIN),
        event(name, SOCKET, end_ms, phase=Phase.END, **params),
    ]


def carried(begin_ms: int, end_ms: int, *names: str) -> list[NetEvent]:
    """A question and its answer, as each layer tells them."""
    sent = [event(f"{name}_SENT", SOCKET, begin_ms, byte_count=600) for name in names]
    return sent + [event(f"{name}_RECEIVED", SOCKET, end_ms, byte_count=500) for name in names]


def dialled() -> list[NetEvent]:
    return [
        event("URL_REQUEST_START_JOB", 1, 90, phase=Phase.BEGIN, url=f"{SITE}/", method="GET"),
        event("HTTP_STREAM_JOB_CONTROLLER_BOUND", 1, 95, **points_to(12)),
        event("HTTP_STREAM_JOB", STREAM_JOB, 96, phase=Phase.BEGIN, **points_to(12)),
        event("SOCKET_POOL_CONNECT_JOB_CREATED", JOB, 100, group_id=f"{SITE} <{SITE} same_site>"),
        event("HOST_RESOLVER_MANAGER_REQUEST", JOB, 100, phase=Phase.BEGIN, host="https://proxy.test:3130"),
        event("HOST_RESOLVER_MANAGER_JOB", 41, 100, phase=Phase.BEGIN),
        event("HOST_RESOLVER_MANAGER_JOB_ATTACH", JOB, 100, **points_to(41)),
        event("HOST_RESOLVER_MANAGER_JOB", 41, 180, phase=Phase.END),
        event("HOST_RESOLVER_MANAGER_REQUEST", JOB, 180, phase=Phase.END),
        event("SOCKET_ALIVE", SOCKET, 180, phase=Phase.BEGIN, **points_to(JOB)),
        *stretch("TCP_CONNECT_ATTEMPT", 180, 220, address="192.0.2.6:3130"),
        event("SOCKET_POOL_BOUND_TO_CONNECT_JOB", STREAM_JOB, 221, **points_to(JOB)),
    ]


def asked(at_ms: int) -> list[NetEvent]:
    """Request 1 is handed the socket and answered within 340 ms."""
    return [
        event("SOCKET_POOL_BOUND_TO_SOCKET", STREAM_JOB, at_ms, **points_to(SOCKET)),
        event("HTTP_STREAM_REQUEST_BOUND_TO_JOB", 1, at_ms, **points_to(STREAM_JOB)),
        event("HTTP_TRANSACTION_SEND_REQUEST", 1, at_ms, phase=Phase.BEGIN),
        event("HTTP_TRANSACTION_SEND_REQUEST_HEADERS", 1, at_ms),
        event("HTTP_TRANSACTION_SEND_REQUEST", 1, at_ms, phase=Phase.END),
        event("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", 1, at_ms + 340, headers=["HTTP/1.1 200 OK"]),
        event("HTTP_TRANSACTION_READ_BODY", 1, at_ms + 540, phase=Phase.END),
        event("REQUEST_ALIVE", 1, at_ms + 540, phase=Phase.END),
    ]


def log_of(events: list[NetEvent]) -> NetworkLog:
    told = sorted(events, key=lambda one: one.time_ms)
    return gather(names_of({"logEventTypes": {one.name: number for number, one in enumerate(told)}}), told)


def only_row(events: list[NetEvent]) -> Request:
    (found,) = rows_of(log_of(events), limit=10, zero_ms=0).waterfall.requests
    return found


def span(begin_ms: int, end_ms: int) -> Span:
    return Span(start_us=begin_ms * 1000, end_us=end_ms * 1000)


def secure_proxy() -> list[NetEvent]:
    """With TLS 1.2, whose handshake takes two round trips."""
    turns = [
        event(f"SSL_HANDSHAKE_MESSAGE_{way}", SOCKET, at_ms)
        for at_ms, way in ((220, "SENT"), (280, "RECEIVED"), (281, "SENT"), (359, "RECEIVED"))
    ]
    return [
        *dialled(),
        *stretch("SSL_CONNECT", 220, 360, version="TLS 1.2"),
        *turns,
        *stretch("HTTP_TRANSACTION_TUNNEL_SEND_REQUEST", 360, 360),
        *carried(360, 480, "SSL_SOCKET_BYTES", "SOCKET_BYTES"),
    ]


def test_a_way_through_a_proxy_is_in_no_phase_and_tls_is_the_sites() -> None:
    plain = [
        *dialled(),
        *stretch("HTTP_TRANSACTION_TUNNEL_SEND_REQUEST", 360, 360),
        *carried(360, 480, "SOCKET_BYTES"),
        *stretch("SSL_CONNECT", 480, 580),
    ]
    for way in (plain, [*secure_proxy(), *stretch("SSL_CONNECT", 480, 580)]):
        timing = only_row([*way, *asked(580)]).timing
        assert (timing.dns, timing.connect, timing.tls) == (span(100, 180), span(180, 220), span(480, 580))


def test_what_a_handshake_with_a_proxy_told_is_not_the_sites() -> None:
    events = [
        *secure_proxy(),
        *stretch("SSL_CONNECT", 480, 580, version="TLS 1.3"),
        event("SSL_HANDSHAKE_MESSAGE_SENT", SOCKET, 480),
        event("SSL_HANDSHAKE_MESSAGE_RECEIVED", SOCKET, 579),
        *asked(580),
    ]
    (found,) = rows_of(log_of(events), limit=10).waterfall.connections
    assert (found.tls_version, found.tls_round_trips) == ("TLSv1.3", 1)


def test_tickets_within_tls_with_a_proxy_are_no_answer() -> None:
    """Both layers are told by one name, and what the outer one carries of the inner one's handshake too."""
    events = [
        *secure_proxy(),
        *stretch("SSL_CONNECT", 480, 580),
        *carried(580, 620, "SSL_SOCKET_BYTES", "SOCKET_BYTES"),
        *asked(580),
        event("SSL_SOCKET_BYTES_RECEIVED", SOCKET, 920, byte_count=158),
    ]
    timing = only_row(events).timing
    assert (timing.wait, timing.download) == (span(580, 920), span(920, 1120))


def test_who_was_refused_the_way_through_a_proxy_made_no_handshake_with_the_site() -> None:
    failed = event("REQUEST_ALIVE", 1, 490, phase=Phase.END, net_error=-111)
    found = only_row([*secure_proxy(), failed])
    assert shown(found) == "dns connect"


def test_a_log_that_lacks_the_asking_for_a_way_has_the_last_handshake_all_the_same() -> None:
    way = [one for one in secure_proxy() if "TUNNEL" not in one.name]
    assert only_row([*way, *stretch("SSL_CONNECT", 480, 580), *asked(580)]).timing.tls == span(480, 580)


def test_of_http2_within_tls_with_a_proxy_no_size_is_known() -> None:
    events = [
        *secure_proxy(),
        *stretch("SSL_CONNECT", 480, 580),
        event("HTTP2_SESSION_INITIALIZED", 85, 580, **points_to(SOCKET)),
        *asked(580),
        event("HTTP2_SESSION_SEND_HEADERS", 85, 580, stream_id=1, **points_to(STREAM_JOB)),
        event("SSL_SOCKET_BYTES_RECEIVED", SOCKET, 920, byte_count=158),
        event("HTTP2_SESSION_RECV_HEADERS", 85, 920, stream_id=1),
        event("HTTP2_SESSION_RECV_DATA", 85, 920, stream_id=1),
    ]
    (hop,) = log_of(events).hops
    assert hop.received_bytes is None


def test_what_shares_a_connection_with_a_proxy_is_over_no_other_hosts() -> None:
    used = Connection(number=1, host="shop.test", port=80, protocol="h2", requests=2)
    for url, flags in (("http://img.test/a.png", ()), ("https://img.test/a.png", (RowFlag.COALESCED,))):
        assert connection_flags(used, url, early_data=None, pays=False) == flags
