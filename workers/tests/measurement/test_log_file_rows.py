"""The rows of network logs from files: each request with its own phases and flags, each connection at its payer."""

import time
from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.compute.files.log_rows import rows_of
from workers.measurement.compute.netlog.events import NetEvent, Phase, names_of, read_events
from workers.measurement.compute.netlog.frames import Frames
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import NetHop, NetSocket, Opener, Stretch
from workers.measurement.compute.netlog.reading import gather
from workers.measurement.compute.netlog.requests import Requests
from workers.measurement.waterfall import Request, RowFlag, ServedFrom
from workers.tests.captures import logs
from workers.tests.measurement.log_files import log_of, read, row, shown, waterfall_of
from workers.tests.shapes import golden


@pytest.mark.parametrize("name", ["h3", "h3-new-pool"])
def test_quic_has_a_handshake_and_no_connect_and_one_session_carries_two_hosts(name: str) -> None:
    waterfall = waterfall_of(name)
    document, picture = waterfall.requests[0], row(waterfall, "cdn.test/b.png")
    assert (document.protocol, shown(document)) == ("h3", "dns tls send wait download")
    assert document.timing.dns is not None
    assert document.timing.tls is not None
    assert 30_000 <= document.timing.dns.duration_us <= 60_000
    assert document.timing.dns.end_us <= document.timing.tls.start_us
    assert document.timing.tls.duration_us < 20_000
    assert (shown(picture), picture.reused, picture.flags) == (
        "dns send wait download",
        True,
        (RowFlag.COALESCED,),
    )
    assert len(waterfall.connections) == 1
    session = waterfall.connections[0]
    assert (session.host, session.port, session.address, session.protocol, session.tls_version, session.requests) == (
        "shop.test",
        443,
        "192.0.2.10",
        "h3",
        "TLSv1.3",
        5,
    )


def test_every_request_finds_its_socket_in_chromes_new_pool_too() -> None:
    by_url = {request.url.rpartition("/")[2]: request for request in waterfall_of("h1-new-pool").requests}
    # As DevTools told of the same page.
    same = [by_url[name].connection for name in ("", "s.css", "x.js")]
    assert same == [1, 1, 1]
    assert len({by_url[name].connection for name in ("", "a.png?wait=0.02", "b.png", "c.png?wait=0.03")}) == 4
    assert shown(by_url["a.png?wait=0.02"]) == "connect tls send wait download"
    assert shown(by_url["b.png"]) == "dns connect tls send wait download"
    assert by_url["s.css"].reused is True


def test_each_hop_in_chromes_new_pool_goes_to_its_own_connection_however_many_ask_at_once() -> None:
    waterfall = waterfall_of("whole-new-pool")
    hosts = {one.number: one.host for one in waterfall.connections}
    used = [
        (request.url.removeprefix("https://"), hosts[request.connection], request.reused)
        for request in waterfall.requests
        if request.connection is not None
    ]
    assert used == [
        ("two.test/", "two.test", False),
        ("two.test/a.js", "two.test", True),
        ("img.two.test/0.png", "img.two.test", False),
        ("one.test/0.png", "one.test", False),
        ("one.test/1.png", "one.test", False),
        ("two.test/go", "two.test", True),
        ("cdn.test/data", "cdn.test", False),
        ("two.test/never", "two.test", True),
        ("two.test/hang", "two.test", True),
        ("wss://one.test/talk", "one.test", False),
        ("two.test/w.js", "two.test", True),
        ("two.test/data.json", "two.test", True),
        # Asked for without credentials, and where a redirect leads: a connection of its own.
        ("cdn.test/0.png", "cdn.test", False),
        ("cdn.test/data", "cdn.test", True),
    ]
    numbers = [request.connection for request in waterfall.requests if "cdn.test" in request.url]
    assert numbers == [7, 8, 7]
    assert [one.requests for one in waterfall.connections] == [7, 0, 1, 1, 1, 1, 2, 1]


