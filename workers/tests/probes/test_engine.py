"""Probes of real servers on loopback: what is measured, and what is said when it cannot be."""

import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from workers.measurement.addresses import parse_networks
from workers.measurement.connection import Header
from workers.measurement.failure import Blame, FailureKind, Stage
from workers.measurement.messages import Clock, Measured, ProgressStage
from workers.measurement.timing import phases_of
from workers.probes.engine import Engine, EngineError
from workers.tests.builders import build_request
from workers.tests.ports import closed_port
from workers.tests.probes.conftest import Lab
from workers.tests.servers import Peer, Server, answering, finish, response, silent_port
from workers.tests.waiting import undisturbed, wait_for


def test_a_plain_page_is_measured_in_all_its_phases(lab: Lab) -> None:
    lab.zone.a["www.example.test"] = ["127.0.0.1"]
    with Server(answering(response(b"hello", headers=("Content-Type: text/plain",)))) as server:
        measurement = lab.measure(server.url("/a?b", host="www.example.test"))
    hop, connection = measurement.hops[0], measurement.connections[0]
    assert hop.status == 200
    assert hop.body_bytes == 5
    assert hop.head_bytes is not None
    assert Header(name="Content-Type", value="text/plain") in hop.response_headers
    phases = phases_of(hop.timing)
    assert phases.tls_us is None
    assert None not in (phases.dns_us, phases.connect_us, phases.send_us, phases.wait_us, phases.download_us)
    assert connection.address == "127.0.0.1"
    assert connection.host == "www.example.test"
    assert connection.protocol == "http/1.1"
    assert connection.received_bytes == hop.head_bytes + 5
    assert connection.requests == 1
    assert connection.rtt_us is not None
    assert measurement.clock is Clock.KERNEL
    assert measurement.scheduling_lag_us is not None


def test_the_request_is_what_a_server_expects(lab: Lab) -> None:
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        seen.append(peer.read_request())
        peer.send(response())
        finish(peer)

    lab.zone.a["www.example.test"] = ["127.0.0.1"]
    own = (Header(name="Authorization", value="Bearer abc"), Header(name="user-agent", value="Else/1"))
    with Server(script) as server:
        lab.measure(server.url("/a?b=1", host="www.example.test"))
        lab.measure(server.url("/", host="www.example.test"), headers=own)
        port = server.port
    first, second = (request.decode().split("\r\n") for request in seen)
    assert first[0] == "GET /a?b=1 HTTP/1.1"
    assert f"Host: www.example.test:{port}" in first
    assert "Connection: close" in first
    assert any(line.startswith("User-Agent: Firstbyte/") for line in first)
    assert "Authorization: Bearer abc" in second
    assert [line for line in second if line.lower().startswith("user-agent")] == ["user-agent: Else/1"]


def test_a_header_that_would_break_the_request_is_refused_before_anything_is_sent(lab: Lab) -> None:
    with Server(answering(response())) as server:
        failed, measurement = lab.fail(server.url(), headers=(Header(name="X", value="a\r\nHost: evil"),))
        assert server.connections == 0
    assert failed.failure.kind is FailureKind.INVALID_REQUEST
    assert failed.failure.blame is Blame.MONITOR
    assert measurement.hops == ()


def test_a_refused_connection_is_blamed_on_the_target(lab: Lab) -> None:
    failed, measurement = lab.fail(f"http://127.0.0.1:{closed_port()}/")
    assert failed.failure.kind is FailureKind.CONNECT_REFUSED
    assert failed.failure.stage is Stage.CONNECT
    assert failed.failure.blame is Blame.TARGET
    assert measurement.connections[0].address == "127.0.0.1"
    assert measurement.connections[0].connect is None


def test_a_connection_that_nobody_takes_ends_in_time(lab: Lab) -> None:
    with silent_port() as port:
        failed, _ = lab.fail(f"http://127.0.0.1:{port}/", timeout_us=300_000)
    assert failed.failure.kind is FailureKind.CONNECT_TIMEOUT
    assert failed.failure.detail.endswith(f"within 0.3 s (127.0.0.1 port {port})")


