"""Requests that the network log alone shows: what it honestly says of them, and no more."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.captures_page import DevToolsEvent, PageCapture
from workers.measurement.compute.devtools.exchange import SOCKET, Exchange
from workers.measurement.compute.devtools.reading import read_devtools
from workers.measurement.compute.header_lines import headers_in
from workers.measurement.compute.page.page import compute_page
from workers.measurement.compute.page.worker_requests import name_workers
from workers.measurement.redaction import REDACTED
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom
from workers.tests.shapes import golden

_WORKER = "https://shop.test/worker.js"
_DOCUMENT = "https://shop.test/"


def row_of(capture: PageCapture, end: str) -> Request:
    rows = compute_page(capture).measurement.waterfall.requests
    return next(request for request in rows if request.url.endswith(end))


def without(capture: PageCapture, end: str) -> PageCapture:
    """As if DevTools had not told of a request."""
    asked = (event.params for event in capture.events if event.method == "Network.requestWillBeSent")
    gone = {params["requestId"] for params in asked if params["request"]["url"].endswith(end)}
    assert gone
    return replace(capture, events=tuple(one for one in capture.events if one.params.get("requestId") not in gone))


def without_counts(capture: PageCapture) -> PageCapture:
    """As if the log did not count what was read of connections."""
    log = capture.netlog
    assert log is not None
    types = {name: number for name, number in log.constants["logEventTypes"].items() if "BYTES_RECEIVED" not in name}
    return replace(capture, netlog=replace(log, constants={**log.constants, "logEventTypes": types}))


def named(headers: Any) -> dict[str, str]:
    return {header.name.lower(): header.value for header in headers}


@pytest.mark.parametrize(
    ("shape", "end"),
    [("six-h1", "/1.js"), ("one-connection-h2", "/0.png"), ("forced-h3", "/0.png"), ("alt-svc-h3", "/0.png")],
)
def test_headers_and_type_are_those_that_devtools_would_have_told(shape: str, end: str) -> None:
    capture = golden.load(shape)
    told, untold = row_of(capture, end), row_of(without(capture, end), end)
    assert named(untold.request_headers) == named(told.request_headers)
    assert named(untold.response_headers) == named(told.response_headers)
    assert untold.request_headers
    for name in ("resource_type", "mime_type", "status", "protocol", "connection", "reused", "served_from"):
        assert getattr(untold, name) == getattr(told, name), name


def test_an_answer_whose_request_nobody_heard_has_the_size_that_devtools_told() -> None:
    whole = golden.load("six-h1")
    capture = without_counts(whole)
    asked = [one for one in capture.events if one.method == "Network.requestWillBeSent"]
    unheard = next(one for one in asked if one.params["request"]["url"].endswith("/1.js"))
    late = replace(capture, events=tuple(one for one in capture.events if one is not unheard))
    size = row_of(capture, "/1.js").transferred_bytes
    assert size
    assert row_of(without(whole, "/1.js"), "/1.js").transferred_bytes == size
    assert row_of(late, "/1.js").transferred_bytes == size
    assert row_of(without(capture, "/1.js"), "/1.js").transferred_bytes is None
    answers = [one for one in late.events if one.params.get("requestId") == unheard.params["requestId"]]
    finished = next(one for one in answers if one.method == "Network.loadingFinished")
    # Of a worker's script the head alone may be counted.
    head = next(one for one in answers if one.method == "Network.responseReceived").params["response"]
    short = finished._replace(params={**finished.params, "encodedDataLength": head["encodedDataLength"]})
    headed = tuple(short if one is finished else one for one in late.events)
    assert row_of(replace(late, events=headed), "/1.js").transferred_bytes is None
    # Of two answers nobody knows which is whose.
    again = tuple(one._replace(params={**one.params, "requestId": "again"}) for one in answers)
    assert row_of(replace(late, events=late.events + again), "/1.js").transferred_bytes is None


def test_a_page_is_fully_loaded_when_what_only_the_log_shows_of_it_has_come_too() -> None:
    capture = golden.load("six-h1")
    rows = compute_page(capture).measurement.waterfall.requests
    last = max(rows, key=lambda row: row.timing.end_us or 0)
    ends = sorted(row.timing.end_us or 0 for row in rows)
    zero_us = min(one.started_us for one in read_devtools(capture.events).exchanges)
    unheard = without(capture, last.url)
    unheard = replace(unheard, events=tuple(one for one in unheard.events if one.method != "Page.loadEventFired"))
    for listened_us, fully_loaded_us in ((2_000_000, ends[-1]), (20_000, None), (-2_000, ends[-2])):
        heard = replace(unheard, told_us=zero_us + ends[-1] + listened_us)
        told = compute_page(heard).measurement.vitals.fully_loaded_us
        assert told == (None if fully_loaded_us is None else pytest.approx(fully_loaded_us, abs=1_000))


def test_what_came_from_a_cache_after_a_question_is_told_like_the_answer() -> None:
    """The second of two: what the first one brought is still good (304)."""
    capture = golden.load("revalidated")
    told = compute_page(capture).measurement.waterfall.requests[-1]
    untold = compute_page(without(capture, "/a.js")).measurement.waterfall.requests[-1]
    assert (told.status, untold.status) == (304, 304)
    assert (told.served_from, untold.served_from) == ("network", "network")


def test_a_refused_socket_says_its_status_and_has_ended_whoever_tells_of_it() -> None:
    capture = golden.load("websocket-refused")
    unheard = replace(capture, events=tuple(one for one in capture.events if "webSocket" not in one.method))
    told, untold = row_of(capture, "/talk"), row_of(unheard, "/talk")
    for row in (told, untold):
        assert (row.status, row.failure, row.resource_type) == (403, "ERR_INVALID_RESPONSE", "websocket")
        assert row.timing.wait is not None
        assert row.timing.end_us is not None
        assert RowFlag.CANCELLED not in row.flags


def unheard(capture: PageCapture) -> PageCapture:
    """As if nobody had heard the page's service worker: it was there before, as in a second view."""
    asked = [event.params for event in capture.events if event.method == "Network.requestWillBeSent"]
    gone = {params["requestId"] for params in asked if params.get("frameId") is None}
    assert gone
    return replace(capture, events=tuple(one for one in capture.events if one.params.get("requestId") not in gone))


