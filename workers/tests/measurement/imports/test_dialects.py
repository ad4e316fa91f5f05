"""Every tool's way with HAR, read as the tool meant it."""

from dataclasses import replace

import pytest

from workers.diagnosis.page.diagnose import diagnose_page
from workers.measurement.finding import FindingId
from workers.measurement.timing import Timing, phases_of
from workers.measurement.waterfall import ResourceType, ServedFrom
from workers.tests.measurement.imports import samples
from workers.tests.measurement.imports.reading import ms, only, read, rows
from workers.tests.measurement.imports.samples import at, entry, har, page


def test_phases_by_the_book_are_laid_end_to_end() -> None:
    (row,) = rows(har(entry()))
    timing = row.timing
    assert (ms(timing.dns), ms(timing.connect), ms(timing.tls)) == ((10, 30), (30, 50), (50, 80))
    assert (ms(timing.send), ms(timing.wait), ms(timing.download)) == ((80, 81), (81, 121), (121, 130))
    assert (timing.start_us, timing.end_us) == (0, 130_000)


def test_devtools_rows_have_their_words_sizes_and_failures() -> None:
    document, script, broken, again = rows(samples.devtools())
    assert (document.connection, document.reused, document.priority) == (1, False, "VeryHigh")
    assert (script.resource_type, script.protocol, script.address) == (ResourceType.SCRIPT, "h2", "2001:db8::7")
    assert (script.transferred_bytes, script.initiator_url) == (1234, "https://shop.example/boot.js")
    assert (ms(script.timing.wait), script.timing.end_us) == ((145.7, 175.7), 180_000)
    assert (broken.failure, broken.status, broken.timing.wait) == ("ERR_FAILED", None, None)
    assert (again.served_from, again.connection, again.transferred_bytes) == (ServedFrom.MEMORY_CACHE, None, 0)
    assert again.timing == Timing(start_us=400_000, end_us=400_050)


@pytest.mark.parametrize(
    ("initiator", "place"),
    [
        ({"type": "parser", "url": "https://shop.example/", "lineNumber": 2, "columnNumber": 17}, (3, 18)),
        ({"type": "parser", "lineNumber": 2, "columnNumber": 17}, None),
        ({"type": "parser", "lineNumber": 2}, None),
        ({"type": "parser", "lineNumber": -1, "columnNumber": 1e300}, None),
        ({"type": "script", "lineNumber": 2, "columnNumber": 17}, None),
        ("https://shop.example/", None),
    ],
)
def test_only_the_parser_tells_a_place_of_the_document(initiator: object, place: tuple[int, int] | None) -> None:
    (row,) = rows(har(entry(_initiator=initiator)))
    assert row.initiator_at == place


@pytest.mark.parametrize(("head", "body", "seen"), [(100, 0, 100), (-1, 0, None), (-1, 400, 400), (100, -1, None)])
def test_an_answer_that_came_over_the_network_was_never_of_no_size(head: int, body: int, seen: int | None) -> None:
    """A head whose size is unknown came all the same."""
    made = entry()
    made["response"] |= {"status": 304, "headersSize": head, "bodySize": body}
    (row,) = rows(har(made))
    assert row.transferred_bytes == seen


@pytest.mark.parametrize(("status", "by_worker", "seen"), [(302, False, None), (0, False, 0), (200, True, 0)])
def test_no_redirect_of_playwrights_was_of_no_size_either(status: int, by_worker: bool, seen: int | None) -> None:
    """What a service worker gave came over no wire."""
    made = entry()
    sizes = {"headersSize": 0, "bodySize": 0, "_transferSize": 0}
    made["response"] |= {"status": status, "fromServiceWorker": by_worker} | sizes
    (row,) = rows(har(made, creator="Playwright"))
    assert row.transferred_bytes == seen


def test_what_came_after_a_wait_of_unknown_length_came_at_an_unknown_instant() -> None:
    """Playwright counts all of it as received."""
    timings = {"dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": -1, "receive": 120}
    (row,) = rows(har(entry(timings=timings, time=120), creator="Playwright"))
    assert row.timing == Timing(start_us=0, end_us=120_000)


@pytest.mark.parametrize(
    ("size", "saved", "seen"),
    [
        (400, 500, 900),
        (900, 500, 900),
        (400, None, 400),
        (0, 500, 0),
        (400, -20, 380),
        (400, "1e999", 400),
        (400, "nan", 400),
    ],
)
def test_mitmproxy_has_the_size_on_the_wire_for_that_of_the_content(size: int, saved: object, seen: int) -> None:
    made = entry()
    made["response"]["content"] = {"size": size, "compression": saved, "mimeType": "text/html"}
    (row,) = rows(har(made, creator="mitmproxy"))
    assert row.body_bytes == seen


