"""Ordinary pages in a real Chromium."""

import time
from collections.abc import Callable, Iterator

import pytest

from workers.browser.pool import BrowserPool
from workers.measurement.failure import FailureKind
from workers.measurement.messages import PageMeasurement, ProgressStage
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom, TimingSource
from workers.tests.browser.conftest import Load, failed, measured, page_request
from workers.tests.browser.sites import IMAGE, SCRIPT, Answer, Site, picture
from workers.tests.ports import closed_port
from workers.tests.waiting import undisturbed


def row(page: PageMeasurement, end: str) -> Request:
    return next(request for request in page.waterfall.requests if request.url.endswith(end))


@undisturbed
def test_a_page_gives_a_row_for_each_request_with_its_phases_in_order(load: Load, site: Site) -> None:
    url = site.page("/", "<link rel=stylesheet href=/s.css><script src=/s.js></script><h1>Hello</h1><img src=/a.png>")
    page = measured(load(url))
    # The full Chromium asks for an icon besides.
    rows = [request for request in page.waterfall.requests if not request.url.endswith("/favicon.ico")]
    assert [request.url.rpartition("/")[2] for request in rows] == ["", "s.css", "s.js", "a.png"]
    assert [request.resource_type for request in rows] == [
        ResourceType.DOCUMENT,
        ResourceType.STYLESHEET,
        ResourceType.SCRIPT,
        ResourceType.IMAGE,
    ]
    for request in page.waterfall.requests:
        timing = request.timing
        assert request.timing_source is TimingSource.NETLOG
        assert timing.send is not None
        assert timing.wait is not None
        assert timing.download is not None
        assert 0 <= timing.start_us <= timing.send.start_us <= timing.send.end_us == timing.wait.start_us
        assert timing.wait.end_us == timing.download.start_us <= timing.download.end_us
    assert page.warnings == ()


@undisturbed
def test_the_document_pays_for_its_connection_and_later_requests_reuse_it(load: Load, site: Site) -> None:
    url = site.page("/", "<link rel=stylesheet href=/s.css>")
    page = measured(load(url))
    document, style = page.waterfall.requests[:2]
    assert page.document == 1
    assert document.timing.connect is not None
    assert document.timing.tls is not None
    assert document.timing.connect.end_us <= document.timing.tls.start_us
    assert document.reused is False
    assert style.reused is True
    assert style.connection == document.connection == 1
    assert style.timing.connect is None
    connection = page.waterfall.connections[0]
    assert (connection.host, connection.port, connection.address) == ("localhost", site.port, "127.0.0.1")
    assert connection.tls_version == "TLSv1.3"
    assert connection.tls_round_trips == 1
    assert connection.resumed is False
    assert connection.certificate is not None
    assert "localhost" in connection.certificate.names
    assert connection.certificate_error is None


@undisturbed
def test_what_workers_ask_for_is_told_and_a_page_with_workers_comes_to_rest(load: Load, site: Site) -> None:
    def script(body: bytes) -> Answer:
        return Answer(body=body, kind="text/javascript")

    site.answers |= {
        "/worker.js": script(b"importScripts('/part.js'); new Worker('/nested.js'); fetch('/by-worker')"),
        "/part.js": script(b"self.part = 1"),
        "/nested.js": script(b"fetch('/by-nested')"),
        "/by-worker": Answer(body=b"1", kind="text/plain"),
        "/by-nested": Answer(body=b"2", kind="text/plain"),
    }
    site.hits.clear()
    page = measured(load(site.page("/", "<script>new Worker('/worker.js')</script>")))
    for path in ("/worker.js", "/part.js", "/nested.js", "/by-worker", "/by-nested"):
        asked = row(page, path)
        assert asked.timing.end_us is not None, path
        assert asked.timing_source is TimingSource.NETLOG, path
        assert len(site.seen(path)) == 1
        # Whoever told of it, DevTools or the network log alone: who asked is known, and what was sent.
        assert (RowFlag.WORKER in asked.flags) is (path != "/worker.js"), path
        sent = {header.name.lower(): header.value for header in asked.request_headers}
        assert sent["user-agent"] == site.seen(path)[0]["user-agent"], path
    assert page.vitals.fully_loaded_us is not None