@pytest.mark.parametrize(("shape", "ends"), [("navigation-preload", ("/again",)), ("service-worker", ("/again", "g"))])
def test_what_a_service_worker_answers_with_is_a_row_though_nobody_heard_it(shape: str, ends: tuple[str, ...]) -> None:
    capture = unheard(golden.load(shape))
    for end in ends:
        rows = [row for row in compute_page(capture).measurement.waterfall.requests if row.url.endswith(end)]
        answers, fetched = (
            [row for row in rows if row.served_from is kind] for kind in (ServedFrom.SERVICE_WORKER, ServedFrom.NETWORK)
        )
        assert len(answers) == len(fetched)
        assert all(row.timing.wait is not None and row.connection == 1 for row in fetched)


def test_a_document_asked_for_while_its_service_worker_starts_is_that_ones() -> None:
    row = compute_page(unheard(golden.load("navigation-preload"))).measurement.waterfall.requests[-1]
    assert (row.url, row.served_from) == ("https://two.test/again", "network")
    assert RowFlag.SERVICE_WORKER in row.flags


def test_what_a_starting_service_worker_hands_on_is_the_request_that_the_browser_had_made_for_it() -> None:
    """It asks for the document, which was asked for as it started: no answer to that is ever told."""
    capture = golden.load("sleeping-service-worker")
    asked = next(one.params for one in capture.events if one.method == "Network.requestWillBeSent")
    told = {"requestId": "handed on", "loaderId": "", "documentURL": "https://two.test/sw.js", "type": "Fetch"}
    late = {**asked, **told, "frameId": None, "timestamp": asked["timestamp"] + 0.05}
    heard = replace(capture, events=(*capture.events, DevToolsEvent("Network.requestWillBeSent", late)))
    for one in (capture, heard):
        rows = compute_page(one).measurement.waterfall.requests
        answered, fetched = (row for row in rows if row.url == "https://two.test/")
        assert (answered.served_from, answered.connection) == ("service_worker", None)
        assert (fetched.status, fetched.connection, fetched.reused) == (200, 1, False)
        assert fetched.timing.tls is not None
        assert fetched.timing.start_us < 50_000
        assert RowFlag.SERVICE_WORKER in fetched.flags


