"""What a person chose for a page run, as the servers see it that the page is loaded from."""

import json
import socket
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
from aioquic.h3.connection import ErrorCode

from workers.browser.black_hole import BlackHole
from workers.browser.guard import Guard
from workers.browser.pool import BrowserPool
from workers.measurement.connection import Header
from workers.measurement.failure import Blame, FailureKind
from workers.measurement.messages import Measured
from workers.measurement.page_options import (
    DESKTOP,
    PHONE,
    TABLET,
    Cookie,
    Device,
    HostMapping,
    Login,
    PageOptions,
    Protocol,
)
from workers.tests.browser.conftest import Load, browser_settings, failed, measured, page_request
from workers.tests.browser.sites import IMAGE, Answer, Site, certificate, serving
from workers.tests.http3_server import Conduct, Talk, answering, http3_server
from workers.tests.nginx import running_nginx
from workers.tests.servers import Authority
from workers.tests.waiting import undisturbed

TELL = """<meta name=viewport content="width=device-width"><script>
document.title = JSON.stringify({
  agent: navigator.userAgent,
  language: navigator.language,
  touch: navigator.maxTouchPoints,
  width: innerWidth,
  ratio: devicePixelRatio,
  mobile: navigator.userAgentData && navigator.userAgentData.mobile,
})
</script>"""


def told(load: Load, site: Site, **options: Any) -> dict[str, Any]:
    page = measured(load(site.page("/", TELL), page=PageOptions(**options)))
    assert page.title is not None
    return dict(json.loads(page.title))


def test_a_page_shows_what_the_fragment_of_its_address_names(load: Load, site: Site) -> None:
    url = site.page("/app", "<script>document.title = location.hash</script>")
    page = measured(load(f"{url}#/prices?of=all"))
    assert (page.title, page.document) == ("#/prices?of=all", 1)
    assert [request.url for request in page.waterfall.requests] == [url]


@pytest.mark.parametrize("device", [DESKTOP, PHONE, TABLET, Device(name="odd", width=700, height=500, scale=3.0)])
def test_a_page_sees_the_screen_of_its_device(load: Load, site: Site, device: Device) -> None:
    seen = told(load, site, device=device)
    assert (seen["width"], seen["ratio"], seen["mobile"]) == (device.width, device.scale, device.mobile)
    assert (seen["touch"] > 0) is device.mobile


def test_a_phone_says_that_it_is_mobile_and_a_tablet_that_it_runs_android(load: Load, site: Site) -> None:
    phone, tablet = (told(load, site, device=device)["agent"] for device in (PHONE, TABLET))
    assert "Android" in phone
    assert " Mobile Safari" in phone
    assert "Android" in tablet
    assert "Mobile" not in tablet


def test_nothing_that_the_browser_sends_says_that_it_has_no_head(load: Load, site: Site) -> None:
    site.answers |= {
        "/worker.js": Answer(body=b"fetch('/from-worker')", kind="text/javascript"),
        "/service.js": Answer(body=b"", kind="text/javascript"),
        "/frame": Answer(body=b"<p>frame"),
    }
    script = "<script>new Worker('/worker.js'); navigator.serviceWorker.register('/service.js')</script>"
    measured(load(site.page("/", f"{script}<iframe src=/frame></iframe><img src=/a.png>")))
    assert {"/worker.js", "/service.js", "/frame", "/a.png"} <= {path for path, _ in site.hits}
    for path, headers in site.hits:
        assert "Headless" not in json.dumps(headers), path
        assert "Firstbyte/" in headers["user-agent"] or path == "/favicon.ico"


def test_a_user_agent_of_ones_own_is_sent_without_hints_that_would_belie_it(load: Load, site: Site) -> None:
    assert told(load, site, user_agent="Monitor/1")["agent"] == "Monitor/1"
    (headers,) = site.seen("/")
    assert headers["user-agent"] == "Monitor/1"
    assert not [name for name in headers if name.startswith("sec-ch-ua")]


def test_a_locale_is_the_language_of_requests_and_of_scripts(load: Load, site: Site) -> None:
    assert told(load, site, locale="de-CH")["language"] == "de-CH"
    assert site.seen("/")[0]["accept-language"].startswith("de-CH")


def test_cookies_are_sent_to_their_hosts_alone(ca_file: Path, load: Load, site: Site) -> None:
    cookies = (Cookie(name="own", value="1"), Cookie(name="wide", value="2", domain="shop.localhost"))
    leaf = certificate("www.shop.localhost", "cdn.shop.localhost")
    with serving({"/a.png": IMAGE}, leaf=leaf) as shop:
        there = shop.url("/a.png", host="cdn.shop.localhost")
        shop.page("/", f"<img src={there}><img src={site.url('/a.png')}>")
        page = measured(load(shop.url("/", host="www.shop.localhost"), page=PageOptions(cookies=cookies)))
        assert sorted(shop.seen("/")[0]["cookie"].split("; ")) == ["own=1", "wide=2"]
        assert [headers["cookie"] for headers in shop.seen("/a.png")] == ["wide=2"]
        assert "cookie" not in site.seen("/a.png")[0]
    assert "own=1" not in repr(page)


def test_a_login_opens_the_pages_own_host_and_reaches_no_other(load: Load, site: Site) -> None:
    with serving({"/a.png": IMAGE, "/b.png": IMAGE}) as other:
        site.answers["/leaving"] = Answer(status=302, headers=(("Location", other.url("/b.png")),))
        url = site.page("/", f"<img src=/own.png><img src=/leaving><img src={other.url('/a.png')}>")
        site.answers["/own.png"] = IMAGE
        page = measured(load(url, page=PageOptions(login=Login(user="me", password="s3cr:et"))))
        assert {path for path, headers in site.hits if headers.get("authorization") == "Basic bWU6czNjcjpldA=="} == {
            "/",
            "/own.png",
            "/leaving",
        }
        assert sorted(path for path, _ in other.hits) == ["/a.png", "/b.png"]
        assert not [path for path, headers in other.hits if "authorization" in headers]
    assert "bWU6czNjcjpldA" not in repr(page)
    assert "s3cr" not in repr(page)


def test_a_login_is_asked_for_once_and_the_cache_still_serves(load: Load, site: Site) -> None:
    url = site.page("/", "<script>fetch('/a.png').then(() => fetch('/a.png'))</script>")
    measured(
        load(url, page=PageOptions(login=Login(user="me", password="x")), headers=(Header(name="X-A", value="b"),))
    )
    assert len(site.seen("/")) == 1
    assert len(site.seen("/a.png")) == 1
    assert site.seen("/")[0]["x-a"] == "b"


# Addresses


def test_a_mapped_host_is_asked_at_the_address_under_its_own_name(ca_file: Path) -> None:
    with (
        serving({"/": Answer(body=b"<p>here")}, leaf=certificate("shop.example")) as site,
        BrowserPool(browser_settings(ca_file), guard=permissive()) as pool,
    ):
        mapping = HostMapping(host="shop.example", address="127.0.0.1", port=site.port)
        page = measured(pool.load(page_request("https://shop.example/", page=PageOptions(host_map=(mapping,)))))
        assert site.hits[0][1]["host"] == "shop.example"
    document = page.waterfall.requests[0]
    assert document.address == "127.0.0.1"
    assert document.timing.tls is not None


def test_a_host_is_mapped_to_an_ipv6_address(ca_file: Path) -> None:
    with (
        serving({"/": Answer(body=b"<p>six")}, leaf=certificate("six.example"), address="::1") as site,
        BrowserPool(browser_settings(ca_file), guard=permissive()) as pool,
    ):
        mapping = HostMapping(host="six.example", address="::1", port=site.port)
        page = measured(pool.load(page_request("https://six.example/", page=PageOptions(host_map=(mapping,)))))
    assert page.waterfall.requests[0].address == "::1"


@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "fd00::1"])
def test_a_mapping_to_the_inside_is_refused_like_any_other_way_there(address: str) -> None:
    options = PageOptions(host_map=(HostMapping(host="shop.example", address=address),))
    refusal = Guard().refuses(page_request("https://shop.example/", page=options))
    assert refusal is not None
    assert refusal.kind is FailureKind.BLOCKED_DESTINATION
    assert address not in refusal.detail


def test_a_host_is_mapped_to_no_port_that_may_not_be_visited() -> None:
    options = PageOptions(host_map=(HostMapping(host="shop.example", address="93.184.216.34", port=25),))
    request = page_request("http://shop.example/", page=options)
    refusal = Guard().refuses(request)
    assert refusal is not None
    assert refusal.kind is FailureKind.INVALID_REQUEST
    assert "Port 25 may not be measured" in refusal.detail
    assert Guard(extra_ports=frozenset({25})).refuses(request) is None


def test_a_host_that_would_be_a_second_rule_is_refused() -> None:
    for host in ("a.example,MAP * 127.0.0.1", "*", "a.example MAP", ""):
        refusal = Guard().refuses(page_request("https://1.1.1.1/", page=PageOptions(black_holes=(host,))))
        assert refusal is not None
        assert (refusal.kind, refusal.blame) == (FailureKind.INVALID_REQUEST, Blame.MONITOR)


def permissive() -> Guard:
    settings = browser_settings()
    return Guard(allowed=settings.allowed, extra_ports=settings.extra_ports)


# Black holes

# How long a busy machine may take to start a browser and to end a load.
PATIENCE_S = 120


def test_a_black_hole_hangs_the_page_and_the_rest_is_measured(ca_file: Path, site: Site) -> None:
    url = site.page("/", "<img src=/a.png><h1>there</h1><script src=https://dead.example/x.js></script><p>never")
    options = PageOptions(black_holes=("dead.example",))
    with BrowserPool(browser_settings(ca_file)) as pool:
        # A busy machine has not come so far at once.
        for timeout_s in (2.5, 15):
            begun = time.monotonic()
            page = measured(pool.load(page_request(url, page=options, timeout_us=round(timeout_s * 1e6))))
            assert time.monotonic() - begun < timeout_s + PATIENCE_S
            if any(row.status == 200 and row.url.endswith("/a.png") for row in page.waterfall.requests):
                break
    dead = next(row for row in page.waterfall.requests if "dead.example" in row.url)
    # Neither refused nor unreachable: nobody has answered yet.
    assert (dead.status, dead.failure, dead.timing.end_us, dead.timing.connect) == (None, None, None, None)
    assert page.vitals.load_us is None
    assert next(row for row in page.waterfall.requests if row.url.endswith("/a.png")).status == 200
    assert any("dead.example" in warning for warning in page.warnings)


def test_a_black_hole_in_the_head_is_said_to_leave_nothing_to_see(ca_file: Path, site: Site) -> None:
    url = site.page("/", "<script src=https://dead.example/x.js></script><h1>never</h1>")
    options = PageOptions(black_holes=("dead.example",))
    with BrowserPool(browser_settings(ca_file)) as pool:
        # As above: a document that has not come is no page.
        for timeout_s in (4, 16, 40):
            run = pool.load(page_request(url, page=options, timeout_us=timeout_s * 1_000_000))
            if isinstance(run.outcome, Measured):
                break
        page = measured(run)
    assert page.vitals.fcp_us is None
    assert "dead.example was made not to answer, and the page showed nothing." in page.warnings


def test_a_black_hole_that_nothing_waits_for_lets_the_page_load(ca_file: Path, site: Site) -> None:
    url = site.page("/", "<h1>there</h1><script>fetch('https://dead.example/beacon')</script>")
    with BrowserPool(browser_settings(ca_file, settle_s=1.0)) as pool:
        page = measured(pool.load(page_request(url, page=PageOptions(black_holes=("dead.example",)))))
    assert page.vitals.load_us is not None


@undisturbed
def test_a_document_in_a_black_hole_is_a_timeout(ca_file: Path, site: Site) -> None:
    options = PageOptions(black_holes=("localhost",))
    with BrowserPool(browser_settings(ca_file)) as pool:
        outcome = failed(pool.load(page_request(site.page("/", "x"), page=options, timeout_us=1_000_000)))
    assert outcome.failure.kind is FailureKind.CONNECT_TIMEOUT
    assert site.hits == []


# Hosts that a page is loaded without


def test_what_is_asked_of_a_host_that_is_left_out_fails_at_once_and_is_looked_up_nowhere(
    ca_file: Path, site: Site
) -> None:
    hosts = ("left.example", "third.localhost", "127.0.0.1", "::1")
    named = [f"[{host}]" if ":" in host else host for host in hosts]
    scripts = "".join(f"<script src={site.url('/s.js', host=host)}></script>" for host in named)
    url = site.page("/", f"{scripts}<script src=/s.js></script><h1>there</h1>")
    with BrowserPool(browser_settings(ca_file)) as pool:
        run = pool.load(page_request(url, page=PageOptions(without=hosts)))
    page = measured(run)
    rows = {urlsplit(row.url).hostname: row for row in page.waterfall.requests if row.url.endswith("/s.js")}
    assert {host: rows[host].failure for host in hosts} == dict.fromkeys(hosts, "ERR_NAME_NOT_RESOLVED")
    assert rows["localhost"].status == 200
    assert len(site.seen("/s.js")) == 1
    assert page.vitals.fcp_us is not None
    assert run.netlog is not None
    told = b"".join(run.netlog.lines).lower()
    assert [name for name in (b"notfound", b"left.example:443", b"third.localhost:443") if name in told] == []


def test_a_page_is_not_loaded_without_its_own_host() -> None:
    request = page_request("https://www.example.org/", page=PageOptions(without=("www.example.org",)))
    refusal = Guard().refuses(request)
    assert refusal is not None
    assert (refusal.kind, refusal.blame) == (FailureKind.INVALID_REQUEST, Blame.MONITOR)
    assert "without it there is no page" in refusal.detail


