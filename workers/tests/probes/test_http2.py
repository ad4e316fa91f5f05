"""HTTP/2: a real server, the odd and the hostile, in pieces of any size."""

import shutil
import socket
import ssl
from contextlib import suppress
from pathlib import Path

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import RequestReceived
from hyperframe.frame import ContinuationFrame, DataFrame, Frame, GoAwayFrame, HeadersFrame, PingFrame, PushPromiseFrame
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.connection import Header
from workers.measurement.failure import FailureKind, Stage
from workers.measurement.target import parse_target
from workers.probes.faults import ProbeError
from workers.probes.http1 import MAX_HEAD_BYTES
from workers.probes.http2 import Http2Conversation
from workers.probes.request_fields import request_fields
from workers.tests.nginx import BODY, running_nginx
from workers.tests.servers import LOOPBACK

LIMIT = 200_000
TARGET = parse_target("https://a.test/x?y=1")
SETTINGS = bytes.fromhex("000000040000000000")


class Talk:
    """Our side of a conversation, and a server's that a test makes say what it likes."""

    def __init__(self, *headers: Header) -> None:
        self.body = b""
        fields = request_fields(TARGET, headers, "agent/1")
        self.client = Http2Conversation(fields, max_body_bytes=LIMIT, on_body=self.take)
        self.server = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.server.initiate_connection()
        self.asked = self.server.receive_data(self.client.outgoing())

    def take(self, data: bytes) -> None:
        self.body += data

    def answer(
        self, body: bytes, *, status: str = "200", headers: tuple[tuple[str, str], ...] = (), frame_bytes: int = 16384
    ) -> None:
        self.server.send_headers(1, [(":status", status), *headers], end_stream=not body)
        while body:
            self.server.send_data(1, body[:frame_bytes], end_stream=len(body) <= frame_bytes)
            body = body[frame_bytes:]

    def deliver(self, step: int = 1 << 20) -> None:
        """What the server said, in pieces."""
        data = self.server.data_to_send()
        for at in range(0, len(data), step):
            self.client.feed(data[at : at + step])


def fault(data: bytes, *, greeting: bytes = SETTINGS, close: bool = False) -> ProbeError:
    with pytest.raises(ProbeError) as caught:
        _hear(Talk().client, greeting + data, close=close)
    return caught.value


def _hear(client: Http2Conversation, data: bytes, *, close: bool) -> None:
    client.feed(data)
    if close:
        client.close()


def head(*headers: tuple[str, str], status: str = "200", end: bool = False) -> bytes:
    """The frames of a server that has just greeted."""
    talk = Talk()
    talk.server.data_to_send()
    talk.server.config.validate_outbound_headers = False
    talk.server.send_headers(1, [(":status", status), *headers], end_stream=end)
    return talk.server.data_to_send()


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


def test_a_server_that_leaves_without_an_answer_is_told() -> None:
    refused = fault(GoAwayFrame(0, last_stream_id=0).serialize())
    assert refused.failure.kind is FailureKind.CONNECTION_RESET
    calm = fault(head() + GoAwayFrame(0, last_stream_id=1, error_code=ErrorCodes.ENHANCE_YOUR_CALM).serialize())
    assert calm.failure.kind is FailureKind.DOWNLOAD_INCOMPLETE
    assert "ENHANCE_YOUR_CALM" in calm.failure.detail
    odd = fault(GoAwayFrame(0, last_stream_id=1, error_code=4242).serialize())
    assert "4242" in odd.failure.detail


@pytest.mark.parametrize(("begun", "kind"), [(False, "connection_reset"), (True, "download_incomplete")])
def test_a_stream_that_is_reset_is_told_with_its_reason(begun: bool, kind: str) -> None:
    talk = Talk()
    if begun:
        talk.server.send_headers(1, [(":status", "200")])
    talk.server.reset_stream(1, ErrorCodes.HTTP_1_1_REQUIRED)
    with pytest.raises(ProbeError) as caught:
        talk.deliver()
    assert caught.value.failure.kind == kind
    assert "HTTP_1_1_REQUIRED" in caught.value.failure.detail


def test_a_connection_that_closes_too_early_is_told() -> None:
    assert fault(b"", close=True).failure.kind is FailureKind.CONNECTION_RESET
    assert fault(b"", greeting=b"", close=True).failure.kind is FailureKind.CONNECTION_RESET
    assert fault(head()[:-1], close=True).failure.kind is FailureKind.RESPONSE_INVALID
    assert fault(head(), close=True).failure.kind is FailureKind.DOWNLOAD_INCOMPLETE


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"garbage that is no frame",
        PingFrame(0).serialize(),
        b"\x00\x00\x00\x04\x01\x00\x00\x00\x00",
    ],
)
def test_what_does_not_begin_with_settings_is_no_http2(data: bytes) -> None:
    assert fault(data, greeting=b"").failure.kind is FailureKind.RESPONSE_INVALID


def test_a_frame_larger_than_allowed_is_refused_by_its_header() -> None:
    refused = fault(b"\x00\x40\x01\x00\x00\x00\x00\x00\x01")
    assert refused.failure.kind is FailureKind.RESPONSE_INVALID
    assert "16385" in refused.failure.detail


def test_pushes_are_refused() -> None:
    assert fault(PushPromiseFrame(1, promised_stream_id=2).serialize()).failure.kind is FailureKind.RESPONSE_INVALID


