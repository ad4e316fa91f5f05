"""Pages computed from recorded captures."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from workers.measurement.captures_page import BodySeen, DevToolsEvent, NetlogCapture, PageCapture, PieceSeen
from workers.measurement.compute.page import page as page_module
from workers.measurement.compute.page.page import MAX_ROWS, compute_page
from workers.measurement.waterfall import ServedFrom, TimingSource, Waterfall
from workers.measurement.wire import decode, encode
from workers.tests.captures import store
from workers.tests.measurement.recorded import GOLDEN, link, page_of, row
from workers.tests.measurement.test_cdp import sent
from workers.tests.shapes import golden


@pytest.mark.parametrize(
    ("net_error", "loads"), [(None, True), ("ERR_CONNECTION_REFUSED", False), ("ERR_HTTP_RESPONSE_CODE_FAILURE", True)]
)
def test_the_browsers_own_page_of_an_error_is_none_that_loaded(net_error: str | None, loads: bool) -> None:
    vitals = compute_page(replace(store.load("cold-h2"), net_error=net_error)).measurement.vitals
    told = (vitals.dom_content_loaded_us, vitals.load_us, vitals.fully_loaded_us, vitals.fcp_us, vitals.cls)
    assert [figure is not None for figure in told] == [loads] * 5


@pytest.mark.parametrize(("kind", "counts"), [("Fetch", True), ("Media", True), ("EventSource", False)])
def test_what_came_of_an_answer_that_stays_open_counts_as_load_unless_it_is_a_stream_of_events(
    kind: str, counts: bool
) -> None:
    """As of a film, of which Chrome takes as much as it needs for now."""
    capture = replace(golden.load("streaming"), netlog=None)
    asked = [params for method, params in capture.events if method == "Network.requestWillBeSent"]
    (stream,) = [params["requestId"] for params in asked if params["request"]["url"].endswith("/stream")]
    told = {"requestId": stream, "dataLength": 4, "timestamp": asked[0]["timestamp"] + 0.9}
    others = [one for one in capture.events if one.method not in ("Network.dataReceived", "Network.loadingFinished")]
    events = [
        one if one.params.get("requestId") != stream else one._replace(params={**one.params, "type": kind})
        for one in others
    ]
    page = compute_page(replace(capture, events=(*events, DevToolsEvent("Network.dataReceived", told))))
    vitals = page.measurement.vitals
    assert vitals.load_us is not None
    assert vitals.load_us < 800_000
    assert vitals.fully_loaded_us == (900_000 if counts else vitals.load_us)


@pytest.mark.parametrize("name", ["cold-h2", "new-pool"])
def test_a_cold_page_shows_what_each_connection_cost_at_the_request_that_paid(name: str) -> None:
    page = page_of(name)
    rows = page.waterfall.requests
    assert [(request.status, request.failure) for request in rows] == [
        (301, None),
        (200, None),
        (200, None),
        (200, None),
        (200, None),
        (200, None),
        (None, "ERR_NAME_NOT_RESOLVED"),
        (None, "ERR_CONNECTION_REFUSED"),
    ]
    assert [request.connection for request in rows] == [1, 2, 2, 2, 2, 2, None, None]
    assert [request.reused for request in rows] == [False, False, True, True, True, True, None, None]
    assert [request.protocol for request in rows[:3]] == ["http/1.1", "h2", "h2"]
    assert page.document == 2
    document = rows[1].timing
    assert document.dns is not None
    assert document.connect is not None
    assert document.tls is not None
    assert document.dns.duration_us >= 30_000
    assert document.dns.end_us <= document.connect.start_us <= document.connect.end_us <= document.tls.start_us
    assert rows[0].timing.tls is None
    assert all(request.timing_source is TimingSource.NETLOG for request in rows)
    assert page.warnings == ()


def test_a_host_that_shares_a_connection_shows_its_own_lookup_and_no_connect() -> None:
    page = page_of("cold-h2")
    shared = row(page, "cdn.test")
    assert shared.timing.dns is not None
    assert shared.timing.dns.duration_us >= 30_000
    assert shared.timing.connect is None
    assert link(page, shared).host == "shop.test"


def test_a_failed_request_shows_the_time_its_attempts_took() -> None:
    page = page_of("cold-h2")
    unknown, refused = row(page, "gone.example").timing, row(page, "img.test").timing
    assert unknown.dns is not None
    assert unknown.connect is None
    assert refused.dns is not None
    assert refused.connect is not None
    assert refused.send is None


def test_six_connections_are_paid_for_by_six_requests() -> None:
    page = page_of("six-connections")
    payers = [request for request in page.waterfall.requests if request.timing.connect is not None]
    assert sorted(request.connection or 0 for request in payers) == [1, 2, 3, 4, 5, 6]
    assert all(request.reused is False for request in payers)
    assert sum(one.requests for one in page.waterfall.connections) == 22
    assert page.waterfall.connections[0].resumed is False
    assert page.document == 2


def test_rows_from_caches_and_of_data_urls_have_no_phases_and_no_connection() -> None:
    rows = page_of("six-connections").waterfall.requests
    elsewhere = [request for request in rows if request.served_from is not ServedFrom.NETWORK]
    assert [request.served_from for request in elsewhere] == [ServedFrom.DATA, ServedFrom.MEMORY_CACHE]
    for request in elsewhere:
        timing = request.timing
        assert (timing.dns, timing.connect, timing.tls, timing.send, timing.wait) == (None,) * 5
        assert request.connection is None
        assert request.transferred_bytes == 0


def test_a_module_that_a_header_names_was_asked_for_by_no_address() -> None:
    initiator = {"type": "script", "url": "about:client", "lineNumber": 0, "columnNumber": 0}
    capture = PageCapture(url="https://a.test/", main_frame="F", events=(sent(initiator=initiator),))
    assert compute_page(capture).measurement.waterfall.requests[0].initiator_url is None


@pytest.mark.parametrize(("words_bytes", "piece"), [(1, 0), (500, 0), (501, 1), (901, None), (None, None)])
def test_a_document_has_its_first_words_with_the_piece_that_brings_them(
    words_bytes: int | None, piece: int | None
) -> None:
    capture = store.load("six-connections")
    zero_s = min(params["timestamp"] for method, params in capture.events if method == "Network.requestWillBeSent")
    pieces = (PieceSeen(zero_s + 0.1, 500), PieceSeen(zero_s + 0.3, 900))
    body = BodySeen((1, 1), (1, 2), words_bytes)
    page = compute_page(replace(capture, body=body, pieces=pieces)).measurement
    assert page.words_us == (None if piece is None else (100_000, 300_000)[piece])


def test_a_connection_whose_certificate_was_refused_is_listed_with_its_error() -> None:
    page = page_of("untrusted")
    connection = page.waterfall.connections[0]
    assert connection.certificate_error == "ERR_CERT_AUTHORITY_INVALID"
    assert connection.certificate is not None
    assert connection.tls is not None
    document = page.waterfall.requests[0]
    assert document.failure == "ERR_CERT_AUTHORITY_INVALID"
    assert document.timing.tls is not None


def test_the_handshake_that_chrome_gave_up_before_going_on_is_not_the_documents() -> None:
    page = page_of("untrusted-ignored")
    refused, used = page.waterfall.connections
    assert refused.requests == 0
    assert refused.certificate_error is not None
    assert used.requests >= 1
    assert page.waterfall.requests[0].connection == used.number


def test_the_error_of_a_certificate_that_was_accepted_stands_at_the_connection_that_carried_the_requests() -> None:
    refused, used = page_of("untrusted-ignored").waterfall.connections
    assert used.certificate_error == refused.certificate_error == "ERR_CERT_AUTHORITY_INVALID"


def test_a_connection_that_was_begun_long_before_the_page_was_heard_of_has_its_phases() -> None:
    """Chromium on a busy machine: the host was dialled 157 ms before DevTools told of the request."""
    capture = store.load("dialled-ahead")
    asked_us = round(capture.events[0].params["timestamp"] * 1e6) - 1_000_000
    page = compute_page(replace(capture, asked_us=asked_us)).measurement
    (connection,) = page.waterfall.connections
    assert connection.preconnected
    assert connection.resumed is False
    assert connection.tls is not None
    assert connection.tls.duration_us == 160_000
    assert page.waterfall.requests[0].timing.tls == connection.tls
    # Asked for only now: the same connection is one of an earlier visit, whose phases nobody pays for.
    (older,) = compute_page(replace(capture, asked_us=asked_us + 1_000_000)).measurement.waterfall.connections
    assert older.connect is older.tls is None


@pytest.mark.parametrize("name", GOLDEN)
def test_phases_of_a_row_never_overlap_backwards(name: str) -> None:
    for request in page_of(name).waterfall.requests:
        timing = request.timing
        own = [span for span in (timing.send, timing.wait, timing.download) if span is not None]
        for before, after in pairwise(own):
            assert before.end_us == after.start_us
        opening = [span for span in (timing.dns, timing.connect, timing.tls) if span is not None]
        for before, after in pairwise(opening):
            assert before.end_us <= after.start_us
        if own and opening:
            assert opening[-1].end_us <= own[0].end_us
        assert timing.end_us is None or timing.end_us >= timing.start_us >= 0


@pytest.mark.parametrize("name", GOLDEN)
def test_a_page_survives_the_wire(name: str) -> None:
    waterfall = page_of(name).waterfall
    assert decode(encode(waterfall), Waterfall) == waterfall


@pytest.mark.parametrize("name", GOLDEN)
def test_devtools_and_the_log_agree_to_two_milliseconds_on_a_fresh_context(name: str) -> None:
    capture = store.load(name)
    by_log, by_devtools = compute_page(capture), compute_page(replace(capture, netlog=None))
    pairs = zip(by_log.measurement.waterfall.requests, by_devtools.measurement.waterfall.requests, strict=True)
    for log, devtools in pairs:
        if log.timing.wait is not None and devtools.timing.wait is not None:
            assert abs(log.timing.wait.start_us - devtools.timing.wait.start_us) <= 2000
            assert abs(log.timing.wait.end_us - devtools.timing.wait.end_us) <= 2000


def test_without_a_log_the_phases_are_devtools_and_that_is_said() -> None:
    page = compute_page(replace(store.load("six-connections"), netlog=None)).measurement
    networked = [one for one in page.waterfall.requests if one.served_from is ServedFrom.NETWORK]
    assert {request.timing_source for request in networked} == {TimingSource.CDP}
    assert all(request.timing.wait is not None for request in networked)
    assert page.waterfall.requests[0].timing.tls is not None
    assert len(page.waterfall.connections) == 6
    assert page.warnings == ("The network log could not be read: phases are DevTools'.",)


def test_a_chrome_whose_log_lacks_an_event_falls_back_and_names_it() -> None:
    capture = store.load("cold-h2")
    assert capture.netlog is not None
    types = {
        name: number for name, number in capture.netlog.constants["logEventTypes"].items() if name != "SSL_CONNECT"
    }
    changed = NetlogCapture(constants={**capture.netlog.constants, "logEventTypes": types}, lines=capture.netlog.lines)
    page = compute_page(replace(capture, netlog=changed)).measurement
    assert page.waterfall.requests[1].timing_source is TimingSource.CDP
    assert "SSL_CONNECT" in page.warnings[0]


def test_a_log_that_breaks_off_leaves_the_rest_to_devtools_and_says_so() -> None:
    capture = store.load("six-connections")
    assert capture.netlog is not None
    half = NetlogCapture(
        constants=capture.netlog.constants, lines=capture.netlog.lines[: len(capture.netlog.lines) // 2], complete=False
    )
    page = compute_page(replace(capture, netlog=half)).measurement
    sources = {request.timing_source for request in page.waterfall.requests}
    assert sources == {TimingSource.NETLOG, TimingSource.CDP}
    assert len(page.warnings) == 2


def test_a_page_that_asks_for_more_than_is_kept_is_cut_and_says_so() -> None:
    events = tuple(sent(str(number), f"https://a.test/{number}") for number in range(MAX_ROWS + 5))
    page = compute_page(PageCapture(url="https://a.test/", main_frame="f", events=events)).measurement
    assert len(page.waterfall.requests) == MAX_ROWS
    assert page.waterfall.truncated


@pytest.mark.parametrize("shape", ["six-h1", "one-connection-h2"])
def test_a_page_that_is_cut_knows_its_rows_as_if_it_were_whole(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was cut is in the browser's log all the same."""
    capture = golden.load(shape)
    whole = compute_page(capture).measurement.waterfall
    monkeypatch.setattr(page_module, "MAX_ROWS", 4)
    cut = compute_page(capture).measurement.waterfall
    assert cut.truncated
    assert not whole.truncated
    assert [one.url for one in cut.requests] == [one.url for one in whole.requests[:4]]
    assert [one.connection for one in cut.requests] == [one.connection for one in whole.requests[:4]]
    assert [one.timing for one in cut.requests] == [one.timing for one in whole.requests[:4]]


