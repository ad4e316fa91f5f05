"""How a reply is given, whatever the protocol: what is said when, to a sink that knows the protocol's own words."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from workers.tests.shapes.site import Reply, Shape, Trick

Fields = list[tuple[str, str]]
_NOTHING_HERE = Reply(status=404, body=b"nothing here", kind="text/plain")
_ANYBODY = ("Access-Control-Allow-Origin", "*")
# What was asked for before.
_KNOWN: set[str] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request that has come; names of headers are in lower case."""

    method: str
    url: str
    headers: Mapping[str, str]


class Sink(Protocol):
    """One answer in a protocol's own words. A length of None is one that nobody knows beforehand."""

    async def hint(self, fields: Fields) -> None: ...

    async def head(self, status: int, fields: Fields, length: int | None) -> None: ...

    async def data(self, data: bytes) -> None: ...

    async def end(self) -> None: ...

    async def abort(self) -> None: ...

    async def refuse(self, *, all_later: bool) -> None: ...


def reply_to(shape: Shape, asked: Asked) -> Reply:
    """What it is answered with. Our standard output tells what was asked for."""
    sys.stdout.write(f"{asked.url}\n")
    sys.stdout.flush()
    found = shape.replies.get(asked.url) or shape.replies.get(asked.url.partition("?")[0], _NOTHING_HERE)
    # A process serves one shape.
    if found.first is not None and asked.url not in _KNOWN:
        _KNOWN.add(asked.url)
        return found.first
    return found


async def answer(reply: Reply, asked: Asked, sink: Sink) -> None:
    """Says all of the reply."""
    if reply.hints:
        await sink.hint([("Link", link) for link in reply.hints])
    await asyncio.sleep(reply.after_ms / 1000)
    if reply.trick is Trick.HANG_UP:
        await sink.abort()
        return
    if reply.trick in (Trick.REFUSE, Trick.GO_AWAY):
        await sink.refuse(all_later=reply.trick is Trick.GO_AWAY)
        return
    status, fields, body = _words(reply, asked)
    pieces = () if asked.method == "OPTIONS" else reply.pieces
    await sink.head(status, fields, None if pieces else len(body))
    if body:
        await sink.data(body)
    for pause_ms, piece in pieces:
        await asyncio.sleep(pause_ms / 1000)
        await sink.data(piece)
    if reply.trick is not Trick.STAY_OPEN:
        await sink.end()


def _words(reply: Reply, asked: Asked) -> tuple[int, Fields, bytes]:
    fields = [*reply.headers]
    if reply.body or reply.pieces:
        fields.append(("Content-Type", reply.kind))
    if asked.method == "OPTIONS":
        return 204, [_ANYBODY, ("Access-Control-Allow-Headers", "*"), ("Access-Control-Allow-Methods", "*")], b""
    if reply.trick is Trick.LOGIN and "authorization" not in asked.headers:
        return 401, [("WWW-Authenticate", 'Basic realm="Shape"')], b""
    if reply.etag is not None:
        fields.append(("ETag", reply.etag))
        if asked.headers.get("if-none-match") == reply.etag:
            return 304, fields, b""
    if reply.trick is Trick.RANGES and "range" in asked.headers:
        return _part(reply.body, asked.headers["range"], fields)
    return reply.status, fields, reply.body


def _part(body: bytes, wanted: str, fields: Fields) -> tuple[int, Fields, bytes]:
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    begin, end = int(first or 0), int(last) if last else len(body) - 1
    return 206, [*fields, ("Content-Range", f"bytes {begin}-{end}/{len(body)}")], body[begin : end + 1]
