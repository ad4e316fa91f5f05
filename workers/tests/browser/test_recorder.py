"""When a page load is at rest, from what DevTools tells of its requests."""

from typing import Any

from workers.browser.recorder import MAX_BYTES, MAX_URL_CHARS, WORKER_BEGAN, Recorder

_SCRIPT = "https://shop.test/worker.js"


def recorder_of(*events: tuple[str, dict[str, Any]]) -> Recorder:
    recorder = Recorder(lambda: 0.0)
    for method, params in events:
        recorder.take(method, params)
    return recorder


def asked(request_id: str, url: str, kind: str = "Script") -> tuple[str, dict[str, Any]]:
    return "Network.requestWillBeSent", {"requestId": request_id, "type": kind, "request": {"url": url}}


def active_s(*events: tuple[str, dict[str, Any]]) -> float:
    """When the network last worked for a page, of whose events one comes each second from the first second on."""
    now_s = 0.0
    recorder = Recorder(lambda: now_s)
    for method, params in events:
        now_s += 1
        recorder.take(method, params)
    return recorder.last_activity_s


def test_a_worker_that_began_has_its_script_although_nobody_heard_of_its_end() -> None:
    """Its end is told to who was attached to the worker in time."""
    began = (WORKER_BEGAN, {"targetInfo": {"type": "worker", "url": _SCRIPT}})
    assert not recorder_of(asked("1", _SCRIPT)).is_idle
    assert recorder_of(asked("1", _SCRIPT), began).is_idle
    assert not recorder_of(asked("1", _SCRIPT), asked("2", "https://shop.test/slow.js"), began).is_idle
    assert recorder_of(asked("1", _SCRIPT), began, ("Network.loadingFinished", {"requestId": "1"})).is_idle


def test_what_a_page_carries_in_itself_is_no_work_of_the_network() -> None:
    page = asked("1", "https://shop.test/")
    drawn = (asked("2", "data:image/png;base64,AAAA", "Image"), ("Network.loadingFinished", {"requestId": "2"}))
    made = (asked("3", "blob:https://shop.test/1", "Fetch"), ("Network.loadingFailed", {"requestId": "3"}))
    assert active_s(page, *drawn, *made) == 1
    assert active_s(page, *drawn, ("Network.loadingFinished", {"requestId": "1"})) == 4


def test_messages_of_a_stream_are_no_work_of_the_network_and_those_of_a_download_are() -> None:
    message = ("Network.dataReceived", {"requestId": "1", "dataLength": 9})
    assert active_s(asked("1", "https://shop.test/news", "EventSource"), message, message) == 1
    assert active_s(asked("1", "https://shop.test/film", "Fetch"), message, message) == 3


def test_a_page_that_is_only_fetched_ahead_does_not_begin_the_load_anew() -> None:
    """As by speculation rules, of which DevTools tells as of a page that the frame goes to."""
    loaded = recorder_of(("Page.loadEventFired", {}))

    def goes_to(kind: str) -> tuple[str, dict[str, Any]]:
        name, params = asked("next", "https://shop.test/next")
        return name, {**params, "type": kind, "frameId": "", "loaderId": "next"}

    loaded.take(*goes_to("Prefetch"))
    assert loaded.load_seen
    loaded.take(*goes_to("Document"))
    assert not loaded.load_seen


def test_the_pieces_of_a_body_are_told_as_one_that_came_with_the_last_and_before_its_end() -> None:
    def piece(request_id: str, size: int, at_s: int) -> tuple[str, dict[str, Any]]:
        return "Network.dataReceived", {"requestId": request_id, "dataLength": size, "timestamp": at_s}

    def end(request_id: str) -> tuple[str, dict[str, Any]]:
        return "Network.loadingFinished", {"requestId": request_id}

    page, later = asked("1", "https://shop.test/"), asked("2", "https://shop.test/a.js")
    film = asked("3", "https://shop.test/film", "Media")
    begun = (page, piece("1", 1, 1), piece("1", 2, 2), end("1"), later, piece("2", 5, 3), end("2"))
    told = recorder_of(*begun, film, piece("3", 7, 4)).close()
    assert [(one.method, dict(one.params)) for one in told] == [
        page, piece("1", 3, 2), end("1"), later, piece("2", 5, 3), end("2"), film, piece("3", 7, 4)
    ]  # fmt: skip


def goes_to(request_id: str) -> tuple[str, dict[str, Any]]:
    name, params = asked(request_id, f"https://shop.test/{request_id}", "Document")
    return name, {**params, "frameId": "", "loaderId": request_id}


