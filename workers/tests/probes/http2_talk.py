"""A conversation in HTTP/2 without a network: what a server says in frames, and what our reader makes of it."""

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection

from workers.measurement.connection import Header
from workers.measurement.target import parse_target
from workers.probes.faults import ProbeError
from workers.probes.http2 import Http2Conversation
from workers.probes.request_fields import request_fields

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
        hear(Talk().client, greeting + data, close=close)
    return caught.value


def hear(client: Http2Conversation, data: bytes, *, close: bool) -> None:
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
