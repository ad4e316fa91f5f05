"""Whether a text is in a body, found while it streams by: no body is ever held in memory."""

import re
import zlib
from typing import Protocol

from workers.probes.http1 import Head

# A body of nothing but zeros unpacks to a thousand times its size: what is searched is bounded by itself.
MAX_DECODED_BYTES = 32 * 1024 * 1024
_STEP_BYTES = 256 * 1024
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# zlib's window bits: 47 reads gzip and zlib by their own headers (zlib.h, inflateInit2).
_GZIP_OR_ZLIB = 47


class _Decoder(Protocol):
    def decode(self, data: bytes) -> list[bytes]: ...


class _Plain:
    def decode(self, data: bytes) -> list[bytes]:
        return [data]


class _Inflated:
    """Unpacks in bounded steps; what cannot be unpacked ends the search without a find."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._left = MAX_DECODED_BYTES

    def decode(self, data: bytes) -> list[bytes]:
        parts: list[bytes] = []
        while data and self._left > 0 and not self._inflate.eof:
            try:
                part = self._inflate.decompress(data, _STEP_BYTES)
            except zlib.error:
                self._left = 0
                break
            self._left -= len(part)
            parts.append(part)
            data = self._inflate.unconsumed_tail
        return parts


class TextFinder:
    """Looks for `text` in the body that belongs to `head`, in the charset that it names and in UTF-8."""

    def __init__(self, text: str, head: Head) -> None:
        self.found = not text
        self._needles = _needles(text, head.first("content-type") or "")
        self._overlap = max(map(len, self._needles), default=1) - 1
        self._tail = b""
        packed = (head.first("content-encoding") or "").strip().lower() in ("gzip", "x-gzip", "deflate")
        self._decoder: _Decoder = _Inflated() if packed else _Plain()

    def feed(self, data: bytes) -> None:
        if self.found:
            return
        for part in self._decoder.decode(data):
            window = self._tail + part
            if any(needle in window for needle in self._needles):
                self.found = True
                return
            self._tail = window[-self._overlap :] if self._overlap else b""


def _needles(text: str, content_type: str) -> frozenset[bytes]:
    named = _CHARSET.search(content_type)
    charsets = {"utf-8", named[1] if named else "utf-8"}
    return frozenset(needle for charset in charsets if (needle := _encoded(text, charset)))


def _encoded(text: str, charset: str) -> bytes:
    try:
        return text.encode(charset)
    except (LookupError, UnicodeError):
        return b""