def test_a_name_of_several_addresses_is_told_of_where_the_first_takes_no_connection(lab: Lab) -> None:
    lab.zone.a["many.example.test"] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    refused, _ = lab.fail(f"http://many.example.test:{closed_port()}/")
    assert refused.failure.detail.endswith(", one of 3 addresses of the name: Connection refused")


def test_a_name_that_does_not_exist_is_said_so_with_the_time_it_took(lab: Lab) -> None:
    failed, measurement = lab.fail("http://nowhere.example.test:8080/")
    assert failed.failure.kind is FailureKind.DNS_NOT_FOUND
    assert failed.failure.detail.endswith("nowhere.example.test does not exist")
    assert measurement.hops[0].timing.dns is not None
    assert measurement.connections[0].address is None


def test_an_alias_of_nothing_and_a_name_without_addresses_are_told_for_what_they_are(lab: Lab) -> None:
    lab.zone.aliases["alias.example.test"] = "gone.cdn.test"
    lab.zone.a["empty.example.test"] = []
    alias, _ = lab.fail("http://alias.example.test:8080/")
    empty, _ = lab.fail("http://empty.example.test:8080/")
    assert {alias.failure.kind, empty.failure.kind} == {FailureKind.DNS_NOT_FOUND}
    assert alias.failure.detail.endswith("alias.example.test is an alias of gone.cdn.test, which does not exist")
    assert empty.failure.detail.endswith("empty.example.test has no address")


def test_a_name_server_that_keeps_silent_ends_in_time(lab: Lab) -> None:
    lab.zone.silent.add("slow.example.test")
    failed, measurement = lab.fail("http://slow.example.test:8080/", timeout_us=100_000)
    assert failed.failure.kind is FailureKind.DNS_TIMEOUT
    assert failed.failure.blame is Blame.NETWORK
    assert measurement.hops[0].timing.dns is None


def test_a_name_server_that_fails_is_said_so(lab: Lab) -> None:
    lab.zone.failing.add("broken.example.test")
    failed, _ = lab.fail("http://broken.example.test:8080/")
    assert failed.failure.kind is FailureKind.DNS_SERVER_FAILURE
    assert "SERVFAIL" in failed.failure.detail


@pytest.mark.parametrize("url", ["http://localhost:{}/", "http://a.b.localhost:{}/", "http://127.0.0.1:{}/"])
def test_what_needs_no_name_server_has_no_dns_phase(lab: Lab, url: str) -> None:
    with Server(answering(response())) as server:
        measurement = lab.measure(url.format(server.port))
    assert measurement.hops[0].timing.dns is None
    assert measurement.connections[0].address == "127.0.0.1"
    assert lab.dns.questions == 0


@undisturbed
def test_a_server_that_takes_its_time_shows_it_in_wait_and_nowhere_else(lab: Lab) -> None:
    lab.zone.a["www.example.test"] = ["127.0.0.1"]
    context = lab.authority.context("www.example.test")
    with Server(answering(response(b"x" * 5000), after_s=0.15), context=context) as server:
        phases = phases_of(lab.measure(server.url(host="www.example.test")).hops[0].timing)
    assert phases.wait_us is not None
    assert 149_000 <= phases.wait_us <= 250_000
    others = (phases.dns_us, phases.connect_us, phases.tls_us, phases.send_us, phases.download_us)
    assert sum(other or 0 for other in others) < 100_000
    assert phases.ttfb_us == sum(other or 0 for other in others[:4]) + phases.wait_us


@undisturbed
def test_a_body_that_takes_its_time_shows_it_in_download(lab: Lab) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        peer.pause(0.15)
        peer.send(b"cd")
        finish(peer)

    for context in (None, lab.authority.context()):
        with Server(script, context=context) as server:
            phases = phases_of(lab.measure(server.url()).hops[0].timing)
        assert phases.download_us is not None
        assert phases.download_us >= 149_000
        assert phases.wait_us is not None
        assert phases.wait_us < 100_000


