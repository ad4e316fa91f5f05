"""How an agent's measuring processes wake the one that talks to the service: one pipe, made before they are forked.

A write of at most PIPE_BUF bytes comes out whole even when many processes write. Nothing here ever waits: a full pipe
means that the reader is awake, and progress is worth nothing when it is late.
"""

import contextlib
import os
import select

from workers.measurement import wire
from workers.measurement.messages import Progress

_READ_BYTES = 65_536
_RING = b"\n"


class Bell:
    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._rest = b""

    def ring(self) -> None:
        """A result lies in the spool."""
        self._write(_RING)

    def tell(self, progress: Progress) -> None:
        """A person wants to know where this run is."""
        line = wire.encode(progress) + b"\n"
        if len(line) <= select.PIPE_BUF:
            self._write(line)

    def listen(self, timeout_s: float) -> tuple[bool, list[Progress]]:
        """Waits for at most `timeout_s`; whether anybody rang, and what was told."""
        readable, _, _ = select.select([self._reader], [], [], timeout_s)
        if not readable:
            return False, []
        *lines, self._rest = (self._rest + os.read(self._reader, _READ_BYTES)).split(b"\n")
        told = [progress for line in lines if line and (progress := _progress(line)) is not None]
        return b"" in lines, told

    def _write(self, line: bytes) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, line)


def _progress(line: bytes) -> Progress | None:
    """None for half a line, which a reader leaves behind when it is killed."""
    try:
        return wire.decode(line, Progress)
    except wire.WireError:
        return None