@pytest.mark.parametrize("frame", [PingFrame(0), DataFrame(1), Frame])
def test_floods_of_frames_that_bring_nothing_are_left(frame: Frame | type) -> None:
    raw = SETTINGS if isinstance(frame, type) else frame.serialize()
    before = head() if isinstance(frame, DataFrame) else b""
    assert "flood" in fault(before + raw * 300).failure.detail


def test_headers_that_never_end_are_left() -> None:
    begun = HeadersFrame(1, b"").serialize()
    assert fault(begun + ContinuationFrame(1, b"").serialize() * 70).failure.kind is FailureKind.RESPONSE_INVALID
    large = ContinuationFrame(1, b"x" * 16000).serialize()
    assert "64 KiB" in fault(begun + large * 5).failure.detail


def test_a_small_block_that_unfolds_into_many_headers_is_left() -> None:
    """The HPACK bomb: one large header is put into the table, then named by one byte each."""
    first = b"\x88" + b"\x40\x01a" + b"\x7f\xa1\x1d" + b"x" * 3872
    block = first + b"\xbe" * 10_000
    assert len(block) < MAX_HEAD_BYTES
    bomb = HeadersFrame(1, block, flags=["END_HEADERS"]).serialize()
    assert "64 KiB" in fault(bomb).failure.detail


def test_bodies_over_the_limit_are_refused_by_what_they_say_and_by_what_they_are() -> None:
    said = fault(head(("content-length", str(LIMIT + 1))))
    assert said.failure.kind is FailureKind.RESPONSE_TOO_LARGE
    sent = fault(head() + DataFrame(1, b"x" * 16384).serialize() * 13)
    assert sent.failure.kind is FailureKind.RESPONSE_TOO_LARGE


def test_a_body_of_another_length_than_it_says_is_no_answer() -> None:
    frames = head(("content-length", "3")) + DataFrame(1, b"hello", flags=["END_STREAM"]).serialize()
    failed = fault(frames).failure
    assert (failed.kind, failed.stage) == (FailureKind.RESPONSE_INVALID, Stage.DOWNLOAD)


@pytest.mark.parametrize("status", ["99", "1000", "abc", "101", "", "2 0"])
def test_a_status_that_is_none_is_no_answer(status: str) -> None:
    assert fault(head(status=status)).failure.kind is FailureKind.RESPONSE_INVALID


def test_a_head_without_status_is_no_answer() -> None:
    block = HeadersFrame(1, b"\x40\x01a\x01b", flags=["END_HEADERS"]).serialize()
    assert fault(block).failure.kind is FailureKind.RESPONSE_INVALID


def test_control_characters_in_headers_are_made_visible() -> None:
    talk = Talk()
    talk.client.feed(SETTINGS + head(("x-odd", "a\x7fb"), end=True))
    assert talk.client.head is not None
    assert talk.client.head.first("x-odd") == "a\ufffdb"


def test_what_follows_a_complete_body_is_left_alone() -> None:
    talk = Talk()
    talk.answer(b"hello")
    talk.deliver()
    talk.client.feed(b"\xff" * 100)
    assert talk.client.complete


FRAMES = st.tuples(st.integers(0, 40), st.integers(0, 11), st.integers(0, 255), st.sampled_from([0, 1, 2, 3]))


@given(st.lists(st.tuples(FRAMES, st.binary(max_size=40)), max_size=12), st.integers(1, 64))
def test_no_frames_break_the_reader(frames: list[tuple[tuple[int, int, int, int], bytes]], step: int) -> None:
    talk = Talk()
    data = SETTINGS
    for (_, kind, flags, stream), payload in frames:
        data += len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload
    with suppress(ProbeError):
        for at in range(0, len(data), step):
            talk.client.feed(data[at : at + step])
            talk.client.outgoing()
        talk.client.close()


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


def test_a_word_that_makes_no_sense_between_two_answers_is_a_fault() -> None:
    talk = Talk()
    talk.answer(b"bye")
    talk.deliver()
    with pytest.raises(ProbeError) as caught:
        talk.client.hear(b"\xff" * 9)
    assert caught.value.failure.kind is FailureKind.RESPONSE_INVALID


def test_a_body_of_crumbs_is_no_answer_and_one_of_small_parts_is() -> None:
    parts = DataFrame(1, data=b"x" * 20).serialize() * 3000
    talk = Talk()
    talk.client.feed(SETTINGS + head() + parts)
    assert talk.client.body_bytes == 60_000
    failed = fault(head() + DataFrame(1, data=b"x").serialize() * 5000)
    assert (failed.failure.kind, failed.failure.stage) == (FailureKind.RESPONSE_INVALID, Stage.DOWNLOAD)


@given(st.integers(0, 400), st.binary(min_size=1, max_size=6), st.integers(1, 100))
def test_no_damage_to_an_answer_breaks_the_reader(at: int, damage: bytes, step: int) -> None:
    talk = Talk()
    talk.server.send_headers(1, [(":status", "103"), ("link", "</a.css>; rel=preload")])
    talk.answer(b"hello " * 20, headers=(("content-length", "120"), ("server", "x"), ("cache-control", "no-store")))
    data = talk.server.data_to_send()
    damaged = data[:at] + damage + data[at + len(damage) :]
    with suppress(ProbeError):
        for start in range(0, len(damaged), step):
            talk.client.feed(damaged[start : start + step])
            talk.client.outgoing()
        talk.client.close()
    assert len(talk.body) <= len(damaged)


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
                socket.create_connection((LOOPBACK, nginx.origin), timeout=5) as sock,
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