@undisturbed
def test_a_body_that_ends_with_the_connection_lasts_until_then(lab: Lab) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\n\r\nhello")
        peer.pause(0.1)
        finish(peer)

    for context in (None, lab.authority.context()):
        with Server(script, context=context) as server:
            hop = lab.measure(server.url()).hops[0]
        assert hop.body_bytes == 5
        assert hop.timing.download is not None
        assert hop.timing.download.duration_us >= 99_000


def test_an_unaccepted_status_fails_with_the_whole_measurement(lab: Lab) -> None:
    with Server(answering(response(b"oops", status="500 Internal Server Error"))) as server:
        failed, measurement = lab.fail(server.url())
        assert isinstance(lab.probe(server.url(), accepted_status=(500, 503)), Measured)
    assert failed.failure.kind is FailureKind.STATUS_UNEXPECTED
    assert failed.failure.detail.endswith(": 500")
    assert measurement.hops[0].status == 500
    assert measurement.hops[0].timing.end_us is not None


def test_a_test_of_the_visitor_is_no_answer_though_its_status_is_usual(lab: Lab) -> None:
    asked = response(b"prove it", headers=("x-amzn-waf-action: challenge",), status="202 Accepted")
    with Server(answering(asked)) as server:
        failed, measurement = lab.fail(server.url(), accepted_status=(202,))
    assert failed.failure.kind is FailureKind.PAGE_CHALLENGE
    assert failed.failure.detail.endswith(": AWS WAF (x-amzn-waf-action: challenge)")
    assert measurement.hops[0].status == 202


def test_a_status_outside_those_accepted_fails_though_it_is_usual(lab: Lab) -> None:
    with Server(answering(response())) as server:
        failed, _ = lab.fail(server.url(), accepted_status=(204,))
    assert failed.failure.kind is FailureKind.STATUS_UNEXPECTED


def test_a_text_must_be_there(lab: Lab) -> None:
    with Server(answering(response(b"..hello.."))) as server:
        lab.measure(server.url(), body_text="hello")
        failed, _ = lab.fail(server.url(), body_text="good-bye")
    assert failed.failure.kind is FailureKind.TEXT_MISSING
    assert "good-bye" in failed.failure.detail


def test_a_text_is_missing_from_an_empty_body(lab: Lab) -> None:
    with Server(answering(response(b""))) as server:
        failed, _ = lab.fail(server.url(), body_text="hello")
    assert failed.failure.kind is FailureKind.TEXT_MISSING


def test_a_url_that_cannot_be_measured_is_a_failure_not_an_exception(lab: Lab) -> None:
    for url in ("http://user:secret@example.test/", "gopher://example.test/", "http://" + "a" * 3000):
        failed, measurement = lab.fail(url)
        assert failed.failure.kind is FailureKind.INVALID_URL
        assert "secret" not in failed.failure.detail
        assert measurement.hops == ()


def test_a_person_who_waits_is_told_how_far_it_is_in_his_own_thread(lab: Lab) -> None:
    told: list[tuple[ProgressStage, threading.Thread]] = []
    with Server(answering(response())) as server:
        lab.probe(server.url(), lambda stage, _: told.append((stage, threading.current_thread())))
    assert [stage for stage, _ in told] == [ProgressStage.CONNECTING, ProgressStage.LOADING, ProgressStage.COMPUTING]
    assert {thread for _, thread in told} == {threading.current_thread()}


