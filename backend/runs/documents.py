"""The whole result of a run, compressed as it came over the wire: for the run page, the HAR export and the API.

Results are alike: the names of their fields are most of a small one, and the rows of a page repeat each other. So
Zstandard (RFC 8878) is given a page's result and a probe's to begin with. A light probe of 5 KB takes 732 bytes in
12 us, a page of a hundred requests 5.8 KB in 0.1 ms.

What was compressed with a dictionary can be read with it only: a file `dictionary_<n>` is never changed or removed, a
better one becomes the next.
"""

import json
from pathlib import Path

from backports import zstd

from backend.runs import older_documents
from workers.measurement.messages import RunResult
from workers.measurement.wire import WireError, decode

# Before a frame: the number of its dictionary.
_THIRD = b"\x03"
_DICTIONARY = zstd.ZstdDict(Path(__file__).with_name("dictionary_3.jsonl").read_bytes(), is_raw=True)
# The higher levels save a tenth, for three times the time and more.
_OPTIONS: dict[int, int] = {
    zstd.CompressionParameter.compression_level: 3,
    zstd.CompressionParameter.checksum_flag: 0,
}
# Making one costs five times what a small result does. It may be used by several threads: each call is a frame.
_packer = zstd.ZstdCompressor(options=_OPTIONS, zstd_dict=_DICTIONARY)
# A line is bounded when it comes in; this bounds what a damaged document could unpack to.
_MAX_BYTES = 64 * 1024 * 1024


class DocumentError(ValueError):
    """A stored document is damaged, or was compressed with a dictionary that this version does not have."""


def pack(line: bytes) -> bytes:
    """An encoded RunResult, compressed."""
    return _THIRD + _packer.compress(line, zstd.ZstdCompressor.FLUSH_FRAME)


def unpack(document: bytes) -> RunResult:
    """The result again. Raises DocumentError, and WireError for one that this version does not understand."""
    try:
        line = _line(document)
    except (zstd.ZstdError, *older_documents.DAMAGES) as error:
        raise DocumentError(f"the document cannot be unpacked: {error}") from error
    return understood(line)


def understood(line: bytes) -> RunResult:
    """The result in a line, of a newer agent too: causes that are not known here are left out with its whole diagnosis,
    since what is shown is judged anew from the rest. Raises WireError where it is not that, or not that alone.
    """
    try:
        return decode(line, RunResult)
    except WireError:
        undiagnosed = _undiagnosed(line)
        if undiagnosed is None:
            raise
    return decode(undiagnosed, RunResult)


def _undiagnosed(line: bytes) -> bytes | None:
    """The same result without what the agent's rules said of it; None where it has nothing of that."""
    try:
        envelope = json.loads(line)
        del envelope["body"]["outcome"]["measurement"]["diagnosis"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return json.dumps(envelope).encode()


def _line(document: bytes) -> bytes:
    if document.startswith(_THIRD):
        return zstd.ZstdDecompressor(zstd_dict=_DICTIONARY).decompress(document[1:], _MAX_BYTES)
    return older_documents.unpack(document, _MAX_BYTES)
