"""What DevTools tells wrongly or not at all is set right by the network log."""

from typing import Any

import pytest

from workers.measurement.compute.devtools.exchange import SERVICE_WORKER, Exchange
from workers.measurement.compute.files.log_rows import rows_of
from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import NetHop, NetSocket, Stretch
from workers.measurement.compute.page.connections import Network, connections_of
from workers.measurement.compute.page.page import compute_page
from workers.measurement.compute.page.settle import settle
from workers.measurement.waterfall import Request, ServedFrom
from workers.tests.shapes import golden

SCRIPT = "https://two.test/w.js"


def settled(exchange: Exchange, hop: NetHop) -> Exchange:
    settle([exchange], {0: hop}, NetworkLog(errors={-320: "ERR_INVALID_RESPONSE"}))
    return exchange


def script(**more: Any) -> Exchange:
    """A worker's script as its page hears of it: its head counted, its end when the worker had read it."""
    return Exchange(
        request_id="1",
        url=SCRIPT,
        method="GET",
        started_us=10_000,
        ended_us=90_000,
        transferred_bytes=30,
        **more,
    )


@pytest.mark.parametrize("length", ["9" * 40, "9" * 5000, "\u0661"])
def test_a_length_that_no_body_has_is_no_size(length: str) -> None:
    """Chrome takes no notice of one that it cannot read, and reads until the connection ends."""
    hop = NetHop(1, SCRIPT, "GET", 10, head_ms=20, ended_ms=90, over=True, status=200, body_bytes=70)
    hop.answer_lines = [f"content-length: {length}"]
    seen = settled(script(), hop)
    assert seen.transferred_bytes == 100


def row(shape: str, url: str) -> Request:
    rows = compute_page(golden.load(shape)).measurement.waterfall.requests
    return next(one for one in rows if one.url == url)


def test_a_workers_script_ends_with_its_last_byte_and_not_when_the_worker_has_read_it() -> None:
    timing = row("worker", SCRIPT).timing
    assert timing.download is not None
    assert timing.end_us == timing.download.end_us


def test_a_workers_script_is_counted_with_its_body_and_told_with_its_headers() -> None:
    seen = row("worker", SCRIPT)
    assert seen.transferred_bytes is not None
    assert seen.body_bytes is not None
    assert seen.transferred_bytes > seen.body_bytes
    assert "content-length" in {header.name.lower() for header in seen.response_headers}


def test_a_packed_workers_script_is_counted_as_it_was_on_the_wire() -> None:
    hop = NetHop(1, SCRIPT, "GET", 10, status=200, ended_ms=40, body_bytes=4000)
    packed = {"Content-Encoding": "br"}
    assert settled(script(response_headers={**packed, "Content-Length": "900"}), hop).transferred_bytes == 930
    assert settled(script(response_headers=packed), hop).transferred_bytes is None
    assert settled(script(), hop).transferred_bytes == 4030


@pytest.mark.parametrize(
    ("headers", "size"),
    [({"Content-Length": "900"}, 1048), ({"Content-Encoding": "gzip"}, None), ({}, 4148)],
)
def test_an_error_in_place_of_a_script_that_chrome_gave_up_once_it_was_whole_has_its_bytes(
    headers: dict[str, str], size: int | None
) -> None:
    exchange = Exchange(request_id="1", url=SCRIPT, method="GET", started_us=10_000, ended_us=50_000)
    exchange.response, exchange.response_headers = {"status": 404, "encodedDataLength": 148}, headers
    exchange.net_error, exchange.cancelled = "ERR_ABORTED", True
    settled(exchange, NetHop(1, SCRIPT, "GET", 10, status=404, ended_ms=50, body_bytes=4000))
    assert exchange.transferred_bytes == size