def test_three_hundred_probes_are_in_flight_at_once(lab: Lab) -> None:
    lab.configure(in_flight=300)
    lab.zone.a["www.example.test"] = ["127.0.0.1"]
    together = threading.Barrier(300)

    def script(peer: Peer) -> None:
        peer.read_request()
        together.wait(120)
        peer.send(response())
        finish(peer)

    with Server(script) as server, ThreadPoolExecutor(300) as callers:
        url = server.url(host="www.example.test")
        outcomes = list(callers.map(lambda _: lab.probe(url, timeout_us=120_000_000), range(300)))
    assert all(isinstance(outcome, Measured) for outcome in outcomes)


def test_no_more_probes_are_let_in_than_there_are_slots(lab: Lab) -> None:
    lab.configure(in_flight=2)
    release = threading.Event()
    open_now = threading.Semaphore(0)

    def script(peer: Peer) -> None:
        peer.read_request()
        open_now.release()
        release.wait(120)
        peer.send(response())
        finish(peer)

    with Server(script) as server, ThreadPoolExecutor(5) as callers:
        futures = [callers.submit(lab.measure, server.url()) for _ in range(5)]
        assert open_now.acquire(timeout=120)
        assert open_now.acquire(timeout=120)
        assert not open_now.acquire(timeout=0.2)
        release.set()
        assert [future.result().hops[0].status for future in futures] == [200] * 5


def test_a_closed_engine_ends_what_is_under_way_and_takes_nothing_new(lab: Lab) -> None:
    waiting = threading.Event()

    def script(peer: Peer) -> None:
        peer.read_request()
        waiting.set()
        peer.pause(120)

    engine = Engine(lab.settings)
    engine.start()
    with Server(script) as server, ThreadPoolExecutor(1) as callers:
        future = callers.submit(engine.probe, build_request(url=server.url()))
        assert waiting.wait(120)
        engine.close()
        with pytest.raises(EngineError, match="closed"):
            future.result(120)
        with pytest.raises(EngineError, match="closed"):
            engine.probe(build_request(url=server.url()))
    engine.close()


def test_an_engine_that_was_never_started_says_so_instead_of_waiting(lab: Lab) -> None:
    engine = Engine(lab.settings)
    with pytest.raises(EngineError):
        engine.probe(build_request(url="http://127.0.0.1:8080/"))
    engine.close()


def test_an_engine_that_cannot_enter_its_network_says_why_and_leaves_nothing_open(lab: Lab) -> None:
    def refuse() -> None:
        raise PermissionError("not allowed")

    before = open_files()
    with pytest.raises(PermissionError, match="not allowed"), Engine(lab.settings, enter=refuse):
        raise AssertionError("it started")
    # What a server of another test closes in these moments was there before.
    assert open_files() - before == Counter()


def open_files() -> Counter[str]:
    """Everything that this process has open: what it is, by the kernel's own number of it."""
    found = Counter[str]()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found[os.readlink(entry)] += 1
    return found


def test_no_socket_is_left_behind_by_good_and_bad_ends(lab: Lab) -> None:
    def count() -> int:
        return open_files().total()

    with Server(answering(response()), context=lab.authority.context("other.test")) as server:
        lab.fail(server.url())
        before = count()
        for _ in range(20):
            lab.fail(server.url())
            lab.fail("http://nowhere.example.test:8080/")
            lab.measure(server.url(), ignore_certificate_errors=True)
        wait_for(lambda: count() <= before + 2, "the sockets to be closed")


def test_the_operator_decides_which_ports_may_be_measured(lab: Lab) -> None:
    lab.configure(extra_ports=frozenset())
    failed, _ = lab.fail("http://127.0.0.1:9/")
    assert failed.failure.kind is FailureKind.INVALID_URL


def test_a_name_with_only_an_address_of_version_6_is_measured_over_it(lab: Lab) -> None:
    lab.configure(allowed=parse_networks("::1/128"))
    lab.zone.aaaa["six.example.test"] = ["::1"]
    with Server(answering(response()), host="::1") as server:
        measurement = lab.measure(server.url(host="six.example.test"))
        literal = lab.measure(server.url(host="[::1]"))
    assert measurement.connections[0].address == literal.connections[0].address == "::1"
