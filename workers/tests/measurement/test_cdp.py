"""DevTools' events in every order in which they come."""

from typing import Any

from workers.measurement.captures_page import DevToolsEvent
from workers.measurement.compute.devtools.exchange import Exchange
from workers.measurement.compute.devtools.reading import read_devtools
from workers.measurement.waterfall import ServedFrom

_WORKER = "https://a.test/worker.js"


def sent(request_id: str = "1", url: str = "https://a.test/", at: float = 10.0, **more: Any) -> DevToolsEvent:
    request = {"url": url, "method": "GET", "headers": {"Accept": "*/*"}, "initialPriority": "High"}
    params = {"requestId": request_id, "timestamp": at, "request": request, "type": "Script", **more}
    return DevToolsEvent("Network.requestWillBeSent", params)


def responded(request_id: str = "1", status: int = 200, at: float = 10.2, **more: Any) -> DevToolsEvent:
    response = {"status": status, "headers": {"Via": "x"}, "timing": {"requestTime": 10.01}, **more}
    params = {"requestId": request_id, "timestamp": at, "type": "Script", "response": response, "hasExtraInfo": True}
    return DevToolsEvent("Network.responseReceived", params)


def event(name: str, request_id: str = "1", **params: Any) -> DevToolsEvent:
    return DevToolsEvent(f"Network.{name}", {"requestId": request_id, **params})


def only(*events: DevToolsEvent) -> Exchange:
    exchanges = read_devtools(events).exchanges
    assert len(exchanges) == 1
    return exchanges[0]


def reported(origin_ms: float) -> DevToolsEvent:
    return DevToolsEvent("Runtime.bindingCalled", {"payload": f'["cls", {origin_ms}, {{"at": 0}}]'})


def milestones(content_s: float, load_s: float) -> list[DevToolsEvent]:
    told = {"Page.domContentEventFired": content_s, "Page.loadEventFired": load_s}
    return [DevToolsEvent(name, {"timestamp": at_s}) for name, at_s in told.items()]


def test_a_document_that_a_script_writes_anew_was_loaded_when_it_was_first() -> None:
    page = read_devtools([reported(1000), *milestones(1, 2), reported(1000), *milestones(5, 6)])
    assert (page.dom_content_loaded_us, page.load_us) == (1_000_000, 2_000_000)


def test_a_page_that_gave_way_to_another_document_was_loaded_when_that_was() -> None:
    led = [reported(1000), *milestones(1, 2), reported(3000), *milestones(5, 6)]
    unknown = [*milestones(1, 2), *milestones(5, 6)]
    for events in (led, unknown):
        page = read_devtools(events)
        assert (page.dom_content_loaded_us, page.load_us) == (5_000_000, 6_000_000)


def test_a_redirect_that_nobody_is_told_to_have_followed_was_by_who_asked_first() -> None:
    asker, other = {"type": "script", "url": "https://a.test/app.js"}, {"type": "script", "url": "https://a.test/b.js"}
    moved = {"status": 302, "url": "https://a.test/"}
    for told, by in (({"type": "other"}, asker), (other, other)):
        led = sent(url="https://b.test/", at=10.3, initiator=told, redirectResponse=moved)
        assert [one.initiator for one in read_devtools([sent(initiator=asker), led]).exchanges] == [asker, by]


def test_an_exchange_has_sizes_times_and_the_headers_of_the_wire() -> None:
    exchange = only(
        sent(),
        event("requestWillBeSentExtraInfo", headers={"Cookie": "a"}),
        responded(),
        event("responseReceivedExtraInfo", headers={"Server": "y"}, statusCode=200),
        event("dataReceived", dataLength=100),
        event("dataReceived", dataLength=50),
        event("loadingFinished", timestamp=10.5, encodedDataLength=120.0),
    )
    assert exchange.started_us == 10_000_000
    assert exchange.net_started_us == 10_010_000
    assert exchange.ended_us == 10_500_000
    assert exchange.body_bytes == 150
    assert exchange.transferred_bytes == 120
    assert exchange.request_headers == {"Cookie": "a"}
    assert exchange.response_headers == {"Server": "y"}
    assert exchange.served_from is ServedFrom.NETWORK


def test_extra_info_may_come_before_the_request_itself() -> None:
    exchange = only(event("requestWillBeSentExtraInfo", headers={"Cookie": "a"}), sent(), responded())
    assert exchange.request_headers == {"Cookie": "a"}


def test_each_hop_of_a_redirect_gets_its_own_headers_in_order() -> None:
    redirect = {"status": 302, "headers": {}, "encodedDataLength": 70, "timing": {"requestTime": 10.0}}
    first, second = read_devtools(
        [
            sent(),
            event("requestWillBeSentExtraInfo", headers={"Cookie": "first"}),
            event("responseReceivedExtraInfo", headers={"Location": "/b"}, statusCode=302),
            sent(url="https://a.test/b", at=10.1, redirectResponse=redirect, redirectHasExtraInfo=True),
            event("requestWillBeSentExtraInfo", headers={"Cookie": "second"}),
            responded(),
            event("responseReceivedExtraInfo", headers={"Server": "y"}, statusCode=200),
        ]
    ).exchanges
    assert first.redirected_to == "https://a.test/b"
    assert first.number("status") == 302
    assert first.transferred_bytes == 70
    assert first.response_headers == {"Location": "/b"}
    assert (first.request_headers, second.request_headers) == ({"Cookie": "first"}, {"Cookie": "second"})
    assert second.response_headers == {"Server": "y"}
    assert second.redirected_to is None


