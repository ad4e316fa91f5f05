"""Where the marks of one hop gather while it is measured. Only facts: what they mean is said later, in compute."""

from workers.measurement.captures_probe import (
    Arrival,
    ConnectCapture,
    HandshakeCapture,
    HopCapture,
    LookupCapture,
    Read,
    RecordHeader,
    ResponseCapture,
    SendCapture,
)
from workers.measurement.failure import Stage
from workers.measurement.target import Target
from workers.probes.http1 import Head

# A body that drips byte by byte must not fill the memory with marks: beyond these only the latest is kept.
_MAX_READS = 2048
_MAX_RECORDS = 512


class HopRecorder:
    """Mutable while the hop runs; `capture()` gives what was seen so far, at any time."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.port = target.port
        self.stage = Stage.DNS
        self.address: str | None = None
        self.lookup: LookupCapture | None = None
        self.connect: ConnectCapture | None = None
        self.handshake: HandshakeCapture | None = None
        self.send: SendCapture | None = None
        self.head: Head | None = None
        self.body_bytes: int | None = None
        self.received_bytes = 0
        self.first_read: int | None = None
        self.complete = False
        self.reads: list[Read] = []
        self.records: list[RecordHeader] = []
        self.sent_ns: list[int] = []

    def note_read(self, size: int, arrival: Arrival) -> int:
        """The index of the read just noted."""
        self.received_bytes += size
        read = Read(arrival=arrival, size=size, writes=len(self.sent_ns))
        if len(self.reads) < _MAX_READS:
            self.reads.append(read)
        else:
            self.reads[-1] = read
        return len(self.reads) - 1

    def note_record(self, record: RecordHeader) -> None:
        if len(self.records) < _MAX_RECORDS:
            self.records.append(record)

    def note_first_byte(self, read: int) -> None:
        if self.first_read is None:
            self.first_read = read
            self.stage = Stage.DOWNLOAD

    def capture(self) -> HopCapture:
        return HopCapture(
            url=self.target.url,
            host=self.target.host,
            port=self.port,
            address=self.address,
            lookup=self.lookup,
            connect=self.connect,
            handshake=self.handshake,
            send=self.send,
            response=self._response(),
            reads=tuple(self.reads),
            records=tuple(self.records),
            received_bytes=self.received_bytes,
        )

    def _response(self) -> ResponseCapture | None:
        if self.first_read is None:
            return None
        return ResponseCapture(
            first_read=self.first_read,
            last_read=len(self.reads) - 1 if self.complete else None,
            status=None if self.head is None else self.head.status,
            headers=() if self.head is None else self.head.headers,
            head_bytes=None if self.head is None else self.head.size_bytes,
            body_bytes=None if self.head is None else self.body_bytes,
        )