def test_a_waterfall_tells_until_when_it_was_watched() -> None:
    capture = store.load("six-connections")
    assert compute_page(capture).measurement.waterfall.watched_until_us is None
    asked_us = min(
        round(params["timestamp"] * 1e6) for name, params in capture.events if name == "Network.requestWillBeSent"
    )
    left = compute_page(replace(capture, told_us=asked_us + 6_000_000)).measurement
    assert left.waterfall.watched_until_us == pytest.approx(6_000_000, abs=1)


def test_an_empty_capture_is_an_empty_page() -> None:
    page = compute_page(PageCapture(url="https://a.test/", main_frame="f", events=()))
    assert page.measurement.waterfall == Waterfall(requests=(), connections=())
    assert page.measurement.document is None
    assert page.addresses == frozenset()


def test_every_address_that_was_dialled_is_known_whether_it_answered_or_not() -> None:
    assert compute_page(store.load("six-connections")).addresses == {"127.0.0.1", "::1"}


def test_text_from_outside_is_bounded_and_on_one_line() -> None:
    evil = sent("1", "https://a.test/" + "x" * 9000)
    evil.params["request"]["headers"].update(
        {"A\nB": "v\r\nSet: x", "Authorization": "Bearer s3cret", "X-Key": "s3cret"}
    )
    capture = PageCapture(
        url="https://a.test/",
        main_frame="f",
        events=(evil, DevToolsEvent("Runtime.bindingCalled", {"payload": "[" * 100_000})),
        title="a\nb" + "c" * 1000,
        secret_headers=frozenset({"x-key"}),
    )
    page = compute_page(capture).measurement
    request = page.waterfall.requests[0]
    assert len(request.url) == 2048
    assert all(char.isprintable() for header in request.request_headers for char in header.name + header.value)
    assert "s3cret" not in repr(page)
    assert page.title is not None
    assert len(page.title) == 300
    assert "\n" not in page.title


