"""Reads JSON value by value out of files that are too large to hold, damaged or cut off anywhere.

A file of events has one object after the other. What cannot be read is passed over to the next line that begins an
object; what never ends is given up. Nothing here opens a file.
"""

import codecs
import json
from collections.abc import Iterable, Iterator
from typing import Any

# An event of a network log that keeps bodies may hold one of them.
_MAX_VALUE_CHARS = 32 * 1024 * 1024
# So much must follow a value that cannot be read before it is called damaged and not merely unfinished.
_LOOK_AHEAD_CHARS = 64 * 1024
# As much is looked at in one go: what cannot be read costs as much time as there is text about it.
_PIECE_BYTES = 32 * 1024
# As much of the beginning is kept, to say what a file is that cannot be read.
_HEAD_CHARS = 64 * 1024
_SPACE = " \t\r\n"
_NEXT = "\n{"


class DamagedError(Exception):
    """The text is no JSON from here on, or ends in the middle of a value."""


class JsonStream:
    """A text that comes in chunks. `damaged` counts values that were passed over, `head` is how it begins."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._pieces = (chunk[at : at + _PIECE_BYTES] for chunk in chunks for at in range(0, len(chunk), _PIECE_BYTES))
        self._decoder: codecs.IncrementalDecoder | None = None
        self._json = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._ended = False
        self.damaged = 0
        self.head = ""

    def peek(self) -> str:
        """The next character that is no space; an empty text at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def take(self, expected: str) -> bool:
        """Whether the next character was that one, and is taken."""
        if self.peek() != expected:
            return False
        self._at += 1
        return True

    def value(self) -> Any:
        """The next value. Raises DamagedError."""
        self.peek()
        want = _LOOK_AHEAD_CHARS
        while True:
            try:
                value, self._at = self._json.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                rest = len(self._text) - self._at
                is_followed = rest >= want and self._text.find(_NEXT, self._at) >= 0
                if self._ended or rest >= _MAX_VALUE_CHARS or is_followed:
                    raise DamagedError(str(error)[:200]) from error
                want = max(want, 2 * rest)
                self._more(want - rest)
            else:
                return value

    def objects(self) -> Iterator[Any]:
        """Values until the closing bracket or the end, with commas between them or without."""
        while (char := self.peek()) not in ("", "]"):
            if char == ",":
                self._at += 1
                continue
            try:
                value = self.value()
            except DamagedError:
                if not self._skip():
                    return
                continue
            yield value

    def _skip(self) -> bool:
        """Goes to the next line that begins an object. Whether there is one."""
        self.damaged += 1
        while True:
            found = self._text.find(_NEXT, self._at)
            if found >= 0:
                self._at = found + 1
                return True
            # The last character may be the first of the two that are looked for.
            self._at = max(self._at, len(self._text) - 1)
            if not self._more():
                self._at = len(self._text)
                return False

    def _more(self, chars: int = 1) -> bool:
        """Reads on by so many characters at least. Whether there was anything."""
        read: list[str] = []
        while chars > 0 and not self._ended:
            piece = next(self._pieces, b"")
            self._ended = not piece
            read.append(self._decoded(piece))
            chars -= len(read[-1])
        more = "".join(read)
        self._text, self._at = self._text[self._at :] + more, 0
        if len(self.head) < _HEAD_CHARS:
            self.head += more[:_HEAD_CHARS]
        return bool(more)

    def _decoded(self, piece: bytes) -> str:
        if self._decoder is None:
            # As Windows' own shell writes what a program tells it.
            encoding = "utf-16" if piece[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
            self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        return self._decoder.decode(piece, final=self._ended)
