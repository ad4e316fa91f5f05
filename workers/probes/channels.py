"""A connection that was made, plain or secured: bytes of HTTP on one side, marks in the recorder on the other."""

import time
from socket import socket
from typing import Protocol

from OpenSSL import SSL

from workers.measurement.captures_probe import HandshakeCapture, RecordHeader, SendCapture
from workers.measurement.failure import FailureKind, Stage
from workers.probes.faults import ProbeError, broken_fault
from workers.probes.loop import READABLE, WRITABLE, ready
from workers.probes.openssl import chain_of, faults_of, reason_of, take_output
from workers.probes.recorder import HopRecorder
from workers.probes.stamps import receive

_BULK_BYTES = 64 * 1024
# The first read of an answer is small, because a read is stamped with its last packet and the first is what matters.
_EDGE_BYTES = 16
_RECORD_HEADER_BYTES = 5
# Content types of TLS records, from change_cipher_spec to application_data (RFC 8446, 5.1).
_CONTENT_TYPES = range(20, 24)
_ALERT = 21


class Wire:
    """A connected non-blocking socket that notes every read and write."""

    def __init__(self, sock: socket, recorder: HopRecorder, deadline_ns: int) -> None:
        self.recorder = recorder
        self._sock = sock
        self._deadline_ns = deadline_ns

    async def read(self, size: int, *, at_once: bool = False) -> tuple[bytes, int]:
        """Up to `size` bytes, none at the end of the stream, and the index of the read. Raises ProbeError.

        `at_once` tries before it waits, for what has most likely come together with what was just read.
        """
        while True:
            if not at_once:
                await ready(self._sock, READABLE, self._deadline_ns)
            try:
                data, arrival = receive(self._sock, size)
            except BlockingIOError:
                at_once = False
                continue
            except OSError as error:
                raise broken_fault(error, self.recorder.stage) from error
            return data, self.recorder.note_read(len(data), arrival)

    async def write(self, data: bytes) -> int:
        """Sends all of it; when its last part left, read before that call: after it, another thread may run first."""
        view = memoryview(data)
        left_ns = time.monotonic_ns()
        while view:
            left_ns = time.monotonic_ns()
            try:
                sent = self._sock.send(view)
            except BlockingIOError:
                await ready(self._sock, WRITABLE, self._deadline_ns)
                continue
            except OSError as error:
                raise broken_fault(error, self.recorder.stage) from error
            view = view[sent:]
        self.recorder.sent_ns.append(left_ns)
        return left_ns


class Channel(Protocol):
    """What HTTP needs of a connection."""

    async def send(self, request: bytes) -> None: ...

    async def receive(self) -> bytes:
        """Some bytes of the answer; none at its end."""
        ...

    def turn_to(self, recorder: HopRecorder) -> None:
        """The next request over the same connection leaves its marks there."""
        ...


