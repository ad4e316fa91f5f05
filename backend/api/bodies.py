"""Request bodies of agents: read up to a bound, unpacked up to a bound, cut into lines."""

import zlib

from django.http import HttpRequest, UnreadablePostError

MAX_COMPRESSED_BYTES = 4 * 1024 * 1024
MAX_BYTES = 32 * 1024 * 1024
MAX_LINES = 500


class BodyError(ValueError):
    """The body cannot be taken; `status` is the HTTP status that says so, the text the sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def read(request: HttpRequest, limit: int) -> bytes:
    """The body as it came. Raises BodyError beyond the limit, whatever the Content-Length says."""
    try:
        body: bytes = request.read(limit + 1)
    except UnreadablePostError as error:
        raise BodyError(400, "The body ended before it was whole.") from error
    if len(body) > limit:
        raise BodyError(413, f"The body is larger than {limit} bytes; send less at once.")
    return body


def read_lines(request: HttpRequest) -> list[bytes]:
    """The lines of a body, gzip or plain; empty ones are left out. Raises BodyError."""
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ("gzip", "identity"):
        raise BodyError(415, "Only gzip or no Content-Encoding is understood.")
    body = read(request, MAX_COMPRESSED_BYTES)
    lines = [line for line in (gunzip(body) if encoding == "gzip" else body).split(b"\n") if line.strip()]
    if len(lines) > MAX_LINES:
        raise BodyError(413, f"There are {len(lines)} lines; send at most {MAX_LINES} at once.")
    return lines


def gunzip(body: bytes) -> bytes:
    """One gzip member, unpacked. Raises BodyError for what is damaged, cut off, or larger than 32 MiB unpacked."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        unpacked = unpacker.decompress(body, MAX_BYTES)
    except zlib.error as error:
        raise BodyError(400, f"The body is not gzip: {error}.") from error
    if unpacker.unconsumed_tail:
        raise BodyError(413, f"The body unpacks to more than {MAX_BYTES} bytes; send less at once.")
    if not unpacker.eof or unpacker.unused_data:
        raise BodyError(400, "The body is not one whole gzip member.")
    return unpacked
