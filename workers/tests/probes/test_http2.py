"""HTTP/2: a real server, the odd and the hostile, in pieces of any size."""

import shutil
import socket
import ssl
from pathlib import Path

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived
from hyperframe.frame import GoAwayFrame

from workers.measurement.connection import Header
from workers.measurement.failure import FailureKind
from workers.measurement.target import parse_target
from workers.probes.http2 import Http2Conversation
from workers.probes.request_fields import request_fields
from workers.tests.nginx import BODY, running_nginx
from workers.tests.probes.http2_talk import LIMIT, SETTINGS, TARGET, Talk, fault, head
from workers.tests.servers import LOOPBACK


def test_a_request_is_said_as_a_browser_says_it() -> None:
    talk = Talk(Header(name="X-Key", value="1"), Header(name="Connection", value="close"))
    (request,) = (event for event in talk.asked if isinstance(event, RequestReceived))
    assert [(str(name), str(value)) for name, value in request.headers] == [
        (":method", "GET"),
        (":authority", "a.test"),
        (":scheme", "https"),
        (":path", "/x?y=1"),
        ("user-agent", "agent/1"),
        ("accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
        ("x-key", "1"),
    ]
    assert request.stream_ended is not None


def test_the_monitors_own_host_is_the_authority() -> None:
    fields = dict(request_fields(TARGET, (Header(name="Host", value="other.test"),), "agent/1"))
    assert fields[":authority"] == "other.test"
    assert "host" not in fields


def test_windows_are_as_wide_as_a_browsers() -> None:
    talk = Talk()
    assert talk.server.local_flow_control_window(1) == 6 * 1024 * 1024
    assert talk.server.outbound_flow_control_window == 15 * 1024 * 1024


@pytest.mark.parametrize(("step", "frame_bytes"), [(1, 1000), (7, 4000), (100, 16384), (1 << 20, 16384)])
def test_an_answer_is_read_in_pieces_of_any_size(step: int, frame_bytes: int) -> None:
    talk = Talk()
    body = bytes(range(256)) * (4 * frame_bytes // 256)
    headers = (("content-type", "text/html"), ("content-length", str(len(body))))
    talk.answer(body, headers=headers, frame_bytes=frame_bytes)
    talk.deliver(step)
    assert talk.client.complete
    assert talk.client.keeps_connection
    assert talk.body == body
    assert talk.client.body_bytes == len(body)
    assert talk.client.head is not None
    assert talk.client.head.status == 200
    assert talk.client.head.first("content-type") == "text/html"
    talk.client.close()


def test_settings_are_no_answer_yet() -> None:
    talk = Talk()
    talk.deliver()
    assert not talk.client.begun
    assert talk.client.outgoing()
    talk.answer(b"", status="204")
    talk.deliver()
    assert talk.client.begun
    assert talk.client.complete


def test_a_body_can_be_read_before_its_frame_is_whole() -> None:
    talk = Talk()
    talk.answer(b"x" * 16384)
    data = talk.server.data_to_send()
    talk.client.feed(data[:-1000])
    assert talk.client.body_bytes == 16384 - 1000
    assert not talk.client.complete
    talk.client.feed(data[-1000:])
    assert talk.client.complete
    assert talk.body == b"x" * 16384


def test_a_padded_body_is_read_without_its_padding() -> None:
    talk = Talk()
    talk.server.send_headers(1, [(":status", "200")])
    talk.server.send_data(1, b"hello", end_stream=True, pad_length=200)
    talk.deliver(3)
    assert (talk.client.complete, talk.body) == (True, b"hello")


def test_interim_answers_are_kept_and_counted() -> None:
    talk = Talk()
    talk.server.send_headers(1, [(":status", "103"), ("link", "</a.css>")])
    talk.deliver()
    assert (talk.client.begun, talk.client.head) == (True, None)
    talk.answer(b"hello")
    talk.deliver()
    assert talk.client.interim == (103,)
    assert fault(head(status="103") * 17).failure.kind is FailureKind.RESPONSE_INVALID


def test_trailers_end_an_answer() -> None:
    talk = Talk()
    talk.server.send_headers(1, [(":status", "200")])
    talk.server.send_data(1, b"hello")
    talk.server.send_headers(1, [("server-timing", "a")], end_stream=True)
    talk.deliver()
    assert (talk.client.complete, talk.body) == (True, b"hello")


def test_a_large_body_never_waits_for_our_window() -> None:
    fields = request_fields(TARGET, (), "agent/1")
    client = Http2Conversation(fields, max_body_bytes=40_000_000, on_body=lambda data: None)
    server = H2Connection(H2Configuration(client_side=False))
    server.initiate_connection()
    server.receive_data(client.outgoing())
    server.send_headers(1, [(":status", "200")])
    windows = []
    for _ in range(2000):
        windows.append(server.local_flow_control_window(1))
        server.send_data(1, b"x" * 16384)
        client.feed(server.data_to_send())
        server.receive_data(client.outgoing())
    assert min(windows) > 2_000_000
    assert client.body_bytes == 2000 * 16384


def test_a_server_that_leaves_in_good_manners_still_answers() -> None:
    goodbye = GoAwayFrame(0, last_stream_id=1).serialize()
    talk = Talk()
    talk.client.feed(SETTINGS + goodbye)
    talk.answer(b"hello")
    talk.deliver()
    assert (talk.client.complete, talk.body) == (True, b"hello")
    assert not talk.client.keeps_connection


def test_what_follows_a_complete_body_is_left_alone() -> None:
    talk = Talk()
    talk.answer(b"hello")
    talk.deliver()
    talk.client.feed(b"\xff" * 100)
    assert talk.client.complete


def test_one_answer_follows_another() -> None:
    talk = Talk()
    for number, body in enumerate((b"first" * 8000, b"", b"third")):
        if number:
            talk.client.ask_again(request_fields(TARGET, (), "agent/1"))
            assert not talk.client.begun
            talk.server.receive_data(talk.client.outgoing())
        stream = 1 + 2 * number
        talk.server.send_headers(stream, [(":status", "200"), ("x-number", str(number))], end_stream=not body)
        for at in range(0, len(body), 16384):
            talk.server.send_data(stream, body[at : at + 16384], end_stream=at + 16384 >= len(body))
        talk.body = b""
        talk.deliver(1000)
        assert talk.client.complete
        assert talk.client.head is not None
        assert talk.client.head.first("x-number") == str(number)
        assert (talk.body, talk.client.body_bytes) == (body, len(body))
        assert talk.client.keeps_connection


def test_a_farewell_between_two_answers_is_heard() -> None:
    talk = Talk()
    talk.answer(b"bye")
    talk.server.ping(b"12345678")
    talk.deliver()
    talk.client.hear()
    assert talk.client.keeps_connection
    talk.server.close_connection(last_stream_id=1)
    talk.client.hear(talk.server.data_to_send())
    assert talk.client.complete
    assert not talk.client.keeps_connection


def test_nginx_is_understood(tmp_path: Path) -> None:
    assert shutil.which("nginx", path="/usr/sbin:/usr/bin")
    with running_nginx(tmp_path) as nginx:
        context = ssl.create_default_context(cafile=str(nginx.ca_file))
        context.set_alpn_protocols(["h2"])
        for path, size in (("/a.css", len(BODY)), ("/none", None)):
            target = parse_target(f"https://origin.localhost{path}")
            body: list[bytes] = []
            fields = [field for field in request_fields(target, (), "agent/1") if field[0] != "accept-encoding"]
            client = Http2Conversation(fields, max_body_bytes=LIMIT, on_body=body.append)
            with (
                socket.create_connection((LOOPBACK, nginx.origin), timeout=120) as sock,
                context.wrap_socket(sock, server_hostname="origin.localhost") as secured,
            ):
                assert secured.selected_alpn_protocol() == "h2"
                converse(secured, client)
            assert client.head is not None
            assert client.head.status == (200 if size else 404)
            assert size is None or len(b"".join(body)) == size
            assert client.keeps_connection


def converse(secured: ssl.SSLSocket, client: Http2Conversation) -> None:
    while not client.complete:
        if output := client.outgoing():
            secured.sendall(output)
        data = secured.recv(65536)
        if not data:
            client.close()
        client.feed(data)
