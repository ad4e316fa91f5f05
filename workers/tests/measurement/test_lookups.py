"""Lookups that somebody else made, and connections that Chrome's newer pool hands out without ALPN."""

from dataclasses import replace

import pytest

from workers.measurement.compute.files.log_rows import rows_of
from workers.measurement.compute.netlog.events import NetEvent, Phase, names_of
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.reading import gather
from workers.measurement.waterfall import Request
from workers.tests.measurement.log_files import shown

URL = {"url": "https://shop.test:8443/", "method": "GET"}
HOST = "https://shop.test:8443"


def points_to(source: int) -> dict[str, dict[str, int]]:
    return {"source_dependency": {"id": source}}


def log_of(events: list[NetEvent]) -> NetworkLog:
    return gather(names_of({"logEventTypes": {event.name: number for number, event in enumerate(events)}}), events)


def rows_told(events: list[NetEvent]) -> tuple[Request, ...]:
    """By a log that tells of nothing but these events."""
    types = {event.name: number for number, event in enumerate(events)}
    names = names_of({"logEventTypes": types, "logEventPhase": {"PHASE_BEGIN": 1, "PHASE_END": 2}})
    return rows_of(gather(names, events), limit=10).waterfall.requests


def only_row(events: list[NetEvent]) -> Request:
    (found,) = rows_of(log_of(events), limit=10).waterfall.requests
    return found


def asked_for(host: str, begin_ms: int, end_ms: int) -> list[NetEvent]:
    """Source 57 looks a host up for the use of QUIC, to which nothing comes."""
    return [
        NetEvent("HOST_RESOLVER_MANAGER_REQUEST", Phase.BEGIN, 57, begin_ms, {"host": host}),
        NetEvent("HOST_RESOLVER_MANAGER_JOB_ATTACH", Phase.NONE, 57, begin_ms, points_to(58)),
        NetEvent("HOST_RESOLVER_MANAGER_JOB", Phase.BEGIN, 58, begin_ms, {}),
        NetEvent("HOST_RESOLVER_MANAGER_JOB", Phase.END, 58, end_ms, {}),
        NetEvent("HOST_RESOLVER_MANAGER_REQUEST", Phase.END, 57, end_ms, {}),
    ]


def dialled(at_ms: int) -> list[NetEvent]:
    """Job 67 dials with an answer that was at hand, and job 15 of request 1 is handed its socket."""
    group = f"{HOST} <https://shop.test same_site>"
    return [
        NetEvent("SOCKET_POOL_CONNECT_JOB_CREATED", Phase.NONE, 67, at_ms, {"group_id": group}),
        NetEvent("HOST_RESOLVER_MANAGER_CACHE_HIT", Phase.NONE, 67, at_ms, {}),
        NetEvent("SOCKET_ALIVE", Phase.BEGIN, 68, at_ms, points_to(67)),
        NetEvent("TCP_CONNECT_ATTEMPT", Phase.BEGIN, 68, at_ms, {"address": "192.0.2.1:8443"}),
        NetEvent("TCP_CONNECT_ATTEMPT", Phase.END, 68, at_ms + 20, {}),
        NetEvent("SOCKET_POOL_BOUND_TO_CONNECT_JOB", Phase.NONE, 15, at_ms + 20, points_to(67)),
        NetEvent("SOCKET_POOL_BOUND_TO_SOCKET", Phase.NONE, 15, at_ms + 20, points_to(68)),
        NetEvent("HTTP_STREAM_REQUEST_BOUND_TO_JOB", Phase.NONE, 1, at_ms + 20, points_to(15)),
        NetEvent("HTTP_TRANSACTION_SEND_REQUEST", Phase.BEGIN, 1, at_ms + 20, {}),
        NetEvent("HTTP_TRANSACTION_SEND_REQUEST", Phase.END, 1, at_ms + 20, {}),
        NetEvent("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", Phase.NONE, 1, at_ms + 70, {"headers": ["HTTP/1.1 200 OK"]}),
    ]