def test_who_first_uses_a_connection_that_nobody_is_seen_to_open_may_have_opened_it() -> None:
    assert rows(samples.devtools())[1].reused is None


@pytest.mark.parametrize("told", [0, -1, None])
def test_who_knows_only_how_long_it_took_in_all_has_that_and_no_phases(told: int | None) -> None:
    names = ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")
    (row,) = rows(har(entry(timings=dict.fromkeys(names, told), time=500)))
    assert row.timing == Timing(start_us=0, end_us=500_000)


def test_a_duration_since_the_year_one_is_not_known() -> None:
    """What Fiddler counts from an instant that it has not: .NET's DateTime.MinValue."""
    made = entry(time=63_604_615_928_000)
    made["timings"]["receive"] = 63_604_615_927_841
    (row,) = rows(har(made, creator="Fiddler"))
    assert (row.timing.download, row.timing.end_us) == (None, None)
    assert row.timing.wait is not None


def test_who_pays_under_the_name_of_a_connection_that_was_paid_for_has_another_one() -> None:
    """HAR 1.2 lets `connection` be a port of the client, which one connection after the other may have (Fiddler)."""
    paid = {"blocked": -1, "dns": 0, "connect": 40, "ssl": 0, "send": 0, "wait": 60, "receive": 0}
    used = paid | {"connect": 0}
    made = [
        entry(f"2026-11-21T12:00:0{at}Z", timings=timings, connection="49185")
        for at, timings in enumerate((used, paid, used, paid, used))
    ]
    found = only(har(*made, creator="Fiddler"))
    seen = [(row.connection, row.reused) for row in found.waterfall.requests]
    assert seen == [(1, True), (1, False), (1, True), (2, False), (2, True)]
    assert [one.requests for one in found.waterfall.connections] == [3, 2]


def test_firefox_counts_tls_beside_connect_and_has_a_port_for_a_connection() -> None:
    found = read(samples.firefox()).pages[0]
    first, second = found.measurement.waterfall.requests
    assert (ms(first.timing.connect), ms(first.timing.tls)) == ((76, 93), (93, 119))
    assert first.timing.end_us == 154_000
    assert (second.connection, second.timing.dns, second.timing.send) == (None, None, None)
    assert first.transferred_bytes == 400
    assert found.started_at.isoformat() == "2026-11-21T12:00:00+00:00"
    assert found.measurement.browser_version == "Firefox 146.0.1"


def test_a_stranger_whose_sums_need_tls_counts_it_beside_connect() -> None:
    timings = {"blocked": -1, "dns": -1, "connect": 50, "ssl": 30, "send": 0, "wait": 40, "receive": 10}
    (apart,) = rows(har(entry(timings=timings, time=130), creator="mitmproxy"))
    (inside,) = rows(har(entry(timings=timings, time=100), creator="mitmproxy"))
    assert (phases_of(apart.timing).connect_us, phases_of(inside.timing).connect_us) == (50_000, 20_000)


@pytest.mark.parametrize("creator", ["WebKit Web Inspector", "Tool"])
def test_safari_has_the_queue_of_a_reused_connection_in_two_places(creator: str) -> None:
    """20 ms queued, 40 wait, 10 receive; others mean that they queued as long as they sent."""
    timings = {"blocked": 20, "dns": -1, "connect": -1, "ssl": -1, "send": 20, "wait": 40, "receive": 10}
    (row,) = rows(har(entry(timings=timings, time=70), creator=creator))
    is_safari = creator != "Tool"
    assert ms(row.timing.send) == (None if is_safari else (20, 40))
    assert (ms(row.timing.wait), row.timing.end_us) == (((20, 60), 70_000) if is_safari else ((40, 80), 90_000))


def test_playwright_counts_tls_twice_and_begins_with_the_tab() -> None:
    found = read(samples.playwright()).pages[0]
    first, plain, failed = found.measurement.waterfall.requests
    assert found.started_at.isoformat() == "2026-11-21T12:00:05+00:00"
    assert (phases_of(first.timing).connect_us, phases_of(first.timing).tls_us) == (20_000, 30_000)
    assert (plain.timing.tls, plain.timing.end_us) == (None, None)
    assert (failed.failure, failed.status, failed.transferred_bytes) == ("ERR_NAME_NOT_RESOLVED", None, None)
    assert (failed.timing.start_us, failed.timing.end_us) == (300_000, None)
    vitals = found.measurement.vitals
    assert (vitals.dom_content_loaded_us, vitals.load_us) == (200_000, 400_000)