def test_secrets_in_the_log_are_kept_back_as_elsewhere() -> None:
    capture = replace(golden.load("shared-worker"), secret_headers=frozenset({"accept-encoding"}))
    row = row_of(capture, "/data.json")
    assert named(row.response_headers)["set-cookie"] == REDACTED
    assert named(row.request_headers)["accept-encoding"] == REDACTED
    assert named(row.request_headers)["referer"] == "https://two.test/s.js"


def exchange(url: str, **options: Any) -> Exchange:
    referrer, wanted = options.pop("referrer", _DOCUMENT), options.pop("wanted", "empty")
    headers = {"Referer": referrer, "sec-fetch-dest": wanted} | options.pop("request_headers", {})
    return Exchange(request_id=url, url=url, method="GET", started_us=0, request_headers=headers, **options)


def asker_of(asked: Exchange, *others: Exchange, known: dict[str, str] | None = None) -> str | None:
    name_workers([*others, asked], known or {})
    return asked.asker


def test_who_names_a_workers_script_as_its_referrer_is_that_worker_when_the_page_cannot_have_said_so() -> None:
    script = exchange(_WORKER, wanted="sharedworker")
    assert asker_of(exchange("/data", untold=True, referrer=_WORKER), script) == "worker"
    assert asker_of(exchange("/part.js", wanted="worker", referrer=_WORKER), script) == "worker"
    assert asker_of(exchange("/data", untold=True, referrer=_WORKER), known={_WORKER: "service_worker"}) == (
        "service_worker"
    )
    # A script of the page may choose its referrer, and DevTools tells of what it asks for.
    assert asker_of(exchange("/data", referrer=_WORKER), script) is None
    assert asker_of(exchange("/data", untold=True), script) is None
    assert asker_of(exchange("/data", untold=True, referrer="https://shop.test/other.js"), script) is None


def test_a_worklet_asks_for_its_modules_and_not_for_its_script() -> None:
    script = exchange("https://shop.test/w.js", wanted="audioworklet", untold=True, pages_own=True)
    module = exchange("/part.js", wanted="audioworklet", referrer="https://shop.test/w.js", untold=True, pages_own=True)
    served = exchange("https://shop.test/sw.js", wanted="serviceworker")
    name_workers([served, script, module], {})
    assert (script.asker, module.asker) == (None, "worker")
    assert module.initiator == {"type": "script", "url": script.url}


def test_what_a_worker_asks_for_is_its_own_also_after_its_script_was_moved() -> None:
    """DevTools names the worker by its first URL, and what it asks for by its last."""
    moved = exchange("https://shop.test/old.js", wanted="worker")
    script = exchange(_WORKER, wanted="worker", untold=True)
    asked = exchange("/data", document=_WORKER, referrer=_WORKER)
    assert asker_of(asked, moved, script, known={"https://shop.test/old.js": "worker"}) == "worker"
    assert asked.initiator == {"type": "script", "url": _WORKER}
    assert asker_of(exchange("/data", document=_WORKER, frame="F"), moved, script) is None


