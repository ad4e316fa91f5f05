"""HTTP/2 for page shapes. Bodies are smaller than the windows that a browser opens, so nothing waits for them."""

import asyncio
from asyncio import StreamReader, StreamWriter

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event, RequestReceived
from h2.exceptions import ProtocolError

from workers.tests.shapes.answering import Asked, Fields, answer, reply_to
from workers.tests.shapes.site import Shape

_FRAME_BYTES = 16384


class _Sink:
    def __init__(self, talk: "_Talk", stream: int) -> None:
        self._talk = talk
        self._stream = stream

    async def hint(self, fields: Fields) -> None:
        self._talk.http.send_headers(self._stream, _fields(103, fields))
        await self._talk.flush()

    async def head(self, status: int, fields: Fields, length: int | None) -> None:
        sized = fields if length is None else [*fields, ("content-length", str(length))]
        self._talk.http.send_headers(self._stream, _fields(status, sized))
        await self._talk.flush()

    async def data(self, data: bytes) -> None:
        for at in range(0, len(data), _FRAME_BYTES):
            self._talk.http.send_data(self._stream, data[at : at + _FRAME_BYTES])
        await self._talk.flush()

    async def end(self) -> None:
        self._talk.http.end_stream(self._stream)
        await self._talk.flush()

    async def abort(self) -> None:
        self._talk.http.reset_stream(self._stream, ErrorCodes.INTERNAL_ERROR)
        await self._talk.flush()

    async def refuse(self, *, all_later: bool) -> None:
        if all_later:
            self._talk.http.close_connection(ErrorCodes.NO_ERROR, last_stream_id=self._stream - 2)
        else:
            self._talk.http.reset_stream(self._stream, ErrorCodes.REFUSED_STREAM)
        await self._talk.flush()


def _read(event: RequestReceived) -> dict[str, str]:
    return {str(name): str(value) for name, value in event.headers or ()}


def _fields(status: int, fields: Fields) -> Fields:
    return [(":status", str(status)), *((name.lower(), value) for name, value in fields)]


class _Talk:
    def __init__(self, shape: Shape, writer: StreamWriter) -> None:
        self.http = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self._shape = shape
        self._writer = writer
        self._answers: set[asyncio.Task[None]] = set()

    async def flush(self) -> None:
        self._writer.write(self.http.data_to_send())
        await self._writer.drain()

    def take(self, event: Event) -> None:
        if isinstance(event, RequestReceived) and event.stream_id is not None:
            task = asyncio.ensure_future(self._answer(event.stream_id, _read(event)))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)

    def end(self) -> None:
        for task in self._answers:
            task.cancel()

    async def _answer(self, stream: int, fields: dict[str, str]) -> None:
        asked = Asked(method=fields[":method"], url=f"https://{fields[':authority']}{fields[':path']}", headers=fields)
        try:
            await answer(reply_to(self._shape, asked), asked, _Sink(self, stream))
        except (ProtocolError, OSError):
            # The client gave the stream up, or left.
            return


async def serve_http2(shape: Shape, reader: StreamReader, writer: StreamWriter) -> None:
    """One connection, until the client leaves."""
    talk = _Talk(shape, writer)
    talk.http.initiate_connection()
    try:
        await talk.flush()
        while data := await reader.read(65536):
            for event in talk.http.receive_data(data):
                if isinstance(event, ConnectionTerminated):
                    return
                talk.take(event)
            await talk.flush()
    except (ProtocolError, OSError):
        return
    finally:
        talk.end()
        writer.close()