def test_a_run_tells_vitals_title_and_a_picture(load: Load, site: Site) -> None:
    site.answers["/hero.png"] = IMAGE
    url = site.page("/", '<h1 id=top class="big wide">Hello</h1>')
    run = load(url)
    page = measured(run)
    vitals = page.vitals
    assert vitals.fcp_us is not None
    assert vitals.lcp_us is not None
    assert vitals.lcp_element == "h1#top.big.wide"
    assert vitals.cls == 0
    assert vitals.dom_content_loaded_us is not None
    assert vitals.load_us is not None
    assert vitals.fully_loaded_us is not None
    assert vitals.dom_content_loaded_us <= vitals.load_us <= vitals.fully_loaded_us
    assert page.title == "Page"
    assert page.has_screenshot
    assert run.screenshot is not None
    assert run.screenshot[:3] == b"\xff\xd8\xff"


def test_content_that_jumps_scores_a_layout_shift(load: Load, site: Site) -> None:
    jump = "<div id=gap></div><p>text that moves</p><script>setTimeout(() => gap.style.height = '400px', 300)</script>"
    page = measured(load(site.page("/", jump + "<script src=/late.js></script>")))
    assert page.vitals.cls is not None
    assert page.vitals.cls > 0


def test_redirects_are_rows_of_their_own_that_say_where_they_led(load: Load, site: Site) -> None:
    site.page("/end", "<p>arrived</p>")
    site.answers["/start"] = Answer(status=302, headers=(("Location", "/middle"),))
    site.answers["/middle"] = Answer(status=301, headers=(("Location", "/end"),))
    page = measured(load(site.url("/start")))
    rows = page.waterfall.requests
    assert [request.status for request in rows[:3]] == [302, 301, 200]
    assert rows[0].redirected_to == site.url("/middle")
    assert rows[1].redirected_to == site.url("/end")
    assert page.document == 3
    assert all(request.timing.wait is not None for request in rows[:3])
    assert rows[2].timing.connect is None


def test_a_page_that_replaces_itself_is_measured_to_the_last_document(load: Load, site: Site) -> None:
    site.page("/second", "<h1>second</h1>")
    page = measured(load(site.page("/", "<h1>first</h1><script>location.replace('/second')</script>")))
    assert page.document is not None
    final = page.waterfall.requests[page.document - 1]
    assert final.url.endswith("/second")
    assert page.vitals.fcp_us is not None
    assert page.vitals.fcp_us > final.timing.start_us


@pytest.mark.parametrize("target", ["/file.zip", "/nothing", "mailto:shop@shop.test", "app:shop"])
def test_a_page_that_goes_on_to_what_is_no_page_stays_and_is_measured(load: Load, site: Site, target: str) -> None:
    """As to a download that begins by itself."""
    saved = (("Content-Disposition", "attachment"),)
    site.answers["/file.zip"] = Answer(body=b"zip" * 100, kind="application/zip", headers=saved)
    site.answers["/nothing"] = Answer(status=204)
    page = measured(
        load(
            site.page("/", f"<h1>first</h1><script>onload = () => setTimeout(() => location = '{target}', 99)</script>")
        )
    )
    assert page.document == 1
    assert page.vitals.fcp_us is not None
    assert page.vitals.load_us is not None
    assert page.vitals.fully_loaded_us is not None
    assert [row.url for row in page.waterfall.requests if target in row.url]


@pytest.mark.parametrize("target", ["/file.zip", "/nothing", "mailto:shop@shop.test"])
@pytest.mark.parametrize("goes", ["location = '{}'", "setTimeout(() => location = '{}', 99)"])
def test_a_page_that_goes_on_to_what_is_no_page_before_it_has_loaded_is_measured_as_it_stands(
    load: Load, site: Site, target: str, goes: str
) -> None:
    """Browsers read it no further and tell of no load."""
    saved = (("Content-Disposition", "attachment"),)
    site.answers["/file.zip"] = Answer(body=b"zip" * 100, kind="application/zip", headers=saved)
    site.answers["/nothing"] = Answer(status=204)
    site.answers["/late.png"] = Answer(body=later(0.5, picture()), kind="image/png")
    page = measured(load(site.page("/", f"<h1>first</h1><img src=/late.png><script>{goes.format(target)}</script>")))
    assert page.document == 1
    assert page.vitals.fcp_us is not None
    assert page.vitals.load_us is None
    assert page.vitals.fully_loaded_us is not None
    assert any("went on to what is no page" in warning for warning in page.warnings)


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (204, FailureKind.PAGE_ERROR, "status 204 has no page"),
        (205, FailureKind.PAGE_ERROR, "status 205 has no page"),
        (304, FailureKind.PAGE_ERROR, "status 304 has no page"),
        (407, FailureKind.STATUS_UNEXPECTED, "407, which only a proxy may say"),
    ],
)
def test_an_answer_that_is_no_page_is_told_by_its_status(
    load: Load, site: Site, status: int, kind: FailureKind, words: str
) -> None:
    site.answers["/"] = Answer(status=status)
    outcome = failed(load(site.url("/")))
    assert outcome.failure.kind is kind
    assert outcome.failure.detail.endswith(words)


