"""Redirects: each hop measured by itself, judged anew, and never without end."""

from itertools import count

import pytest

from workers.measurement.connection import Header
from workers.measurement.evidence import Depth
from workers.measurement.failure import FailureKind, Stage
from workers.tests.probes.conftest import Lab
from workers.tests.servers import Peer, Server, answering, finish, redirect, response
from workers.tests.waiting import undisturbed


def path_of(request: bytes) -> str:
    return request.split(b" ")[1].decode()


def site(lab_pages: dict[str, bytes], seen: list[bytes] | None = None) -> "Server":
    """A server of pages by path."""

    def script(peer: Peer) -> None:
        request = peer.read_request()
        if seen is not None:
            seen.append(request)
        peer.send(lab_pages[path_of(request)])
        finish(peer)

    return Server(script)


def test_each_hop_has_its_own_connection_and_timing(lab: Lab) -> None:
    pages = {"/": redirect("/two", "301 Moved"), "/two": redirect("three?x=1#y"), "/three?x=1": response(b"there")}
    with site(pages) as server:
        measurement = lab.measure(server.url())
    assert [hop.status for hop in measurement.hops] == [301, 302, 200]
    assert [hop.connection for hop in measurement.hops] == [1, 2, 3]
    assert [connection.number for connection in measurement.connections] == [1, 2, 3]
    assert measurement.hops[2].url.endswith("/three?x=1")
    for earlier, later in zip(measurement.hops, measurement.hops[1:], strict=False):
        assert earlier.timing.end_us == later.timing.start_us


def test_a_redirect_leads_from_plain_to_secured(lab: Lab) -> None:
    secured = Server(answering(response()), context=lab.authority.context())
    with secured, Server(answering(redirect(secured.url()))) as plain:
        measurement = lab.measure(plain.url())
    assert [connection.tls is not None for connection in measurement.connections] == [False, True]


def test_the_body_of_a_redirect_is_not_waited_for(lab: Lab) -> None:
    def script(peer: Peer) -> None:
        if path_of(peer.read_request()) == "/":
            peer.send(b"HTTP/1.1 302 Found\r\nLocation: /two\r\nContent-Length: 1000000\r\n\r\nabc")
            peer.pause(20)
        else:
            peer.send(response())
            finish(peer)

    with Server(script) as server:
        measurement = lab.measure(server.url())
    assert measurement.hops[0].body_bytes is None
    assert measurement.hops[1].status == 200


def test_a_redirect_in_a_circle_is_found_at_the_first_repetition(lab: Lab) -> None:
    with site({"/": redirect("/two"), "/two": redirect("/")}) as server:
        failed, measurement = lab.fail(server.url())
        assert server.connections == 2
    assert failed.failure.kind is FailureKind.TOO_MANY_REDIRECTS
    assert failed.failure.stage is Stage.REDIRECT
    assert [hop.status for hop in measurement.hops] == [302, 302]


def bouncing(seen: list[bytes], cookie: str = "seen=1; Path=/") -> Server:
    """Who comes without the cookie is given it, and sent to the same address once more."""

    def script(peer: Peer) -> None:
        request = peer.read_request()
        seen.append(request)
        knows = b"seen=1" in request
        peer.send(response(b"there") if knows else redirect("/", more=(f"Set-Cookie: {cookie}",)))
        finish(peer)

    return Server(script)


def test_a_site_that_sets_a_cookie_and_asks_for_it_is_reached_as_by_a_browser(lab: Lab) -> None:
    seen: list[bytes] = []
    with bouncing(seen) as server:
        measurement = lab.measure(server.url(), headers=(Header(name="cookie", value="consent=yes"),))
    assert [hop.status for hop in measurement.hops] == [302, 200]
    assert [request.lower().count(b"\r\ncookie:") for request in seen] == [1, 1]
    assert [b"consent=yes; seen=1\r\n" in request for request in seen] == [False, True]


def test_all_connections_to_such_a_site_bring_the_cookie(lab: Lab) -> None:
    seen: list[bytes] = []
    with bouncing(seen) as server:
        lab.measure(server.url(), depth=Depth.DEEP)
    asked = [request for request in seen if request]
    assert len(asked) > 2
    assert [b"seen=1" in request for request in asked] == [False, *(True for _ in asked[1:])]


@pytest.mark.parametrize(
    "cookie", ["seen=1; Path=/other", "seen=1; Secure", "seen=1; Max-Age=0", "seen=1; Domain=bank.example"]
)
def test_a_cookie_that_is_not_for_the_address_leaves_the_circle_one(lab: Lab, cookie: str) -> None:
    seen: list[bytes] = []
    with bouncing(seen, cookie) as server:
        failed, _ = lab.fail(server.url())
    assert failed.failure.kind is FailureKind.TOO_MANY_REDIRECTS
    assert len(seen) == 1