# Protocols


def spoken(pool: BrowserPool, url: str, protocol: Protocol | None) -> tuple[str | None, str | None]:
    """The protocol of the document and the failure."""
    # A busy machine takes long to start a browser, and each protocol has one of its own.
    request = page_request(url, page=PageOptions(protocol=protocol), timeout_us=60_000_000)
    outcome = pool.load(request).outcome
    page = outcome.measurement
    assert page is not None
    assert page.kind == "page"
    return page.waterfall.requests[0].protocol, getattr(getattr(outcome, "failure", None), "kind", None)


def test_a_server_of_both_speaks_the_protocol_that_was_asked_for(tmp_path: Path) -> None:
    with running_nginx(tmp_path) as nginx, BrowserPool(browser_settings(nginx.ca_file)) as pool:
        url = nginx.url(of="origin.localhost")
        assert spoken(pool, url, None) == ("h2", None)
        assert spoken(pool, url, Protocol.H2) == ("h2", None)
        assert spoken(pool, url, Protocol.H1) == ("http/1.1", None)
        # The cache speaks HTTP/1.1 only: what was asked for cannot be measured there, and no other is passed off as it.
        assert spoken(pool, nginx.url(), Protocol.H2) == ("http/1.1", FailureKind.PROTOCOL_NOT_SPOKEN)


def test_http3_is_spoken_at_once_where_it_is_asked_for(tmp_path: Path) -> None:
    authority = Authority.make(tmp_path)
    answer = answering(b"<!doctype html><p>three", ("content-type", "text/html"))
    with (
        http3_server(answer, authority, tmp_path) as port,
        BrowserPool(browser_settings(authority.ca_file)) as pool,
    ):
        assert spoken(pool, f"https://127.0.0.1:{port}/", Protocol.H3) == ("h3", None)


def test_a_server_without_http3_does_not_answer_over_tcp_instead(ca_file: Path, site: Site) -> None:
    url = site.page("/", "<p>two")
    with BrowserPool(browser_settings(ca_file)) as pool:
        outcome = failed(pool.load(page_request(url, page=PageOptions(protocol=Protocol.H3), timeout_us=6_000_000)))
    assert outcome.failure.kind is FailureKind.PROTOCOL_NOT_SPOKEN
    assert site.hits == []


def test_a_server_that_is_silent_over_udp_lacks_http3(ca_file: Path) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as silent, BrowserPool(browser_settings(ca_file)) as pool:
        silent.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/"
        outcome = failed(pool.load(page_request(url, page=PageOptions(protocol=Protocol.H3), timeout_us=2_000_000)))
    assert outcome.failure.kind is FailureKind.PROTOCOL_NOT_SPOKEN


def test_a_server_that_breaks_http3_speaks_it(tmp_path: Path) -> None:
    def breaks(talk: Talk) -> None:
        talk.quic.close(error_code=ErrorCode.H3_INTERNAL_ERROR)
        talk.transmit()

    authority = Authority.make(tmp_path)
    with http3_server(breaks, authority, tmp_path) as port, BrowserPool(browser_settings(authority.ca_file)) as pool:
        spoke = spoken(pool, f"https://127.0.0.1:{port}/", Protocol.H3)
    assert spoke == ("h3", FailureKind.PAGE_ERROR)


def falls_silent(talk: Talk) -> None:
    """Nothing of what it says from now on comes anywhere."""
    patch.object(talk._transport, "sendto").start()


def falls_silent_within(talk: Talk) -> None:
    talk.head("200", ("content-type", "text/html"))
    talk.body(b"<p>half" * 100, end=False)
    talk.later(0.3, lambda: falls_silent(talk))


@pytest.mark.parametrize(
    ("conduct", "kind"),
    [(falls_silent, FailureKind.RESPONSE_TIMEOUT), (falls_silent_within, FailureKind.DOWNLOAD_TIMEOUT)],
)
def test_a_silence_over_http3_is_told_by_how_far_the_document_had_come(
    tmp_path: Path, conduct: Conduct, kind: FailureKind
) -> None:
    authority = Authority.make(tmp_path)
    with http3_server(conduct, authority, tmp_path) as port, BrowserPool(browser_settings(authority.ca_file)) as pool:
        assert spoken(pool, f"https://127.0.0.1:{port}/", Protocol.H3) == ("h3", kind)


def test_an_address_of_nobody_is_really_silent() -> None:
    hole = BlackHole()
    try:
        host, _, port = hole.place.rpartition(":")
        with socket.socket() as sock:
            sock.settimeout(0.5)
            with pytest.raises(TimeoutError):
                sock.connect((host, int(port)))
    finally:
        hole.close()
