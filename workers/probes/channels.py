"""A connection that was made, plain or secured: bytes of HTTP on one side, marks in the recorder on the other."""

import time
from typing import Protocol

from OpenSSL import SSL

from workers.measurement.captures_probe import HandshakeCapture
from workers.measurement.failure import FailureKind, Stage
from workers.probes.bindings import resumed, staple, write_early
from workers.probes.faults import ProbeError
from workers.probes.openssl import Party, chain_of, reason_of
from workers.probes.recorder import HopRecorder
from workers.probes.records import RecordFramer, record_bytes
from workers.probes.wire import Wire

_BULK_BYTES = 64 * 1024
# The first read of an answer is small, because a read is stamped with its last packet and the first is what matters.
_EDGE_BYTES = 16
_ALERT = 21
# OpenSSL's words for the alert of a server that speaks none of the protocols that were offered (RFC 7301).
_NO_PROTOCOL = "no application protocol"
# Far beyond what a server's side of a handshake needs (OpenSSL itself takes a chain of 100 KB): the rest is malice.
_MAX_HANDSHAKE_BYTES = 256 * 1024
# Of ours to what is none of an answer: a further handshake takes two, and no server needs many.
_MAX_REPLIES = 20
# Handshake messages of one connection, tickets and new keys among them: honest servers send a dozen.
_MAX_HEARD = 512
# Pages that come word by word have thousands of small records. Each takes microseconds from all probes under way.
_MAX_SPARE_RECORDS, _LEAST_RECORD_BYTES = 65_536, 64


class Channel(Protocol):
    """What HTTP needs of a connection."""

    async def send(self, request: bytes) -> None: ...

    async def receive(self) -> bytes:
        """Some bytes of the answer; none at its end."""
        ...

    @property
    def latest_read(self) -> int:
        """The index of the read with the first byte of what was just received."""
        ...

    def until(self, deadline_ns: int) -> None:
        """From now on, waits end at this instant with DeadlineError."""
        ...

    def turn_to(self, recorder: HopRecorder) -> None:
        """The next request over the same connection leaves its marks there."""
        ...