def test_a_document_that_is_a_workers_script_too_leaves_open_who_asked() -> None:
    document = exchange(_WORKER, wanted="document", kind="Document", loader=_WORKER)
    script = exchange(_WORKER, wanted="worker")
    assert asker_of(exchange("/data", untold=True, referrer=_WORKER), document, script) is None


def left(url: str, **options: Any) -> Exchange:
    """What a document or a worker asked for without saying which, and DevTools told nobody."""
    return replace(exchange(url, untold=True, pages_own=True, referrer=""), started_us=10, **options)


def test_what_no_document_asked_for_a_worker_did_if_one_had_begun() -> None:
    script, served = exchange(_WORKER, wanted="worker"), exchange("https://shop.test/sw.js", wanted="serviceworker")
    made = exchange(
        "blob:https://shop.test/1", wanted="", kind="Script", document="blob:https://shop.test/1", frame="F"
    )
    assert [asker_of(left("/data"), one) for one in (script, served, made)] == ["worker", "service_worker", "worker"]
    asked = left("wss://shop.test/talk", kind=SOCKET)
    assert asker_of(asked, made) == "worker"
    assert asked.initiator == {"type": "script", "url": made.url}
    assert asker_of(left("/data"), replace(script, started_us=11)) is None
    assert asker_of(left("/data")) is None


def test_which_of_two_kinds_of_workers_asked_nobody_knows() -> None:
    script, served = exchange(_WORKER, wanted="worker"), exchange("https://shop.test/sw.js", wanted="serviceworker")
    assert asker_of(left("/data"), script, served) is None
    assert asker_of(left("/data"), script, replace(served, started_us=11)) == "worker"
    made = left("/data")
    assert asker_of(made, script, exchange("https://shop.test/other.js", wanted="worker")) == "worker"
    assert made.initiator == {}


def test_what_a_document_or_the_browser_may_have_asked_for_is_no_workers() -> None:
    script = exchange(_WORKER, wanted="worker")
    assert asker_of(left("/data", pages_own=False), script) is None
    assert asker_of(left("/data", request_headers={"Sec-CH-UA": '"Chromium"'}), script) is None
    lost = left("/data")
    name_workers([script, lost], {}, all_told=False)
    assert lost.asker is None


def test_what_a_service_worker_hands_on_as_it_was_asked_is_its_own() -> None:
    """With the headers of the page, which its own requests have not."""
    script = exchange("https://shop.test/sw.js", wanted="serviceworker")
    answered = exchange("/a.png", frame="F", response={"fromServiceWorker": True})
    handed_on = exchange("/a.png", untold=True, pages_own=True, request_headers={"Sec-CH-UA": '"Chromium"'})
    assert asker_of(replace(handed_on), script, answered) == "service_worker"
    assert asker_of(replace(handed_on), script) is None
    assert asker_of(replace(handed_on, url="/b.png"), script, answered) is None


def test_what_a_script_asks_for_is_a_fetch_and_what_is_sent_without_waiting_is_not() -> None:
    beacon = row_of(without(golden.load("beacon"), "/beacon"), "/beacon")
    assert (beacon.method, beacon.status, beacon.resource_type) == ("POST", 204, ResourceType.OTHER)
    data = row_of(without(golden.load("worker"), "/data.json"), "/data.json")
    assert data.resource_type is ResourceType.FETCH


@given(st.lists(st.none() | st.integers() | st.text(max_size=8), max_size=6))
def test_header_lines_of_every_kind_are_borne(lines: list[object]) -> None:
    texts = [line for line in lines if isinstance(line, str)]
    assert all(any(line.startswith(name) for line in texts) for name in headers_in(lines))


def test_header_lines_of_one_name_are_one_list() -> None:
    lines = [":method: GET", "Link: <a>", "Link: <b>", "no colon", "", ":", ": x", 7, "X-Empty:"]
    assert headers_in(lines) == {":method": "GET", "Link": "<a>, <b>", "X-Empty": ""}
