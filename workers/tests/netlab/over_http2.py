"""Answers of the lab's own server over HTTP/2. The head of each is a record of its own, as most servers send it."""

from collections.abc import Callable
from dataclasses import dataclass

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived

from workers.tests.netlab.wire_side import GoneError, PlainSide, TlsSide

_FRAME_BYTES = 4000
# What HTTP/1.1 says of a connection is forbidden here (RFC 9113, 8.2.2).
_OF_CONNECTIONS = frozenset({"connection"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`head` is that of HTTP/1.1. After the `last` one the server says good-bye and closes."""

    head: bytes
    body: bytes
    think_s: float
    last: bool


def answer_over_http2(side: PlainSide | TlsSide, next_answer: Callable[[], Answer]) -> None:
    """Answers one request after another. Raises GoneError when either side has left."""
    h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
    h2.initiate_connection()
    side.write(h2.data_to_send())
    while True:
        for event in h2.receive_data(side.read()):
            if isinstance(event, RequestReceived):
                _answer(side, h2, event.stream_id or 0, next_answer())
        side.write(h2.data_to_send())


def _answer(side: PlainSide | TlsSide, h2: H2Connection, stream: int, answer: Answer) -> None:
    side.write(h2.data_to_send())
    side.wire.pause(answer.think_s)
    status, *lines = answer.head.decode("ascii").rstrip().split("\r\n")
    headers = [(name.lower(), value) for name, _, value in (line.partition(": ") for line in lines)]
    h2.send_headers(
        stream,
        [(":status", status.split()[1]), *(one for one in headers if one[0] not in _OF_CONNECTIONS)],
        end_stream=not answer.body,
    )
    parts = [h2.data_to_send()]
    for at in range(0, len(answer.body), _FRAME_BYTES):
        h2.send_data(stream, answer.body[at : at + _FRAME_BYTES], end_stream=at + _FRAME_BYTES >= len(answer.body))
        parts.append(h2.data_to_send())
    if answer.last:
        h2.close_connection(last_stream_id=stream)
        parts.append(h2.data_to_send())
    side.write(*parts)
    if answer.last:
        side.finish()
        side.wire.write_end()
        side.wire.be_silent()
        raise GoneError