def gives_up(request_id: str) -> tuple[str, dict[str, Any]]:
    return "Network.loadingFailed", {"requestId": request_id, "errorText": "net::ERR_ABORTED", "canceled": True}


def test_a_page_stands_where_what_it_goes_on_to_comes_to_nothing() -> None:
    came = (goes_to("1"), ("Network.dataReceived", {"requestId": "1", "dataLength": 9, "timestamp": 1}))
    loaded = ("Page.loadEventFired", dict[str, Any]())
    assert not recorder_of(*came, loaded, goes_to("2")).load_seen
    stands = recorder_of(*came, loaded, goes_to("2"), gives_up("2"))
    assert stands.load_seen
    assert [piece.bytes_so_far for piece in stands.pieces] == [9]
    # Also of two at once, and of one that it set out for before it had loaded.
    assert recorder_of(*came, loaded, goes_to("2"), goes_to("3"), gives_up("2"), gives_up("3")).load_seen
    assert recorder_of(*came, goes_to("2"), loaded, gives_up("2")).load_seen
    assert not recorder_of(*came, goes_to("2"), gives_up("2")).load_seen
    # What has begun to come is the page.
    begun = ("Network.dataReceived", {"requestId": "2", "dataLength": 5})
    assert not recorder_of(*came, loaded, goes_to("2"), begun, gives_up("2")).load_seen


STOPPED = ("Page.frameStoppedLoading", {"frameId": ""})


def test_a_page_that_gave_way_before_it_had_loaded_stands_once_the_browser_stops_and_nothing_is_open() -> None:
    """Chrome reads on no further, and tells of no load."""
    came = (goes_to("1"), ("Network.dataReceived", {"requestId": "1", "dataLength": 9, "timestamp": 1}))
    ended = ("Network.loadingFinished", {"requestId": "1"})
    gave_way = (*came, ended, goes_to("2"), gives_up("2"))
    stands = recorder_of(*gave_way, STOPPED)
    assert (stands.load_seen, stands.cut_short) == (True, True)
    assert not recorder_of(*gave_way).load_seen
    assert not recorder_of(*gave_way, ("Page.frameStoppedLoading", {"frameId": "child"})).load_seen
    # What is still open may be what it hangs on, its document too.
    assert not recorder_of(*came, goes_to("2"), gives_up("2"), STOPPED).load_seen
    assert recorder_of(*came, goes_to("2"), gives_up("2"), STOPPED, ended).load_seen
    # It goes on to a page after all, or to one more that is none.
    assert not recorder_of(*gave_way, STOPPED, goes_to("3")).load_seen
    again = recorder_of(*gave_way, STOPPED, goes_to("3"), gives_up("3"))
    assert (again.load_seen, again.cut_short) == (True, True)


def test_a_page_that_stops_itself_stands_once_nothing_is_open_but_its_document() -> None:
    """Of that Chrome tells no end where it was still coming."""
    came = (goes_to("1"), ("Network.dataReceived", {"requestId": "1", "dataLength": 9, "timestamp": 1}))
    picture = asked("2", "https://shop.test/a.png", "Image")
    stands = recorder_of(*came, picture, gives_up("2"), STOPPED)
    assert (stands.load_seen, stands.cut_short) == (True, True)
    assert not recorder_of(*came, picture, STOPPED).load_seen
    assert recorder_of(*came, picture, STOPPED, gives_up("2")).load_seen
    # The browser may stop for what stood before: nothing of this document has come.
    assert not recorder_of(goes_to("1"), STOPPED).load_seen
    # It stopped itself to go on elsewhere.
    onward = recorder_of(*came, STOPPED, goes_to("3"))
    assert (onward.load_seen, onward.cut_short) == (False, False)


def test_what_a_page_was_waiting_for_is_open_no_more_once_another_has_loaded_in_its_place() -> None:
    def of(document: str, request_id: str, kind: str = "Fetch") -> tuple[str, dict[str, Any]]:
        name, params = asked(request_id, f"https://shop.test/{request_id}", kind)
        return name, {**params, "frameId": "", "loaderId": document}

    def came(request_id: str) -> tuple[str, dict[str, Any]]:
        return "Network.dataReceived", {"requestId": request_id, "dataLength": 9, "timestamp": 1}

    loaded = ("Page.loadEventFired", dict[str, Any]())
    ended = [("Network.loadingFinished", {"requestId": request_id}) for request_id in ("1", "2")]
    # One before the page set out, one while its way led there.
    left = (goes_to("1"), came("1"), of("1", "a"), goes_to("2"), of("1", "b"), *ended)
    assert recorder_of(*left, came("2"), loaded).is_idle
    assert not recorder_of(*left, came("2"), of("2", "c"), loaded).is_idle
    # What is fetched ahead for a page to come is of neither.
    assert not recorder_of(*left, came("2"), of("d", "d", "Prefetch"), loaded).is_idle
    # The load of the page that is still there, while the other has not come.
    assert not recorder_of(*left, loaded).is_idle


