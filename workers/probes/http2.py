"""HTTP/2 on a connection that was made (RFC 9113): one GET after the other. No socket, no clock: bytes in, bytes out.

It has the face of `http1.ResponseReader`, and `outgoing()` besides: what must be sent before more can come.
Frames are parted here, so that a hostile server is met by our own bounds; what they mean is told by h2.
"""

import re
from dataclasses import dataclass

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, InformationalResponseReceived, ResponseReceived, StreamEnded, StreamReset
from h2.exceptions import DenialOfServiceError, H2Error
from h2.settings import SettingCodes, Settings

from workers.measurement.connection import Header
from workers.measurement.failure import FailureKind, Stage
from workers.probes.faults import ProbeError, invalid_answer, too_large_body
from workers.probes.http1 import (
    HEAD_INCOMPLETE,
    HEAD_TOO_LARGE,
    MAX_HEAD_BYTES,
    MAX_INTERIM,
    TOO_MANY_INTERIM,
    Head,
    OnBody,
    printable,
)
from workers.probes.request_fields import CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES, Fields

_DEFAULT_WINDOW_BYTES = 65535
_MAX_FRAME_BYTES = 16384
_FRAME_HEADER_BYTES = 9
# Frames that bring no byte of the answer: a handful on any honest connection (settings, a ping, a window update).
_MAX_IDLE_FRAMES = 256
_DATA, _HEADERS, _RESET, _SETTINGS, _PUSH, _PING, _GOAWAY, _WINDOW, _CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
# What h2 shall see; the rest (priorities, extensions) may be ignored, and GOAWAY is read here (see `_take_goodbye`).
_KNOWN = frozenset({_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _WINDOW, _CONTINUATION})
# Frames that bring a part of a body: so many of a server that flushes all that it writes, besides those of usual size.
_MAX_SPARE_FRAMES, _LEAST_FRAME_BYTES = 4096, 512
_ACK = 1
_PADDED = 8
_FIRST_STREAM = 1
_STREAM_BITS = 0x7FFFFFFF
_STATUS = re.compile("[2-9][0-9]{2}")
# There is no switching of protocols here: 101 is no status of HTTP/2 (RFC 9113, 8.6).
_INTERIM_STATUS = re.compile("1(?!01)[0-9]{2}")


@dataclass(frozen=True, slots=True)
class _Frame:
    kind: int
    flags: int
    raw: bytes

    @property
    def size(self) -> int:
        """Bytes of its payload."""
        return len(self.raw) - _FRAME_HEADER_BYTES


