"""The whole result of a run, compressed as it came over the wire: for the run page, the HAR export and the API.

Results are alike: the names of their fields are most of a small one. So zlib is given a probe's result to begin with,
which makes a probe's document a third as large at no cost of time. What was compressed with a dictionary can be read
with it only: a file `dictionary_<n>.json` is never changed or removed, a better one becomes the next.
"""

import zlib
from pathlib import Path

from workers.measurement.messages import RunResult
from workers.measurement.wire import decode

# The first level shrinks a page ten-fold in a third of the time of the sixth, which saves another eighth.
_LEVEL = 1
# A line is bounded when it comes in; this bounds what a damaged document could unpack to.
_MAX_BYTES = 64 * 1024 * 1024
# The newest, with which documents are compressed, is the last: its probe has evidence.
_DICTIONARIES = [Path(__file__).with_name(f"dictionary_{number}.json").read_bytes() for number in (1, 2)]
# RFC 1950: a stream that needs a dictionary says so in its second byte, and names it by its Adler-32 in the next four.
_NEEDS_DICTIONARY = 0x20
_BY_ADLER = {zlib.adler32(dictionary): dictionary for dictionary in _DICTIONARIES}


class DocumentError(ValueError):
    """A stored document is damaged, or was compressed with a dictionary that this version does not have."""


def pack(line: bytes) -> bytes:
    """An encoded RunResult, compressed."""
    packer = zlib.compressobj(_LEVEL, zdict=_DICTIONARIES[-1])
    return packer.compress(line) + packer.flush()


def unpack(document: bytes) -> RunResult:
    """The result again. Raises DocumentError, and WireError for one that this version does not understand."""
    dictionary = b""
    if len(document) > 6 and document[1] & _NEEDS_DICTIONARY:
        dictionary = _BY_ADLER.get(int.from_bytes(document[2:6]), b"")
    try:
        line = zlib.decompressobj(zdict=dictionary).decompress(document, _MAX_BYTES)
    except zlib.error as error:
        raise DocumentError(f"the document cannot be unpacked: {error}") from error
    return decode(line, RunResult)