class PlainChannel:
    """HTTP without TLS."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._started = False

    async def send(self, request: bytes) -> None:
        started_ns = time.monotonic_ns()
        ended_ns = await self._wire.write(request)
        self._wire.recorder.send = SendCapture(started_ns=started_ns, ended_ns=ended_ns)

    async def receive(self) -> bytes:
        data, read = await self._wire.read(_BULK_BYTES if self._started else _EDGE_BYTES)
        if data:
            self._wire.recorder.note_first_byte(read)
            self._started = True
        return data

    def turn_to(self, recorder: HopRecorder) -> None:
        self._wire.recorder = recorder
        self._started = False


class RecordFramer:
    """Finds the header of each TLS record in the bytes from the wire. `wanted` is what remains of the part begun."""

    def __init__(self, recorder: HopRecorder) -> None:
        self.latest_read = 0
        self.in_header = True
        self.wanted = _RECORD_HEADER_BYTES
        self._header = b""
        self._recorder = recorder

    def feed(self, data: bytes, read: int) -> None:
        at = 0
        while at < len(data):
            part = data[at : at + self.wanted]
            at += len(part)
            self.wanted -= len(part)
            if self.in_header:
                self._feed_header(part, read)
            elif not self.wanted:
                self._begin_header()

    def turn_to(self, recorder: HopRecorder) -> None:
        """Reads are counted anew; a record that is half read goes on with the first of them."""
        self._recorder = recorder
        self.latest_read = 0

    def _feed_header(self, part: bytes, read: int) -> None:
        if not self._header:
            self.latest_read = read
        self._header += part
        if self._header[0] not in _CONTENT_TYPES or self._header[1:2] not in (b"", b"\x03"):
            raise ProbeError(FailureKind.TLS_NOT_SPOKEN, stage=self._recorder.stage)
        if self.wanted:
            return
        length = int.from_bytes(self._header[3:5])
        self._recorder.note_record(RecordHeader(content_type=self._header[0], length=length, read=self.latest_read))
        self.in_header, self.wanted = False, length
        if not length:
            self._begin_header()

    def _begin_header(self) -> None:
        self.in_header, self.wanted, self._header = True, _RECORD_HEADER_BYTES, b""


class TlsChannel:
    """HTTP over TLS. Our last flight of the handshake leaves together with the request, as a browser's does."""

    def __init__(self, wire: Wire, connection: SSL.Connection) -> None:
        self._wire = wire
        self._connection = connection
        self._framer = RecordFramer(wire.recorder)
        self._started = False
        self._ended = False

    async def shake_hands(self) -> None:
        """Raises ProbeError when the handshake fails. What is wrong with the certificate is noted, no failure here."""
        own_ns = 0
        while True:
            began_ns = time.thread_time_ns()
            done = self._advance()
            own_ns += time.thread_time_ns() - began_ns
            if done:
                break
            output = take_output(self._connection)
            if output:
                await self._wire.write(output)
            await self._feed(_BULK_BYTES)
        self._wire.recorder.handshake = self._capture(own_ns)

    async def send(self, request: bytes) -> None:
        started_ns = time.monotonic_ns()
        self._connection.sendall(request)
        ended_ns = await self._wire.write(take_output(self._connection))
        self._wire.recorder.send = SendCapture(started_ns=started_ns, ended_ns=ended_ns)

    async def receive(self) -> bytes:
        while not self._ended:
            size = _BULK_BYTES if self._started else self._framer.wanted
            if not await self._feed(size):
                return b""
            data = self._decrypted()
            if data:
                self._wire.recorder.note_first_byte(self._framer.latest_read)
                self._started = True
                return data
        return b""

    def turn_to(self, recorder: HopRecorder) -> None:
        self._wire.recorder = recorder
        self._framer.turn_to(recorder)
        self._started = False

    async def _feed(self, size: int) -> bool:
        data, read = await self._wire.read(size, at_once=not self._framer.in_header)
        if not data:
            if self._wire.recorder.stage is Stage.TLS:
                raise ProbeError(FailureKind.CONNECTION_RESET, stage=Stage.TLS)
            return False
        self._framer.feed(data, read)
        self._connection.bio_write(data)
        return True

    def _advance(self) -> bool:
        try:
            self._connection.do_handshake()
        except SSL.WantReadError:
            return False
        except SSL.Error as error:
            raise self._broken(error) from error
        return True

    def _decrypted(self) -> bytes:
        data = b""
        try:
            while True:
                data += self._connection.recv(_BULK_BYTES)
        except SSL.WantReadError:
            return data
        except SSL.ZeroReturnError:
            self._ended = True
            return data
        except SSL.Error as error:
            if data:
                return data
            raise self._broken(error) from error

    def _broken(self, error: SSL.Error) -> ProbeError:
        records = self._wire.recorder.records
        alerted = "alert" in reason_of(error) or bool(records and records[-1].content_type == _ALERT)
        kind = FailureKind.TLS_ALERT if alerted else FailureKind.TLS_FAILED
        return ProbeError(kind, reason_of(error), stage=self._wire.recorder.stage)

    def _capture(self, own_ns: int) -> HandshakeCapture:
        recorder, connection = self._wire.recorder, self._connection
        return HandshakeCapture(
            flights_sent_ns=tuple(recorder.sent_ns),
            own_ns=own_ns,
            reads=len(recorder.reads),
            version=connection.get_protocol_version_name(),
            cipher=connection.get_cipher_name(),
            protocol=connection.get_alpn_proto_negotiated().decode("ascii", "replace") or None,
            chain=chain_of(connection),
            faults=faults_of(connection),
        )
