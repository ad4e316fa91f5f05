"""Calls of the service itself: only judged addresses are dialled, and no call takes longer or more than it may."""

import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from time import monotonic, sleep

import pytest
from pytest_django import Settings

from backend import outbound
from backend.outbound import MAX_ANSWER_BYTES, Answer, Outbound, OutboundError, Reason
from backend.testing import wait_until
from workers.measurement.addresses import parse_networks
from workers.tests.inside import INSIDE_URLS
from workers.tests.ports import closed_port
from workers.tests.servers import (
    Authority,
    Peer,
    Server,
    answering,
    finish,
    redirect,
    response,
    self_signed_context,
    silent_port,
)

LOOPBACK = parse_networks("127.0.0.0/8")
PORTS = frozenset(range(1024, 65536))


class Names:
    """A resolver of our own: the answers of each name, one list for each question; the last stays."""

    def __init__(self, **names: list[list[str]]) -> None:
        self.asked: list[str] = []
        self._names = {name.replace("_", "."): chain(lists, repeat(lists[-1])) for name, lists in names.items()}

    def __call__(self, host: str, port: int) -> tuple[str, ...]:
        self.asked.append(host)
        return tuple(next(self._names[host])) if host in self._names else ()


def caller(names: Names | None = None, **changes: object) -> Outbound:
    fields: dict[str, object] = {"allowed": LOOPBACK, "extra_ports": PORTS, "timeout_s": 60.0}
    if names is not None:
        fields["resolve"] = names
    return Outbound(**(fields | changes))  # type: ignore[arg-type]  # Fields by name, changed by name.


def post(url: str, client: Outbound | None = None, body: bytes = b'{"a":1}') -> Answer:
    return (client or caller()).post(url, body, {"Content-Type": "application/json"})


def refused(url: str, client: Outbound | None = None) -> OutboundError:
    with pytest.raises(OutboundError) as caught:
        post(url, client)
    return caught.value


def test_a_body_is_posted_and_the_answer_read() -> None:
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        data = peer.read_request()
        while not data.endswith(b'{"a":1}'):
            data += peer.sock.recv(1000)
        seen.append(data)
        peer.send(response(b"ok", headers=("X-Answer: yes",)))
        finish(peer)

    with Server(script) as server:
        answer = post(server.url("/hook?x=1"))
        named = post(server.url(host="hook.example"), caller(Names(hook_example=[["127.0.0.1"]])))
    assert (answer.status, answer.body, answer.headers["x-answer"]) == (200, b"ok", "yes")
    assert named.status == 200
    assert seen[0].startswith(b"POST /hook?x=1 HTTP/1.1\r\n")
    assert b"Content-Length: 7\r\n" in seen[0]
    assert f"Host: hook.example:{server.port}\r\n".encode() in seen[1]


@pytest.mark.parametrize("url", [*INSIDE_URLS, "http://localhost./", "http://app.localhost/"])
def test_every_spelling_of_an_inside_address_is_refused(url: str) -> None:
    assert refused(url, Outbound()).reason in {Reason.BLOCKED, Reason.INVALID, Reason.NOT_FOUND}


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1", "10.0.0.1"],
        ["10.0.0.1", "127.0.0.1"],
        ["93.184.216.34", "::1"],
        ["::1"],
        ["64:ff9b::7f00:1"],
        ["fd00::1"],
        ["169.254.169.254"],
    ],
)
def test_one_bad_answer_refuses_the_name_and_is_never_told(answers: list[str]) -> None:
    error = refused("http://mixed.example/", caller(Names(mixed_example=[answers])))
    assert error.reason is Reason.BLOCKED
    assert not any(answer in str(error) for answer in answers)
    assert "FIRSTBYTE_PRIVATE_TARGETS" in str(error)


def test_a_name_is_asked_for_once_so_that_a_second_answer_changes_nothing() -> None:
    names = Names(rebind_example=[["127.0.0.1"], ["169.254.169.254"]])
    with Server(answering(response())) as server:
        url = server.url(host="rebind.example")
        assert post(url, caller(names)).status == 200
        assert names.asked == ["rebind.example"]
        assert refused(url, caller(names)).reason is Reason.BLOCKED
        assert server.connections == 1


def test_an_alias_is_judged_by_where_it_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    def lookup(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "metadata.internal", ("169.254.169.254", port))]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    assert refused("http://www.example/", Outbound()).reason is Reason.BLOCKED


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    with Server(answering(response())) as inside:
        for location in (inside.url(), "http://169.254.169.254/latest/meta-data/"):
            with Server(answering(redirect(location))) as server:
                assert post(server.url()).status == 302
        assert inside.connections == 0


def test_a_peer_that_is_not_the_judged_address_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    dial, heard = socket.create_connection, list[bytes]()
    with Server(lambda peer: heard.append(peer.read_request())) as server:
        monkeypatch.setattr(socket, "create_connection", lambda _, **more: dial(("127.0.0.1", server.port), **more))
        client = caller(Names(hook_example=[["93.184.216.34"]]))
        assert refused(server.url(host="hook.example"), client).reason is Reason.BLOCKED
        wait_until(lambda: heard, "the connection to end")
    assert heard == [b""]


@pytest.mark.parametrize("url", ["http://hook.example:22/", "http://hook.example:6379/", "ftp://hook.example/"])
def test_ports_and_schemes_that_are_not_of_the_web_are_refused(url: str) -> None:
    assert refused(url, Outbound(resolve=Names(hook_example=[["93.184.216.34"]]))).reason is Reason.INVALID


