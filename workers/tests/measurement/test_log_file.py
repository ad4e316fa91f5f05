"""Network logs from files: whole ones, cut off ones, damaged, hostile and foreign ones."""

import gzip
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.measurement.compute.log_file import LogFile, NoNetlogError, read_log_file
from workers.measurement.compute.log_rows import rows_of
from workers.measurement.compute.netlog import read_netlog
from workers.measurement.compute.netlog_events import NetEvent, Phase, names_of
from workers.measurement.compute.netlog_requests import Requests
from workers.measurement.compute.network_log import NetHop, NetSocket, NetworkLog, Opener, Stretch
from workers.measurement.waterfall import Request, RowFlag, ServedFrom, Waterfall
from workers.tests.captures import logs
from workers.tests.shapes import golden

HEAD = json.loads(logs.text_of("h3").split(b"\n", 1)[0].rstrip(b",") + b"}")


def read(data: bytes, *, chunk_bytes: int = 65_536) -> LogFile:
    return read_log_file(data[at : at + chunk_bytes] for at in range(0, len(data), chunk_bytes))


def waterfall_of(name: str) -> Waterfall:
    return rows_of(read(logs.text_of(name)).log, limit=1000).waterfall


def log_of(shape: str) -> NetworkLog:
    """The network log of a page shape."""
    capture = golden.load(shape).netlog
    assert capture is not None
    return read_netlog(names_of(capture.constants), capture.lines)


def row(waterfall: Waterfall, end: str) -> Request:
    return next(request for request in waterfall.requests if request.url.endswith(end))


def shown(request: Request) -> str:
    """The phases of a row by name, those of no length too."""
    names = ("dns", "connect", "tls", "send", "wait", "download")
    return " ".join(name for name in names if getattr(request.timing, name) is not None)


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
    requests = Requests(log)

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


def test_zero_is_the_first_event_of_a_request_and_told_on_the_walls_clock() -> None:
    found = read(logs.text_of("h3"))
    assert found.zero_at is not None
    assert found.zero_at.year == 2026
    assert rows_of(found.log, limit=10).waterfall.requests[0].timing.start_us <= 1000
    assert found.warnings == ()


def test_a_file_is_the_same_however_it_is_laid_out() -> None:
    data = logs.text_of("h2-new-pool")
    whole = read(data)
    parsed = json.loads(data)
    for text in (json.dumps(parsed), json.dumps(parsed, indent=2), json.dumps(parsed, sort_keys=False, indent=None)):
        assert read(text.encode(), chunk_bytes=1000).log == whole.log
    assert read(b"\xef\xbb\xbf" + data, chunk_bytes=7).log == whole.log


def test_events_may_stand_before_the_constants() -> None:
    parsed = json.loads(logs.text_of("h3"))
    turned = read(json.dumps({"events": parsed["events"], "constants": parsed["constants"]}).encode())
    assert turned.warnings == ()
    assert rows_of(turned.log, limit=1000) == rows_of(read(logs.text_of("h3")).log, limit=1000)


@pytest.mark.parametrize(("rest", "said"), [(', "events": []}', ()), ("}", ()), ("", ("breaks off",))])
def test_a_log_without_events_has_no_rows_and_no_zero(rest: str, said: tuple[str, ...]) -> None:
    found = read(json.dumps(HEAD)[:-1].encode() + rest.encode())
    assert (found.log.hops, found.log.zero_ms, found.zero_at) == ([], None, None)
    assert len(found.warnings) == len(said)
    assert all(word in warning for word, warning in zip(said, found.warnings, strict=True))


def test_keys_may_stand_in_any_order() -> None:
    parsed = json.loads(logs.text_of("h3"))
    turned = [dict(reversed(event.items())) for event in parsed["events"]]
    assert read(json.dumps(parsed | {"events": turned}).encode()).log == read(logs.text_of("h3")).log


def test_a_file_without_its_end_is_read_as_far_as_it_goes() -> None:
    data = logs.text_of("h3")
    cut = data[: data.rfind(b"],") - 40]
    found = read(cut)
    assert len(found.log.hops) == 5
    assert found.warnings == (
        "1 events could not be read and were passed over.",
        "The file breaks off before its end: the last requests may lack phases.",
    )