def test_a_page_that_had_loaded_is_not_called_cut_short() -> None:
    came = (goes_to("1"), ("Network.dataReceived", {"requestId": "1", "dataLength": 9, "timestamp": 1}))
    ended, loaded = ("Network.loadingFinished", {"requestId": "1"}), ("Page.loadEventFired", dict[str, Any]())
    after = recorder_of(*came, ended, loaded, STOPPED, goes_to("2"), gives_up("2"), STOPPED)
    assert (after.load_seen, after.cut_short) == (True, False)
    meanwhile = recorder_of(*came, ended, goes_to("2"), loaded, gives_up("2"), STOPPED)
    assert (meanwhile.load_seen, meanwhile.cut_short) == (True, False)


def test_a_document_that_breaks_off_while_its_page_sets_out_for_what_is_none_says_why() -> None:
    came = (goes_to("1"), ("Network.dataReceived", {"requestId": "1", "dataLength": 9, "timestamp": 1}))
    fails = ("Network.loadingFailed", {"requestId": "1", "errorText": "net::ERR_CONTENT_LENGTH_MISMATCH"})
    error = "ERR_CONTENT_LENGTH_MISMATCH"
    assert recorder_of(*came, goes_to("2"), fails, gives_up("2")).document_error == error
    assert recorder_of(*came, goes_to("2"), gives_up("2"), fails).document_error == error
    assert recorder_of(*came, goes_to("2"), fails).document_error is None


def test_a_document_that_does_not_come_or_breaks_off_says_why() -> None:
    fails = ("Network.loadingFailed", {"requestId": "1", "errorText": "net::ERR_CONTENT_LENGTH_MISMATCH"})
    assert recorder_of(goes_to("1"), fails).document_error == "ERR_CONTENT_LENGTH_MISMATCH"
    assert recorder_of(goes_to("1"), gives_up("1")).document_error is None
    assert recorder_of(goes_to("1"), asked("2", "https://shop.test/a.js"), fails, goes_to("3")).document_error is None
    assert recorder_of(goes_to("3"), asked("1", "https://shop.test/a.js"), fails).document_error is None


def heads(size: int) -> tuple[str, dict[str, Any]]:
    """An answer with so many characters of headers."""
    return "Network.responseReceivedExtraInfo", {"requestId": "1", "headers": {"link": "x" * size}}


def test_what_a_page_brings_beside_bodies_is_kept_within_bounds_and_small_events_longer_than_large_ones() -> None:
    large, loaded = heads(200_000), ("Page.loadEventFired", {"timestamp": 1.0})
    recorder = recorder_of(*[large] * 1000, loaded)
    kept = recorder.close()
    assert recorder.dropped
    assert 0.9 * MAX_BYTES < sum(200_000 for event in kept if "headers" in event.params) <= MAX_BYTES
    assert kept[-1].method == "Page.loadEventFired"


def test_of_long_addresses_the_beginning_is_kept() -> None:
    url = "data:text/html," + "x" * 1_000_000
    request_id, request = {"requestId": "1"}, {"url": url, "postData": "x"}
    recorder = recorder_of(
        ("Network.requestWillBeSent", request_id | {"documentURL": url, "request": request}),
        ("Network.responseReceived", request_id | {"response": {"url": url, "status": 200}}),
    )
    short = url[:MAX_URL_CHARS]
    assert [event.params for event in recorder.close()] == [
        request_id | {"documentURL": short, "request": {"url": short}},
        request_id | {"response": {"url": short, "status": 200}},
    ]


def word_s(size_bytes: int, *, is_hint: bool = True, has_loaded: bool = True) -> float | None:
    name, params = asked("1", _SCRIPT)
    hinted = (name, {**params, "request": {"url": _SCRIPT, "isLinkPreload": is_hint}})
    came = ("Network.dataReceived", {"requestId": "1", "dataLength": size_bytes, "timestamp": 1})
    return recorder_of(hinted, came, *[("Page.loadEventFired", {})] * has_loaded).word_s


def test_of_what_a_hint_had_come_the_browser_has_a_word_to_say_three_seconds_behind_the_load() -> None:
    assert word_s(10_000) == 3.3
    assert word_s(9_999) is None
    assert word_s(10_000, is_hint=False) is None
    assert word_s(10_000, has_loaded=False) is None
