"""A file's bytes to a JSON document, whoever made it: bounded, in any Unicode, packed or not."""

import codecs
import json
import re
import zlib
from collections.abc import Collection, Iterator
from typing import Any

from pydantic_core import from_json

from workers.measurement.compute.files.kinds import kind_of, names_in

# An archive with all bodies of a heavy page has some 50 MB.
MAX_BYTES = 64 * 1024 * 1024
# A request takes about 200 values, so these are 15,000 requests; as Python's objects they take some 300 MB.
MAX_VALUES = 3_000_000
MAX_DEPTH = 100
_CHUNK_BYTES = 1024 * 1024
_GIVEN_BYTES = 64 * 1024
_HEAD_BYTES = 64 * 1024
# Programs that pack while they write begin a new member now and then.
_MAX_MEMBERS = 10_000
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
# RFC 1950, with the usual window, as mitmproxy packs; no JSON begins so.
_ZLIB = (b"x\x01", b"x^", b"x\x9c", b"x\xda")
_EITHER = 32 + zlib.MAX_WBITS
# The longer marks first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.S)


class UnreadableFileError(ValueError):
    """The file cannot be imported; the text is a sentence for people that says why, and where."""


def document_in(data: bytes) -> dict[str, Any]:
    """The JSON object in a file. Raises UnreadableFileError."""
    text = _text(_unpacked(data))
    _check_structure(text)
    try:
        document = from_json(text, allow_inf_nan=True)
    except ValueError as error:
        _name(text, str(error))
        # Lone halves of surrogate pairs, which bodies may hold, are read by Python's parser alone.
        document = _parsed(text)
    if not isinstance(document, dict):
        raise UnreadableFileError(
            stranger(_names(text))
            or "The file holds JSON, but no object: it is neither an HTTP Archive nor WebPageTest's JSON."
        )
    return document


def stranger(names: Collection[str]) -> str | None:
    """What a file is whose first object has these names and which no import reads, and who does; None if unknown."""
    kind = kind_of(names)
    if kind is None or kind.command == "firstbyte import":
        return None
    return f"The file is {kind.what}. {kind.reader('Export a HAR instead')}."


def _names(text: bytes) -> frozenset[str]:
    return names_in(text[:_HEAD_BYTES].decode("utf-8", "replace"))


def _name(text: bytes, said: str) -> None:
    """Calls what is no JSON what it is. Raises UnreadableFileError."""
    if text.lstrip().startswith(b"<"):
        raise UnreadableFileError("The file is not JSON but a web page (HTML), perhaps of a sign-in or of an error.")
    if said.startswith("EOF"):
        raise UnreadableFileError("The file is not JSON: its end is missing. Save it again, and wait for all of it.")


def _parsed(text: bytes) -> object:
    try:
        found: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise UnreadableFileError(
            stranger(_names(text)) or f"The file is not JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError("The file is JSON with numbers too long or nesting too deep to be read.") from error
    return found


def _unpacked(data: bytes) -> bytes:
    if data.startswith(_ZIP):
        raise UnreadableFileError("The file is a ZIP archive. Unpack it, and import the .har or .json file in it.")
    if not data.startswith((_GZIP, *_ZLIB)):
        return _bounded(data)
    unpacked = b"".join(_pieces(memoryview(data)))
    if unpacked.startswith(_GZIP):
        raise UnreadableFileError("The file is packed with gzip twice. Unpack it once, and import what comes out.")
    return unpacked


def _pieces(data: memoryview) -> Iterator[bytes]:
    """What a file in several members holds (RFC 1952, 2.2); what follows the last one belongs to nobody.

    Raises UnreadableFileError for more bytes or members than anybody exports.
    """
    room = MAX_BYTES
    for _ in range(_MAX_MEMBERS):
        unpacker = zlib.decompressobj(wbits=_EITHER)
        while not unpacker.eof:
            piece, data = _piece(unpacker, data)
            room -= len(piece)
            if room < 0:
                raise _too_large()
            yield piece
        if data[: len(_GZIP)] != _GZIP:
            return
    raise UnreadableFileError(f"The file is packed with gzip in more than {_MAX_MEMBERS} parts. Export it again.")


def _piece(unpacker: "zlib._Decompress", data: memoryview) -> tuple[bytes, memoryview]:
    """What comes next, and what it leaves. A little is given at a time, since what is left of that is copied."""
    given = data[:_GIVEN_BYTES]
    try:
        piece = unpacker.decompress(given, _CHUNK_BYTES)
    except zlib.error as error:
        raise UnreadableFileError(f"The file begins like gzip, and cannot be unpacked: {error}.") from error
    if not given and not piece and not unpacker.eof:
        raise UnreadableFileError("The file is packed with gzip, and its end is missing.")
    left = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
    return piece, data[len(given) - len(left) :]


def _bounded(data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise _too_large()
    return data


def _too_large() -> UnreadableFileError:
    return UnreadableFileError(
        f"The file has more than {MAX_BYTES // 1_048_576} MiB. Export it again without the contents of answers."
    )


def _text(data: bytes) -> bytes:
    """UTF-8 without a mark. Raises UnreadableFileError for bytes that are no text."""
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"The file is not {encoding.upper()}: byte {error.start + len(mark)} is wrong."
        ) from error
    if not text.strip():
        raise UnreadableFileError("The file is empty.")
    return data[len(mark) :] if encoding == "utf-8" else text.encode("utf-8", "surrogatepass")


def _check_structure(text: bytes) -> None:
    """Small brackets make large objects, so they are counted before there are any. Raises UnreadableFileError."""
    if _marks_in(text) > MAX_VALUES or text.count(b"[") + text.count(b"{") > MAX_DEPTH:
        skeleton = _STRINGS.sub(b"", text)
        if _marks_in(skeleton) > MAX_VALUES:
            raise UnreadableFileError(f"The file holds more than {MAX_VALUES:,} values: more than any page asks for.")
        if _depth(skeleton) > MAX_DEPTH:
            raise UnreadableFileError(f"The file is nested more than {MAX_DEPTH} deep.")


def _marks_in(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _depth(skeleton: bytes) -> int:
    depth = deepest = 0
    for mark in re.findall(rb"[\[{\]}]", skeleton):
        depth += 1 if mark in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest
