"""The whole result of a run, compressed as it came over the wire: for the run page, the HAR export and the API."""

import zlib

from workers.measurement.messages import RunResult
from workers.measurement.wire import decode

# The first level shrinks a page's 25 kB five-fold in a fifth of the time of the sixth, which saves another tenth.
_LEVEL = 1
# A document is bounded when it is stored; this bounds what a damaged one could unpack to.
_MAX_BYTES = 64 * 1024 * 1024


def pack(line: bytes) -> bytes:
    """An encoded RunResult, compressed."""
    return zlib.compress(line, _LEVEL)


def unpack(document: bytes) -> RunResult:
    """The result again. Raises WireError for one that we do not understand (any more), zlib.error for a damaged one."""
    return decode(zlib.decompressobj().decompress(document, _MAX_BYTES), RunResult)