@pytest.mark.parametrize(("body_bytes", "size"), [(70, 87), (None, 17)])
def test_what_devtools_counts_the_head_of_alone_has_its_body_counted(body_bytes: int | None, size: int) -> None:
    exchange = script(response={"status": 200, "encodedDataLength": 17})
    exchange.transferred_bytes = 17
    settled(exchange, NetHop(1, SCRIPT, "GET", 10, status=200, ended_ms=50, body_bytes=body_bytes))
    assert exchange.transferred_bytes == size


def test_what_nobody_told_of_has_the_bytes_that_the_log_counts() -> None:
    assert row("worker", "https://two.test/lib.js").body_bytes == 15


@pytest.mark.parametrize(("status", "told"), [(200, (200, "h2")), (302, (307, "http/1.1")), (None, (307, "http/1.1"))])
def test_a_document_that_is_asked_for_anew_has_the_answer_that_it_had(
    status: int | None, told: tuple[int, str]
) -> None:
    """Since it wants hints about the browser: nobody sent the redirect that DevTools tells of."""
    response = {"status": 307, "protocol": "http/1.1", "encodedDataLength": 61}
    exchange = Exchange(request_id="1", url=SCRIPT, method="GET", started_us=10_000, response=response)
    exchange.redirected_to, exchange.ended_us, exchange.body_bytes, exchange.transferred_bytes = SCRIPT, 50_000, 0, 61
    lines = ["Critical-CH: Sec-CH-DPR"]
    settled(exchange, NetHop(1, SCRIPT, "GET", 10, status=status, protocol="h2", ended_ms=50, answer_lines=lines))
    assert (exchange.number("status"), exchange.text("protocol")) == told
    assert (exchange.response_headers == {"Critical-CH": "Sec-CH-DPR"}) is (status == 200)


def unended(hop: NetHop, told_us: int | None) -> Exchange:
    """A request of which DevTools told no end, at the end of its load."""
    response = {"status": 200, "encodedDataLength": 30} if hop.status else None
    exchange = Exchange(request_id="1", url=SCRIPT, method="GET", started_us=10_000, response=response)
    settle([exchange], {0: hop}, NetworkLog(errors={-3: "ERR_ABORTED"}), told_us)
    return exchange


@pytest.mark.parametrize("told_us", [None, 900_000])
def test_what_a_script_never_read_ended_with_its_last_byte(told_us: int | None) -> None:
    exchange = unended(NetHop(1, SCRIPT, "GET", 10, status=200, ended_ms=50, body_bytes=700, over=True), told_us)
    assert (exchange.ended_us, exchange.transferred_bytes, exchange.net_error) == (50_000, 730, None)


def test_what_a_document_that_gave_way_was_waiting_for_was_given_up() -> None:
    given_up = NetHop(1, SCRIPT, "GET", 10, ended_ms=50, net_error=-3, cancelled=True, over=True)
    exchange = unended(given_up, 900_000)
    assert (exchange.ended_us, exchange.net_error, exchange.cancelled) == (50_000, "ERR_ABORTED", True)


@pytest.mark.parametrize(("over", "told_us"), [(True, 50_000), (True, None), (False, 900_000)])
def test_what_goes_on_has_no_end_though_it_is_given_up_with_the_load(over: bool, told_us: int | None) -> None:
    hop = NetHop(1, SCRIPT, "GET", 10, status=200, ended_ms=50, net_error=-3, cancelled=True, over=over)
    exchange = unended(hop, told_us)
    assert (exchange.ended_us, exchange.net_error, exchange.cancelled) == (None, None, False)


@pytest.mark.parametrize(
    ("told", "kept"),
    [("ERR_UNSAFE_REDIRECT", True), ("ERR_TOO_MANY_REDIRECTS", True), ("ERR_ABORTED", False), ("ERR_FAILED", False)],
)
def test_a_redirect_that_the_browser_does_not_follow_has_failed(told: str, kept: bool) -> None:
    """What else is told of the end is that of a later hop."""
    exchange = Exchange(request_id="1", url=SCRIPT, method="GET", started_us=10_000, ended_us=50_000, net_error=told)
    hop = NetHop(1, SCRIPT, "GET", 10, status=302, ended_ms=50, cancelled=True, answer_lines=("location: data:,x",))
    settled(exchange, hop)
    assert exchange.net_error == (told if kept else None)
    assert exchange.redirected_to == "data:,x"