def test_the_second_address_is_tried_when_the_first_refuses() -> None:
    with Server(answering(response()), host="127.0.0.2") as server:
        client = caller(Names(hook_example=[["127.0.0.1", "127.0.0.2"]]))
        assert post(server.url(host="hook.example"), client).status == 200


def test_nobody_there_is_told_apart_from_nobody_answering() -> None:
    assert refused(f"http://127.0.0.1:{closed_port()}/").reason is Reason.UNREACHABLE
    assert refused("http://nowhere.example/", caller(Names())).reason is Reason.NOT_FOUND
    with silent_port() as port:
        assert refused(f"http://127.0.0.1:{port}/", caller(timeout_s=0.3)).reason is Reason.TIMEOUT


def drip(peer: Peer) -> None:
    peer.read_request()
    for byte in response(headers=("X-Long: " + "x" * 1000,)):
        peer.send(bytes([byte]))
        peer.pause(0.05)


def hang_up(peer: Peer) -> None:
    peer.read_request()


@pytest.mark.parametrize("script", [answering(response(), after_s=120), drip], ids=["silence", "drip"])
def test_one_time_limit_covers_all_of_a_call(script: object) -> None:
    with Server(script) as server:  # type: ignore[arg-type]  # Both are scripts.
        started = monotonic()
        assert refused(server.url(), caller(timeout_s=0.5)).reason is Reason.TIMEOUT
        # A whole answer takes either of them more than that.
        assert monotonic() - started < 40


def test_a_lookup_that_hangs_ends_with_the_call() -> None:
    with Server(answering(response())) as server, socket.create_connection(("127.0.0.1", server.port)) as line:

        def resolve(host: str, port: int) -> tuple[str, ...]:
            line.settimeout(120)
            line.recv(1)
            return ()

        started = monotonic()
        assert refused("http://slow.example/", caller(resolve=resolve, timeout_s=0.3)).reason is Reason.TIMEOUT
        assert monotonic() - started < 60
        line.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("script", [hang_up, answering(b"SSH-2.0-OpenSSH_9.2\r\n")], ids=["hangs up", "not http"])
def test_what_is_no_answer_is_told(script: object) -> None:
    with Server(script) as server:  # type: ignore[arg-type]  # Both are scripts.
        assert refused(server.url()).reason is Reason.BROKEN


def test_a_body_that_comes_after_its_head_is_read_all_the_same() -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        head, separator, body = response(b"invalid_token", headers=("Connection: close",)).partition(b"\r\n\r\n")
        peer.send(head + separator)
        sleep(0.2)
        peer.send(body)
        finish(peer)

    with Server(script) as server:
        assert post(server.url()).body == b"invalid_token"


def test_a_large_answer_is_cut_and_a_broken_one_kept_for_its_status() -> None:
    with Server(answering(response(b"x" * 1_000_000))) as server:
        assert len(post(server.url()).body) == MAX_ANSWER_BYTES
    with Server(answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")) as server:
        answer = post(server.url())
    assert (answer.status, answer.body) == (200, b"")


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Authority]:
    yield Authority.make(tmp_path)
    outbound._context.cache_clear()


def secured(authority: Authority, **changes: object) -> Outbound:
    return caller(Names(hook_example=[["127.0.0.1"]]), ca_file=authority.ca_file, **changes)


def test_the_certificate_is_of_the_name_though_the_address_is_dialled(authority: Authority) -> None:
    names: list[str | None] = []
    context = authority.context("hook.example")
    context.sni_callback = lambda sock, name, _: names.append(name)
    with Server(answering(response()), context=context) as server:
        assert post(server.url(host="hook.example"), secured(authority)).status == 200
    assert names == ["hook.example"]


def test_a_certificate_of_another_name_or_authority_is_refused(authority: Authority, tmp_path: Path) -> None:
    def reason(context: ssl.SSLContext) -> str:
        with Server(answering(response()), context=context) as server:
            error = refused(server.url(host="hook.example"), secured(authority))
        assert error.reason is Reason.TLS
        return str(error)

    assert "not valid for 'hook.example'" in reason(authority.context("other.example"))
    assert "self-signed" in reason(self_signed_context(tmp_path, "hook.example"))


@pytest.mark.parametrize("content", [None, b"", b"no certificate"], ids=["missing", "empty", "none"])
def test_an_authority_that_cannot_be_read_is_no_fault_of_the_other_side(
    authority: Authority, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "our-own.pem"
    if content is not None:
        file.write_bytes(content)
    with Server(answering(response()), context=authority.context("hook.example")) as server:
        error = refused(server.url(host="hook.example"), replace(secured(authority), ca_file=file))
    assert error.reason is Reason.TLS
    assert "FIRSTBYTE_CA_FILE" in str(error)


def test_a_server_without_tls_is_no_secure_one(authority: Authority) -> None:
    with Server(lambda peer: peer.send(response())) as server:
        url = server.url(host="hook.example").replace("http:", "https:")
        assert refused(url, secured(authority)).reason is Reason.TLS


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(answering(response(b"proxy"))) as proxy, Server(answering(response(b"direct"))) as server:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        assert post(server.url()).body == b"direct"


def test_private_addresses_are_called_only_where_the_operator_allows_them(settings: Settings) -> None:
    settings.EXTRA_PORTS = PORTS
    with Server(answering(response())) as server:
        assert refused(server.url(), outbound.client()).reason is Reason.BLOCKED
        settings.PRIVATE_TARGETS = LOOPBACK
        assert post(server.url(), outbound.client()).status == 200
