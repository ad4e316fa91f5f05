"""Chrome's network log: what recorded logs say, and what damaged or foreign ones must not do."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.netlog.events import NEEDED, NetEvent, Phase, names_of, read_events
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.reading import gather, read_netlog
from workers.tests.captures import store
from workers.tests.measurement.recorded import GOLDEN
from workers.tests.shapes import golden

CONSTANTS = store.load("cold-h2").netlog.constants  # type: ignore[union-attr]  # every kept capture has a log


def line(
    name: str, phase: Phase, source: int, time_ms: int, constants: Mapping[str, Any] = CONSTANTS, **params: Any
) -> bytes:
    event = {
        "params": params,
        "phase": int(phase),
        "source": {"id": source, "start_time": "0", "type": 1},
        "time": str(time_ms),
        "type": constants["logEventTypes"][name],
    }
    return json.dumps(event, separators=(",", ":")).encode() + b",\n"


def log_of(name: str) -> NetworkLog:
    log = store.load(name).netlog
    assert log is not None
    return read_netlog(names_of(log.constants), log.lines)


@pytest.mark.parametrize("name", GOLDEN)
def test_every_request_that_was_answered_was_sent_before(name: str) -> None:
    for hop in log_of(name).hops:
        if hop.head_ms is not None:
            sent = hop.send.whole
            assert sent is not None
            assert hop.started_ms <= sent[0] <= sent[1] <= hop.head_ms


@pytest.mark.parametrize("name", GOLDEN)
def test_spans_of_a_connection_follow_each_other(name: str) -> None:
    log = log_of(name)
    for socket in log.sockets.values():
        dns, connect, tls = log.dns_of(log.opener_of(socket)), log.connect_of(socket), socket.tls.whole
        ends = [0]
        for span in (dns, connect, tls):
            if span is not None:
                assert ends[-1] <= span[0] <= span[1]
                ends.append(span[1])


@pytest.mark.parametrize("name", ["cold-h2", "new-pool"])
def test_both_generations_of_chromes_pool_give_the_same_phases(name: str) -> None:
    log = log_of(name)
    secure = [socket for socket in log.sockets.values() if socket.tls.whole is not None]
    assert len(secure) == 1
    dns, connect = log.dns_of(log.opener_of(secure[0])), log.connect_of(secure[0])
    assert dns is not None
    assert connect is not None
    # The name server of the recording answered each question after 30 ms.
    assert dns[1] - dns[0] >= 30
    assert secure[0].address == "127.0.0.1:443"
    assert secure[0].flights == 1
    assert secure[0].tls_facts["next_proto"] == "h2"
    assert len(secure[0].certificates) == 1


def test_a_handshake_that_was_broken_off_keeps_its_span_error_and_certificate() -> None:
    log = log_of("untrusted")
    socket = next(socket for socket in log.sockets.values() if socket.tls.whole is not None)
    assert log.errors[socket.tls_facts["net_error"]] == "ERR_CERT_AUTHORITY_INVALID"
    assert socket.certificates


def test_a_name_that_does_not_resolve_still_took_its_time() -> None:
    log = log_of("cold-h2")
    hop = next(hop for hop in log.hops if "gone.example" in hop.url)
    assert hop.opener is not None
    dns = log.dns_of(log.openers[hop.opener])
    assert dns is not None
    assert dns[1] - dns[0] >= 30
    assert hop.net_error is not None
    assert log.errors[hop.net_error] == "ERR_NAME_NOT_RESOLVED"


def test_what_ends_a_request_that_led_elsewhere_ends_not_the_one_that_follows_under_its_number() -> None:
    lines = [
        line("REQUEST_ALIVE", Phase.BEGIN, 7, 100, url="https://a.test/old.js"),
        line("URL_REQUEST_START_JOB", Phase.BEGIN, 7, 100, url="https://a.test/old.js", method="GET"),
        line("HTTP_TRANSACTION_SEND_REQUEST", Phase.BEGIN, 7, 101),
        line("HTTP_TRANSACTION_SEND_REQUEST", Phase.END, 7, 101),
        line("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", Phase.NONE, 7, 130, headers=["HTTP/1.1 301 Moved"]),
        line("REQUEST_ALIVE", Phase.BEGIN, 7, 160, url="https://b.test/new.js"),
        line("URL_REQUEST_START_JOB", Phase.BEGIN, 7, 160, url="https://b.test/new.js", method="GET"),
        line("REQUEST_ALIVE", Phase.END, 7, 165),
        line("HTTP_TRANSACTION_SEND_REQUEST", Phase.BEGIN, 7, 170),
        line("HTTP_TRANSACTION_SEND_REQUEST", Phase.END, 7, 171),
        line("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", Phase.NONE, 7, 200, headers=["HTTP/1.1 200 OK"]),
        line("HTTP_TRANSACTION_READ_BODY", Phase.END, 7, 210),
        line("REQUEST_ALIVE", Phase.END, 7, 210),
    ]
    led, followed = read_netlog(names_of(CONSTANTS), lines).hops
    assert (led.ended_ms, led.cancelled, led.net_error) == (130, False, None)
    assert (followed.send.whole, followed.head_ms, followed.ended_ms) == ((170, 171), 200, 210)
    assert (followed.cancelled, followed.net_error, followed.over) == (False, None, True)


def test_the_first_attempt_at_any_address_begins_the_connection() -> None:
    lines = [
        line("SOCKET_ALIVE", Phase.BEGIN, 8, 100, source_dependency={"id": 5}),
        line("TCP_CONNECT_ATTEMPT", Phase.BEGIN, 8, 100, address="[2001:db8::1]:443"),
        line("TCP_CONNECT_ATTEMPT", Phase.END, 8, 350, os_error=110),
        line("SOCKET_ALIVE", Phase.BEGIN, 9, 350, source_dependency={"id": 5}),
        line("TCP_CONNECT_ATTEMPT", Phase.BEGIN, 9, 350, address="192.0.2.1:443"),
        line("TCP_CONNECT_ATTEMPT", Phase.END, 9, 370),
    ]
    log = read_netlog(names_of(CONSTANTS), lines)
    assert log.connect_of(log.sockets[9]) == (100, 370)


def test_a_lookup_ends_for_a_connection_when_it_begins_to_dial_with_a_part_of_the_answer() -> None:
    lines = [
        line("HOST_RESOLVER_MANAGER_JOB", Phase.BEGIN, 3, 100),
        line("HOST_RESOLVER_MANAGER_JOB_ATTACH", Phase.NONE, 5, 100, source_dependency={"id": 3}),
        line("SOCKET_ALIVE", Phase.BEGIN, 8, 130, source_dependency={"id": 5}),
        line("TCP_CONNECT_ATTEMPT", Phase.BEGIN, 8, 130),
        line("HOST_RESOLVER_MANAGER_JOB", Phase.END, 3, 160),
    ]
    log = read_netlog(names_of(CONSTANTS), lines)
    assert log.dns_of(log.openers[5]) == (100, 130)


_ASKED, _ATTACHED, _SEARCH, _KNOWN, _LISTED = 9001, 9002, 9003, 9004, 9005


@pytest.fixture(params=["IMPL", "MANAGER"])
def resolver(request: pytest.FixtureRequest) -> dict[str, int]:
    """Numbers of the resolver's events: as Chrome named them before 2020, and since."""
    names = {"REQUEST": _ASKED, "JOB_ATTACH": _ATTACHED, "JOB": _SEARCH, "CACHE_HIT": _KNOWN, "HOSTS_HIT": _LISTED}
    return {f"HOST_RESOLVER_{request.param}_{name}": number for name, number in names.items()}