def test_browsertime_queues_before_the_entry_begins() -> None:
    found = only(samples.browsertime())
    (row,) = found.waterfall.requests
    assert (row.timing.start_us, ms(row.timing.dns), row.initiator_url) == (-4_000, (1, 21), "https://shop.example/")
    vitals = found.vitals
    assert (vitals.lcp_us, vitals.fcp_us, vitals.speed_index_us) == (420_000, 211_000, 333_000)
    assert (vitals.cls, vitals.tbt_us, vitals.start_render_us) == (0.02, 0, 200_000)
    assert vitals.visually_complete_us == 450_000


def test_webpagetest_archives_keep_their_true_places() -> None:
    """A gap between DNS and connect stays where it was, and DNS may begin before the page asks."""
    fields = {f"_{name}": value for name, value in samples.webpagetest_request(connect_start=60).items()}
    made = entry(**fields, pageref="page_1", timings={"blocked": -1, "dns": 54, "connect": 60, "ssl": 43, "send": 0,
                                                      "wait": 28, "receive": 5})  # fmt: skip
    measured = only(har(made, creator="WebPagetest", pages=[page(_run=1, _cached=0)], version="1.1"))
    (row,) = measured.waterfall.requests
    assert (row.timing.start_us, ms(row.timing.dns), ms(row.timing.connect)) == (15_000, (2, 56), (60, 73))
    assert (ms(row.timing.wait), ms(row.timing.download)) == ((116, 144), (144, 149))
    assert (measured.waterfall.connections[0].preconnected, row.body_bytes) == (False, 5000)
    assert measured.waterfall.connections[0].tls_version == "TLSv1.3"


def test_webpagetests_word_for_nothing_is_nothing() -> None:
    fields = {f"_{name}": -1 for name in ("dns_start", "dns_end", "connect_start", "connect_end")}
    zeros = {"_ssl_start": 0, "_ssl_end": 0, "_created": 5, "_load_start": 7, "_ttfb_ms": 10, "_load_ms": 12}
    (row,) = rows(har(entry() | fields | zeros, pages=[page()]))
    assert (row.timing.dns, row.timing.connect, row.timing.tls) == (None, None, None)
    assert (ms(row.timing.wait), row.timing.end_us) == ((7, 17), 19_000)


def test_quic_has_one_handshake() -> None:
    made = entry()
    made["response"] |= {"httpVersion": "h3"}
    (row,) = rows(har(made))
    assert (row.timing.connect, ms(row.timing.tls)) == (None, (30, 80))


@pytest.mark.parametrize("creator", ["Charles Proxy", "Fiddler", "WebKit Web Inspector"])
def test_an_archive_without_pages_is_one_page(creator: str) -> None:
    """Its first request is its start."""
    found = read(
        har(entry("2026-11-21T12:00:01.5+00:00"), at("https://a.example/x", started=samples.START), creator=creator)
    )
    (one,) = found.pages
    assert one.started_at.isoformat() == "2026-11-21T12:00:00+00:00"
    assert [row.timing.start_us for row in one.measurement.waterfall.requests] == [0, 1_500_000]
    assert found.source.tool == creator


def test_each_page_is_a_page_load_of_its_own() -> None:
    pages = [page("a"), page("b", started="2026-11-21T12:01:00Z", title="Basket"), page("empty")]
    second = at("https://shop.example/basket", started="2026-11-21T12:01:00.2Z", pageref="b")
    orphan = at("https://shop.example/late", started="2026-11-21T12:01:01Z")
    found = read(har(entry(pageref="a"), second, orphan, pages=pages)).pages
    assert [(one.url, len(one.measurement.waterfall.requests)) for one in found] == [
        (samples.HTML, 1),
        ("https://shop.example/basket", 2),
    ]
    assert (found[1].label, found[1].measurement.title) == ("Basket", "Basket")
    assert found[1].measurement.waterfall.requests[0].timing.start_us == 200_000


def test_a_pages_start_from_another_clock_is_not_used() -> None:
    found = read(har(entry(pageref="page_1"), pages=[page(started="2026-11-21T07:00:00Z")]))
    (one,) = found.pages
    assert (one.started_at.hour, one.measurement.vitals.load_us) == (12, None)
    assert "figures are left out" in found.remarks[0]


