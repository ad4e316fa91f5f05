"""Whether a text is in a body, found while it streams by: no body is ever held in memory."""

import zlib
from typing import Protocol

from workers.probes.charsets import START_BYTES, charset_of
from workers.probes.http1 import Head

# A body of nothing but zeros unpacks to a thousand times its size: what is searched is bounded by itself.
MAX_DECODED_BYTES = 32 * 1024 * 1024
_STEP_BYTES = 256 * 1024
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
    """Looks for `text` in the body that belongs to `head`, in the charset that browsers read it in and in UTF-8.

    A body of UTF-16 is looked through from character to character and in nothing else: from byte to byte "ok" is in 歯.
    """

    def __init__(self, text: str, head: Head) -> None:
        self.found = not text
        self._text = text
        self._content_type = head.first("content-type") or ""
        self._needles: frozenset[bytes] = frozenset()
        self._unit_bytes = 1
        self._at_start = True
        self._tail = b""
        packed = (head.first("content-encoding") or "").strip().lower() in ("gzip", "x-gzip", "deflate")
        self._decoder: _Decoder = _Inflated() if packed else _Plain()

    def feed(self, data: bytes) -> None:
        if self.found:
            return
        for part in self._decoder.decode(data):
            window = self._tail + part
            if self._at_start:
                self._read_as(charset_of(self._content_type, window))
                self._at_start = len(window) < START_BYTES
            if any(self._is_in(window, needle) for needle in self._needles):
                self.found = True
                return
            self._tail = window if self._at_start else self._end_of(window)

    def _read_as(self, charset: str) -> None:
        is_wide = charset.startswith("utf-16")
        self._unit_bytes = 2 if is_wide else 1
        codecs = (charset,) if is_wide else (charset, "utf-8")
        self._needles = frozenset(needle for codec in codecs if (needle := _encoded(self._text, codec)))

    def _is_in(self, window: bytes, needle: bytes) -> bool:
        at = window.find(needle)
        while at > 0 and at % self._unit_bytes:
            at = window.find(needle, at + 1)
        return at >= 0

    def _end_of(self, window: bytes) -> bytes:
        """What may be the beginning of the text, from the beginning of a character on."""
        overlap = max(map(len, self._needles), default=1) - 1
        start = max(0, len(window) - overlap)
        return window[start - start % self._unit_bytes :]


def _encoded(text: str, codec: str) -> bytes:
    try:
        return text.encode(codec)
    except (LookupError, UnicodeError):
        return b""