def test_what_a_server_pushed_is_flagged_at_the_request_that_took_it() -> None:
    """As Chrome before 106 told of it: the session names the URL alone."""
    log, session = NetworkLog(), 9
    requests = Requests(log, Frames())

    def happens(name: str, source: int, **params: Any) -> None:
        requests.handlers[name](NetEvent(name, Phase.BEGIN, source, 10, params))

    for source, url in ((1, "https://shop.test/a.js"), (2, "https://shop.test/a.js"), (3, "https://shop.test/b.js")):
        happens("URL_REQUEST_START_JOB", source, url=url, method="GET")
        if source == 1:
            happens("HTTP_TRANSACTION_SEND_REQUEST", source)
    happens("HTTP2_STREAM_ADOPTED_PUSH_STREAM", session, stream_id=2, url="https://shop.test/a.js")
    assert [(hop.source, hop.pushed, hop.session) for hop in log.hops] == [
        (1, False, None),
        (2, True, session),
        (3, False, None),
    ]
    assert [RowFlag.PUSHED in one.flags for one in rows_of(log, limit=9).waterfall.requests] == [False, True, False]


def test_heads_of_hostile_servers_are_kept_as_long_as_there_is_room() -> None:
    log = NetworkLog()
    requests = Requests(log, Frames())
    lines = ["HTTP/1.1 200", *(f"x-{number}: {'y' * 10_000}" for number in range(500))]
    for source in range(1, 101):
        for name, params in (
            ("URL_REQUEST_START_JOB", {"url": f"https://shop.test/{source}", "method": "GET"}),
            ("HTTP_TRANSACTION_SEND_REQUEST", {}),
            ("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", {"headers": lines}),
        ):
            requests.handlers[name](NetEvent(name, Phase.BEGIN, source, 10, params))
    kept = [hop.answer_lines for hop in log.hops]
    assert len(kept[0]) == 99
    assert kept[-1] == []
    assert sum(len(str(line)) for found in kept for line in found) < 20_000_000
    assert [hop.status for hop in log.hops] == [200] * 100


def test_a_connection_of_no_use_stands_at_the_request_that_it_was_opened_for() -> None:
    log = log_of("untrusted-host")
    waterfall = rows_of(log, limit=100).waterfall
    refused = row(waterfall, "bad.test/0.png")
    assert (refused.failure, refused.connection, refused.reused) == ("ERR_CERT_AUTHORITY_INVALID", 2, False)
    assert shown(refused) == "dns connect tls"
    connection = waterfall.connections[1]
    assert (connection.requests, connection.preconnected) == (1, False)
    assert connection.certificate_error == "ERR_CERT_AUTHORITY_INVALID"


@pytest.mark.parametrize(
    ("began_ms", "asked_ms", "waited"),
    [
        # A second one for the same page, while the first connects, and once it has.
        (40, 40, False),
        (100, 100, False),
        # Opened ahead: with the first one, and later.
        (30, 300, True),
        (100, 300, False),
    ],
)
def test_a_lookup_is_paid_for_by_those_who_waited_for_it(began_ms: int, asked_ms: int, *, waited: bool) -> None:
    """The new pool keeps one manager for all connections to a host, and the manager its lookup."""
    manager, first, second = 1, 2, 3
    log = NetworkLog(zero_ms=0)
    log.openers = {
        manager: Opener(dns=Stretch(0, 30), resolver=9),
        first: Opener(manager=manager),
        second: Opener(manager=manager),
    }
    for number, opener, begin_ms in ((11, first, 30), (12, second, began_ms)):
        log.add_socket(NetSocket(number, begin_ms, opener, connect=Stretch(begin_ms, begin_ms + 30)))
        log.adopt(manager, number)
    for number, start_ms in ((11, 0), (12, asked_ms)):
        sent = Stretch(start_ms + 100, start_ms + 100)
        log.hops.append(NetHop(20 + number, "https://shop.test/", "GET", start_ms, link=number, send=sent))
    paid, again = rows_of(log, limit=10).waterfall.requests
    assert paid.timing.dns is not None
    assert (again.timing.dns is not None) is waited
    assert again.timing.connect is not None