def test_a_page_that_hangs_is_not_called_loaded_where_it_goes_on_to_what_is_no_page(load: Load, site: Site) -> None:
    site.answers["/nothing"] = Answer(status=204)
    site.answers["/never.png"] = Answer(body=b"", wait_for=site.released)
    goes = "<h1>first</h1><img src=/never.png><script>location = '/nothing'</script>"
    outcome = failed(load(site.page("/", goes), timeout_us=3_000_000))
    assert outcome.failure.kind is FailureKind.PAGE_TIMEOUT
    assert "/never.png" in outcome.failure.detail


def later(seconds: float, body: bytes) -> Callable[[], Iterator[bytes]]:
    """A body that comes after its head."""

    def pieces() -> Iterator[bytes]:
        time.sleep(seconds)
        yield body

    return pieces


def test_a_page_that_goes_on_to_where_nobody_answers_has_failed(load: Load, site: Site) -> None:
    target = f"https://localhost:{closed_port()}/"
    script = f"<script>onload = () => setTimeout(() => location = '{target}', 99)</script>"
    outcome = failed(load(site.page("/", f"<h1>first</h1>{script}")))
    assert outcome.failure.kind is FailureKind.CONNECT_REFUSED


def test_a_document_that_breaks_off_is_told_as_such_and_not_waited_for(load: Load, site: Site) -> None:
    """Chrome never says of it that it has loaded."""
    head = (("Content-Length", "5000"),)
    site.answers["/"] = Answer(body=lambda: iter([b"<!doctype html><title>Page</title><h1>first</h1>"]), headers=head)
    outcome = failed(load(site.url("/"), timeout_us=60_000_000))
    assert outcome.failure.kind is FailureKind.DOWNLOAD_INCOMPLETE
    assert isinstance(outcome.measurement, PageMeasurement)
    assert outcome.measurement.waterfall.requests[0].failure == "ERR_CONTENT_LENGTH_MISMATCH"


def test_what_the_cache_answers_has_no_phases(load: Load, site: Site) -> None:
    site.page("/frame", "<img src=/a.png>")
    site.answers["/s.js"] = Answer(body=SCRIPT.body, kind=SCRIPT.kind, headers=(("Cache-Control", "max-age=600"),))
    frame = "document.body.append(Object.assign(document.createElement('iframe'), { src: '/frame' }))"
    page = measured(load(site.page("/", f"<img src=/a.png><script>onload = () => {frame}</script>")))
    images = [request for request in page.waterfall.requests if request.url.endswith("/a.png")]
    assert [image.served_from is ServedFrom.NETWORK for image in images] == [True, False]
    cached = images[1].timing
    assert (cached.connect, cached.send, cached.wait, cached.download) == (None, None, None, None)
    assert images[1].transferred_bytes == 0
    assert len(site.seen("/a.png")) == 1


def test_requests_of_frames_are_rows_too_also_of_another_site(load: Load, site: Site) -> None:
    site.page("/frame", "<img src=/a.png>")
    page = measured(load(site.page("/", f'<iframe src="{site.url("/frame", host="other.localhost")}"></iframe>')))
    image = row(page, "/a.png")
    assert image.url.startswith("https://other.localhost")
    assert image.status == 200
    assert page.document == 1


