"""Pages, servers and browsers that misbehave: each a typed outcome in time, and the next run works."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from workers.browser.pool import BrowserPool
from workers.browser.settings import MIB
from workers.measurement.connection import Header
from workers.measurement.failure import Blame, FailureKind, Stage
from workers.measurement.messages import Failed, PageMeasurement, ProgressStage
from workers.tests.browser import processes
from workers.tests.browser.conftest import Load, browser_settings, cut_off, failed, measured, page_request
from workers.tests.browser.memory import watched
from workers.tests.browser.sites import Answer, Site, certificate, serving
from workers.tests.ports import closed_port
from workers.tests.servers import Peer, Script, Server, finish, response
from workers.tests.waiting import undisturbed, wait_for

NOW = datetime.now(UTC)
# RFC 8446, 6.
HANDSHAKE_FAILURE, INTERNAL_ERROR = 40, 80


def kind_of(load: Load, url: str) -> FailureKind:
    return failed(load(url)).failure.kind


def test_a_page_that_hangs_its_renderer_times_out_and_the_next_run_works(load: Load, site: Site) -> None:
    url = site.page("/hang", "<h1>soon</h1><img src=/a.png><script>for (;;) {}</script>")
    begun = time.monotonic()
    outcome = cut_off(load, url, lambda page: page.waterfall.requests[0].status == 200)
    assert outcome.failure.kind is FailureKind.PAGE_TIMEOUT
    assert isinstance(outcome.measurement, PageMeasurement)
    assert outcome.measurement.waterfall.requests[0].status == 200
    assert time.monotonic() - begun < 180
    measured(load(site.page("/", "<p>fine</p>")))


def load_and_kill(ca_file: Path, site: Site, path: str, processes_of: Callable[[], list[int]]) -> Failed:
    """What comes of a load whose processes are killed while one of its paths is waited for; the next run works."""
    held = threading.Event()
    site.answers[path] = Answer(wait_for=held)
    with BrowserPool(browser_settings(ca_file)) as pool:
        before = set(processes_of())

        def kill() -> None:
            wait_for(lambda: site.seen(path), f"{path} to be asked for")
            processes.kill(set(processes_of()) - before)

        killer = threading.Thread(target=kill)
        killer.start()
        outcome = failed(pool.load(page_request(site.url("/"))))
        killer.join()
        held.set()
        measured(pool.load(page_request(site.page("/fine", "<p>fine</p>"))))
    return outcome


def test_a_page_whose_renderer_dies_has_crashed_and_the_next_run_works(ca_file: Path, site: Site) -> None:
    site.page("/", "<img src=/slow.png>")
    outcome = load_and_kill(ca_file, site, "/slow.png", processes.renderers)
    assert outcome.failure.kind is FailureKind.PAGE_CRASHED
    assert outcome.failure.blame is Blame.TARGET
    assert isinstance(outcome.measurement, PageMeasurement)
    assert not any("the page stopped itself" in warning for warning in outcome.measurement.warnings)


def test_a_process_that_dies_before_the_page_began_is_not_put_down_to_the_page(ca_file: Path, site: Site) -> None:
    outcome = load_and_kill(ca_file, site, "/", processes.renderers)
    assert (outcome.failure.kind, outcome.failure.blame) == (FailureKind.BROWSER_FAILED, Blame.MONITOR)


def test_a_browser_killed_in_mid_run_is_the_monitors_fault_and_the_next_run_works(ca_file: Path, site: Site) -> None:
    site.page("/", "<img src=/slow.png>")
    outcome = load_and_kill(ca_file, site, "/slow.png", processes.browsers)
    assert (outcome.failure.kind, outcome.failure.blame) == (FailureKind.BROWSER_FAILED, Blame.MONITOR)


def test_a_download_is_refused_and_said_to_be_one(load: Load, site: Site) -> None:
    site.answers["/file"] = Answer(
        body=b"x" * 5000, kind="application/zip", headers=(("Content-Disposition", "attachment; filename=x.zip"),)
    )
    outcome = failed(load(site.url("/file")))
    assert outcome.failure.kind is FailureKind.PAGE_IS_DOWNLOAD


def test_a_popup_is_refused_and_the_page_is_measured(load: Load, site: Site) -> None:
    site.page("/popup", "<p>buy</p>")
    page = measured(load(site.page("/", "<p>page</p><script>window.open('/popup')</script>")))
    assert page.document == 1
    assert site.seen("/popup") == []


def test_dialogs_are_dismissed(load: Load, site: Site) -> None:
    url = site.page("/", "<script>alert(1); document.title = confirm('sure?') ? 'yes' : 'no'</script>")
    assert measured(load(url)).title == "no"


def test_a_page_that_never_finishes_times_out_with_what_was_seen(load: Load, site: Site) -> None:
    site.answers["/slow.png"] = Answer(wait_for=site.released)
    url = site.page("/", "<h1>Hello</h1><img src=/slow.png>")
    outcome = cut_off(load, url, lambda page: page.vitals.fcp_us is not None and len(page.waterfall.requests) == 2)
    assert outcome.failure.kind is FailureKind.PAGE_TIMEOUT
    assert outcome.failure.detail.endswith(f"1 of 2 requests were still open, localhost:{site.port}/slow.png")
    assert isinstance(outcome.measurement, PageMeasurement)
    waiting = outcome.measurement.waterfall.requests[1]
    assert waiting.timing.end_us is None
    assert waiting.timing.send is not None
    still_open = outcome.measurement.waterfall.open_span(waiting)
    assert still_open is not None
    assert still_open.duration_us > 300_000
    assert waiting.timing.wait is None
    assert outcome.measurement.vitals.fcp_us is not None


def test_an_endless_body_times_out(load: Load, site: Site) -> None:
    def endless() -> Iterator[bytes]:
        while not site.released.is_set():
            yield b"<p>more</p>" * 100
            site.released.wait(0.02)

    site.answers["/endless"] = Answer(body=endless)
    assert failed(load(site.url("/endless"), timeout_us=1_500_000)).failure.kind is FailureKind.PAGE_TIMEOUT


def test_a_page_larger_than_the_limit_is_given_up(ca_file: Path, site: Site) -> None:
    def flood() -> Iterator[bytes]:
        while not site.released.is_set():
            yield b"<!-- " + b"x" * 100_000 + b" -->"

    site.answers["/flood"] = Answer(body=flood)
    with BrowserPool(browser_settings(ca_file, max_page_bytes=5_000_000)) as pool, watched() as peak:
        outcome = failed(pool.load(page_request(site.url("/flood"))))
        assert outcome.failure.kind is FailureKind.RESPONSE_TOO_LARGE
    # Nothing more of it comes while a picture is taken.
    assert peak.grown_bytes < 1500 * MIB


def test_a_page_whose_headers_are_larger_than_the_limit_is_given_up_too(ca_file: Path, site: Site) -> None:
    site.answers["/head"] = Answer(headers=tuple((f"x-{number}", "y" * 4000) for number in range(50)))
    url = site.page("/", "<script type=module>for (;;) await fetch('/head?' + Math.random())</script>")
    with BrowserPool(browser_settings(ca_file, max_page_bytes=5_000_000)) as pool:
        outcome = failed(pool.load(page_request(url)))
        assert outcome.failure.kind is FailureKind.RESPONSE_TOO_LARGE


def test_a_page_that_polls_for_ever_is_measured_but_never_said_to_be_quiet(load: Load, site: Site) -> None:
    url = site.page("/", "<script>setInterval(() => fetch('/s.js'), 100)</script>")
    page = measured(load(url))
    assert page.vitals.load_us is not None
    assert page.vitals.fully_loaded_us is None
    assert any("never stopped asking" in warning for warning in page.warnings)


def test_a_redirect_loop_is_said_to_be_one(load: Load, site: Site) -> None:
    site.answers["/loop"] = Answer(status=302, headers=(("Location", "/loop"),))
    assert kind_of(load, site.url("/loop")) is FailureKind.TOO_MANY_REDIRECTS


@pytest.mark.parametrize(
    "elsewhere", ["file:///etc/hostname", "data:text/html,<p>Hello", "chrome://version", "about:blank"]
)
def test_a_redirect_out_of_the_web_is_the_sites_own_fault(load: Load, site: Site, elsewhere: str) -> None:
    site.answers["/out"] = Answer(status=302, headers=(("Location", elsewhere),))
    reason = failed(load(site.url("/out"))).failure
    assert (reason.kind, reason.stage) == (FailureKind.INVALID_URL, Stage.REDIRECT)
    assert "redirects out of the web" in reason.detail


def test_a_refused_connection_is_blamed_on_the_target(load: Load) -> None:
    outcome = failed(load(f"https://localhost:{closed_port()}/"))
    assert outcome.failure.kind is FailureKind.CONNECT_REFUSED
    assert outcome.failure.blame is Blame.TARGET
    assert isinstance(outcome.measurement, PageMeasurement)
    assert outcome.measurement.waterfall.requests[0].failure == "ERR_CONNECTION_REFUSED"


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (response(status="400 Bad Request"), FailureKind.TLS_NOT_SPOKEN),
        (b"SSH-2.0-OpenSSH_9.2\r\n", FailureKind.TLS_NOT_SPOKEN),
        (bytes([21, 3, 3, 0, 2, 2, HANDSHAKE_FAILURE]), FailureKind.TLS_ALERT),
        (bytes([21, 3, 3, 0, 2, 2, INTERNAL_ERROR]), FailureKind.TLS_ALERT),
        # A ServerHello of TLS 1.0, which Chrome does not speak; one that is none.
        (b"\x16\x03\x01\x00\x2a\x02\x00\x00\x26\x03\x01" + bytes(32) + b"\x00\xc0\x13\x00", FailureKind.TLS_FAILED),
        (b"\x16\x03\x03\x00\x05\x02\x00\x00\x01\x00", FailureKind.TLS_FAILED),
    ],
)
def test_a_handshake_that_fails_says_what_the_server_did(load: Load, said: bytes, kind: FailureKind) -> None:
    def answer(peer: Peer) -> None:
        peer.sock.recv(65536)
        peer.send(said)
        finish(peer)

    with Server(answer) as server:
        assert kind_of(load, f"https://localhost:{server.port}/") is kind


def cut(peer: Peer) -> None:
    peer.sock.recv(65536)
    peer.reset()


def close(peer: Peer) -> None:
    peer.sock.recv(65536)
    finish(peer)


def cut_in_the_middle(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(b"<p>" + b"a" * 100_000, headers=("Content-Type: text/html",))[:2_000])
    peer.pause(0.3)
    peer.reset()


@pytest.mark.parametrize(
    ("scheme", "script", "kind", "stage"),
    [
        ("https", cut, FailureKind.CONNECTION_RESET, Stage.TLS),
        ("https", close, FailureKind.CONNECTION_RESET, Stage.TLS),
        ("http", cut, FailureKind.CONNECTION_RESET, Stage.WAIT),
        ("http", close, FailureKind.CONNECTION_RESET, Stage.WAIT),
        ("http", cut_in_the_middle, FailureKind.DOWNLOAD_INCOMPLETE, Stage.DOWNLOAD),
    ],
)
def test_a_connection_that_ends_says_how_far_it_had_come(
    load: Load, scheme: str, script: Script, kind: FailureKind, stage: Stage
) -> None:
    with Server(script) as server:
        seen = failed(load(f"{scheme}://localhost:{server.port}/")).failure
        assert (seen.kind, seen.stage) == (kind, stage)


def tls_is_not_spoken(peer: Peer) -> None:
    peer.sock.recv(65536)
    peer.send(b"SSH-2.0-OpenSSH_9.2\r\n")
    finish(peer)


WAYS_ON = {
    "redirect": Answer(status=302, headers=(("Location", "{}"),)),
    "script": Answer(body=b"<p>on</p><script>location.replace('{}')</script>"),
    "refresh": Answer(body=b"<meta http-equiv=refresh content='0;url={}'><p>on</p>"),
    "late": Answer(body=b"<p>on</p><script>onload = () => setTimeout(() => location = '{}', 200)</script>"),
}


def leading(site: Site, way: str, url: str) -> str:
    """The address of a page that leads there."""
    answer = WAYS_ON[way]
    headers = tuple((name, value.replace("{}", url)) for name, value in answer.headers)
    assert isinstance(answer.body, bytes)
    site.answers["/on"] = replace(answer, body=answer.body.replace(b"{}", url.encode()), headers=headers)
    return site.url("/on")


@pytest.mark.parametrize("way", WAYS_ON)
@pytest.mark.parametrize(
    ("scheme", "script", "kind", "stage"),
    [
        ("https", cut, FailureKind.CONNECTION_RESET, Stage.TLS),
        ("https", tls_is_not_spoken, FailureKind.TLS_NOT_SPOKEN, Stage.TLS),
        ("http", cut, FailureKind.CONNECTION_RESET, Stage.WAIT),
        ("http", cut_in_the_middle, FailureKind.DOWNLOAD_INCOMPLETE, Stage.DOWNLOAD),
    ],
)
def test_a_page_that_leads_to_a_broken_one_is_told_by_how_far_that_had_come(
    load: Load, site: Site, way: str, scheme: str, script: Script, kind: FailureKind, stage: Stage
) -> None:
    with Server(script) as server:
        seen = failed(load(leading(site, way, f"{scheme}://localhost:{server.port}/"))).failure
        assert (seen.kind, seen.stage) == (kind, stage)


def test_what_else_a_page_asks_for_does_not_say_what_is_wrong_with_the_certificate_of_where_it_leads(
    load: Load, site: Site
) -> None:
    early = certificate(not_before=NOW + timedelta(days=1), not_after=NOW + timedelta(days=9))
    late = certificate(not_before=NOW - timedelta(days=9), not_after=NOW - timedelta(days=1))
    with serving(leaf=early) as picture, serving(leaf=late) as bad:
        go = f"<img src={picture.url('/a.png')} onerror=\"location = '{bad.url()}'\">"
        assert kind_of(load, site.page("/", go)) is FailureKind.CERTIFICATE_EXPIRED


@pytest.mark.parametrize(
    ("leaf", "kind"),
    [
        (trustme.CA().issue_cert("localhost"), FailureKind.CERTIFICATE_UNTRUSTED),
        (certificate("elsewhere.example"), FailureKind.CERTIFICATE_WRONG_HOST),
        (
            certificate(not_before=NOW - timedelta(days=9), not_after=NOW - timedelta(days=1)),
            FailureKind.CERTIFICATE_EXPIRED,
        ),
        (
            certificate(not_before=NOW + timedelta(days=1), not_after=NOW + timedelta(days=9)),
            FailureKind.CERTIFICATE_NOT_YET_VALID,
        ),
    ],
    ids=["unknown authority", "wrong host", "expired", "not yet valid"],
)
@undisturbed
def test_each_kind_of_bad_certificate_has_its_own_failure(
    load: Load, leaf: trustme.LeafCert, kind: FailureKind
) -> None:
    with serving(leaf=leaf) as bad:
        url = bad.page("/", "<p>page</p>")
        outcome = failed(load(url))
        assert outcome.failure.kind is kind
        assert isinstance(outcome.measurement, PageMeasurement)
        connection = outcome.measurement.waterfall.connections[0]
        assert connection.certificate is not None
        assert connection.certificate_error is not None
        assert connection.tls is not None
        page = measured(load(url, ignore_certificate_errors=True))
        assert page.waterfall.requests[0].status == 200
        assert [(one.certificate_error, one.preconnected) for one in page.waterfall.connections] == [
            (connection.certificate_error, False)
        ] * 2
        assert "Certificates that do not verify were accepted all the same: localhost." in page.warnings


def test_ignoring_certificate_errors_in_one_run_does_not_last(load: Load) -> None:
    with serving(leaf=trustme.CA().issue_cert("localhost")) as bad:
        url = bad.page("/", "<p>page</p>")
        measured(load(url, ignore_certificate_errors=True))
        assert kind_of(load, url) is FailureKind.CERTIFICATE_UNTRUSTED


def test_a_frame_on_a_forbidden_address_fails_the_run_and_nothing_is_kept(load: Load, site: Site) -> None:
    with serving(secure=False, address="127.0.0.2") as inside:
        url = site.page("/", f'<h1>public</h1><iframe src="http://127.0.0.2:{inside.port}/"></iframe>')
        run = load(url)
    outcome = failed(run)
    assert outcome.failure.kind is FailureKind.BLOCKED_DESTINATION
    assert outcome.measurement is None
    assert run.screenshot is None


def test_a_redirect_to_a_forbidden_address_fails_the_run(load: Load, site: Site) -> None:
    with serving({"/": Answer(body=b"secret")}, secure=False, address="127.0.0.2") as inside:
        target = f"http://127.0.0.2:{inside.port}/"
        site.answers["/out"] = Answer(status=302, headers=(("Location", target),))
        outcome = failed(load(site.url("/out")))
    assert outcome.failure.kind is FailureKind.BLOCKED_DESTINATION
    assert outcome.measurement is None


@pytest.mark.parametrize("url", ["http://127.0.0.2:8080/", "http://10.0.0.1/", "file:///etc/passwd", "http://u:p@h/"])
def test_a_forbidden_target_is_refused_before_anything_is_sent(load: Load, url: str) -> None:
    run = load(url)
    assert failed(run).failure.kind in {FailureKind.BLOCKED_DESTINATION, FailureKind.INVALID_URL}
    assert failed(run).measurement is None


def test_request_headers_go_to_the_pages_own_origin_only(load: Load, site: Site) -> None:
    site.answers["/away.png"] = Answer(status=302, headers=(("Location", site.url("/a.png?away", "third.localhost")),))
    site.answers["/near.png"] = Answer(status=302, headers=(("Location", "/a.png?near"),))
    body = f'<img src=/near.png><img src="{site.url("/a.png?other", "other.localhost")}"><img src=/away.png>'
    page = measured(load(site.page("/", body), headers=(Header(name="X-Key", value="s3cret"),)))
    assert site.seen("/")[0]["x-key"] == "s3cret"
    assert site.seen("/a.png?near")[0]["x-key"] == "s3cret"
    assert "x-key" not in site.seen("/a.png?other")[0]
    assert "x-key" not in site.seen("/a.png?away")[0]
    assert "s3cret" not in repr(page)
    assert any("paused" in warning for warning in page.warnings)


def test_a_listener_that_raises_does_not_wedge_the_pool(ca_file: Path, site: Site) -> None:
    def broken(stage: ProgressStage, _known: object) -> None:
        if stage is ProgressStage.CONNECTING:
            raise OSError("nobody there")

    url = site.page("/", "<p>page</p>")
    with BrowserPool(browser_settings(ca_file)) as pool:
        with pytest.raises(OSError, match="nobody there"):
            pool.load(page_request(url), broken)
        measured(pool.load(page_request(url)))
