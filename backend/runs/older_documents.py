"""Documents that earlier versions compressed, only to be read: small ones with zlib, large ones with LZMA."""

import lzma
import zlib
from pathlib import Path

# What tells of a damaged one.
DAMAGES = (lzma.LZMAError, zlib.error)

# Before a raw LZMA stream, which does not say what it is; no zlib stream begins so (RFC 1950, 2.2).
_LZMA = b"\x01"
# A raw stream does not hold its dictionary's size.
_FILTERS = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
_DICTIONARIES = [Path(__file__).with_name(f"dictionary_{number}.json").read_bytes() for number in (1, 2)]
# RFC 1950: a stream that needs a dictionary says so in its second byte, and names it by its Adler-32 in the next four.
_NEEDS_DICTIONARY = 0x20
_BY_ADLER = {zlib.adler32(dictionary): dictionary for dictionary in _DICTIONARIES}


def unpack(document: bytes, max_bytes: int) -> bytes:
    """The encoded result, of which no more than so many bytes are made. Raises what is in DAMAGES."""
    if document.startswith(_LZMA):
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_FILTERS).decompress(document[1:], max_bytes)
    dictionary = b""
    if len(document) > 6 and document[1] & _NEEDS_DICTIONARY:
        dictionary = _BY_ADLER.get(int.from_bytes(document[2:6]), b"")
    return zlib.decompressobj(zdict=dictionary).decompress(document, max_bytes)
