"""Where TLS records begin and end in the bytes from the wire, told before anything is decrypted."""

from workers.measurement.captures_probe import RecordHeader
from workers.measurement.failure import FailureKind
from workers.probes.faults import ProbeError
from workers.probes.recorder import HopRecorder

_HEADER_BYTES = 5
# Content types of TLS records, from change_cipher_spec to application_data (RFC 8446, 5.1).
_CONTENT_TYPES = range(20, 24)


def record_bytes(data: bytes) -> int:
    """The size of the record that the data begins with, its header included."""
    return _HEADER_BYTES + int.from_bytes(data[3:5])


class RecordFramer:
    """Finds the header of each TLS record in the bytes from the wire. `wanted` is what remains of the part begun."""

    def __init__(self, recorder: HopRecorder) -> None:
        self.latest_read = 0
        self.in_header = True
        self.wanted = _HEADER_BYTES
        self._header = b""
        self._ended = 0
        self._recorder = recorder

    def feed(self, data: bytes, read: int) -> bool:
        """Whether a record ended in these bytes."""
        at = 0
        before = self._ended
        while at < len(data):
            part = data[at : at + self.wanted]
            at += len(part)
            self.wanted -= len(part)
            if self.in_header:
                self._feed_header(part, read)
            elif not self.wanted:
                self._begin_header(read)
        return self._ended > before

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
            self._begin_header(read)

    def _begin_header(self, read: int) -> None:
        self._ended += 1
        self._recorder.note_record_end(read)
        self.in_header, self.wanted, self._header = True, _HEADER_BYTES, b""