def lookup(types: dict[str, int], *events: tuple[int, Phase, int, int]) -> tuple[int, int] | None:
    """How long source 5 looked for a name, by events of these types: number, phase, source, time."""
    others = {name: number for name, number in CONSTANTS["logEventTypes"].items() if "HOST_RESOLVER" not in name}
    pointer = {"params": {"source_dependency": {"id": 6}}}
    lines = [
        json.dumps(
            {
                **(pointer if number == _ATTACHED else {}),
                "phase": int(phase),
                "source": {"id": source},
                "time": str(time_ms),
                "type": number,
            },
            separators=(",", ":"),
        ).encode()
        for number, phase, source, time_ms in events
    ]
    log = read_netlog(names_of({**CONSTANTS, "logEventTypes": others | types}), lines)
    return log.dns_of(log.openers[5])


def test_the_resolver_events_of_all_chromes_are_read(resolver: dict[str, int]) -> None:
    searched = (
        (_ASKED, Phase.BEGIN, 5, 10),
        (_SEARCH, Phase.BEGIN, 6, 11),
        (_ATTACHED, Phase.NONE, 5, 11),
        (_SEARCH, Phase.END, 6, 24),
        (_ASKED, Phase.END, 5, 25),
    )
    assert lookup(resolver, *searched) == (11, 24)


