"""DevTools' events from files, in every form in which people save them."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.files.devtools_file import DevToolsFile, NoDevToolsError, read_devtools_file
from workers.measurement.waterfall import Request, RowFlag
from workers.tests.measurement.recorded import saved_events

Events = list[dict[str, Any]]


def read(text: str, *, limit: int = 1000) -> DevToolsFile:
    data = text.encode()
    return read_devtools_file((data[at : at + 4096] for at in range(0, len(data), 4096)), limit=limit)


def as_lines(events: Events) -> str:
    return "\n".join(map(json.dumps, events))


FORMS: dict[str, Callable[[Events], str]] = {
    "array": json.dumps,
    "indented array": lambda events: json.dumps(events, indent=1),
    "lines": as_lines,
    "named": lambda events: json.dumps([{"name": event["method"], "params": event["params"]} for event in events]),
    "wrapped": lambda events: as_lines([{"message": event} for event in events]),
    "chromedriver": lambda events: json.dumps(
        [{"level": "INFO", "message": json.dumps({"message": event, "webview": "A"})} for event in events]
    ),
    "pairs": lambda events: json.dumps([[event["method"], event["params"]] for event in events]),
    "in an object": lambda events: json.dumps({"version": 1, "url": "https://a.test/", "events": events}),
    "with sessions": lambda events: as_lines([{"sessionId": "A", **event} for event in events]),
    "arrays one a line": lambda events: "\n".join(json.dumps(events[at : at + 3]) for at in range(0, len(events), 3)),
    "arrays one after the other": lambda events: json.dumps(events[:9]) + ", " + json.dumps(events[9:]),
    "with others between": lambda events: as_lines([{"method": "Page.x"}, *events, {"id": 3, "result": {}}]),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_in_which_events_are_saved_gives_the_same(form: str) -> None:
    found = read(FORMS[form](saved_events()))
    assert found.waterfall == read(json.dumps(saved_events())).waterfall
    assert (found.requests, found.warnings) == (8, ())
    assert [hop for _, hop in found.ids] == [0, 1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("line", ["1e999", "NaN", "-1", "9" * 40])
def test_a_tag_whose_place_is_no_place_has_none(line: str) -> None:
    events = saved_events()
    for event in events:
        if event["method"] == "Network.requestWillBeSent":
            place = {"lineNumber": "LINE", "columnNumber": 3}
            event["params"]["initiator"] = {"type": "parser", "url": "https://a.test/", **place}
    found = read(json.dumps(events).replace('"LINE"', line))
    assert {row.initiator_at for row in found.waterfall.requests} == {None}


def test_a_redirect_that_the_browser_comes_late_to_follow_downloads_nothing() -> None:
    first, second = read(json.dumps(saved_events())).waterfall.requests[:2]
    assert (first.redirected_to, first.timing.download) == (second.url, None)
    assert (first.timing.wait is None, second.timing.download is None) == (False, False)


def test_what_two_sessions_tell_of_one_request_is_one_row() -> None:
    told = [{"sessionId": session, **event} for event in saved_events() for session in ("page", "worker")]
    found = read(json.dumps(told))
    assert [request.url for request in found.waterfall.requests] == [
        request.url for request in read(json.dumps(saved_events())).waterfall.requests
    ]
    assert [hop for _, hop in found.ids] == [0, 1, 0, 0, 0, 0, 0, 0]


def test_what_a_server_pushed_is_flagged() -> None:
    timing = {
        "requestTime": 10.0,
        "sendStart": 1,
        "sendEnd": 1,
        "receiveHeadersEnd": 2,
        "pushStart": 9.9,
        "pushEnd": 10.0,
    }
    response = {"status": 200, "protocol": "h2", "connectionId": 7, "connectionReused": True, "timing": timing}
    request = {"url": "https://a.test/", "method": "GET", "headers": {}}
    events: Events = [
        {"method": "Network.requestWillBeSent", "params": {"requestId": "1", "timestamp": 10.0, "request": request}},
        {"method": "Network.responseReceived", "params": {"requestId": "1", "timestamp": 10.1, "response": response}},
    ]
    assert RowFlag.PUSHED in read(json.dumps(events)).waterfall.requests[0].flags
    timing["pushStart"] = 0
    assert RowFlag.PUSHED not in read(json.dumps(events)).waterfall.requests[0].flags


def asked(request_id: str, url: str, frame: str, by: str, **more: Any) -> dict[str, Any]:
    request = {"url": url, "method": more.pop("method", "GET"), "headers": {}}
    initiator = {"type": by}
    told = {"requestId": request_id, "timestamp": 10.0, "request": request, "initiator": initiator, "frameId": frame}
    return {"method": "Network.requestWillBeSent", "params": {**told, **more}}


def answered(request_id: str, *, status: int = 200, **timing: float) -> dict[str, Any]:
    response = {"status": status, "protocol": "h2", "headers": {}, "timing": {"requestTime": 10.0, **timing}}
    told = {"requestId": request_id, "timestamp": 10.1, "response": response}
    return {"method": "Network.responseReceived", "params": told}


def given_up(request_id: str) -> dict[str, Any]:
    told = {"requestId": request_id, "timestamp": 10.2, "errorText": "net::ERR_ABORTED", "canceled": True}
    return {"method": "Network.loadingFailed", "params": told}


def flags_of(events: Events) -> list[tuple[str, tuple[str, ...]]]:
    return [(row.url, tuple(map(str, row.flags))) for row in read(json.dumps(events)).waterfall.requests]


def test_the_first_byte_of_an_answer_is_not_that_of_an_early_one() -> None:
    hint = {"method": "Network.responseReceivedEarlyHints", "params": {"requestId": "1", "headers": {}}}
    timing = {"sendStart": 1, "sendEnd": 1, "receiveHeadersStart": 3, "receiveHeadersEnd": 60}
    page = [asked("1", "https://a.test/", "F", "other", type="Document"), answered("1", **timing)]
    # The hint is told before the request itself.
    (row,) = read(json.dumps([hint, *page])).waterfall.requests
    assert row.timing.wait is not None
    assert (row.timing.wait.duration_us, RowFlag.EARLY_HINTS in row.flags) == (59_000, True)
    # Of most early answers DevTools tells nothing else.
    (row,) = read(json.dumps(page)).waterfall.requests
    assert (row.timing.wait, RowFlag.EARLY_HINTS in row.flags) == (None, False)


@pytest.mark.parametrize(
    ("status", "method", "failed"),
    [(204, "POST", False), (205, "GET", False), (200, "HEAD", False), (200, "GET", True)],
)
def test_an_answer_that_has_no_body_is_whole_though_its_reader_gave_it_up(
    status: int, method: str, failed: bool
) -> None:
    timing = {"sendStart": 1, "sendEnd": 1, "receiveHeadersStart": 3}
    fetch = asked("1", "https://a.test/", "F", "script", type="Fetch", method=method)
    (row,) = read(json.dumps([fetch, answered("1", status=status, **timing), given_up("1")])).waterfall.requests
    assert (row.failure == "ERR_ABORTED", RowFlag.CANCELLED in row.flags) == (failed, failed)
    assert (row.timing.download is None) is failed


def test_a_request_of_a_page_is_none_of_a_frame_in_it() -> None:
    events = [
        asked("1", "https://a.test/", "TAB", "other", type="Document"),
        asked("2", "https://a.test/a.png", "TAB", "parser", type="Image"),
        asked("3", "https://a.test/frame", "FRAME", "parser", type="Document"),
        asked("4", "https://a.test/b.png", "FRAME", "parser", type="Image"),
        asked("5", "https://a.test/next", "TAB", "script", type="Document"),
        asked("6", "https://b.test/", "OTHER TAB", "other", type="Document"),
        asked("7", "https://b.test/c.png", "SRCDOC", "parser", type="Image"),
    ]
    assert [url for url, flags in flags_of(events) if "frame" in flags] == [
        "https://a.test/frame",
        "https://a.test/b.png",
    ]
    attached = {"method": "Page.frameAttached", "params": {"frameId": "SRCDOC", "parentFrameId": "OTHER TAB"}}
    navigated = {"method": "Page.frameNavigated", "params": {"frame": {"id": "TAB", "url": "https://a.test/"}}}
    assert flags_of([attached, navigated, *events])[6] == ("https://b.test/c.png", ("frame",))
    assert flags_of([attached, navigated, *events])[0] == ("https://a.test/", ())


def test_a_preflight_is_flagged() -> None:
    first = asked("1", "https://b.test/", "F", "preflight", type="Preflight", method="OPTIONS")
    assert flags_of([first]) == [("https://b.test/", ("preflight",))]


def test_of_quic_devtools_tells_one_handshake_and_no_connect() -> None:
    timing = {
        "requestTime": 10.0,
        "dnsStart": 0,
        "dnsEnd": 30,
        "connectStart": 31,
        "connectEnd": 60,
        "sslStart": 31,
        "sslEnd": 60,
        "sendStart": 61,
        "sendEnd": 61,
        "receiveHeadersStart": 90,
    }
    response = {"status": 200, "protocol": "h3", "connectionId": 7, "connectionReused": False, "timing": timing}
    request = {"url": "https://a.test/", "method": "GET", "headers": {}}
    events: Events = [
        {"method": "Network.requestWillBeSent", "params": {"requestId": "1", "timestamp": 10.0, "request": request}},
        {"method": "Network.responseReceived", "params": {"requestId": "1", "timestamp": 10.1, "response": response}},
    ]
    (row,) = read(json.dumps(events)).waterfall.requests
    assert row.timing.connect is None
    assert row.timing.tls is not None
    assert row.timing.tls.duration_us == 29_000


def test_what_a_workers_own_session_tells_is_flagged_though_nobody_was_told_of_the_worker() -> None:
    page = asked("1", "https://a.test/", "F", "other", type="Document")
    script = asked("2", "https://a.test/w.js", "F", "script", type="Script", documentURL="https://a.test/w.js")
    fetched = asked("3", "https://a.test/data", "F", "script", documentURL="https://a.test/w.js")
    del fetched["params"]["frameId"]
    preflight = asked("4", "https://b.test/", "F", "preflight", documentURL="https://b.test/", method="OPTIONS")
    del preflight["params"]["frameId"]
    flags = [told for _, told in flags_of([page, script, fetched, preflight])]
    assert flags == [(), (), ("worker",), ("preflight",)]


def test_a_websocket_that_was_never_connected_is_named_since_it_has_no_instant_for_a_row() -> None:
    """DevTools gives its beginning no time, and tells of no handshake."""
    made = [
        {"method": "Network.webSocketCreated", "params": {"requestId": number, "url": f"wss://a.test/{number}"}}
        for number in "12"
    ]
    why = {"requestId": "1", "timestamp": 10.1, "errorMessage": "Error: net::ERR_CONNECTION_REFUSED"}
    page = asked("3", "https://a.test/", "F", "other", type="Document")
    found = read(json.dumps([page, *made, {"method": "Network.webSocketFrameError", "params": why}]))
    assert found.requests == 1
    assert found.warnings == (
        "WebSockets of which no handshake is told, and so no instant and no row:"
        " wss://a.test/1 (ERR_CONNECTION_REFUSED), wss://a.test/2.",
    )


OPENED: dict[str, float] = {
    "dnsStart": 0,
    "dnsEnd": 30,
    "connectStart": 30,
    "sslStart": 50,
    "sslEnd": 80,
    "connectEnd": 80,
}
UNOPENED = dict.fromkeys(OPENED, -1)
SENT = {"sendStart": 81, "sendEnd": 82, "receiveHeadersStart": 100, "receiveHeadersEnd": 101}


def exchange(number: int, protocol: str, connection: int, timing: Mapping[str, float], *, reused: bool) -> Events:
    answer = answered(str(number))
    answer["params"]["response"] |= {"protocol": protocol, "connectionId": connection, "connectionReused": reused}
    answer["params"]["response"]["timing"] |= timing
    return [asked(str(number), f"https://a.test/{number}", "F", "parser"), answer]


def opening_ms(row: Request) -> tuple[float | None, ...]:
    spans = (row.timing.dns, row.timing.connect, row.timing.tls)
    return tuple(None if span is None else span.duration_us / 1000 for span in spans)


def test_a_connections_cost_stands_where_chrome_says_that_it_was_opened_though_others_were_sent_as_soon() -> None:
    waited = exchange(1, "h2", 7, {**UNOPENED, **SENT, "sendStart": 80.9}, reused=True)
    opened = exchange(2, "h2", 7, {**OPENED, **SENT}, reused=False)
    first, second = read(json.dumps([*waited, *opened])).waterfall.requests
    assert (opening_ms(first), first.reused) == ((None, None, None), True)
    assert (opening_ms(second), second.reused) == ((30, 20, 30), False)


def test_a_connection_of_quic_without_a_number_costs_what_chrome_says() -> None:
    opened = exchange(1, "h3", 0, {**OPENED, **SENT, "sslStart": 30}, reused=False)
    reused = exchange(2, "h3", 0, {**UNOPENED, **SENT}, reused=True)
    first, second = read(json.dumps([*opened, *reused])).waterfall.requests
    assert (opening_ms(first), first.reused, first.connection) == ((30, None, 50), False, None)
    assert (opening_ms(second), second.reused, second.connection) == ((None, None, None), True, None)


def test_who_does_not_know_when_anything_was_sent_does_not_know_what_was_reused() -> None:
    (row,) = read(json.dumps(exchange(1, "http/1.1", 0, {"receiveHeadersEnd": 101}, reused=False))).waterfall.requests
    assert (row.reused, opening_ms(row), row.timing.wait) == (None, (None, None, None), None)


def test_of_a_connection_opened_ahead_the_rest_is_told_also_where_it_was_connected_already() -> None:
    ahead = exchange(1, "h2", 7, {**OPENED, **SENT, "dnsEnd": 0, "connectStart": 0, "sslStart": 0}, reused=False)
    (row,) = read(json.dumps(ahead)).waterfall.requests
    assert opening_ms(row) == (0, 0, 80)


def test_an_older_chrome_that_tells_only_the_heads_end_has_waited_until_then() -> None:
    sent = {"sendStart": 81, "sendEnd": 82, "receiveHeadersEnd": 101}
    (row,) = read(json.dumps(exchange(1, "h2", 7, sent, reused=True))).waterfall.requests
    assert row.timing.wait is not None
    assert row.timing.wait.duration_us == 19_000


def test_a_request_that_was_under_way_before_its_page_heard_of_it_starts_when_it_began() -> None:
    """Older Chromes tell of a document only once its answer has come."""
    document = exchange(1, "h2", 7, {**OPENED, **SENT, "requestTime": 9.7}, reused=False)
    image = exchange(2, "h2", 7, {**UNOPENED, **SENT}, reused=True)
    image[0]["params"]["timestamp"] = 9.9
    found = read(json.dumps([*image, *document]))
    first, second = found.waterfall.requests
    assert ([row.url for row in (first, second)], found.ids) == (
        ["https://a.test/1", "https://a.test/2"],
        (("1", 0), ("2", 0)),
    )
    assert (first.timing.start_us, second.timing.start_us, found.zero_us) == (0, 200_000, 9_700_000)
    assert first.timing.first_byte_us == 100_000


def test_an_event_that_cannot_be_read_is_passed_over_and_said() -> None:
    lines = as_lines(saved_events()).split("\n")
    found = read("\n".join([*lines[:3], '{"method": "Netw', *lines[3:]]))
    assert found.requests == 8
    assert found.warnings == ("1 events could not be read and were passed over.",)


def test_no_more_rows_are_told_than_asked_for() -> None:
    found = read(json.dumps(saved_events()), limit=2)
    assert (len(found.waterfall.requests), found.waterfall.truncated, found.requests) == (2, True, 8)


@pytest.mark.parametrize("text", ["", "[]", "no", "7", '{"a": {}}', "[" * 50_000, '"{}"'])
def test_a_file_without_such_events_is_refused_with_what_to_save(text: str) -> None:
    with pytest.raises(NoDevToolsError, match=r"Network\.enable"):
        read(text)


WORDS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["request", "response", "timing", "url", "headers", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = ["requestId", "timestamp", "request", "response", "timing", "redirectResponse", "encodedDataLength", "type"]
METHODS = ["requestWillBeSent", "responseReceived", "loadingFinished", "loadingFailed", "dataReceived"]
METHODS += ["requestWillBeSentExtraInfo", "responseReceivedExtraInfo", "requestServedFromCache"]


@given(st.lists(st.tuples(st.sampled_from(METHODS), st.dictionaries(st.sampled_from(NAMES), WORDS)), max_size=12))
def test_events_of_every_wrong_type_are_borne(drawn: list[tuple[str, dict[str, Any]]]) -> None:
    events = [{"method": f"Network.{method}", "params": params} for method, params in drawn]
    try:
        read(json.dumps(saved_events()[:2] + events))
    except NoDevToolsError:
        pytest.fail("the first two events are sound")


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ("Error during WebSocket handshake: Unexpected response code: 403", (403, "ERR_INVALID_RESPONSE", 1000.0)),
        ("Error during WebSocket handshake: Invalid status line", (None, "ERR_INVALID_RESPONSE", 1000.0)),
        ("Error in connection establishment: net::ERR_CONNECTION_RESET", (None, "ERR_CONNECTION_RESET", 1000.0)),
        # Nobody said that anything was wrong: it was left, and when is not certain.
        (None, (None, None, None)),
    ],
)
def test_why_there_is_no_websocket_is_told_with_its_end(
    why: str | None, told: tuple[int | None, str | None, float | None]
) -> None:
    """Words that Chromium 156 has for them."""
    of = {"requestId": "7.2"}
    shaken = {"request": {"headers": {"Upgrade": "websocket"}}, "timestamp": 11.0, "wallTime": 1.0}
    refused = {"method": "Network.webSocketFrameError", "params": of | {"timestamp": 11.9, "errorMessage": why}}
    events = [
        asked("1", "https://a.test/", "main", "Document"),
        {"method": "Network.webSocketCreated", "params": of | {"url": "wss://a.test/talk"}},
        {"method": "Network.webSocketWillSendHandshakeRequest", "params": of | shaken},
        *([refused] if why is not None else []),
        {"method": "Network.webSocketClosed", "params": of | {"timestamp": 12.0}},
    ]
    row = read(json.dumps(events)).waterfall.requests[-1]
    ended_us = None if row.timing.end_us is None else (row.timing.end_us - row.timing.start_us) / 1000
    assert (row.status, row.failure, ended_us) == told
    assert (row.timing.send, row.timing.wait) == (None, None)


def test_what_the_browser_itself_leads_elsewhere_went_nowhere() -> None:
    """As by HSTS; DevTools tells of it as of an answer that came at once."""
    timing = {**UNOPENED, "sendStart": 0.1, "sendEnd": 0.1, "receiveHeadersStart": 0.1, "receiveHeadersEnd": 0.1}
    answer = answered("1", status=307, **timing)["params"]["response"]
    answer |= {"protocol": "http/1.1", "connectionReused": False, "remoteIPAddress": ""}
    first = asked("1", "http://a.test/", "F", "other", type="Document")
    led = asked("1", "https://a.test/", "F", "other", type="Document", redirectResponse=answer)
    for headers, told in (({"Non-Authoritative-Reason": "HSTS"}, False), ({}, True)):
        answer["headers"] = headers
        row, _ = read(json.dumps([first, led])).waterfall.requests
        assert (row.status, row.timing.wait is not None, row.protocol is not None) == (307, told, told)
        assert row.reused is (False if told else None)
