"""Where the marks of one connection gather while it is measured: facts. What they mean is said later, in compute."""

from dataclasses import dataclass

from workers.measurement.captures_probe import (
    Arrival,
    ConnectCapture,
    ExchangeCapture,
    HandshakeCapture,
    HopCapture,
    LookupCapture,
    Read,
    RecordHeader,
    ResponseCapture,
    SendCapture,
    Write,
)
from workers.measurement.failure import Stage
from workers.measurement.target import Target
from workers.probes.bindings import Notes
from workers.probes.http1 import Head

# A body that drips byte by byte must not fill the memory with marks: beyond these only the latest is kept.
_MAX_READS = 2048
_MAX_RECORDS = 512
_MAX_WRITES = 64


@dataclass(slots=True, kw_only=True)
class ExchangeMarks:
    """One request and its answer, while it runs. The marks of reads are their indices."""

    asked_ns: int
    reads: int
    records: int
    idle_ns: int | None = None
    send: SendCapture | None = None
    first_read: int | None = None
    readable_read: int | None = None
    head_read: int | None = None
    body_read: int | None = None
    last_read: int | None = None
    head: Head | None = None
    interim: tuple[int, ...] = ()
    body_bytes: int | None = None
    kept: bool | None = None

    def note_progress(self, read: int, head: Head | None, body_bytes: int) -> None:
        """So much of the answer could be read after this read."""
        if self.head_read is None and head is not None:
            self.head_read = read
        if self.body_read is None and body_bytes:
            self.body_read = read

    def capture(self) -> ExchangeCapture:
        return ExchangeCapture(
            asked_ns=self.asked_ns,
            idle_ns=self.idle_ns,
            send=self.send,
            response=self._response(),
            reads=self.reads,
            records=self.records,
            kept=self.kept,
        )

    def _response(self) -> ResponseCapture | None:
        if self.first_read is None:
            return None
        return ResponseCapture(
            first_read=self.first_read,
            readable_read=self.readable_read,
            head_read=self.head_read,
            body_read=self.body_read,
            last_read=self.last_read,
            status=None if self.head is None else self.head.status,
            minor=1 if self.head is None else self.head.minor,
            interim=self.interim,
            headers=() if self.head is None else self.head.headers,
            head_bytes=None if self.head is None else self.head.size_bytes,
            body_bytes=None if self.head is None else self.body_bytes,
        )


class HopRecorder:
    """Mutable while its connection is in use; `capture()` gives what was seen so far, at any time.

    Of one connection that is asked several times it holds all exchanges, or each has a recorder of its own.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.port = target.port
        self.stage = Stage.DNS
        self.address: str | None = None
        self.addresses: tuple[str, ...] = ()
        self.lookup: LookupCapture | None = None
        self.dialled_ns: int | None = None
        self.ended_ns: int | None = None
        self.connect: ConnectCapture | None = None
        self.handshake: HandshakeCapture | None = None
        self.exchanges: list[ExchangeMarks] = []
        self.received_bytes = 0
        self.reads: list[Read] = []
        self.held_reads: list[int] = []
        self.late_reads: list[tuple[int, int]] = []
        self.records: list[RecordHeader] = []
        self.record_ends: list[int] = []
        self.writes: list[Write] = []
        self.hello_bytes: int | None = None
        self.notes: Notes | None = None
        self.tcp_connected = b""
        self.tcp_secured = b""
        self.tcp_ended = b""
        self.truncated = False

    @property
    def where(self) -> str:
        """What was dialled, for people. Of several addresses one is measured: visitors may get on with another."""
        beside = f", one of {len(self.addresses)} addresses of the name" if len(self.addresses) > 1 else ""
        return f"{self.address} port {self.port}{beside}"

    @property
    def head(self) -> Head | None:
        """Of the latest answer."""
        return self.exchanges[-1].head if self.exchanges else None

    @property
    def first_read(self) -> int | None:
        """Of the latest answer."""
        return self.exchanges[-1].first_read if self.exchanges else None

    def begin_exchange(self, asked_ns: int) -> ExchangeMarks:
        marks = ExchangeMarks(asked_ns=asked_ns, reads=len(self.reads), records=len(self.records))
        self.exchanges.append(marks)
        return marks

    def note_read(self, size: int, arrival: Arrival) -> int:
        """The index of the read just noted."""
        self.received_bytes += size
        read, number = Read(arrival, size, len(self.writes)), len(self.reads)
        if number < _MAX_READS:
            self.reads.append(read)
            return number
        self.reads[-1] = read
        self.truncated = True
        return number - 1

    def note_held(self, read: int) -> None:
        """Of the read just noted."""
        if not self.truncated:
            self.held_reads.append(read)

    def note_late(self, read: int, unready_ns: int) -> None:
        """Of the read just noted: nothing of it was there at that instant."""
        if not self.truncated:
            self.late_reads.append((read, unready_ns))

    def note_write(self, at_ns: int, size: int) -> None:
        if len(self.writes) < _MAX_WRITES:
            self.writes.append(Write(at_ns, size))
        else:
            self.truncated = True

    def note_record(self, record: RecordHeader) -> None:
        if len(self.records) < _MAX_RECORDS:
            self.records.append(record)
        else:
            self.truncated = True

    def note_record_end(self, read: int) -> None:
        if len(self.record_ends) < len(self.records):
            self.record_ends.append(read)

    def note_sent(self, started_ns: int, ended_ns: int) -> None:
        """What is sent later in an exchange only keeps it going."""
        if self.exchanges and self.exchanges[-1].send is None:
            self.exchanges[-1].send = SendCapture(started_ns=started_ns, ended_ns=ended_ns)

    def note_readable(self, first_read: int) -> None:
        """Something of the answer can be read since the latest read; its first byte came with `first_read`."""
        marks = self.exchanges[-1] if self.exchanges else None
        if marks is not None and marks.first_read is None:
            marks.first_read = first_read
            marks.readable_read = len(self.reads) - 1
            self.stage = Stage.DOWNLOAD

    def capture(self) -> HopCapture:
        exchanges = tuple(marks.capture() for marks in self.exchanges)
        return HopCapture(
            url=self.target.url,
            host=self.target.host,
            port=self.port,
            address=self.address,
            lookup=self.lookup,
            connect=self.connect,
            handshake=self.handshake,
            send=exchanges[0].send if exchanges else None,
            response=exchanges[0].response if exchanges else None,
            reads=tuple(self.reads),
            held_reads=tuple(self.held_reads),
            late_reads=tuple(self.late_reads),
            records=tuple(self.records),
            received_bytes=self.received_bytes,
            dialled_ns=self.dialled_ns,
            ended_ns=self.ended_ns,
            addresses=self.addresses,
            writes=tuple(self.writes),
            hello_bytes=self.hello_bytes,
            exchanges=exchanges,
            record_ends=tuple(self.record_ends),
            inner_types=() if self.notes is None else tuple(self.notes.inner_types),
            messages=() if self.notes is None else tuple(self.notes.messages),
            tcp_connected=self.tcp_connected,
            tcp_secured=self.tcp_secured,
            tcp_ended=self.tcp_ended,
            truncated=self.truncated,
        )