@pytest.mark.parametrize("said", [_KNOWN, _LISTED, None])
@pytest.mark.parametrize("renamed", [None, _KNOWN, _LISTED, _ATTACHED])
def test_an_answer_that_was_at_hand_is_no_lookup_whatever_this_chrome_calls_it(
    resolver: dict[str, int], said: int | None, renamed: int | None
) -> None:
    """Also when a busy processor stretched it; an address is its own answer, and nothing is said."""
    types = {name: number for name, number in resolver.items() if number != renamed}
    hit = () if said is None else ((said, Phase.NONE, 5, 11),)
    answered = lookup(types, (_ASKED, Phase.BEGIN, 5, 10), *hit, (_ASKED, Phase.END, 5, 23))
    assert answered is None or (said, renamed) == (None, _ATTACHED)


def test_a_chrome_that_names_no_searches_tells_of_those_that_were_not_answered_at_once(
    resolver: dict[str, int],
) -> None:
    types = {name: number for name, number in resolver.items() if number not in (_ATTACHED, _SEARCH)}
    assert lookup(types, (_ASKED, Phase.BEGIN, 5, 10), (_ASKED, Phase.END, 5, 25)) == (10, 25)
    assert lookup(types, (_ASKED, Phase.BEGIN, 5, 10), (_ASKED, Phase.END, 5, 11)) is None


GROUPS = [
    (
        "SOCKET_POOL_CONNECT_JOB_CREATED",
        "group_id",
        "https://one.test <https://shop.test same_site>",
        "https://one.test",
    ),
    ("SOCKET_POOL_CONNECT_JOB_CREATED", "group_id", "dsd/pm/http://http.test:8080 <null>", "http://http.test:8080"),
    ("SOCKET_POOL_CONNECT_JOB_CREATED", "group_id", "ssl/http.test:443", "https://http.test:443"),
    (
        "SOCKET_POOL_CONNECT_JOB_CREATED",
        "group_id",
        "ssl/[2001:db8::7]:8443 <https://a.test>",
        "https://[2001:db8::7]:8443",
    ),
    ("SOCKET_POOL_CONNECT_JOB", "group_name", "pm/ssl/one.test:443", "https://one.test:443"),
    ("SOCKET_POOL_CONNECT_JOB", "group_name", "http_proxy/ssl/one.test:443", "https://one.test:443"),
    ("SOCKET_POOL_CONNECT_JOB", "group_name", "localhost:3000", "http://localhost:3000"),
    ("TLS_STREAM_ATTEMPT_ALIVE", "host_port", "http.test:443", "https://http.test:443"),
    ("TLS_STREAM_ATTEMPT_ALIVE", "host_port", "[2001:db8::7]:443", "https://[2001:db8::7]:443"),
]


@pytest.mark.parametrize(("event", "name", "group", "origin"), GROUPS)
def test_each_chrome_has_its_own_way_to_say_for_which_origin_it_dials(
    event: str, name: str, group: str, origin: str
) -> None:
    log = gather(
        names_of({}), [NetEvent(event, Phase.BEGIN, 7, 0, {name: group}), NetEvent(event, Phase.END, 7, 9, {})]
    )
    assert log.openers[7].origin == origin


def test_who_dials_for_an_origin_that_the_log_does_not_tell_has_none() -> None:
    log = gather(names_of({}), [NetEvent("SOCKET_POOL_CONNECT_JOB_CREATED", Phase.NONE, 7, 0, {"backup_job": True})])
    assert log.opener(7).origin == ""