@pytest.mark.parametrize(("changes", "sent_us"), [({}, (100_000, 250_000)), ({"over": False}, None)])
def test_what_is_given_up_while_it_is_sent_was_sent_until_then(
    changes: dict[str, Any], sent_us: tuple[int, int] | None
) -> None:
    """An upload that its page cancels: Chrome tells when its sending began, and of no end."""
    log = NetworkLog(zero_ms=0, errors={-3: "ERR_ABORTED"})
    cancelled = {"net_error": -3, "ended_ms": 250, "over": True} | changes
    log.hops.append(NetHop(1, "https://shop.test/up", "POST", 0, send=Stretch(100, None), **cancelled))
    (told,) = rows_of(log, limit=10).waterfall.requests
    span = told.timing.send
    assert (span and (span.start_us, span.end_us)) == sent_us
    assert told.timing.wait is None


def test_a_question_about_a_name_that_has_a_source_of_its_own_is_its_askers() -> None:
    """As Chrome 37 wrote it: the question names the connect job that asks."""
    asker, question = {"source_dependency": {"id": 2}}, {"source_dependency": {"id": 4}}
    events = [
        NetEvent("HOST_RESOLVER_IMPL_REQUEST", Phase.BEGIN, 3, 100, asker),
        NetEvent("HOST_RESOLVER_IMPL_JOB_ATTACH", Phase.NONE, 3, 100, question),
        NetEvent("HOST_RESOLVER_IMPL_JOB", Phase.BEGIN, 4, 100, {}),
        NetEvent("HOST_RESOLVER_IMPL_JOB", Phase.END, 4, 180, {}),
        NetEvent("HOST_RESOLVER_IMPL_REQUEST", Phase.END, 3, 180, {}),
        NetEvent("HOST_RESOLVER_IMPL_REQUEST", Phase.BEGIN, 6, 200, {"source_dependency": {"id": 5}}),
        NetEvent("HOST_RESOLVER_IMPL_CACHE_HIT", Phase.NONE, 6, 200, {}),
        NetEvent("HOST_RESOLVER_IMPL_REQUEST", Phase.END, 6, 200, {}),
    ]
    log = gather(names_of({"logEventTypes": {event.name: number for number, event in enumerate(events)}}), events)
    assert (log.dns_of(log.openers[2]), log.dns_of(log.openers[5])) == ((100, 180), None)
    assert set(log.openers) == {2, 5}


def test_a_request_that_begins_once_more_before_anything_came_of_it_is_one_row() -> None:
    """As older Chromes do with documents."""
    url = {"url": "https://shop.test/", "method": "GET"}
    events = [
        NetEvent("REQUEST_ALIVE", Phase.BEGIN, 1, 100, {}),
        NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 101, url),
        NetEvent("URL_REQUEST_START_JOB", Phase.END, 1, 102, {}),
        NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 1, 103, url),
        NetEvent("HTTP_TRANSACTION_SEND_REQUEST", Phase.BEGIN, 1, 110, {}),
        NetEvent("HTTP_TRANSACTION_SEND_REQUEST", Phase.END, 1, 111, {}),
        NetEvent("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", Phase.NONE, 1, 150, {"headers": ["HTTP/1.1 200 OK"]}),
    ]
    names = names_of({"logEventTypes": {event.name: number for number, event in enumerate(events)}})
    found = rows_of(gather(names, [*events, replace(events[3], time_ms=160)]), limit=10)
    assert [(one.index, one.started_ms, one.status) for one in found.hops] == [(0, 101, 200), (1, 160, None)]
    assert found.waterfall.requests[0].timing.start_us == 1_000


def test_what_was_sent_again_with_credentials_counts_and_shows_the_last_time() -> None:
    found = read(logs.text_of("login")).log
    first = found.hops[0]
    assert (first.transactions, first.status, first.url) == (2, 200, "https://shop.test/auth")
    assert [hop.transactions for hop in found.hops] == [2, 1, 1, 1]
    told = rows_of(found, limit=100).waterfall.requests
    assert {one.connection for one in told} == {1}
    assert told[0].timing.tls is not None
    assert told[0].timing.send is not None
    # The first answer, a 401, lies between the handshake and what was sent last.
    assert told[0].timing.send.start_us > told[0].timing.tls.end_us