def test_the_document_is_where_the_redirects_lead() -> None:
    hop = at("http://shop.example/")
    hop["response"] |= {"status": 301, "redirectURL": "https://shop.example/"}
    frame = at("https://ads.example/frame.html", started="2026-11-21T12:00:03Z")
    last = entry("2026-11-21T12:00:01Z")
    measured = only(har(hop, last, frame))
    assert (measured.document, measured.waterfall.requests[0].redirected_to) == (2, "https://shop.example/")


@pytest.mark.parametrize("url", ["https://shop.example/app", "https://shop.example/app#/prices"])
def test_a_redirect_leads_to_what_is_asked_for_without_its_fragment(url: str) -> None:
    """Chrome writes addresses as they are asked for, and Location as it came; other tools both with the fragment."""
    hop = at("http://shop.example/", pageref="page_1")
    hop["response"] |= {"status": 302, "redirectURL": "https://shop.example/app#/prices"}
    document = at(url, started="2026-11-21T12:00:01Z", pageref="page_1")
    script = at("https://shop.example/a.js", started="2026-11-21T12:00:02Z", pageref="page_1", _initiator={"url": url})
    file = har(hop, document, script, creator="WebInspector", pages=[page(started="2026-11-21T12:00:01Z")])
    measured = read(file).pages[0].measurement
    first, second, third = measured.waterfall.requests
    assert (first.redirected_to, second.url, third.initiator_url) == ("https://shop.example/app",) * 3
    assert (measured.document, second.timing.start_us) == (2, 1_000_000)


def test_a_load_begins_with_its_first_redirect_though_chrome_lets_the_page_start_behind_it() -> None:
    hop = at("http://shop.example/", pageref="page_1")
    hop["response"] |= {"status": 301, "redirectURL": samples.HTML}
    document = entry("2026-11-21T12:00:01Z", pageref="page_1")
    file = har(hop, document, {}, creator="WebInspector", pages=[page(started="2026-11-21T12:00:01Z")])
    (found,) = read(file).pages
    measured = found.measurement
    assert [row.timing.start_us for row in measured.waterfall.requests] == [0, 1_000_000]
    assert (measured.vitals.dom_content_loaded_us, measured.vitals.load_us) == (1_300_500, 1_500_000)
    assert (found.started_at.isoformat(), read(file).skipped) == ("2026-11-21T12:00:00+00:00", 1)


def test_steps_of_a_script_are_pages_of_their_own() -> None:
    document = samples.webpagetest(1000, repeat=False)
    view = document["data"]["runs"]["1"]["firstView"]
    document["data"]["runs"]["1"]["firstView"] = {
        "numSteps": 2,
        "steps": [view, view | {"URL": "https://shop.example/2"}],
    }
    assert [one.label for one in read(document).pages] == ["run 1, first view", "run 1, first view, step 2"]


def test_steps_at_one_address_are_no_loads_of_each_other() -> None:
    """A script that clicks stays where it is; of the second run the first step brought nothing."""
    document = samples.webpagetest(1000, 3000, repeat=False)
    for number, views in document["data"]["runs"].items():
        view = views["firstView"]
        first, second = (view, view | {"loadTime": 200}) if number == "1" else ({}, view | {"loadTime": 400})
        views["firstView"] = {"numSteps": 2, "steps": [first, second]}
    one, two = read(document).pages
    assert (one.label, one.measurement.samples) == ("run 1, first view", ())
    assert [load.vitals.load_us for load in two.measurement.samples] == [200_000, 400_000]


def test_steps_of_an_archive_are_no_loads_of_each_other() -> None:
    pages = [page(f"page_{run}_{step}", _run=run, _step=step) for step in (1, 2) for run in (1, 2)]
    document = har(*(entry(pageref=one["id"]) for one in pages), creator="WebPagetest", pages=pages)
    assert [len(one.measurement.samples) for one in read(document).pages] == [2, 2]


def test_secrets_of_a_file_are_not_kept() -> None:
    made = at("https://bob:s3cret@shop.example/")
    made["request"]["headers"] = [
        {"name": "Authorization", "value": "Bearer s3cret"},
        {"name": "Accept", "value": "*/*"},
    ]
    made["response"]["headers"] = [{"name": "Set-Cookie", "value": "a=s3cret"}, {"name": 7}, "x"]
    found = read(har(made))
    assert "s3cret" not in repr(found)
    assert found.pages[0].url == "https://shop.example/"
    assert [header.name for header in found.pages[0].measurement.waterfall.requests[0].request_headers] == [
        "Authorization",
        "Accept",
    ]