def test_who_dials_as_a_lookup_of_its_host_ends_waited_for_it() -> None:
    """A document whose host Chrome dials ahead: TCP is held back until QUIC's job knows the name, and finds it then."""
    start = NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 110, URL)
    asked = asked_for(HOST, 100, 180)
    for held_ms in (0, 1):
        found = only_row([*asked[:3], start, *asked[3:], *dialled(180 + held_ms)])
        assert shown(found) == "dns connect send wait"
        assert found.timing.dns is not None
        assert found.timing.dns.duration_us == 80_000


def test_who_was_made_as_a_lookup_of_its_host_ends_waited_for_it_though_it_dials_late() -> None:
    """As on a busy machine."""
    start = NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 110, URL)
    asked, (made, *late) = asked_for(HOST, 100, 180), dialled(184)
    found = only_row([*asked[:3], start, *asked[3:], replace(made, time_ms=180), *late])
    assert found.timing.dns is not None
    assert found.timing.dns.duration_us == 80_000


def test_what_another_host_another_time_or_an_earlier_wish_looked_up_is_nobodys_wait() -> None:
    start = NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 110, URL)
    late = NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 180, URL)
    cases = (
        [*asked_for("https://other.test:8443", 100, 180), start, *dialled(180)],
        [*asked_for(HOST, 100, 180), start, *dialled(183)],
        [*asked_for(HOST, 100, 180), late, *dialled(180)],
    )
    assert {shown(only_row(case)) for case in cases} == {"connect send wait"}


def test_a_lookup_stands_at_its_request_though_credentials_were_asked_for_since() -> None:
    """Who gets a request its second try is another; what the first one waited for is its own all the same."""
    events = [
        NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 90, URL),
        NetEvent("HTTP_STREAM_JOB_CONTROLLER_BOUND", Phase.NONE, 1, 95, points_to(12)),
        NetEvent("HTTP_STREAM_JOB", Phase.BEGIN, 14, 96, points_to(12)),
        NetEvent("BOUND_TO_QUIC_SESSION_POOL_JOB", Phase.NONE, 14, 96, points_to(57)),
        NetEvent("HTTP_STREAM_JOB", Phase.BEGIN, 15, 96, points_to(12)),
        *asked_for(HOST, 100, 180),
        *dialled(300)[:-1],
        NetEvent("HTTP_STREAM_JOB_CONTROLLER_BOUND", Phase.NONE, 1, 400, points_to(30)),
        NetEvent("HTTP_STREAM_REQUEST_BOUND_TO_JOB", Phase.NONE, 1, 400, points_to(15)),
        *dialled(400)[-3:],
    ]
    found = only_row(events)
    assert found.timing.dns is not None
    assert (found.timing.dns.start_us, found.timing.dns.duration_us) == (10_000, 80_000)


@pytest.mark.parametrize("in_new_pool", [False, True])
def test_what_an_earlier_try_looked_up_stands_at_the_request_that_a_later_one_was_opened_for(
    *, in_new_pool: bool
) -> None:
    """HTTP/1.1 was required, a certificate was asked for, or the server closed with its 401."""
    tries = [
        NetEvent("HTTP_STREAM_JOB", Phase.BEGIN, 14, 96, points_to(12)),
        NetEvent("BOUND_TO_QUIC_SESSION_POOL_JOB", Phase.NONE, 14, 96, points_to(57)),
    ]
    managed = [NetEvent("HTTP_STREAM_POOL_ATTEMPT_MANAGER_JOB_BOUND", Phase.NONE, 1, 96, points_to(57))]
    events = [
        NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 90, URL),
        NetEvent("HTTP_STREAM_JOB_CONTROLLER_BOUND", Phase.NONE, 1, 95, points_to(12)),
        *(managed if in_new_pool else tries),
        *asked_for(HOST, 100, 180),
        NetEvent("HTTP_STREAM_JOB_CONTROLLER_BOUND", Phase.NONE, 1, 300, points_to(30)),
        NetEvent("HTTP_STREAM_JOB", Phase.BEGIN, 15, 300, points_to(30)),
        *dialled(300),
    ]
    found = only_row(events)
    assert found.timing.dns is not None
    assert (found.timing.dns.start_us, found.timing.dns.duration_us) == (10_000, 80_000)