def test_cookies_stay_with_the_host_that_set_them(lab: Lab) -> None:
    lab.zone.a["other.example.test"] = ["127.0.0.1"]
    seen: list[bytes] = []
    pages = {"/two": response()}
    with site(pages, seen) as server:
        pages["/"] = redirect("/one", more=("Set-Cookie: a=1",))
        pages["/one"] = redirect(server.url("/two", host="other.example.test"))
        lab.measure(server.url())
    assert [b"a=1" in request for request in seen] == [False, True, False]


def test_a_circle_with_ever_new_cookies_ends_after_ten(lab: Lab) -> None:
    numbers = count(1)

    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(redirect("/", more=(f"Set-Cookie: id={next(numbers)}",)))
        finish(peer)

    with Server(script) as server:
        failed, measurement = lab.fail(server.url())
    assert failed.failure.kind is FailureKind.TOO_MANY_REDIRECTS
    assert len(measurement.hops) == 11


def test_redirects_that_lead_ever_further_end_after_ten(lab: Lab) -> None:
    numbers = count(1)

    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(redirect(f"/{next(numbers)}"))
        finish(peer)

    with Server(script) as server:
        failed, measurement = lab.fail(server.url())
        assert server.connections == 11
    assert failed.failure.kind is FailureKind.TOO_MANY_REDIRECTS
    assert len(measurement.hops) == 11


@pytest.mark.parametrize(
    "location",
    ["http://169.254.169.254/latest/meta-data/", "http://[::1]:8080/", "http://10.0.0.1/", "//192.168.1.1:8080/admin"],
)
def test_a_redirect_inside_is_blocked(lab: Lab, location: str) -> None:
    with Server(answering(redirect(location))) as server:
        failed, measurement = lab.fail(server.url())
    assert failed.failure.kind is FailureKind.BLOCKED_DESTINATION
    assert [hop.status for hop in measurement.hops] == [302, None]
    assert measurement.connections[1].connect is None
    assert measurement.connections[1].address is None


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "ftp://example.test/",
        "http://127.0.0.1:22/",
        "http://[/",
    ],
)
def test_a_redirect_to_what_cannot_be_measured_is_told(lab: Lab, location: str) -> None:
    with Server(answering(redirect(location))) as server:
        failed, measurement = lab.fail(server.url())
    assert failed.failure.kind is FailureKind.INVALID_URL
    assert failed.failure.stage is Stage.REDIRECT
    assert measurement.hops[0].status == 302


@pytest.mark.parametrize("written", ["/a b", "\\\\127.0.0.1:{port}\\a b", "http://user:pw@127.0.0.1:{port}/a b"])
def test_a_redirect_is_read_as_browsers_read_it(lab: Lab, written: str) -> None:
    pages: dict[str, bytes] = {"/a%20b": response(b"there")}
    with site(pages) as server:
        pages["/"] = redirect(written.format(port=server.port))
        measurement = lab.measure(server.url())
    assert [hop.status for hop in measurement.hops] == [302, 200]
    assert measurement.hops[1].url == f"http://127.0.0.1:{server.port}/a%20b"


def test_a_redirect_without_location_is_the_answer(lab: Lab) -> None:
    with Server(answering(response(b"where?", status="302 Found"))) as server:
        assert lab.measure(server.url()).hops[0].status == 302


def test_a_redirect_that_is_expected_is_the_answer(lab: Lab) -> None:
    with Server(answering(redirect("/two"))) as server:
        measurement = lab.measure(server.url(), accepted_status=(302,))
    assert [hop.status for hop in measurement.hops] == [302]


def test_secret_headers_stay_with_the_host_they_were_given_for(lab: Lab) -> None:
    lab.zone.a["other.example.test"] = ["127.0.0.1"]
    seen: list[bytes] = []
    secret = (Header(name="Authorization", value="Bearer abc"),)
    pages = {"/two": response()}
    with site(pages, seen) as server:
        pages["/"] = redirect("/one")
        pages["/one"] = redirect(server.url("/two", host="other.example.test"))
        lab.measure(server.url(), headers=secret)
    assert [b"Bearer abc" in request for request in seen] == [True, True, False]


@undisturbed
def test_one_timeout_covers_all_hops(lab: Lab) -> None:
    numbers = count(1)

    def script(peer: Peer) -> None:
        peer.read_request()
        peer.pause(0.1)
        peer.send(redirect(f"/{next(numbers)}"))
        finish(peer)

    with Server(script) as server:
        failed, measurement = lab.fail(server.url(), timeout_us=350_000)
    # A busy machine may still be connecting when the time is up.
    assert failed.failure.kind in {FailureKind.CONNECT_TIMEOUT, FailureKind.RESPONSE_TIMEOUT}
    assert 2 <= len(measurement.hops) <= 4