class Http2Conversation:
    """Feed it what comes in, send what `outgoing()` gives; `on_body` gets the payload as it comes.

    `begun` is set with the first byte of an answer that could be read, final or not: settings and the like come before
    it. `head` is set once the head of the final answer is whole, `complete` once the body is. Raises ProbeError for
    what is no HTTP/2, for a head over 64 KiB, a body over `max_body_bytes`, and floods of frames.

    `refused` tells of the latest request alone: the server reset it, before any answer, and said nothing of the others.

    After a complete answer `hear` what the server says without being asked, and `ask_again` what may be asked then.
    """

    def __init__(self, fields: Fields, *, max_body_bytes: int, on_body: OnBody) -> None:
        self.begun = False
        self.head: Head | None = None
        self.complete = False
        self.refused = False
        self.body_bytes = 0
        self.interim: tuple[int, ...] = ()
        self._max_body_bytes = max_body_bytes
        self._on_body = on_body
        self._pending = bytearray()
        self._greeted = False
        self._stream = _FIRST_STREAM
        self._head_bytes = 0
        self._idle_frames = 0
        self._body_frames = 0
        self._leaving = False
        self._fields = fields
        self._held = False
        self._h2 = _greeting(fields)

    @property
    def keeps_connection(self) -> bool:
        """Whether another request may follow on the same connection."""
        return self.complete and not self._leaving

    def outgoing(self) -> bytes:
        """What is to be sent now: the greeting with the request, then answers to what came. Empty when nothing.

        Once the answer is complete nobody waits for a word of ours, and the server may be gone.
        """
        if self.complete:
            return b""
        if self._held and not self._allows_none:
            self._held = False
            self._ask()
        return self._h2.data_to_send()

    @property
    def not_taken(self) -> bool:
        """Whether the server allows no requests, and has not answered the one that left before it had said so."""
        return self._allows_none and not self.begun

    @property
    def _allows_none(self) -> bool:
        """RFC 9113, 6.5.2: for short whiles at most."""
        return self._h2.remote_settings.max_concurrent_streams == 0

    def feed(self, data: bytes) -> None:
        self._pending += data
        if not self._greeted:
            self._check_beginning()
        while not self.complete and (frame := self._next_frame()) is not None:
            self._take(frame)

    def hear(self, data: bytes = b"") -> None:
        """What the server says between two answers: mostly good-bye, and then it keeps no connection."""
        self._pending += data
        while (frame := self._next_frame()) is not None:
            self._take(frame)

    def ask_again(self, fields: Fields) -> None:
        """The next request, as soon as `outgoing()` is sent. Only where `keeps_connection` says so."""
        self._fields = fields
        self.begun, self.head, self.complete = False, None, False
        self.body_bytes = self._body_frames = self._head_bytes = 0
        self.interim = ()
        self._held = self._allows_none
        if not self._held:
            self._ask()

    def _ask(self) -> None:
        self._stream = self._h2.get_next_available_stream_id()
        try:
            self._h2.send_headers(self._stream, self._fields, end_stream=True)
        except H2Error as error:
            raise invalid_answer(f"HTTP/2: {printable(str(error).encode()[:120])}", stage=Stage.SEND) from error

    def close(self) -> None:
        """The server closed the connection. Raises ProbeError when that was too early."""
        if self.complete:
            return
        if self.head is not None:
            raise ProbeError(FailureKind.DOWNLOAD_INCOMPLETE, f"after {self.body_bytes} bytes")
        if self._head_bytes or self._pending:
            raise invalid_answer(HEAD_INCOMPLETE)
        if self.not_taken:
            raise self.untaken()
        raise ProbeError(FailureKind.CONNECTION_RESET)

    def _check_beginning(self) -> None:
        """A server says its settings first (RFC 9113, 3.4); what begins otherwise is told as soon as it can be."""
        start = bytes(self._pending[:_FRAME_HEADER_BYTES])
        if start.startswith(b"HTTP/"):
            raise invalid_answer(f"HTTP/2 was agreed on, but it begins with {printable(bytes(self._pending[:40]))!r}")
        if len(start) == _FRAME_HEADER_BYTES:
            if start[3] != _SETTINGS or start[4] & _ACK:
                raise invalid_answer("it does not begin with settings of HTTP/2")
            self._greeted = True

    def _next_frame(self) -> _Frame | None:
        """The next whole frame, or as much of the body as has come: it can be read before its frame is whole."""
        if len(self._pending) < _FRAME_HEADER_BYTES:
            return None
        size, kind, flags = int.from_bytes(self._pending[:3]), self._pending[3], self._pending[4]
        if size > _MAX_FRAME_BYTES:
            raise invalid_answer(f"a frame of HTTP/2 has {size} bytes, more than the {_MAX_FRAME_BYTES} we allow")
        stream = int.from_bytes(self._pending[5:_FRAME_HEADER_BYTES]) & _STREAM_BITS
        self.begun = self.begun or (kind == _HEADERS and stream == self._stream)
        there = len(self._pending) - _FRAME_HEADER_BYTES
        if there >= size:
            self._count_body(kind)
            raw = bytes(self._pending[: _FRAME_HEADER_BYTES + size])
            del self._pending[: len(raw)]
        elif there and kind == _DATA and not flags & _PADDED:
            raw = self._cut_off(there, size)
        else:
            return None
        return _Frame(kind=raw[3], flags=raw[4], raw=raw)

    def _count_body(self, kind: int) -> None:
        self._body_frames += kind == _DATA
        if self._body_frames > _MAX_SPARE_FRAMES + self.body_bytes // _LEAST_FRAME_BYTES:
            raise invalid_answer("a flood of frames that bring next to nothing", stage=self._stage)

    def _cut_off(self, there: int, size: int) -> bytes:
        """What has come of a frame with a part of the body, as a frame of its own; the rest stays as another."""
        stream = bytes(self._pending[5:_FRAME_HEADER_BYTES])
        payload = bytes(self._pending[_FRAME_HEADER_BYTES:])
        rest = (size - there).to_bytes(3) + bytes(self._pending[3:_FRAME_HEADER_BYTES])
        self._pending[:] = rest
        return there.to_bytes(3) + bytes((_DATA, 0)) + stream + payload

    def _take(self, frame: _Frame) -> None:
        self._count(frame)
        if frame.kind == _GOAWAY:
            self._take_goodbye(frame)
        elif frame.kind == _PUSH:
            raise invalid_answer("it pushes although we refused that")
        elif frame.kind in _KNOWN:
            for event in self._events(frame):
                self._handle(event)

    def _count(self, frame: _Frame) -> None:
        if frame.kind in (_HEADERS, _CONTINUATION):
            self._head_bytes += len(frame.raw) if self.head is None else frame.size
            if self._head_bytes > MAX_HEAD_BYTES:
                raise invalid_answer(HEAD_TOO_LARGE)
        elif frame.kind != _DATA or not frame.size:
            self._idle_frames += 1
            if self._idle_frames > _MAX_IDLE_FRAMES:
                raise invalid_answer("a flood of frames that bring nothing", stage=self._stage)

    def _events(self, frame: _Frame) -> list[Event]:
        try:
            return self._h2.receive_data(frame.raw)
        except DenialOfServiceError as error:
            raise invalid_answer(HEAD_TOO_LARGE) from error
        except (H2Error, ValueError) as error:
            raise invalid_answer(f"HTTP/2: {printable(str(error).encode()[:120])}", stage=self._stage) from error

    @property
    def _stage(self) -> Stage:
        return Stage.WAIT if self.head is None else Stage.DOWNLOAD

    def _take_goodbye(self, frame: _Frame) -> None:
        """A server that leaves in good manners still answers what it took on; h2 would hear nothing more of it."""
        self._leaving = True
        last = int.from_bytes(frame.raw[9:13]) & _STREAM_BITS
        code = int.from_bytes(frame.raw[13:17])
        if self.complete:
            return
        if frame.size < 8 or last < self._stream or code != ErrorCodes.NO_ERROR:
            raise self._broken_off("GOAWAY", code)

    def _broken_off(self, frame: str, code: int) -> ProbeError:
        kind = FailureKind.CONNECTION_RESET if self.head is None else FailureKind.DOWNLOAD_INCOMPLETE
        name = ErrorCodes(code).name if code in list(ErrorCodes) else str(code)
        return ProbeError(kind, f"{frame} of HTTP/2 with {name}", stage=self._stage)

    def _handle(self, event: Event) -> None:
        if self.complete:
            return
        match event:
            case InformationalResponseReceived() | ResponseReceived():
                self._take_head(event)
            case DataReceived():
                self._h2.acknowledge_received_data(event.flow_controlled_length or 0, self._stream)
                self._take_body(event.data or b"")
            case StreamEnded():
                self.complete = True
            case StreamReset(stream_id=self._stream, error_code=ErrorCodes.REFUSED_STREAM) if self.not_taken:
                # Nothing was done for it (RFC 9113, 8.7), so it is asked again once the server allows it.
                self._held = True
            case StreamReset(stream_id=self._stream):
                self.refused = not self.begun
                raise self._broken_off("RST_STREAM", int(event.error_code or 0))

    def _take_head(self, event: InformationalResponseReceived | ResponseReceived) -> None:
        pairs = [(printable(bytes(name)), printable(bytes(value))) for name, value in event.headers]
        status = dict(pairs)[":status"]
        if isinstance(event, InformationalResponseReceived):
            self._take_interim(status)
            return
        if not _STATUS.fullmatch(status):
            raise invalid_answer(f"its status reads {status[:20]!r}")
        headers = tuple(Header(name=name, value=value) for name, value in pairs if not name.startswith(":"))
        self.head = Head(status=int(status), headers=headers, size_bytes=self._head_bytes)
        length = self.head.first("content-length") or ""
        if length.isascii() and length.isdigit() and int(length[:18]) > self._max_body_bytes:
            raise too_large_body(self._max_body_bytes)

    def _take_interim(self, status: str) -> None:
        if not _INTERIM_STATUS.fullmatch(status):
            raise invalid_answer(f"its status reads {status[:20]!r}")
        self.interim += (int(status),)
        if len(self.interim) > MAX_INTERIM:
            raise invalid_answer(TOO_MANY_INTERIM)

    def _take_body(self, data: bytes) -> None:
        self.body_bytes += len(data)
        if self.body_bytes > self._max_body_bytes:
            raise too_large_body(self._max_body_bytes)
        if data:
            self._on_body(data)

    def untaken(self) -> ProbeError:
        """What a request came to while `not_taken`."""
        return ProbeError(FailureKind.REQUEST_NOT_TAKEN, "its HTTP/2 settings say MAX_CONCURRENT_STREAMS 0")


def _greeting(fields: Fields) -> H2Connection:
    """A connection whose first words are ours: preface, settings, a wide window, the request."""
    h2 = H2Connection(H2Configuration(client_side=True, header_encoding=None))
    h2.local_settings = Settings(
        client=True,
        initial_values={
            SettingCodes.ENABLE_PUSH: 0,
            SettingCodes.INITIAL_WINDOW_SIZE: STREAM_WINDOW_BYTES,
            SettingCodes.MAX_HEADER_LIST_SIZE: MAX_HEAD_BYTES,
        },
    )
    h2.initiate_connection()
    h2.increment_flow_control_window(CONNECTION_WINDOW_BYTES - _DEFAULT_WINDOW_BYTES)
    h2.send_headers(_FIRST_STREAM, fields, end_stream=True)
    return h2
