"""HTTP/3 over QUIC: one GET on a connection of its own, driven by our own loop over a socket with stamped arrivals.

A datagram is a read, and one that we send a write: what they mean is computed as for any other connection.
"""

import os
import re
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.events import HandshakeCompleted, ProtocolNegotiated, QuicEvent, StreamDataReceived, StreamReset
from aioquic.quic.packet import QuicErrorCode

from workers.measurement.captures_probe import HandshakeCapture, TrialCapture
from workers.measurement.connection import Header
from workers.measurement.evidence import CertificateFault, Trial
from workers.measurement.failure import FailureKind, Stage
from workers.measurement.target import Target
from workers.measurement.tls_records import TLS13
from workers.probes.bindings import Notes
from workers.probes.faults import TIMEOUTS, ProbeError, broken_fault, connect_fault, invalid_answer
from workers.probes.http1 import HEAD_TOO_LARGE, MAX_HEAD_BYTES, MAX_INTERIM, TOO_MANY_INTERIM, Head, printable
from workers.probes.loop import READABLE, WRITABLE, DeadlineError, ready
from workers.probes.quic import Http3, Quic
from workers.probes.recorder import ExchangeMarks, HopRecorder
from workers.probes.request_fields import Fields, request_fields
from workers.probes.stamps import read_clocks, receive, stamp_arrivals

# As much of a body as tells how it comes. More would cost a loop that others share a second of arithmetic.
ENOUGH_BODY_BYTES = 128 * 1024
_MAX_DATAGRAM_BYTES = 65535
_MAX_DATAGRAMS = 1024
_BATCH = 16
# How long nobody may answer: UDP that is blocked is mostly dropped in silence. Two lost datagrams are forgiven.
_MIN_PATIENCE_NS = 1_500_000_000
_PATIENCE_RTTS = 8
_MIN_WAIT_NS = 1_000_000
# Alerts of TLS are told as codes of QUIC (RFC 9001, 4.8).
_ALERTS = range(0x100, 0x200)
_ADVERTISED = re.compile(r'(?:^|,)\s*h3=":([0-9]{1,5})"')

T = TypeVar("T")
Judge = Callable[[tuple[bytes, ...], str], tuple[CertificateFault, ...]]