class PlainChannel:
    """HTTP without TLS."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._latest_read = 0

    async def send(self, request: bytes) -> None:
        started_ns = time.monotonic_ns()
        ended_ns = await self._wire.write(request)
        self._wire.recorder.note_sent(started_ns, ended_ns)

    async def receive(self) -> bytes:
        begun = self._wire.recorder.first_read is not None
        data, self._latest_read = await self._wire.read(_BULK_BYTES if begun else _EDGE_BYTES, whole_packet=not begun)
        return data

    @property
    def latest_read(self) -> int:
        return self._latest_read

    def until(self, deadline_ns: int) -> None:
        self._wire.deadline_ns = deadline_ns

    def turn_to(self, recorder: HopRecorder) -> None:
        self._wire.recorder = recorder


class TlsChannel:
    """HTTP over TLS. Our last flight of the handshake leaves together with the request, as a browser's does."""

    def __init__(self, wire: Wire, party: Party) -> None:
        self._wire = wire
        self._party = party
        self._connection, self._pipe = party.connection, party.pipe
        self._framer = RecordFramer(wire.recorder)
        self._unread = b""
        self._replies = 0
        self._said_bytes = 0
        # What came of a record that is not whole yet: OpenSSL could do nothing with it.
        self._held = b""
        # What OpenSSL met behind the bytes that it had decrypted: told when those have been read.
        self._spoilt: SSL.Error | None = None
        wire.recorder.notes = party.notes

    async def shake_hands(self, early: bytes = b"", deadline_ns: int | None = None) -> None:
        """Raises ProbeError when the handshake fails. What is wrong with the certificate is noted, no failure here.

        `early` is a request that goes along with the ClientHello where the session allows it. `deadline_ns` is the
        wire's deadline from the server's first word on.
        """
        own_ns = 0
        recorder = self._wire.recorder
        if early:
            recorder.begin_exchange(time.monotonic_ns())
            write_early(self._connection, early)
        while True:
            began_ns = time.thread_time_ns()
            done = self._advance()
            own_ns += time.thread_time_ns() - began_ns
            if done:
                break
            output = self._pipe.take()
            if output:
                await self._say(output)
            await self._feed(_BULK_BYTES)
            if recorder.records and deadline_ns is not None:
                self._wire.deadline_ns = deadline_ns
            if recorder.received_bytes > _MAX_HANDSHAKE_BYTES:
                raise ProbeError(FailureKind.TLS_FAILED, f"more than {_MAX_HANDSHAKE_BYTES} bytes", stage=Stage.TLS)
        recorder.handshake = self._capture(own_ns)

    async def _say(self, output: bytes) -> None:
        """A flight of the handshake. A request that went along with the first one has been sent with it."""
        recorder = self._wire.recorder
        left_ns = await self._wire.write(output)
        if recorder.hello_bytes is None:
            recorder.hello_bytes = record_bytes(output)
            recorder.note_sent(left_ns, left_ns)

    async def finish_handshake(self) -> None:
        """Sends our last flight at once, where no request goes along with it. What came early can be read then."""
        output = self._pipe.take()
        if output:
            await self._wire.write(output)
        self._unread = self._decrypted()

    async def send(self, request: bytes) -> None:
        started_ns = time.monotonic_ns()
        try:
            self._pipe.write(request)
        except SSL.Error as error:
            evidence = f"its TLS had ended: {reason_of(self._spoilt or error)}"
            raise ProbeError(FailureKind.CONNECTION_RESET, evidence) from error
        ended_ns = await self._wire.write(self._pipe.take())
        self._wire.recorder.note_sent(started_ns, ended_ns)

    async def receive(self) -> bytes:
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        if self._spoilt is not None:
            raise self._broken(self._spoilt)
        begun = self._wire.recorder.first_read is not None
        while not self._pipe.has_ended:
            if not await (self._feed(_BULK_BYTES) if begun else self._feed_edge()):
                return b""
            if self._held:
                continue
            data = self._decrypted()
            self._said_bytes += len(data)
            self._bear_with_it()
            if data:
                return data
            await self._reply()
        return b""

    def _bear_with_it(self) -> None:
        """Not for long with a server that keeps OpenSSL busy and says next to nothing."""
        notes = self._party.notes
        spare = notes.records - self._said_bytes // _LEAST_RECORD_BYTES
        if notes.heard > _MAX_HEARD or spare > _MAX_SPARE_RECORDS:
            evidence = "a flood of records that bring next to nothing"
            raise ProbeError(FailureKind.RESPONSE_INVALID, evidence, stage=self._wire.recorder.stage)

    async def _reply(self) -> None:
        """What OpenSSL has to say to the server's TLS: to a new handshake of TLS 1.2, which browsers follow too, or to
        a new key."""
        output = self._pipe.take()
        if output:
            self._replies += 1
            if self._replies > _MAX_REPLIES:
                raise ProbeError(FailureKind.RESPONSE_INVALID, "one handshake after the other")
            await self._wire.write(output)

    @property
    def latest_read(self) -> int:
        return self._framer.latest_read

    def until(self, deadline_ns: int) -> None:
        self._wire.deadline_ns = deadline_ns

    def turn_to(self, recorder: HopRecorder) -> None:
        self._wire.recorder = recorder
        self._framer.turn_to(recorder)

    async def _feed_edge(self) -> bool:
        """The rest of a record and no more, since the next may be the answer's first; or what begins one together with
        all that came in the same packet."""
        return await self._feed(self._framer.wanted, whole_packet=self._framer.at_edge)

    async def _feed(self, size: int, *, whole_packet: bool = False) -> bool:
        data, read = await self._wire.read(size, whole_packet=whole_packet)
        if not data:
            if self._wire.recorder.stage is Stage.TLS:
                raise ProbeError(FailureKind.CONNECTION_RESET, stage=Stage.TLS)
            return False
        self._held += data
        if self._framer.feed(data, read):
            self._pipe.put(self._held)
            self._held = b""
        return True

    def _advance(self) -> bool:
        self._party.listen()
        try:
            return self._pipe.shake()
        except SSL.Error as error:
            raise self._broken(error) from error

    def _decrypted(self) -> bytes:
        data = b""
        self._party.listen()
        try:
            while part := self._pipe.read():
                data += part
        except SSL.Error as error:
            self._spoilt = error
            if not data:
                raise self._broken(error) from error
        return data

    def _broken(self, error: SSL.Error) -> ProbeError:
        records, reason = self._wire.recorder.records, reason_of(error)
        alerted = "alert" in reason or bool(records and records[-1].content_type == _ALERT)
        kind = FailureKind.TLS_ALERT if alerted else FailureKind.TLS_FAILED
        if reason.endswith(_NO_PROTOCOL):
            kind = FailureKind.HTTP1_NOT_SPOKEN
        return ProbeError(kind, reason, stage=self._wire.recorder.stage)

    def _capture(self, own_ns: int) -> HandshakeCapture:
        recorder, connection = self._wire.recorder, self._connection
        version = connection.get_protocol_version_name()
        chain = chain_of(self._party, version)
        self._party.keep_verdict(chain)
        return HandshakeCapture(
            flights_sent_ns=tuple(write.at_ns for write in recorder.writes),
            own_ns=own_ns,
            reads=len(recorder.reads),
            version=version,
            cipher=connection.get_cipher_name(),
            protocol=connection.get_alpn_proto_negotiated().decode("ascii", "replace") or None,
            chain=chain,
            faults=tuple(self._party.notes.faults),
            group=connection.get_group_name(),
            resumed=resumed(connection),
            staple=staple(connection),
        )
