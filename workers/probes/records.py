"""Where TLS records begin and end in the bytes from the wire, told before anything is decrypted."""

import struct

from workers.measurement.captures_probe import RecordHeader
from workers.measurement.failure import FailureKind
from workers.probes.faults import ProbeError
from workers.probes.recorder import HopRecorder

_HEADER_BYTES = 5
# The content type, the first digit of the version, and the length (RFC 8446, 5.1).
_HEADER = struct.Struct(">BBxH")
# Content types of TLS records, from change_cipher_spec to application_data (RFC 8446, 5.1).
_CONTENT_TYPES = frozenset(range(20, 24))
_MAJOR_VERSION = 3


def record_bytes(data: bytes) -> int:
    """The size of the record that the data begins with, its header included."""
    return _HEADER_BYTES + int.from_bytes(data[3:5])


class RecordFramer:
    """Finds the header of each TLS record in the bytes from the wire. `wanted` is what remains of the part begun,
    `latest_read` the one that brought the first byte of the latest header."""

    def __init__(self, recorder: HopRecorder) -> None:
        self.latest_read = 0
        self.wanted = _HEADER_BYTES
        # What came of a header that is not whole yet, or what is to come of the record behind one.
        self._header = b""
        self._left = 0
        self._recorder = recorder

    def feed(self, data: bytes, read: int) -> bool:
        """Whether a record ended in these bytes. Raises ProbeError for what is no record."""
        recorder, ended = self._recorder, False
        begun = self.latest_read if self._header else read
        data = self._header + data
        at, size = self._left, len(data)
        if 0 < at <= size:
            recorder.note_record_end(read)
            ended = True
        while size - at >= _HEADER_BYTES:
            kind, version, length = _HEADER.unpack_from(data, at)
            if kind not in _CONTENT_TYPES or version != _MAJOR_VERSION:
                raise self._not_spoken()
            recorder.note_record(RecordHeader(kind, length, begun))
            self.latest_read, begun = begun, read
            at += _HEADER_BYTES + length
            if at <= size:
                recorder.note_record_end(read)
                ended = True
        self._header = data[at:]
        self._left = max(0, at - size)
        self.wanted = self._left or _HEADER_BYTES - len(self._header)
        if self._header:
            self.latest_read = begun
            if self._header[0] not in _CONTENT_TYPES or self._header[1:2] not in (b"", bytes((_MAJOR_VERSION,))):
                raise self._not_spoken()
        return ended

    @property
    def at_edge(self) -> bool:
        """Whether no record is half read: the next byte begins one."""
        return not (self._left or self._header)

    def turn_to(self, recorder: HopRecorder) -> None:
        """Reads are counted anew; a record that is half read goes on with the first of them."""
        self._recorder = recorder
        self.latest_read = 0

    def _not_spoken(self) -> ProbeError:
        return ProbeError(FailureKind.TLS_NOT_SPOKEN, stage=self._recorder.stage)