@pytest.mark.parametrize(("received_bytes", "size"), [(239, 239), (None, None)])
def test_an_answer_that_broke_off_failed_though_devtools_calls_it_finished(
    received_bytes: int | None, size: int | None
) -> None:
    """As of pictures, of which Chrome shows as much as came."""
    exchange = script(response={"status": 200, "encodedDataLength": 139})
    hop = NetHop(1, SCRIPT, "GET", 10, status=200, ended_ms=40, over=True, net_error=-320, body_bytes=100)
    hop.received_bytes = received_bytes
    settled(exchange, hop)
    assert exchange.net_error == "ERR_INVALID_RESPONSE"
    assert not exchange.cancelled
    assert exchange.transferred_bytes == size


def test_what_devtools_calls_finished_and_the_log_given_up_is_left_to_devtools() -> None:
    """Chrome's reader may drop a connection once it has all that it wants."""
    hop = NetHop(1, SCRIPT, "GET", 10, status=200, ended_ms=40, over=True, net_error=-3, cancelled=True)
    exchange = settled(script(response={"status": 200}), hop)
    assert exchange.net_error is None


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_an_answer_without_a_body_has_the_size_of_its_head(method: str) -> None:
    status = 200 if method == "HEAD" else 204
    exchange = Exchange(request_id="1", url=SCRIPT, method=method, started_us=10_000, ended_us=50_000)
    exchange.response = {"status": status, "encodedDataLength": 31}
    exchange.net_error, exchange.cancelled = "ERR_ABORTED", True
    settled(exchange, NetHop(1, SCRIPT, method, 10, status=status, ended_ms=50))
    told: tuple[str | None, int | None, int | None] = (
        exchange.net_error,
        exchange.transferred_bytes,
        exchange.body_bytes,
    )
    assert told == (None, 31, 0)


def test_a_refused_websocket_says_why() -> None:
    url = "wss://two.test/talk"
    hop = NetHop(1, url, "GET", 10, ended_ms=50, net_error=-320)
    refused = settled(Exchange(request_id="1", url=url, method="GET", started_us=9000, kind="WebSocket"), hop)
    still_open = refused.net_error
    refused.ended_us = 50_000
    assert (still_open, settled(refused, hop).net_error) == (None, "ERR_INVALID_RESPONSE")


def connections(hop: NetHop, *, asked_ms: int) -> list[tuple[int, bool]]:
    """Requests and `preconnected` of each, where one was dialled from 60 to 90 ms."""
    exchange = Exchange(request_id="1", url=SCRIPT, method="GET", started_us=asked_ms * 1000)
    log = NetworkLog(errors={-100: "ERR_CONNECTION_CLOSED"}, hops=[hop])
    log.add_socket(NetSocket(7, 60, opener=5, origin="https://two.test:443", connect=Stretch(60, 90)))
    found = connections_of(Network(exchanges=[exchange], pairs={0: hop}, log=log, zero_us=0)).all
    return [(one.requests, one.preconnected) for one in found]


def test_a_connection_was_opened_ahead_when_it_was_begun_before_the_page_asked() -> None:
    """Chrome may begin with a request long after the page asked for it."""
    hop = NetHop(1, SCRIPT, "GET", 100, send=Stretch(101, 102), link=7)
    assert connections(hop, asked_ms=80) == [(1, True)]
    assert connections(hop, asked_ms=40) == [(1, False)]