def test_who_hears_the_second_half_of_a_redirect_takes_nothing_from_the_first() -> None:
    redirect = {"status": 302, "headers": {}, "encodedDataLength": 70, "timing": {"requestTime": 10.0}}
    found = only(
        event("requestWillBeSentExtraInfo", headers={"Cookie": "first"}),
        event("responseReceivedExtraInfo", headers={"Location": "/b"}, statusCode=302),
        sent(url="https://a.test/b", at=10.1, redirectResponse=redirect, redirectHasExtraInfo=True),
        event("requestWillBeSentExtraInfo", headers={"Cookie": "second"}),
        responded(hasExtraInfo=True),
        event("responseReceivedExtraInfo", headers={"Server": "y"}, statusCode=200),
    )
    assert (found.number("status"), found.response_headers) == (200, {"Server": "y"})
    assert found.request_headers == {"Cookie": "second"}


def test_a_request_that_failed_tells_when_the_network_began_with_it() -> None:
    exchange = only(
        sent(),
        event("requestWillBeSentExtraInfo", headers={}, connectTiming={"requestTime": 10.02}),
        event("loadingFailed", timestamp=10.3, errorText="net::ERR_CONNECTION_REFUSED"),
    )
    assert exchange.net_error == "ERR_CONNECTION_REFUSED"
    assert exchange.net_started_us == 10_020_000
    assert exchange.response is None


def test_a_request_that_was_blocked_says_by_what() -> None:
    exchange = only(sent(), event("loadingFailed", timestamp=10.3, errorText="", blockedReason="csp"))
    assert exchange.net_error == "csp"


def test_what_memory_answered_has_no_timing_of_its_own() -> None:
    exchange = only(sent(), event("requestServedFromCache"), responded())
    assert exchange.served_from is ServedFrom.MEMORY_CACHE
    assert exchange.timing is None


def test_the_status_of_the_wire_is_kept_when_the_cache_was_asked_again() -> None:
    exchange = only(sent(), responded(), event("responseReceivedExtraInfo", headers={}, statusCode=304))
    assert exchange.number("status") == 304


def test_disk_service_worker_and_data_urls_are_told_apart() -> None:
    assert only(sent(), responded(fromDiskCache=True)).served_from is ServedFrom.DISK_CACHE
    assert only(sent(), responded(fromServiceWorker=True)).served_from is ServedFrom.SERVICE_WORKER
    assert only(sent(url="data:,x"), responded()).served_from is ServedFrom.DATA


def test_answers_to_requests_that_were_never_seen_are_passed_over() -> None:
    page = read_devtools(
        [
            responded("9"),
            event("loadingFinished", "9"),
            event("dataReceived", "9", dataLength=3),
            DevToolsEvent("X", {}),
        ]
    )
    assert page.exchanges == []


def test_events_that_lack_what_they_must_have_are_passed_over() -> None:
    nothing: dict[str, Any] = {}
    names = ("requestWillBeSent", "responseReceived", "dataReceived", "loadingFinished", "loadingFailed")
    read_devtools([DevToolsEvent(f"Network.{name}", nothing) for name in names])
    exchange = only(sent(), DevToolsEvent("Network.responseReceived", {"requestId": "1", "response": []}))
    assert exchange.response is None


def test_a_page_fetched_ahead_comes_over_the_network_and_the_one_that_uses_it_does_not() -> None:
    response = {"status": 200, "headers": {}, "fromPrefetchCache": True}
    ahead = event("responseReceived", type="Prefetch", response=response)
    assert only(sent(type="Prefetch"), ahead).served_from is ServedFrom.NETWORK
    gone = event("responseReceived", type="Document", response=response)
    assert only(sent(type="Document"), gone).served_from is ServedFrom.DISK_CACHE


def test_nobody_asked_for_a_workers_own_script_but_those_who_began_it() -> None:
    target = DevToolsEvent("Target.attachedToTarget", {"targetInfo": {"type": "service_worker", "url": _WORKER}})
    own = sent("1", _WORKER, documentURL=_WORKER, initiator={"type": "other", "url": "https://a.test/"})
    again = sent("2", _WORKER, documentURL=_WORKER, initiator={"type": "script"})
    part = sent("3", "https://a.test/part.js", documentURL=_WORKER, initiator={"type": "other"})
    askers = [exchange.asker for exchange in read_devtools([target, own, again, part]).exchanges]
    assert askers == [None, "service_worker", "service_worker"]


