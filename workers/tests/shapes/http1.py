"""HTTP/1.1 for page shapes, with WebSockets."""

import base64
import hashlib
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from http import HTTPStatus

from workers.tests.shapes.answering import Asked, Fields, answer, reply_to
from workers.tests.shapes.site import Shape, Trick

_KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_BODILESS = (204, 304)


class _Sink:
    def __init__(self, writer: StreamWriter) -> None:
        self._writer = writer
        self._chunked = False

    async def hint(self, fields: Fields) -> None:
        await self._write(_head(103, fields))

    async def head(self, status: int, fields: Fields, length: int | None) -> None:
        self._chunked = length is None
        if self._chunked:
            fields = [*fields, ("Transfer-Encoding", "chunked")]
        elif status not in _BODILESS:
            fields = [*fields, ("Content-Length", str(length))]
        await self._write(_head(status, fields))

    async def data(self, data: bytes) -> None:
        await self._write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    async def end(self) -> None:
        if self._chunked:
            await self._write(b"0\r\n\r\n")

    async def abort(self) -> None:
        self._writer.close()

    async def refuse(self, *, all_later: bool) -> None:
        """There is no such word: it closes."""
        self._writer.close()

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


def _head(status: int, fields: Fields) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in fields), "", ""]
    return "\r\n".join(lines).encode("latin-1")


async def serve_http1(shape: Shape, reader: StreamReader, writer: StreamWriter, scheme: str) -> None:
    """One connection, until a reply closes it or the client leaves."""
    try:
        while not writer.is_closing():
            asked = await _read(reader, scheme)
            reply = reply_to(shape, asked)
            if reply.trick is Trick.SOCKET:
                await _serve_socket(asked, reader, writer)
                return
            await answer(reply, asked, _Sink(writer))
            if reply.trick in (Trick.CLOSE, Trick.STAY_OPEN):
                await _until_gone(reader, writer, at_once=reply.trick is Trick.CLOSE)
    except (IncompleteReadError, OSError):
        return
    finally:
        writer.close()


async def _read(reader: StreamReader, scheme: str) -> Asked:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method=method, url=f"{scheme}://{headers['host']}{path}", headers=headers)


async def _until_gone(reader: StreamReader, writer: StreamWriter, *, at_once: bool) -> None:
    if at_once:
        writer.close()
        return
    while await reader.read(4096):
        pass


async def _serve_socket(asked: Asked, reader: StreamReader, writer: StreamWriter) -> None:
    accept = base64.b64encode(hashlib.sha1(asked.headers["sec-websocket-key"].encode() + _KEY).digest()).decode()
    fields = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)]
    writer.write(_head(101, fields) + b"\x81\x05hello")
    await _until_gone(reader, writer, at_once=False)