def test_a_page_says_when_it_began_by_the_wall_clock() -> None:
    def began(wall_s: float) -> datetime | None:
        asked = sent("1", "https://a.test/", 10.0, wallTime=wall_s)
        return compute_page(PageCapture(url="https://a.test/", main_frame="f", events=(asked,))).measurement.began_at

    assert began(1_795_000_000.25) == datetime(2026, 11, 18, 11, 6, 40, 250_000, tzinfo=UTC)
    assert began(1e300) is None


def test_paints_are_not_told_of_a_load_in_which_the_machines_clock_was_set() -> None:
    """A clock that was set on by two seconds before the document came made two seconds of its first paint."""
    wall_s = 1_795_000_000.0
    told = DevToolsEvent("Runtime.bindingCalled", {"payload": json.dumps(["fcp", wall_s * 1000 + 2000, {"at": 50.0}])})
    events = (sent("1", "https://a.test/", 10.0, wallTime=wall_s), told)
    capture = PageCapture(url="https://a.test/", main_frame="f", events=events, clock_step_us=2_000_000)
    page = compute_page(capture).measurement
    assert page.vitals.fcp_us is None
    assert any("clock was set by 2.0 s" in warning for warning in page.warnings)
    late = compute_page(replace(capture, clock_step_us=1_000)).measurement
    assert late.vitals.fcp_us == 2_050_000
    assert not any("clock was set" in warning for warning in late.warnings)


def test_paints_of_a_second_document_are_not_moved_by_a_clock_that_was_read_late() -> None:
    wall_s, second_ms = 1_795_000_000.0, 1_795_000_000_500.0
    readings = ((10.0, wall_s + 0.2), (10.1, wall_s + 0.1), (10.5, wall_s + 0.5), (10.6, wall_s + 0.6))
    asked = [sent(str(at), f"https://a.test/{at}", at, wallTime=wall) for at, wall in readings]
    told = DevToolsEvent("Runtime.bindingCalled", {"payload": json.dumps(["fcp", second_ms, {"at": 50.0}])})
    page = compute_page(PageCapture(url="https://a.test/", main_frame="f", events=(*asked, told))).measurement
    assert page.vitals.fcp_us == 550_000