def test_a_connection_from_before_the_log_is_one_whether_devtools_or_the_log_names_it() -> None:
    """DevTools names the socket, the log the session of HTTP/2 over it."""
    told, untold = (Exchange(request_id=one, url=SCRIPT, method="GET", started_us=50_000) for one in ("1", "log 2"))
    told.response = {"connectionId": 70, "connectionReused": True, "timing": {"requestTime": 0.05, "sendStart": 1}}
    pairs = {place: NetHop(place, SCRIPT, "GET", 50, send=Stretch(51, 52), link=71) for place in (0, 1)}
    log = NetworkLog()
    log.add_socket(NetSocket(71, 50, older=True))
    found = connections_of(Network(exchanges=[told, untold], pairs=pairs, log=log, zero_us=0))
    assert [one.requests for one in found.all] == [2]
    assert found.used[0] is found.used[1]


@pytest.mark.parametrize("sent_ms", [(60, 60), (60, 61)])
def test_of_those_sent_at_once_the_first_stream_pays_for_the_connection(sent_ms: tuple[int, int]) -> None:
    """Chrome begins with many in one millisecond, and sends what matters most first."""
    asked = [Exchange(request_id=one, url=SCRIPT, method="GET", started_us=50_000) for one in ("1", "2")]
    hops = [NetHop(1, SCRIPT, "GET", 50, send=Stretch(sent_ms[0], 62), link=7, follows=True)]
    hops += [NetHop(2, SCRIPT, "GET", 50, send=Stretch(sent_ms[1], 62), link=7, follows=False)]
    log = NetworkLog(hops=hops)
    log.add_socket(NetSocket(7, 50, origin="https://two.test:443", connect=Stretch(50, 60)))
    network = Network(exchanges=asked, pairs=dict(enumerate(hops)), log=log, zero_us=0)
    assert connections_of(network).first == {1: 1}
    rows = rows_of(log, limit=10).waterfall.requests
    assert [(row.reused, row.timing.connect is None) for row in rows] == [(True, True), (False, False)]


def test_a_connection_that_came_to_nothing_was_not_opened_ahead() -> None:
    """Chrome tries once more when a server hangs up, and leaves both behind."""
    assert connections(NetHop(1, SCRIPT, "GET", 50, net_error=-100, opener=5), asked_ms=50) == [(0, False)]
    assert connections(NetHop(1, SCRIPT, "GET", 80, net_error=-100, opener=5), asked_ms=80) == [(0, True)]


def test_what_a_service_worker_fetched_is_counted_by_its_own_session_and_whole() -> None:
    """DevTools did not tell of the answer: the browser had asked while the worker started."""
    hop = NetHop(1, SCRIPT, "GET", 10, kind="main frame", status=200, ended_ms=40, body_bytes=745)
    assert settled(script(asker=SERVICE_WORKER), hop).transferred_bytes == 30


def test_what_nobody_asked_the_network_for_but_the_service_worker_was_given_by_that() -> None:
    asked = Exchange(request_id="1", url=SCRIPT, method="GET", started_us=10_000)
    given_up = Exchange(request_id="2", url=SCRIPT, method="GET", started_us=11_000, ended_us=15_000)
    given_up.net_error, given_up.cancelled = "ERR_ABORTED", True
    late = Exchange(request_id="3", url=SCRIPT, method="GET", started_us=60_000)
    other = Exchange(request_id="4", url="https://two.test/other.js", method="GET", started_us=10_000)
    theirs = Exchange(request_id="5", url=SCRIPT, method="GET", started_us=14_000, asker=SERVICE_WORKER)
    exchanges = [asked, given_up, late, other, theirs]
    settle(exchanges, {4: NetHop(1, SCRIPT, "GET", 14, status=200, ended_ms=40)}, NetworkLog())
    given, network = ServedFrom.SERVICE_WORKER, ServedFrom.NETWORK
    assert [one.served_from for one in exchanges] == [given, given, network, network, network]
    assert given_up.net_error == "ERR_ABORTED"