def test_what_is_sent_within_the_handshake_is_early_data() -> None:
    first, again, last = waterfall_of("early-data-h3").requests
    assert (first.flags, last.flags) == ((), ())
    assert again.flags == (RowFlag.RESUMED, RowFlag.EARLY_DATA)
    assert again.timing.tls is not None
    assert again.timing.send is not None
    assert again.timing.tls.start_us <= again.timing.send.start_us < again.timing.tls.end_us
    assert again.timing.dns is None


def test_a_host_that_shares_a_connection_of_http2_is_coalesced_after_its_own_lookup() -> None:
    waterfall = waterfall_of("h2-new-pool")
    shared = row(waterfall, "cdn.test/b.png")
    assert (shown(shared), shared.flags) == ("dns send wait download", (RowFlag.COALESCED,))
    assert len(waterfall.connections) == 1


@pytest.mark.parametrize("name", ["silent-ipv6", "silent-ipv6-new-pool"])
def test_connecting_begins_with_the_first_attempt_at_any_address_whoever_wins(name: str) -> None:
    waterfall = waterfall_of(name)
    for request in waterfall.requests:
        timing, tries_ms = request.timing, {"shop.test": 250, "cdn.test": 300, "img.test": 0}
        assert timing.dns is not None
        assert timing.connect is not None
        # Chrome waits a quarter of a second for an address that keeps silent, and goes at once from one that refuses.
        waited_ms = tries_ms[request.url.split("/")[2]]
        assert waited_ms <= timing.connect.duration_us / 1000 <= waited_ms + 60
        assert 0 <= timing.connect.start_us - timing.dns.end_us <= 2000
        assert request.address == "192.0.2.10"


def test_each_hop_of_a_redirect_is_a_row_with_the_same_id() -> None:
    rows = rows_of(read(logs.text_of("many")).log, limit=1000)
    hops = [
        (hop.source, hop.index, one.status, one.redirected_to)
        for hop, one in zip(rows.hops, rows.waterfall.requests, strict=True)
        if hop.source == 58
    ]
    assert hops == [
        (58, 0, 302, "https://shop.test/redir?to=/plain"),
        (58, 1, 302, "https://shop.test/plain"),
        (58, 2, 200, None),
    ]


def test_what_asked_the_cache_alone_and_in_vain_is_no_request_to_the_network() -> None:
    """Chrome does so for fonts, and then asks the network by another request."""
    asked = rows_of(log_of("font-of-its-own-connection"), limit=100).waterfall.requests
    fonts = [(one.served_from, one.failure, one.status) for one in asked if one.url.endswith("/f.woff2")]
    assert fonts == [(ServedFrom.DISK_CACHE, "ERR_CACHE_MISS", None), (ServedFrom.NETWORK, None, 200)]


def test_what_is_special_about_a_request_is_flagged() -> None:
    waterfall = waterfall_of("many")
    hints = row(waterfall, "/hints")
    assert hints.flags == (RowFlag.EARLY_HINTS,)
    assert hints.timing.wait is not None
    # The early answer came at once, the final one 50 ms later.
    assert hints.timing.wait.duration_us >= 50_000
    preflight = next(request for request in waterfall.requests if request.method == "OPTIONS")
    assert preflight.flags == (RowFlag.PREFLIGHT,)
    assert shown(preflight) == "dns connect tls send wait download"
    given_up = row(waterfall, "/slow?wait=5")
    assert (given_up.failure, given_up.flags, given_up.status) == ("ERR_ABORTED", (RowFlag.CANCELLED,), None)
    talk = row(waterfall, "/ws")
    assert (talk.status, talk.failure, talk.flags, shown(talk)) == (
        101,
        None,
        (RowFlag.RESUMED,),
        "connect tls send wait",
    )
    # Its request ends with the handshake, the talk does not.
    assert talk.timing.end_us is None
    unknown = row(waterfall, "nosuch.test/x.png")
    assert (shown(unknown), unknown.connection, unknown.status) == ("dns", None, None)
    kept = [request for request in waterfall.requests if request.served_from is ServedFrom.DISK_CACHE]
    assert {shown(request) for request in kept} == {""}
    assert {request.connection for request in kept} == {None}


