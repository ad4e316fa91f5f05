"""The whole result of a run, compressed as it came over the wire: for the run page, the HAR export and the API.

Results are alike: the names of their fields are most of a small one. So zlib is given a probe's result to begin with,
which makes a probe's document a third as large at no cost of time. What was compressed with a dictionary can be read
with it only: a file `dictionary_<n>.json` is never changed or removed, a better one becomes the next.

A page's waterfall is large and repeats itself row by row: LZMA makes it half as large as zlib would, in 20 ms of
processor time, of which a page run takes a hundred times as much.
"""

import lzma
import zlib
from pathlib import Path

from workers.measurement.messages import RunResult
from workers.measurement.wire import decode

# A light probe with its evidence takes 751 bytes, and 1,002 at the first level, for 11 us more; the levels above save
# little.
_LEVEL = 5
# What is larger is a page, or a deep probe's evidence.
_LARGE_BYTES = 32 * 1024
# Before a raw LZMA stream, which does not say what it is; no zlib stream begins so (RFC 1950, 2.2).
_LZMA = b"\x01"
# Never to be changed: a raw stream does not hold them. Text is not aligned (no lp, no pb).
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 2, "lp": 0, "pb": 0, "dict_size": 1 << 20, "nice_len": 273}]
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
    if len(line) > _LARGE_BYTES:
        return _LZMA + lzma.compress(line, format=lzma.FORMAT_RAW, filters=_FILTERS)
    packer = zlib.compressobj(_LEVEL, zdict=_DICTIONARIES[-1])
    return packer.compress(line) + packer.flush()


def unpack(document: bytes) -> RunResult:
    """The result again. Raises DocumentError, and WireError for one that this version does not understand."""
    line = _of_lzma(document[1:]) if document[:1] == _LZMA else _of_zlib(document)
    return decode(line, RunResult)


def _of_lzma(stream: bytes) -> bytes:
    try:
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_FILTERS).decompress(stream, _MAX_BYTES)
    except lzma.LZMAError as error:
        raise DocumentError(f"the document cannot be unpacked: {error}") from error


def _of_zlib(document: bytes) -> bytes:
    dictionary = b""
    if len(document) > 6 and document[1] & _NEEDS_DICTIONARY:
        dictionary = _BY_ADLER.get(int.from_bytes(document[2:6]), b"")
    try:
        return zlib.decompressobj(zdict=dictionary).decompress(document, _MAX_BYTES)
    except zlib.error as error:
        raise DocumentError(f"the document cannot be unpacked: {error}") from error