@undisturbed
def test_at_most_six_connections_are_opened_to_a_host(load: Load, site: Site) -> None:
    images = "".join(f"<img src=/a.png?{number}>" for number in range(30))
    page = measured(load(site.page("/", images)))
    assert len(page.waterfall.requests) >= 31
    assert 2 <= len(page.waterfall.connections) <= 6
    payers = [request for request in page.waterfall.requests if request.timing.connect is not None]
    used = {request.connection for request in page.waterfall.requests}
    assert len(payers) == len(used)
    assert sum(connection.requests for connection in page.waterfall.connections) == len(page.waterfall.requests)


def test_a_failed_host_keeps_its_row_with_the_error_and_the_page_is_measured(load: Load, site: Site) -> None:
    dead = f"https://localhost:{closed_port()}/x.png"
    page = measured(load(site.page("/", f'<img src="{dead}"><img src=/missing.png>')))
    refused = row(page, "/x.png")
    assert refused.failure == "ERR_CONNECTION_REFUSED"
    assert refused.status is None
    assert refused.timing.connect is not None
    assert refused.connection is None
    missing = row(page, "/missing.png")
    assert missing.status == 404
    assert missing.failure is None


def test_inline_content_is_a_row_without_network_and_without_its_data(load: Load, site: Site) -> None:
    page = measured(load(site.page("/", '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">')))
    inline = page.waterfall.requests[1]
    assert inline.served_from is ServedFrom.DATA
    assert len(inline.url) <= 80
    assert inline.timing.wait is None


def test_sizes_are_those_of_the_wire_and_of_the_decoded_body(load: Load, site: Site) -> None:
    page = measured(load(site.page("/", "<script src=/s.js></script>")))
    script = row(page, "/s.js")
    assert script.body_bytes == len(b"window.ran = true;")
    assert script.transferred_bytes is not None
    assert script.transferred_bytes > script.body_bytes


def test_cookies_and_credentials_are_not_kept(load: Load, site: Site) -> None:
    site.page("/", "<img src=/a.png>", headers=(("Set-Cookie", "session=s3cret"),))
    page = measured(load(site.url("/")))
    assert "s3cret" not in repr(page)
    assert any(header.name.lower() == "set-cookie" for header in page.waterfall.requests[0].response_headers)
    assert "session=s3cret" in site.seen("/a.png")[0]["cookie"]


def test_progress_is_told_in_order_with_the_number_of_requests(pool: BrowserPool, site: Site) -> None:
    told: list[tuple[ProgressStage, object]] = []
    pool.load(page_request(site.page("/", "<img src=/a.png>")), lambda stage, count: told.append((stage, count)))
    stages = [stage for stage, _ in told]
    assert stages == sorted(stages, key=list(ProgressStage).index)
    assert stages[:2] == [ProgressStage.STARTING, ProgressStage.CONNECTING]
    assert stages[-1] is ProgressStage.COMPUTING
    assert all(count is not None for stage, count in told if stage is ProgressStage.LOADING)


def test_an_unexpected_status_fails_with_what_was_measured(load: Load, site: Site) -> None:
    run = load(site.url("/nothing"))
    outcome = failed(run)
    assert outcome.failure.kind is FailureKind.STATUS_UNEXPECTED
    assert "404" in outcome.failure.detail
    assert isinstance(outcome.measurement, PageMeasurement)
    assert outcome.measurement.waterfall.requests[0].status == 404


def test_an_accepted_status_is_a_measurement_even_without_a_body(load: Load, site: Site) -> None:
    site.answers["/empty"] = Answer(status=503)
    assert failed(load(site.url("/empty"))).failure.kind is FailureKind.STATUS_UNEXPECTED
    assert measured(load(site.url("/empty"), accepted_status=(503,))).waterfall.requests[0].status == 503


def test_text_that_must_be_there_is_looked_for_in_what_scripts_have_made(load: Load, site: Site) -> None:
    url = site.page("/", "<script>document.write('<p>Price: 12 \u20ac</p>')</script>")
    measured(load(url, body_text="12 \u20ac"))
    outcome = failed(load(url, body_text="'); alert(1); ('"))
    assert outcome.failure.kind is FailureKind.TEXT_MISSING


def test_a_page_that_changes_what_the_language_means_is_looked_at_all_the_same(load: Load, site: Site) -> None:
    prototype = "for (const name of ['includes', 'slice']) String.prototype[name] = () => false"
    url = site.page("/", f"<p>Price: 12</p><script>{prototype}; String = () => 'none'</script>")
    assert measured(load(url, body_text="Price: 12")).title == "Page"