def test_a_request_that_failed_waited_for_the_lookup_that_was_begun_ahead_of_it() -> None:
    events = [
        *asked_for(HOST, 100, 180)[:3],
        NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 110, URL),
        NetEvent("HTTP_STREAM_JOB_CONTROLLER_BOUND", Phase.NONE, 1, 112, points_to(12)),
        NetEvent("HTTP_STREAM_JOB", Phase.BEGIN, 14, 112, points_to(12)),
        NetEvent("BOUND_TO_QUIC_SESSION_POOL_JOB", Phase.NONE, 14, 112, points_to(57)),
        *asked_for(HOST, 100, 180)[3:],
        NetEvent("REQUEST_ALIVE", Phase.END, 1, 182, {"net_error": -105}),
    ]
    found = only_row(events)
    assert found.timing.dns is not None
    assert found.timing.dns.duration_us == 80_000


def test_of_a_lookup_that_began_before_the_log_nobody_knows_how_long_it_took() -> None:
    """Who joins it says since when it waits, which is not since when somebody asked."""
    events = [
        NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 90, URL),
        NetEvent("HOST_RESOLVER_MANAGER_REQUEST", Phase.BEGIN, 67, 100, {"host": HOST}),
        NetEvent("HOST_RESOLVER_MANAGER_JOB_ATTACH", Phase.NONE, 67, 100, points_to(58)),
        NetEvent("HOST_RESOLVER_MANAGER_JOB", Phase.END, 58, 180, {}),
        NetEvent("HOST_RESOLVER_MANAGER_REQUEST", Phase.END, 67, 180, {}),
        *(event for event in dialled(180) if event.name != "HOST_RESOLVER_MANAGER_CACHE_HIT"),
    ]
    begun = NetEvent("HOST_RESOLVER_MANAGER_JOB", Phase.BEGIN, 58, 60, {})
    assert [shown(row) for row in rows_told(events)] == ["connect send wait"]
    assert [shown(row) for row in rows_told([begun, *events])] == ["dns connect send wait"]


def handed_out(protocol: str, net_error: int) -> list[NetEvent]:
    """The newer pool dials for job 16 of request 1, and says nothing of whose the socket is."""
    job = {"negotiated_protocol": protocol, "net_error": net_error}
    return [
        NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 100, {"url": "http://shop.test/", "method": "GET"}),
        NetEvent("HTTP_STREAM_JOB_CONTROLLER_BOUND", Phase.NONE, 1, 100, points_to(12)),
        NetEvent("HTTP_STREAM_JOB_CONTROLLER_BOUND", Phase.NONE, 12, 100, points_to(1)),
        NetEvent("HTTP_STREAM_POOL_JOB_CONTROLLER_JOB_BOUND", Phase.NONE, 12, 100, points_to(16)),
        NetEvent("SOCKET_ALIVE", Phase.BEGIN, 21, 130, points_to(20)),
        NetEvent("TCP_CONNECT_ATTEMPT", Phase.BEGIN, 21, 130, {"address": "192.0.2.1:80"}),
        NetEvent("TCP_CONNECT_ATTEMPT", Phase.END, 21, 150, {}),
        NetEvent("HTTP_STREAM_POOL_GROUP_HANDLE_CREATED", Phase.NONE, 14, 150, points_to(21) | {"reuse_type": 0}),
        NetEvent("HTTP_STREAM_POOL_JOB_ALIVE", Phase.END, 16, 150, job),
        NetEvent("HTTP_TRANSACTION_SEND_REQUEST", Phase.BEGIN, 1, 150, {}),
        NetEvent("HTTP_TRANSACTION_SEND_REQUEST", Phase.END, 1, 150, {}),
        NetEvent("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", Phase.NONE, 1, 190, {"headers": ["HTTP/1.1 200 OK"]}),
    ]


def test_the_newer_pool_hands_out_connections_without_alpn_too() -> None:
    """Without TLS nobody agrees on a protocol: Chrome calls that unknown."""
    for protocol in ("http/1.1", "unknown"):
        found = only_row(handed_out(protocol, 0))
        assert (shown(found), found.connection, found.reused) == ("connect send wait", 1, False)
        assert found.address == "192.0.2.1"


def test_a_job_of_the_newer_pool_that_failed_was_handed_nothing() -> None:
    assert only_row(handed_out("unknown", -102)).connection is None
