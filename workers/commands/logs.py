"""What `netlog` and `cdp` have in common: a file of any size, read once and in pieces; a document or a drawing."""

import argparse
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from workers.commands import UsageError
from workers.commands.measuring import canvas_of
from workers.commands.output import say, write, write_json
from workers.commands.unreadable import unreadable
from workers.measurement.document import Document
from workers.measurement.drawing import draw
from workers.measurement.messages import Measured, PageMeasurement
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Waterfall

STDIN = Path("-")
_CHUNK_BYTES = 1024 * 1024
_GZIP = b"\x1f\x8b"
# Summary, legend and warnings.
_LINES_BELOW = 5


@contextmanager
def chunks_of(command: str, path: Path) -> Iterator[Iterator[bytes]]:
    """The pieces of a file that a command was given, unpacked. Raises UsageError for one that cannot be read."""
    try:
        if path == STDIN:
            yield _chunks(sys.stdin.buffer)
        else:
            with path.open("rb") as file:
                yield _chunks(file)
    except OSError as error:
        raise UsageError(unreadable(command, path, error)) from error
    except (EOFError, zlib.error) as error:
        raise UsageError(f"{path}: {error}") from error


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    first = file.read(_CHUNK_BYTES)
    if first[:2] != _GZIP:
        yield first
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk
        return
    yield from _unpacked(first, file)


def _unpacked(first: bytes, file: BinaryIO) -> Iterator[bytes]:
    """Of an archive that breaks off or is damaged what can be had."""
    unpacker, data = zlib.decompressobj(16 + zlib.MAX_WBITS), first
    while data:
        try:
            chunk = unpacker.decompress(data, _CHUNK_BYTES)
        except zlib.error:
            return
        if chunk:
            yield chunk
        data = unpacker.unconsumed_tail or file.read(_CHUNK_BYTES)
        if unpacker.eof:
            # Several archives one after the other are one.
            data = (unpacker.unused_data + data).lstrip(b"\0") or file.read(_CHUNK_BYTES)
            unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)


def show_log(document: Document, waterfall: Waterfall, arguments: argparse.Namespace) -> None:
    """Writes the document, or draws a screen of it and says on stderr what to beware of."""
    if arguments.json:
        write_json(document)
        return
    canvas = canvas_of(sys.stdout, everything=arguments.all)
    if canvas.rows is not None:
        canvas = replace(canvas, rows=max(5, canvas.rows - _LINES_BELOW))
    page = PageMeasurement(waterfall=waterfall, vitals=Vitals())
    write(draw(Measured(measurement=page), canvas))
    for warning in document["warnings"]:
        say(warning)