def test_thousands_of_attempts_for_one_origin_are_led_to_each_other_in_seconds() -> None:
    """Half of them backups of the other half, all of them tries of one controller whose requests all failed."""
    log, began = NetworkLog(zero_ms=0), time.process_time()
    for number in range(4_000):
        opener, socket = 100_000 + number, 200_000 + number
        log.openers[opener] = Opener(group="https://shop.test", backup=number % 2 == 1, dns=Stretch(0, 1), resolver=9)
        log.add_socket(NetSocket(socket, number, opener, connect=Stretch(number, number + 1)))
        log.add_try(1, opener)
    for number in range(800):
        hop = NetHop(number, "https://shop.test/", "GET", 0, link=200_001 + 2 * number, send=Stretch(20_000, 20_000))
        log.hops += [hop, NetHop(50_000 + number, "https://shop.test/", "GET", 0, controller=1, net_error=-102)]
    assert len(rows_of(log, limit=10_000).waterfall.requests) == 1_600
    assert time.process_time() - began < 10


def first_after_the_beginning(shape: str, end: str, **changed: Any) -> Request:
    """The row of a request whose log begins when it was asked for: its connection is older. `changed` are parameters of
    what its session sends.
    """
    capture = golden.load(shape).netlog
    assert capture is not None
    names = names_of(capture.constants)
    events = list(read_events(names, capture.lines))
    begun = next(at for at, one in enumerate(events) if str(one.params.get("url")).endswith(end))
    told = [
        replace(one, params={**one.params, **changed}) if one.name == "HTTP2_SESSION_SEND_HEADERS" else one
        for one in events[begun:]
    ]
    return row(rows_of(gather(names, told), limit=100).waterfall, end)


def test_whether_a_connection_older_than_the_log_was_used_is_known_where_the_log_says_so() -> None:
    assert first_after_the_beginning("one-connection-h2", "/0.png").reused is True
    assert first_after_the_beginning("one-connection-h2", "/0.png", stream_id=1).reused is False
    assert first_after_the_beginning("one-connection-h2", "/0.png", stream_id=None).reused is None
    assert first_after_the_beginning("six-h1", "/0.js").reused is True
    assert first_after_the_beginning("forced-h3", "/0.png").reused is None


@pytest.mark.parametrize("chain", [None, ["http://shop.test/", "https://shop.test/"]])
def test_what_was_led_elsewhere_before_the_log_began_is_no_row_of_where_it_began(chain: list[str] | None) -> None:
    """Chrome tells of what is under way by its first URL, with all that it has had since."""
    alive = {"url": "http://shop.test/"} | ({} if chain is None else {"url_chain": chain})
    events = [
        NetEvent("REQUEST_ALIVE", Phase.BEGIN, 1, 10, alive),
        NetEvent("HTTP_TRANSACTION_SEND_REQUEST", Phase.BEGIN, 1, 300, {}),
        NetEvent("HTTP_TRANSACTION_SEND_REQUEST", Phase.END, 1, 300, {}),
        NetEvent("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", Phase.NONE, 1, 340, {"headers": ["HTTP/1.1 200 OK"]}),
        NetEvent("URL_REQUEST_START_JOB", Phase.BEGIN, 2, 350, {"url": "http://shop.test/a.png"}),
    ]
    types = {event.name: number for number, event in enumerate(events)}
    names = names_of({"logEventTypes": types, "logEventPhase": {"PHASE_BEGIN": 1}})
    told = [request.url for request in rows_of(gather(names, events), limit=10).waterfall.requests]
    assert told == (["http://shop.test/"] if chain is None else []) + ["http://shop.test/a.png"]