def test_one_clock_for_all_rows_survives_a_page_that_is_kept_short() -> None:
    many = [at(f"https://shop.example/{n}", started=f"2026-11-21T12:00:{n % 60:02}Z") for n in range(2_100)]
    waterfall = only(har(*many)).waterfall
    assert (len(waterfall.requests), waterfall.truncated) == (2_000, True)
    assert replace(waterfall.requests[0], number=1) == waterfall.requests[0]


def test_an_archive_without_requests_brings_the_figures_of_its_pages() -> None:
    pages = [page("a"), page("b", pageTimings={"onLoad": 700}, title="Shop"), page("c", pageTimings={"onLoad": -1})]
    found = read(har(pages=pages))
    assert [(one.url, one.label) for one in found.pages] == [(samples.HTML, samples.HTML), ("", "Shop")]
    assert [one.measurement.vitals.load_us for one in found.pages] == [500_000, 700_000]
    assert {one.measurement.waterfall.requests for one in found.pages} == {()}
    assert found.remarks == (
        "page 3: the file has neither requests nor figures of it.",
        "The file has no requests of its page loads, only their figures.",
    )


def test_a_page_without_requests_beside_others_is_told() -> None:
    found = read(har(entry(pageref="b"), pages=[page("a", title="blank"), page("b")]))
    assert len(found.pages) == 1
    assert found.remarks == ("page 1: the file has no requests of it.",)


def test_a_row_whose_file_names_no_start_begins_with_its_first_phase() -> None:
    document = samples.webpagetest(1000, repeat=False)
    for row in document["data"]["runs"]["1"]["firstView"]["requests"]:
        del row["created"], row["all_start"]
    first, second = only(document).waterfall.requests
    assert (first.timing.start_us, second.timing.start_us) == (2_000, 160_000)


def test_what_began_with_its_view_begins_there_though_older_files_call_that_nothing() -> None:
    """Older WebPageTests take 0 for "none" also where they sum up when a row began, and write numbers as texts."""
    idle = {"dns_start": "0", "dns_end": "0", "ssl_start": "0", "ssl_end": "0"}
    document = samples.webpagetest(1000, repeat=False)
    first, second = document["data"]["runs"]["1"]["firstView"]["requests"]
    first |= {"dns_start": "0", "all_start": "56"}
    second |= idle | {"connect_start": "0", "connect_end": "160", "all_start": "160"}
    for row in (first, second):
        del row["created"]
    for row, begun, waited in zip(only(document).waterfall.requests, ((0, 56), None), (144, 190), strict=True):
        assert (row.timing.start_us, row.timing.first_byte_us) == (0, waited * 1000)
        assert ms(row.timing.dns) == begun


def test_zeros_for_nothing_begin_no_row() -> None:
    document = samples.webpagetest(1000, repeat=False)
    second = document["data"]["runs"]["1"]["firstView"]["requests"][1]
    del second["created"], second["all_start"]
    second |= {"dns_start": 0, "dns_end": 0, "connect_start": 0, "connect_end": 0, "ssl_start": 0, "ssl_end": 0}
    row = only(document).waterfall.requests[1]
    assert (row.timing.start_us, row.timing.dns, row.timing.connect, row.timing.tls) == (160_000, None, None, None)


def test_tls_that_began_with_connect_leaves_nothing_to_that() -> None:
    """Of a connection that was waited for only while it shook hands older WebPageTests write the same place twice."""
    document = samples.webpagetest(1000, repeat=False)
    document["data"]["runs"]["1"]["firstView"]["requests"][0] |= {"connect_start": 73, "connect_end": 116}
    row = only(document).waterfall.requests[0]
    assert (row.timing.connect, ms(row.timing.tls)) == (None, (73, 116))


@pytest.mark.parametrize(
    ("creator", "is_told"), [("WebInspector", True), ("Fiddler", False), ("BrowserMob Proxy", False)]
)
def test_a_proxy_that_speaks_http_1_alone_says_nothing_of_what_the_server_speaks(creator: str, is_told: bool) -> None:
    opened = [at(f"{samples.HTML}{number}", connection=str(number % 3 + 7)) for number in range(6)]
    document = entry(connection="6") | {"_resourceType": "document"}
    (found,) = read(har(document, *opened, creator=creator)).pages
    assert [one.id for one in diagnose_page(found.measurement).findings] == [FindingId.HTTP_H2_MISSING] * is_told