def test_events_before_the_run_belong_to_another() -> None:
    lines = [
        line("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 10, url="https://a.test/", method="GET"),
        line("URL_REQUEST_START_JOB", Phase.BEGIN, 2, 20, url="https://a.test/", method="GET"),
    ]
    assert [hop.source for hop in read_netlog(names_of(CONSTANTS), lines, since_ms=15).hops] == [2]


def test_session_tickets_after_the_handshake_are_no_round_trip() -> None:
    lines = [
        line("SOCKET_ALIVE", Phase.BEGIN, 8, 1),
        line("SSL_CONNECT", Phase.BEGIN, 8, 1),
        line("SSL_HANDSHAKE_MESSAGE_SENT", Phase.NONE, 8, 1),
        line("SSL_HANDSHAKE_MESSAGE_RECEIVED", Phase.NONE, 8, 5),
        line("SSL_HANDSHAKE_MESSAGE_RECEIVED", Phase.NONE, 8, 5),
        line("SSL_HANDSHAKE_MESSAGE_SENT", Phase.NONE, 8, 6),
        line("SSL_CONNECT", Phase.END, 8, 6),
        line("SSL_HANDSHAKE_MESSAGE_RECEIVED", Phase.NONE, 8, 9),
    ]
    assert read_netlog(names_of(CONSTANTS), lines).sockets[8].flights == 1


@pytest.mark.parametrize(
    ("head", "method", "given_up"),
    [
        (("HTTP/1.1 204 No Content",), "POST", False),
        (("HTTP/1.1 200 OK", "Content-Length: 0"), "POST", False),
        (("HTTP/1.1 200 OK", "Content-Length: 7"), "HEAD", False),
        (("HTTP/1.1 200 OK", "Content-Length: 7"), "GET", True),
        ((), "POST", True),
    ],
)
def test_who_leaves_when_nothing_more_was_to_come_gives_nothing_up(
    head: tuple[str, ...], method: str, given_up: bool
) -> None:
    """As a page does that sends a beacon when it goes."""
    capture = golden.load("beacon").netlog
    assert capture is not None
    known = capture.constants
    lines = [
        line("URL_REQUEST_START_JOB", Phase.BEGIN, 9, 1, known, url="https://two.test/bye", method=method),
        line("HTTP_TRANSACTION_SEND_REQUEST", Phase.BEGIN, 9, 2, known),
        line("HTTP_TRANSACTION_SEND_REQUEST", Phase.END, 9, 2, known),
        *(
            [line("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", Phase.NONE, 9, 5, known, headers=list(head))]
            if head
            else []
        ),
        line("CANCELLED", Phase.NONE, 9, 6, known),
        line("REQUEST_ALIVE", Phase.END, 9, 6, known),
    ]
    log = read_netlog(names_of(known), lines)
    (hop,) = log.hops
    assert hop.cancelled is given_up
    assert log.failure_of(hop) == ("ERR_ABORTED" if given_up else None)
    assert hop.ended_ms == 6


@pytest.mark.parametrize("gone", sorted(NEEDED))
def test_a_needed_event_that_this_chrome_lacks_is_named(gone: str) -> None:
    types = {name: number for name, number in CONSTANTS["logEventTypes"].items() if name != gone}
    assert names_of({**CONSTANTS, "logEventTypes": types}).missing == {gone}


def test_either_way_of_telling_a_lookup_will_do_but_one_there_must_be() -> None:
    types = {name: number for name, number in CONSTANTS["logEventTypes"].items() if "HOST_RESOLVER" not in name}
    assert names_of({**CONSTANTS, "logEventTypes": types}).missing == {
        "HOST_RESOLVER_IMPL_REQUEST or HOST_RESOLVER_MANAGER_JOB_ATTACH or HOST_RESOLVER_MANAGER_REQUEST"
    }


@pytest.mark.parametrize("text", ["a", "\u00e9"])
def test_certificates_that_are_no_base64_are_none(text: str) -> None:
    begun = line("SOCKET_ALIVE", Phase.BEGIN, 1, 0), line("TCP_CONNECT_ATTEMPT", Phase.BEGIN, 1, 0)
    told = line("SSL_CERTIFICATES_RECEIVED", Phase.NONE, 1, 1, certificates=[f"begin\n{text}\nend\n"])
    assert read_netlog(names_of(CONSTANTS), [*begun, told]).sockets[1].certificates == ()


@pytest.mark.parametrize(
    "constants",
    [
        {},
        {"logEventTypes": 3},
        {"logEventTypes": {}, "logEventPhase": []},
        {"logEventTypes": {"TCP_CONNECT": "\ud800"}, "logEventPhase": {}},
    ],
)
def test_constants_that_cannot_be_read_lack_everything(constants: dict[str, Any]) -> None:
    assert names_of(constants).missing >= NEEDED


@given(st.lists(st.binary(max_size=200)))
def test_no_line_however_damaged_stops_the_reading(lines: list[bytes]) -> None:
    assert list(read_events(names_of(CONSTANTS), lines)) == []


PARAMS = st.dictionaries(
    st.sampled_from(["url", "method", "net_error", "source_dependency", "address", "byte_count", "certificates"]),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("id"), inner, max_size=1),
        max_leaves=4,
    ),
)


@given(st.data())
def test_events_in_any_order_with_any_parameters_are_taken(data: st.DataObject) -> None:
    names = st.sampled_from(sorted(CONSTANTS["logEventTypes"]))
    events = data.draw(
        st.lists(
            st.tuples(names, st.sampled_from(list(Phase)), st.integers(0, 4), st.integers(0, 99), PARAMS), max_size=30
        )
    )
    lines = [line(name, phase, source, time_ms, **params) for name, phase, source, time_ms, params in events]
    log = read_netlog(names_of(CONSTANTS), lines)
    for socket in log.sockets.values():
        log.dns_of(log.opener_of(socket))
        log.connect_of(socket)
