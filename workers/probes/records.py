"""Where TLS records begin and end in the bytes from the wire, told before anything is decrypted."""

from workers.measurement.captures_probe import RecordHeader
from workers.measurement.failure import FailureKind
from workers.probes.faults import ProbeError
from workers.probes.recorder import HopRecorder

_HEADER_BYTES = 5
# Content types of TLS records, from change_cipher_spec to application_data (RFC 8446, 5.1).
_CONTENT_TYPES = frozenset(range(20, 24))
_MAJOR_VERSION = 3


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
        self._recorder = recorder

    def feed(self, data: bytes, read: int) -> bool:
        """Whether a record ended in these bytes. Raises ProbeError for what is no record."""
        at, size, ended = 0, len(data), False
        while at < size:
            if self.in_header:
                at = self._feed_header(data, at, read)
                if self.in_header:
                    break
            at += self.wanted
            if at > size:
                self.wanted = at - size
                break
            self._recorder.note_record_end(read)
            self.in_header, self.wanted, self._header, ended = True, _HEADER_BYTES, b"", True
        return ended

    def turn_to(self, recorder: HopRecorder) -> None:
        """Reads are counted anew; a record that is half read goes on with the first of them."""
        self._recorder = recorder
        self.latest_read = 0

    def _feed_header(self, data: bytes, at: int, read: int) -> int:
        """Where the bytes behind the header begin, or the end of the data."""
        header, end = self._header, at + self.wanted
        if not header:
            self.latest_read = read
        header += data[at:end]
        if header[0] not in _CONTENT_TYPES or (len(header) > 1 and header[1] != _MAJOR_VERSION):
            raise ProbeError(FailureKind.TLS_NOT_SPOKEN, stage=self._recorder.stage)
        if len(header) < _HEADER_BYTES:
            self._header, self.wanted = header, _HEADER_BYTES - len(header)
            return len(data)
        self.in_header, self.wanted = False, header[3] << 8 | header[4]
        self._recorder.note_record(RecordHeader(header[0], self.wanted, self.latest_read))
        return end