def test_what_memory_gives_once_more_under_the_same_number_is_a_request_of_its_own() -> None:
    """Older Chromes call a file of the page before, or of a frame, by the number of the request that brought it."""
    timing = {"requestTime": 10.01, "sendStart": 1, "sendEnd": 2, "receiveHeadersEnd": 9}
    brought = [
        sent(),
        event("requestWillBeSentExtraInfo", headers={"Cookie": "a"}),
        responded(timing=timing),
        event("responseReceivedExtraInfo", headers={"Server": "y"}, statusCode=200),
        event("dataReceived", dataLength=100, timestamp=10.25),
        event("loadingFinished", timestamp=10.3, encodedDataLength=120.0),
    ]
    again = [
        sent(at=11.0),
        event("requestServedFromCache"),
        responded(at=11.1, timing=timing),
        event("dataReceived", dataLength=100, timestamp=11.1),
        event("loadingFinished", timestamp=11.2, encodedDataLength=0.0),
    ]
    first, second = read_devtools([*brought, *again]).exchanges
    assert (first.served_from, second.served_from) == (ServedFrom.NETWORK, ServedFrom.MEMORY_CACHE)
    assert (first.timing, second.timing) == (timing, None)
    assert (first.ended_us, second.ended_us) == (10_300_000, 11_200_000)
    assert (first.transferred_bytes, first.body_bytes, second.body_bytes) == (120, 100, 100)
    assert (first.request_headers, first.response_headers) == ({"Cookie": "a"}, {"Server": "y"})


def test_a_redirect_that_was_not_followed_ends_with_what_ended_its_request() -> None:
    """Of one that CORS forbids older Chromes tell the answer once more, as that of where it leads to."""
    redirect: dict[str, Any] = {"url": "https://a.test/", "status": 301, "timing": {"requestTime": 10.01}}
    events = [
        sent(),
        sent(url="https://b.test/", at=10.1, redirectResponse=redirect),
        responded(**redirect),
        event("loadingFinished", timestamp=10.1, encodedDataLength=-1),
        event("loadingFailed", timestamp=10.2, errorText="", canceled=True),
    ]
    first, second = read_devtools(events).exchanges
    assert (first.number("status"), first.redirected_to) == (301, "https://b.test/")
    assert (second.number("status"), second.net_error, second.cancelled) == (None, "ERR_FAILED", True)
    assert second.ended_us == 10_200_000


def test_no_answer_comes_over_the_network_in_no_bytes() -> None:
    """Of a question that the browser asks for itself (CORS) and of what is refused to a frame DevTools says so."""
    done = event("loadingFinished", timestamp=10.5, encodedDataLength=0)
    assert only(sent(), responded(), done).transferred_bytes is None


def test_of_headers_of_more_hops_than_were_told_the_first_are_the_first_ones() -> None:
    """The script of a worker that was moved: DevTools tells of its first hop alone."""
    found = only(
        sent(),
        event("requestWillBeSentExtraInfo", headers={"X": "first"}, connectTiming={"requestTime": 10.01}),
        event("responseReceivedExtraInfo", headers={"Location": "/b"}, statusCode=302),
        event("requestWillBeSentExtraInfo", headers={"X": "second"}, connectTiming={"requestTime": 10.2}),
        event("responseReceivedExtraInfo", headers={"Server": "y"}, statusCode=200),
    )
    assert (found.request_headers, found.response_headers) == ({"X": "first"}, {"Location": "/b"})
    assert found.net_started_us == 10_010_000


def test_of_a_request_that_moves_for_ever_as_no_browser_follows_it_a_part_is_told() -> None:
    redirect = {"status": 302, "headers": {}}
    events = [sent(url="https://a.test/0", at=10.0)]
    for number in range(1, 20_000):
        url, before = f"https://a.test/{number}", f"https://a.test/{number - 1}"
        extra = event("requestWillBeSentExtraInfo", headers={"X-Number": str(number)})
        events += [extra, sent(url=url, at=10 + number / 1000, redirectResponse=redirect | {"url": before})]
    assert 20 < len(read_devtools(events).exchanges) < 200


def _raced(request_id: str, **more: Any) -> DevToolsEvent:
    return responded(
        request_id, serviceWorkerRouterInfo={"matchedSourceType": "race-network-and-fetch-handler"}, **more
    )


def test_what_a_service_worker_and_the_network_were_asked_for_at_once_is_one_request() -> None:
    worker = DevToolsEvent(
        "Target.attachedToTarget", {"targetInfo": {"type": "service_worker", "url": "https://a.test/sw.js"}}
    )
    own, handed_on, later = (
        sent("1", frameId="F"),
        sent("2", at=10.1, documentURL="https://a.test/sw.js"),
        sent("3", at=11, documentURL="https://a.test/sw.js"),
    )
    ends = [
        event("loadingFinished", number, timestamp=12, encodedDataLength=size) for number, size in (("1", 0), ("2", 90))
    ]
    events = [worker, own, handed_on, later, _raced("1"), _raced("2"), _raced("3", timing={"requestTime": 11}), *ends]
    told = read_devtools(events).exchanges
    assert [(one.request_id, one.transferred_bytes) for one in told] == [("1", 90), ("3", None)]
    unknown = [worker, own, handed_on, _raced("1", timing=None), _raced("2", timing=None)]
    assert [one.request_id for one in read_devtools(unknown).exchanges] == ["1", "2"]
