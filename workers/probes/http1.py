"""HTTP/1.1 answers, read piece by piece as they come in (RFC 9112). No socket, no clock: bytes in, facts out.

As forgiving as browsers are with what does no harm (bare line feeds, lines without colon, values in any encoding, a
version in small letters), strict with what decides where the body ends.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from workers.measurement.connection import Header
from workers.measurement.failure import FailureKind, Stage
from workers.measurement.nouns import noun
from workers.probes.faults import ProbeError, invalid_answer, too_large_body

MAX_HEAD_BYTES = 64 * 1024
MAX_INTERIM = 16
# What is wrong with a head, in whichever HTTP.
HEAD_TOO_LARGE = f"its head is larger than {MAX_HEAD_BYTES // 1024} KiB"
HEAD_INCOMPLETE = "it ends in the middle of its head"
TOO_MANY_INTERIM = "it has too many interim answers"
_MAX_LINE_BYTES = 4096
_MAX_KNOWN_BYTES = 256
# Pages that come word by word have thousands of small chunks. Each takes microseconds from all probes under way.
_MAX_SPARE_CHUNKS, _LEAST_CHUNK_BYTES = 65_536, 64
_VERSION = b"HTTP/"
_STATUS_LINE = re.compile(rb"(?i:HTTP)/1\.([0-9]) +([1-9][0-9]{2})(?: .*)?")
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_FOLD = re.compile(rb"\n[ \t]+")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")
_UNPRINTABLE = re.compile(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff\t]")
_LENGTH = re.compile(r"[0-9]{1,18}")
_WITHOUT_BODY = frozenset({204, 304})

OnBody = Callable[[bytes], None]
# The payload without its framing, and how many bytes of what was fed belong to the body.
_Fed = tuple[list[bytes], int]


def look_away(_: bytes) -> None:
    """For answers whose body nobody looks into."""


def printable(raw: bytes) -> str:
    """Text for people out of any bytes: UTF-8 where it is, Latin-1 otherwise, control characters as U+FFFD."""
    if raw.isascii() and (text := raw.decode("ascii")).isprintable():
        return text
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return _UNPRINTABLE.sub("\ufffd", text)


@noun(frozen=True, slots=True, kw_only=True)
class Head:
    """A status line and its headers. `size_bytes` counts the head as sent, and those of interim answers before it.

    `minor` is the digit behind "HTTP/1.", but 1 for a later one: such an answer is read as one of HTTP/1.1 (RFC 9110,
    2.5).
    """

    status: int
    headers: tuple[Header, ...]
    size_bytes: int
    minor: int = 1

    def values(self, name: str) -> list[str]:
        """The values of every header of that (lower-case) name, in order."""
        return [header.value for header in self.headers if header.name.lower() == name]

    def first(self, name: str) -> str | None:
        return next(iter(self.values(name)), None)


def parse_head(raw: bytes, *, size_bytes: int) -> Head:
    """The head in `raw`. Raises ProbeError when its first line is no status line of HTTP/1."""
    line, _, rest = raw.replace(b"\r\n", b"\n").partition(b"\n")
    matched = _STATUS_LINE.fullmatch(line)
    if matched is None:
        raise invalid_answer(f"it begins with {printable(line[:60])!r}")
    headers = _headers(_FOLD.sub(b" ", rest).split(b"\n"))
    return Head(status=int(matched[2]), headers=headers, size_bytes=size_bytes, minor=min(int(matched[1]), 1))


def _headers(lines: list[bytes]) -> tuple[Header, ...]:
    read = [_known_header(line) if len(line) <= _MAX_KNOWN_BYTES else _header(line) for line in lines]
    return tuple(filter(None, read))


def _header(line: bytes) -> Header | None:
    name, colon, value = line.partition(b":")
    return Header(name=printable(name.strip()), value=printable(value.strip(b" \t"))) if colon else None


# The same site says mostly the same, and sites say alike.
_known_header = lru_cache(maxsize=4096)(_header)


class ResponseReader:
    """Feed it what comes in; `on_body` gets the payload without its framing, as it comes.

    `head` is set once the head of the final answer is whole, `complete` once the body is; `interim` are the statuses of
    answers before it. Raises ProbeError for what is no HTTP, for a head over 64 KiB and for a body over
    `max_body_bytes`.
    """

    def __init__(self, *, max_body_bytes: int, on_body: OnBody) -> None:
        self.begun = False
        self.head: Head | None = None
        self.complete = False
        self.body_bytes = 0
        self.interim: tuple[int, ...] = ()
        self._max_body_bytes = max_body_bytes
        self._on_body = on_body
        self._pending = bytearray()
        self._head_bytes = 0
        self._body: _Sized | _Chunked | _UntilClose | None = None
        self._said_more = False

    @property
    def keeps_connection(self) -> bool:
        """Whether another request may follow on the same connection (RFC 9112, 9.3). Not where more was said than the
        answer: it would be taken for the next one, that took no time."""
        if self.head is None or not self.complete or self._said_more or isinstance(self._body, _UntilClose):
            return False
        options = {option.strip().lower() for value in self.head.values("connection") for option in value.split(",")}
        return "close" not in options and (self.head.minor == 1 or "keep-alive" in options) and self.head.status != 101

    def outgoing(self) -> bytes:
        """Nothing: an answer of HTTP/1.1 needs no more words than the request."""
        return b""

    def feed(self, data: bytes) -> None:
        self.begun = True
        if self._body is not None:
            self._feed_body(data)
            return
        scanned = max(0, len(self._pending) - 3)
        self._pending += data
        self._check_beginning()
        while self.head is None and (end := _END_OF_HEAD.search(self._pending, scanned)):
            self._take_head(end.end())
            scanned = 0
        if self.head is None and self._head_bytes + len(self._pending) > MAX_HEAD_BYTES:
            raise invalid_answer(HEAD_TOO_LARGE)

    def close(self) -> None:
        """The server closed the connection. Raises ProbeError when that was too early."""
        if self.head is None:
            if not self._head_bytes + len(self._pending):
                raise ProbeError(FailureKind.CONNECTION_RESET)
            raise invalid_answer(HEAD_INCOMPLETE)
        if isinstance(self._body, _UntilClose):
            self.complete = True
        if not self.complete:
            raise ProbeError(FailureKind.DOWNLOAD_INCOMPLETE, f"after {self.body_bytes} bytes")

    def _check_beginning(self) -> None:
        """Says at once that something else answers, instead of waiting for an end of head that never comes."""
        start = bytes(self._pending[: len(_VERSION)])
        if not _VERSION.startswith(start.upper()):
            line = bytes(self._pending[:40]).partition(b"\n")[0].rstrip()
            raise invalid_answer(f"it begins with {printable(line)!r}")

    def _take_head(self, end: int) -> None:
        raw = bytes(self._pending[:end])
        rest = bytes(self._pending[end:])
        self._pending.clear()
        self._head_bytes += end
        if self._head_bytes > MAX_HEAD_BYTES:
            raise invalid_answer(HEAD_TOO_LARGE)
        head = parse_head(raw, size_bytes=self._head_bytes)
        if head.status < 200 and head.status != 101:
            self.interim += (head.status,)
            if len(self.interim) > MAX_INTERIM:
                raise invalid_answer(TOO_MANY_INTERIM)
            self._pending += rest
            if rest:
                self._check_beginning()
            return
        self.head = head
        self._body = _framing(head)
        if isinstance(self._body, _Sized) and self._body.left > self._max_body_bytes:
            raise too_large_body(self._max_body_bytes)
        self._feed_body(rest)

    def _feed_body(self, data: bytes) -> None:
        if self.complete or self._body is None:
            self._said_more = self._said_more or bool(data)
            return
        payloads, taken = self._body.feed(data)
        self._said_more = taken < len(data)
        for payload in payloads:
            self.body_bytes += len(payload)
            if self.body_bytes > self._max_body_bytes:
                raise too_large_body(self._max_body_bytes)
            self._on_body(payload)
        self.complete = self._body.done


@dataclass(slots=True)
class _Sized:
    """A body of a known length."""

    left: int

    @property
    def done(self) -> bool:
        return self.left == 0

    def feed(self, data: bytes) -> _Fed:
        payload = data[: self.left]
        self.left -= len(payload)
        return ([payload] if payload else []), len(payload)


@dataclass(slots=True)
class _UntilClose:
    """A body that ends when the connection does."""

    done: bool = False

    def feed(self, data: bytes) -> _Fed:
        return ([data] if data else []), len(data)


class _Chunked:
    """A body in chunks (RFC 9112, 7.1): lines with sizes, data, an empty line after each, then trailers."""

    def __init__(self) -> None:
        self.done = False
        self._left = 0
        self._line = bytearray()
        self._take_line = self._take_size
        self._trailer_bytes = 0
        self._chunks = self._body_bytes = 0

    def feed(self, data: bytes) -> _Fed:
        payloads: list[bytes] = []
        at = 0
        while at < len(data) and not self.done:
            if self._left:
                payload = data[at : at + self._left]
                payloads.append(payload)
                self._left -= len(payload)
                at += len(payload)
            else:
                at = self._feed_line(data, at)
        return payloads, at

    def _feed_line(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at) + 1 or len(data)
        self._line += data[at:end]
        if len(self._line) > _MAX_LINE_BYTES:
            raise invalid_answer("a chunk's size is a line without end", stage=Stage.DOWNLOAD)
        if self._line.endswith(b"\n"):
            line = bytes(self._line).rstrip(b"\r\n")
            self._line.clear()
            self._take_line(line)
        return end

    def _take_size(self, line: bytes) -> None:
        matched = _CHUNK_SIZE.fullmatch(line)
        if matched is None:
            raise invalid_answer(f"a chunk's size reads {printable(line[:40])!r}", stage=Stage.DOWNLOAD)
        self._left = int(matched[1], 16)
        self._chunks += 1
        self._body_bytes += self._left
        if self._chunks > _MAX_SPARE_CHUNKS + self._body_bytes // _LEAST_CHUNK_BYTES:
            raise invalid_answer("a flood of chunks that bring next to nothing", stage=Stage.DOWNLOAD)
        self._take_line = self._take_gap if self._left else self._take_trailer

    def _take_gap(self, line: bytes) -> None:
        if line:
            raise invalid_answer("a chunk is longer than it says", stage=Stage.DOWNLOAD)
        self._take_line = self._take_size

    def _take_trailer(self, line: bytes) -> None:
        self._trailer_bytes += len(line)
        if self._trailer_bytes > MAX_HEAD_BYTES:
            raise invalid_answer(f"its trailer is larger than {MAX_HEAD_BYTES // 1024} KiB", stage=Stage.DOWNLOAD)
        self.done = not line


def _framing(head: Head) -> _Sized | _Chunked | _UntilClose:
    """Where the body ends (RFC 9112, 6.3). Raises ProbeError for lengths that contradict each other."""
    if head.status in _WITHOUT_BODY or head.status < 200:
        return _Sized(0)
    codings = ",".join(head.values("transfer-encoding")).lower()
    if codings:
        return _Chunked() if codings.rpartition(",")[2].strip() == "chunked" else _UntilClose()
    lengths = {length.strip() for value in head.values("content-length") for length in value.split(",")}
    if not lengths:
        return _UntilClose()
    length = lengths.pop()
    if lengths or not _LENGTH.fullmatch(length):
        raise invalid_answer(f"its Content-Length reads {length[:40]!r}" + (" and others" if lengths else ""))
    return _Sized(int(length))
