"""Answers that break off, drip, never end or are no answers: a typed outcome each, and bounded memory."""

import resource

import pytest

from workers.measurement.failure import FailureKind, Stage
from workers.probes.settings import MIB
from workers.tests.probes.conftest import Lab
from workers.tests.servers import Peer, Server, answering, finish, response
from workers.tests.waiting import undisturbed

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"


def flood(head: bytes, total_bytes: int) -> "Server":
    """A server that sends so much after the head, or less when the client has had enough."""

    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(head)
        block = b"x" * MIB
        for _ in range(total_bytes // MIB):
            peer.send(block)

    return Server(script)


@pytest.mark.parametrize("reset", [False, True])
@undisturbed
def test_a_connection_that_closes_in_mid_body(lab: Lab, reset: bool) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(HEAD + b"abc")
        if reset:
            peer.pause(0.05)
            peer.reset()

    for context in (None, lab.authority.context()):
        with Server(script, context=context) as server:
            failed, measurement = lab.fail(server.url())
        assert failed.failure.kind is FailureKind.DOWNLOAD_INCOMPLETE
        assert measurement.hops[0].status == 200
        assert measurement.hops[0].body_bytes == 3
        assert measurement.hops[0].timing.wait is not None
        assert measurement.hops[0].timing.end_us is None


@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_that_closes_without_an_answer(lab: Lab, reset: bool) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        if reset:
            peer.reset()

    with Server(script) as server:
        failed, measurement = lab.fail(server.url())
    assert failed.failure.kind is FailureKind.CONNECTION_RESET
    assert failed.failure.stage is Stage.WAIT
    assert measurement.hops[0].timing.send is not None
    assert measurement.hops[0].timing.wait is None


def test_a_connection_that_closes_in_mid_head(lab: Lab) -> None:
    with Server(answering(b"HTTP/1.1 200 OK\r\nContent-")) as server:
        failed, _ = lab.fail(server.url())
    assert failed.failure.kind is FailureKind.RESPONSE_INVALID


@undisturbed
def test_no_answer_in_time(lab: Lab) -> None:
    with Server(answering(response(), after_s=20)) as server:
        failed, measurement = lab.fail(server.url(), timeout_us=300_000)
    assert failed.failure.kind is FailureKind.RESPONSE_TIMEOUT
    assert measurement.hops[0].timing.send is not None


@pytest.mark.parametrize("head", [HEAD, b"HTTP/1.1 200 OK\r\nX-Endless: "])
@undisturbed
def test_a_body_or_head_that_drips_ends_in_time(lab: Lab, head: bytes) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(head)
        while not peer.gone.is_set():
            peer.send(b"x")
            peer.pause(0.02)

    with Server(script) as server:
        failed, measurement = lab.fail(server.url(), timeout_us=400_000)
    assert failed.failure.kind is FailureKind.DOWNLOAD_TIMEOUT
    assert measurement.hops[0].timing.wait is not None
    assert measurement.connections[0].received_bytes is not None
    assert measurement.connections[0].received_bytes > len(head)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n",
    ],
)
def test_a_hundred_megabytes_stop_at_the_limit_without_filling_memory(lab: Lab, head: bytes) -> None:
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with flood(head, 100 * MIB) as server:
        failed, measurement = lab.fail(server.url(), body_text="not there")
    assert failed.failure.kind is FailureKind.RESPONSE_TOO_LARGE
    assert measurement.hops[0].status == 200
    assert (measurement.connections[0].received_bytes or 0) < 12 * MIB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 64 * 1024


def test_framing_that_outgrows_its_body_stops_too(lab: Lab) -> None:
    lab.configure(max_body_bytes=1000)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with Server(answering(head + b"1;%s\r\nx\r\n" % (b"a" * 1000) * 500)) as server:
        failed, _ = lab.fail(server.url())
    assert failed.failure.kind is FailureKind.RESPONSE_TOO_LARGE


def test_a_body_just_at_the_limit_is_measured(lab: Lab) -> None:
    lab.configure(max_body_bytes=50_000)
    with Server(answering(response(b"x" * 50_000)), context=lab.authority.context()) as server:
        assert lab.measure(server.url()).hops[0].body_bytes == 50_000


@pytest.mark.parametrize("garbage", [b"SSH-2.0-OpenSSH_9.2\r\n", b"\x00\x01\x02", b"HTTP/1.1 abc\r\n\r\n"])
def test_what_is_no_http_is_told_with_its_beginning(lab: Lab, garbage: bytes) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(garbage)
        peer.pause(20)

    with Server(script) as server:
        failed, _ = lab.fail(server.url())
    assert failed.failure.kind is FailureKind.RESPONSE_INVALID
    assert "begins with" in failed.failure.detail
    assert failed.failure.detail.isprintable()


def test_headers_in_no_encoding_at_all_are_kept_as_text(lab: Lab) -> None:
    with Server(answering(b"HTTP/1.1 200 OK\r\nX-A: \xff\xfe\x01\r\nContent-Length: 0\r\n\r\n")) as server:
        headers = lab.measure(server.url()).hops[0].response_headers
    assert headers[0].value == "ÿþ\ufffd"


def test_many_and_long_headers_are_cut_in_what_is_kept(lab: Lab) -> None:
    lines = b"".join(b"X-%d: y\r\n" % number for number in range(500))
    with Server(answering(b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 9000 + b"\r\n" + lines + b"\r\n")) as server:
        headers = lab.measure(server.url()).hops[0].response_headers
    assert len(headers) == 100
    assert len(headers[0].name) + len(headers[0].value) == 2048


def test_long_headers_without_end_are_kept_up_to_a_sum(lab: Lab) -> None:
    lines = b"".join(b"X-%d: %s\r\n" % (number, b"a" * 1500) for number in range(40))
    with Server(answering(b"HTTP/1.1 200 OK\r\n" + lines + b"\r\n")) as server:
        headers = lab.measure(server.url()).hops[0].response_headers
    assert 5 < len(headers) < 12


def test_an_early_answer_to_a_request_is_taken(lab: Lab) -> None:
    def script(peer: Peer) -> None:
        peer.send(response(b"early"))
        peer.read_request()
        finish(peer)

    with Server(script) as server:
        hop = lab.measure(server.url()).hops[0]
    assert hop.body_bytes == 5
    assert hop.timing.wait is not None
    assert hop.timing.wait.duration_us >= 0


def test_what_is_no_http_is_told_by_its_first_line(lab: Lab) -> None:
    with Server(answering(b"220 mail\r\nmore")) as server:
        failed, _ = lab.fail(server.url())
    assert failed.failure.kind is FailureKind.RESPONSE_INVALID
    assert "it begins with '220 mail'" in failed.failure.detail


def test_a_server_of_http_1_0_is_told_as_one(lab: Lab) -> None:
    with Server(answering(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi")) as server:
        assert lab.measure(server.url()).connections[0].protocol == "http/1.0"


@undisturbed
def test_a_head_that_does_not_end_is_an_answer_that_does_not_end(lab: Lab) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nA: b\r\n")
        peer.pause(20)

    with Server(script) as server:
        failed, measurement = lab.fail(server.url(), timeout_us=500_000)
    assert failed.failure.kind is FailureKind.DOWNLOAD_TIMEOUT
    assert failed.failure.detail.startswith("The answer did not end in time")
    assert measurement.hops[0].status is None