def advertised_port(alternatives: Iterable[str]) -> int | None:
    """The port at which `Alt-Svc` headers say that this host speaks HTTP/3 (RFC 7838); None when they do not."""
    found = (_ADVERTISED.search(value) for value in alternatives)
    return next((int(match[1]) for match in found if match), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Http3Asking:
    """What is asked, where. `address` has been judged; `rtt_us` is the round trip to it, if known.

    `headers` are the monitor's own: a server whose certificate is at fault gets none of them.
    """

    target: Target
    address: str
    port: int
    user_agent: str
    headers: tuple[Header, ...] = ()
    rtt_us: int | None = None
    ignore_certificate_errors: bool = False

    def fields(self, faults: tuple[CertificateFault, ...]) -> Fields:
        trusted = not faults or self.ignore_certificate_errors
        return request_fields(self.target, self.headers if trusted else (), self.user_agent)

    @property
    def patience_ns(self) -> int:
        return max(_MIN_PATIENCE_NS, _PATIENCE_RTTS * (self.rtt_us or 0) * 1000)


async def http3_trial(asking: Http3Asking, judge: Judge, deadline_ns: int) -> TrialCapture:
    """One connection and its answer, or why there was none. Never raises for what a server does.

    `judge` says what is wrong with a chain (DER) for a host; a bad one is noted and the request sent all the same.
    """
    before = read_clocks()
    recorder = HopRecorder(asking.target)
    recorder.port, recorder.address, recorder.stage = asking.port, asking.address, Stage.CONNECT
    failure = None
    try:
        with _socket(asking.address) as sock:
            await _Talk(asking, sock, recorder, judge).run(deadline_ns)
    except DeadlineError:
        failure = ProbeError(TIMEOUTS[recorder.stage], "over UDP").failure
    except ProbeError as error:
        failure = error.failure
    except OSError as error:
        where = f"{asking.address} port {asking.port} over UDP"
        failure = (broken_fault(error, recorder.stage) if recorder.reads else connect_fault(error, where)).failure
    recorder.ended_ns = time.monotonic_ns()
    return TrialCapture(trial=Trial.HTTP3, hop=recorder.capture(), before=before, after=read_clocks(), failure=failure)


def _socket(address: str) -> socket.socket:
    """Connected later: then only this peer is heard, and a port that is closed is told."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    stamp_arrivals(sock)
    return sock


class _Answer:
    """What came of the answer so far."""

    def __init__(self) -> None:
        self.begun = False
        self.head: Head | None = None
        self.body_bytes = 0
        self.interim: tuple[int, ...] = ()
        self.complete = False
        self._stream_bytes = 0

    def note_stream(self, size: int) -> None:
        """So many bytes came on its stream, heads and framing among them."""
        self.begun = True
        self._stream_bytes += size
        if self.head is None and self._stream_bytes > MAX_HEAD_BYTES + ENOUGH_BODY_BYTES:
            raise invalid_answer(HEAD_TOO_LARGE)

    def take(self, events: list[H3Event]) -> None:
        payload_bytes = sum(len(event.data) for event in events if isinstance(event, DataReceived))
        for event in events:
            if isinstance(event, HeadersReceived) and self.head is None:
                self._take_head(event, self._stream_bytes - payload_bytes)
            elif isinstance(event, DataReceived):
                self.body_bytes += len(event.data)
            if isinstance(event, HeadersReceived | DataReceived) and event.stream_ended:
                self.complete = True

    def _take_head(self, event: HeadersReceived, size_bytes: int) -> None:
        pairs = [(printable(bytes(name)), printable(bytes(value))) for name, value in event.headers]
        status = int(dict(pairs)[":status"])
        if status < 200:
            self.interim += (status,)
            if len(self.interim) > MAX_INTERIM:
                raise invalid_answer(TOO_MANY_INTERIM)
            return
        if size_bytes > MAX_HEAD_BYTES:
            raise invalid_answer(HEAD_TOO_LARGE)
        headers = tuple(Header(name=name, value=value) for name, value in pairs if not name.startswith(":"))
        self.head = Head(status=status, headers=headers, size_bytes=size_bytes)


class _Talk:
    """A connection from its first datagram to the end of the answer."""

    def __init__(self, asking: Http3Asking, sock: socket.socket, recorder: HopRecorder, judge: Judge) -> None:
        self._asking = asking
        self._sock = sock
        self._recorder = recorder
        self._judge = judge
        self._peer = (asking.address, asking.port)
        self._quic = Quic(asking.target.host, asking.rtt_us)
        self._http: Http3 | None = None
        self._answer = _Answer()
        self._marks: ExchangeMarks | None = None
        self._datagrams = 0
        self._own_ns = 0
        recorder.notes = Notes(messages=self._quic.messages)

    async def run(self, deadline_ns: int) -> None:
        """Raises ProbeError, DeadlineError, or OSError from the socket."""
        code = self._sock.connect_ex(self._peer)
        if code:
            raise OSError(code, os.strerror(code))
        self._quic.connect(self._peer, now=time.monotonic())
        try:
            await self._transmit(deadline_ns)
            self._recorder.hello_bytes = sum(write.size for write in self._recorder.writes)
            patient_until_ns = min(deadline_ns, time.monotonic_ns() + self._asking.patience_ns)
            while not self._is_over():
                await self._wait(deadline_ns if self._recorder.reads else patient_until_ns)
                await self._transmit(deadline_ns)
        finally:
            self._note_answer()
            self._take_leave()

    def _is_over(self) -> bool:
        if self._answer.complete and self._answer.head is None:
            raise invalid_answer("it ends before its head")
        if self._answer.complete or self._answer.body_bytes >= ENOUGH_BODY_BYTES:
            return True
        if self._quic.ending is not None:
            raise self._broken_off()
        return False

    async def _wait(self, deadline_ns: int) -> None:
        """Until something came, or until the connection's own clock rings: then it may have something to say again."""
        timer_s = self._quic.get_timer()
        rings_ns = deadline_ns if timer_s is None else int(timer_s * 1e9)
        until_ns = max(min(deadline_ns, rings_ns), time.monotonic_ns() + _MIN_WAIT_NS)
        try:
            await ready(self._sock, READABLE, until_ns)
        except DeadlineError:
            if time.monotonic_ns() >= deadline_ns:
                raise
            self._quic.handle_timer(now=time.monotonic())
            return
        with suppress(BlockingIOError):
            for _ in range(_BATCH):
                self._take_datagram()

    def _take_datagram(self) -> None:
        data, arrival = receive(self._sock, _MAX_DATAGRAM_BYTES)
        self._datagrams += 1
        if self._datagrams > _MAX_DATAGRAMS:
            raise invalid_answer("a flood of datagrams")
        if not data:
            return
        read = self._recorder.note_read(len(data), arrival)
        if self._recorder.stage is Stage.CONNECT:
            self._recorder.stage = Stage.TLS
        began_ns = time.thread_time_ns()
        self._survive(lambda: self._quic.receive_datagram(data, self._peer, now=time.monotonic()))
        self._own_ns += time.thread_time_ns() - began_ns
        while (event := self._quic.next_event()) is not None:
            self._handle(event, read)

    def _survive(self, act: Callable[[], T]) -> T:
        """A library with hostile bytes in its hands: whatever it stumbles over is a fault of the answer."""
        try:
            return act()
        except Exception as error:
            raise invalid_answer(f"QUIC: {type(error).__name__}", stage=self._recorder.stage) from error

    def _handle(self, event: QuicEvent, read: int) -> None:
        match event:
            case ProtocolNegotiated():
                self._http = Http3(self._quic)
            case HandshakeCompleted():
                self._note_handshake(event)
            case StreamDataReceived(stream_id=0):
                self._answer.note_stream(len(event.data))
                self._recorder.note_readable(read)
                self._take_http(event, read)
            case StreamReset(stream_id=0):
                raise self._reset(event.error_code)
            case _:
                self._take_http(event, read)

    def _take_http(self, event: QuicEvent, read: int) -> None:
        http = self._http
        if http is None:
            return
        self._answer.take(self._survive(lambda: http.handle_event(event)))
        if http.broken:
            reason = self._quic.ending.reason_phrase if self._quic.ending is not None else ""
            raise invalid_answer(f"HTTP/3: {_text(reason)}", stage=self._recorder.stage)
        if self._marks is not None:
            self._marks.note_progress(read, self._answer.head, self._answer.body_bytes)
            if self._answer.complete and self._marks.last_read is None:
                self._marks.last_read = read

    def _note_handshake(self, event: HandshakeCompleted) -> None:
        """As if we had said one thing: acknowledgements and repeats are writes too, and part no flights of a server."""
        recorder, chain = self._recorder, self._quic.chain
        recorder.reads[:] = [read._replace(writes=1) for read in recorder.reads]
        recorder.handshake = HandshakeCapture(
            flights_sent_ns=(recorder.writes[0].at_ns,),
            own_ns=self._own_ns,
            reads=len(recorder.reads),
            version=TLS13,
            cipher=self._quic.cipher,
            protocol=event.alpn_protocol,
            chain=chain,
            faults=self._judge(chain, self._asking.target.host),
            resumed=event.session_resumed,
            staple=None,
        )

    def _ask(self, handshake: HandshakeCapture) -> None:
        """The request leaves with the end of our handshake."""
        if self._http is None:
            raise ProbeError(FailureKind.TLS_FAILED, "QUIC without HTTP/3")
        self._recorder.stage = Stage.SEND
        self._marks = self._recorder.begin_exchange(time.monotonic_ns())
        fields = [(name.encode(), value.encode()) for name, value in self._asking.fields(handshake.faults)]
        self._http.send_headers(0, fields, end_stream=True)

    async def _transmit(self, deadline_ns: int) -> None:
        handshake, asked = self._recorder.handshake, False
        if handshake is not None and self._marks is None:
            self._ask(handshake)
            asked = True
        for data, peer in self._quic.datagrams_to_send(now=time.monotonic()):
            # A server may prefer another address: nobody has judged that one.
            if peer == self._peer:
                await self._send(data, deadline_ns)
        if asked and self._marks is not None:
            self._recorder.note_sent(self._marks.asked_ns, max(self._marks.asked_ns, self._recorder.writes[-1].at_ns))
            self._recorder.stage = Stage.WAIT

    async def _send(self, data: bytes, deadline_ns: int) -> None:
        while True:
            left_ns = time.monotonic_ns()
            if self._recorder.dialled_ns is None:
                self._recorder.dialled_ns = left_ns
            try:
                self._sock.send(data)
            except BlockingIOError:
                await ready(self._sock, WRITABLE, deadline_ns)
                continue
            self._recorder.note_write(left_ns, len(data))
            return

    def _take_leave(self) -> None:
        """Says good-bye, once: whether that arrives is nobody's concern."""
        self._quic.close()
        with suppress(OSError):
            for data, peer in self._quic.datagrams_to_send(now=time.monotonic()):
                if peer == self._peer:
                    self._sock.send(data)

    def _note_answer(self) -> None:
        if self._marks is None:
            return
        self._marks.head, self._marks.interim = self._answer.head, self._answer.interim
        if self._answer.complete:
            self._marks.body_bytes = self._answer.body_bytes

    def _broken_off(self) -> ProbeError:
        ending, stage = self._quic.ending, self._recorder.stage
        assert ending is not None
        name = _name(ending.error_code)
        evidence = f"{name}: {_text(ending.reason_phrase)}" if ending.reason_phrase else name
        if self._recorder.handshake is None:
            kind = FailureKind.TLS_ALERT if ending.error_code in _ALERTS else FailureKind.TLS_FAILED
            return ProbeError(kind, f"QUIC with {evidence}", stage=Stage.TLS)
        kind = FailureKind.CONNECTION_RESET if self._answer.head is None else FailureKind.DOWNLOAD_INCOMPLETE
        return ProbeError(kind, f"QUIC with {evidence}", stage=stage)

    def _reset(self, code: int) -> ProbeError:
        kind = FailureKind.CONNECTION_RESET if self._answer.head is None else FailureKind.DOWNLOAD_INCOMPLETE
        return ProbeError(kind, f"a stream reset of HTTP/3 with code {code:#x}", stage=self._recorder.stage)


def _name(code: int) -> str:
    if code in _ALERTS:
        return f"TLS alert {code - _ALERTS.start}"
    return QuicErrorCode(code).name if code in list(QuicErrorCode) else f"code {code:#x}"


def _text(reason: str) -> str:
    return printable(reason.encode("utf-8", "replace"))[:120]