@settings(max_examples=settings().max_examples // 4)
@given(st.data())
def test_a_log_cut_off_anywhere_gives_a_part_of_its_rows_or_says_that_it_is_none(data: st.DataObject) -> None:
    whole = logs.text_of("h3")
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    try:
        found = read(cut)
    except NoNetlogError:
        assert len(cut) < whole.index(b'"events"')
        return
    full = {(hop.source, hop.index): hop for hop in read(whole).log.hops}
    for hop in found.log.hops:
        assert hop.url == full[hop.source, hop.index].url
        assert hop.send.begin_ms in (None, full[hop.source, hop.index].send.begin_ms)
    rows_of(found.log, limit=100)


@settings(max_examples=settings().max_examples // 6)
@given(st.randoms(use_true_random=False))
def test_events_in_any_order_give_rows_whose_phases_do_not_run_backwards(random: Any) -> None:
    lines = logs.text_of("many").split(b"\n")
    head, events = lines[:2], [line.rstrip(b",]") for line in lines[2:] if line.startswith(b'{"p')]
    random.shuffle(events)
    found = read(b"\n".join([*head, b",\n".join(events), b"]}"]))
    # Spans refuse to end before they begin, so that rows were made is the proof.
    assert len(rows_of(found.log, limit=1000).waterfall.requests) == len(found.log.hops)


@settings(max_examples=settings().max_examples // 4)
@given(st.data())
def test_damage_costs_the_events_that_it_touches_and_no_more(data: st.DataObject) -> None:
    lines = logs.text_of("many").split(b"\n")
    at = data.draw(st.integers(2, len(lines) - 4))
    lines[at] = data.draw(st.binary(max_size=60)).replace(b"\n", b"").replace(b"]", b"") + lines[at][20:]
    found = read(b"\n".join(lines))
    assert len(found.log.hops) >= 48
    rows_of(found.log, limit=1000)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "url", "x"]), inner, max_size=3),
    max_leaves=5,
)
NAMES = ["url", "method", "net_error", "source_dependency", "address", "byte_count", "headers"]
NAMES += ["location", "host", "port", "state", "version", "group_id"]


@settings(max_examples=settings().max_examples // 2)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(HEAD["constants"]["logEventTypes"])),
            st.sampled_from([0, 1, 2, 7, None, "1"]),
            st.integers(0, 5) | JSON,
            st.integers(-5, 99) | JSON,
            st.dictionaries(st.sampled_from(NAMES), JSON | st.fixed_dictionaries({"id": st.integers(0, 5)})) | JSON,
        ),
        max_size=40,
    )
)
def test_events_of_every_wrong_type_are_borne(events: list[tuple[Any, ...]]) -> None:
    written = [
        {
            "params": params,
            "phase": phase,
            "source": {"id": source, "type": 1},
            "time": time,
            "type": HEAD["constants"]["logEventTypes"][name],
        }
        for name, phase, source, time, params in events
    ]
    rows_of(read(json.dumps(HEAD | {"events": written}).encode()).log, limit=100)


@given(st.binary(max_size=300))
def test_what_is_no_log_is_called_none(data: bytes) -> None:
    with pytest.raises(NoNetlogError):
        read(data)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("  \n", "it is empty"),
        ("<html>", "it is no JSON"),
        ('{"log": {"entries": []}}', "HAR archive"),
        ('{"traceEvents": []}', "trace of Chrome"),
        ('[{"method": "Network.requestWillBeSent"}]', "firstbyte cdp"),
        ('{"method": "Network.requestWillBeSent", "params": {}}', "firstbyte cdp"),
        ('{"constants": {"logEventTypes": {"A": 1}, "logEventPhase": {}}, "events": []}', "name no events"),
        ('{"constants": 7, "events": []}', "has no constants"),
        ("{" * 5000, "has no constants"),
        ("[" * 100_000, "list"),
    ],
)
def test_the_reason_says_what_the_file_is_instead(text: str, said: str) -> None:
    with pytest.raises(NoNetlogError, match=said):
        read(text.encode())


def test_deep_nesting_inside_an_event_costs_that_event() -> None:
    deep = b'{"params":' + b"[" * 200_000 + b",\n"
    lines = logs.text_of("h3").split(b"\n")
    found = read(b"\n".join([*lines[:5], deep.rstrip(b"\n"), *lines[5:]]))
    assert len(found.log.hops) == 5


def test_an_event_that_is_a_large_body_does_not_hide_the_next() -> None:
    lines = logs.text_of("h3").split(b"\n")
    large = (
        b'{"params":{"bytes":"' + b"A" * 3_000_000 + b'"},"phase":0,"source":{"id":1,"type":1},"time":"1","type":1},'
    )
    found = read(b"\n".join([*lines[:5], large, *lines[5:]]))
    assert (len(found.log.hops), found.warnings) == (5, ())


def test_answers_without_any_connection_are_an_alarm() -> None:
    parsed = json.loads(logs.text_of("h3"))
    types = parsed["constants"]["logEventTypes"]
    kept = {number for name, number in types.items() if name.startswith(("URL_", "REQUEST_", "HTTP_TRANSACTION"))}
    events = [event for event in parsed["events"] if event["type"] in kept]
    found = read(json.dumps(parsed | {"events": events}).encode())
    assert "5 requests were answered and not one connection was seen" in found.warnings[0]


def test_a_browser_that_names_no_handshakes_is_told_and_none_are_made_up() -> None:
    parsed = json.loads(logs.text_of("h1-new-pool"))
    del parsed["constants"]["logEventTypes"]["SSL_CONNECT"]
    found = read(json.dumps(parsed).encode())
    assert "lacks SSL_CONNECT" in found.warnings[0]
    assert all(request.timing.tls is None for request in rows_of(found.log, limit=100).waterfall.requests)


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


def test_what_is_beyond_the_limit_is_left_out_and_said() -> None:
    waterfall = rows_of(read(logs.text_of("many")).log, limit=3).waterfall
    assert (len(waterfall.requests), waterfall.truncated) == (3, True)


def test_archives_are_what_the_tests_say() -> None:
    for name in logs.NAMES:
        assert gzip.decompress(logs.path_of(name).read_bytes()).startswith(b'{"constants":')
