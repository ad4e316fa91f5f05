"""Reads Chrome's network log while Chrome writes it, a run at a time.

Chrome hands events to the file in batches of about fifteen, so the last ones of a run are still in its memory when
the run is over. A marker (a request for a URL that occurs nowhere else and never leaves the machine) made afterwards
pushes them out: once the marker is in the file, so is everything before it. The browser asks for it on behalf of the
page's frame, since going there would start a process for the page that tells of the failure.
"""

import asyncio
import contextlib
import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.async_api import CDPSession, Error

from workers.measurement.captures_page import NetlogCapture

# A page of 60 requests writes about 1 MB. Of more nobody reads the rest.
MAX_RUN_BYTES = 64 * 1024 * 1024
_POLL_S = 0.005
_MARKER_S = 2.0
# Nothing listens there and Chrome refuses the port before it dials: a request that never leaves the process.
_MARKER = "http://127.0.0.1:1/{}"


class NetlogTail:
    """The log at `path` from where it was last left. Not thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._constants: Mapping[str, Any] | None = None

    @property
    def size_bytes(self) -> int:
        """How large the file is now; 0 when there is none."""
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    @property
    def unread_bytes(self) -> int:
        """How much was written since it was last left."""
        return self.size_bytes - self._offset

    def skip(self) -> None:
        """Passes over everything written so far."""
        self._offset = self.size_bytes

    async def read_now(self, cdp: CDPSession) -> NetlogCapture | None:
        """Everything since the last call. The page need not answer: the browser itself asks for the marker."""
        marker = uuid.uuid4().hex
        with contextlib.suppress(TimeoutError, Error):
            async with asyncio.timeout(_MARKER_S):
                await _ask_for(cdp, _MARKER.format(marker))
        return await self.read_through(marker, patience_s=_MARKER_S)

    async def read_through(self, marker: str, *, patience_s: float) -> NetlogCapture | None:
        """Everything since the last call up to `marker`; incomplete when that is not written in time.

        None when the log has no readable head.
        """
        chunks = bytearray()
        deadline = asyncio.get_running_loop().time() + patience_s
        needle, seen_to = marker.encode(), 0
        while not (complete := needle in chunks[max(0, seen_to - len(needle)) :]):
            seen_to = len(chunks)
            chunks += self._read(MAX_RUN_BYTES - len(chunks))
            if asyncio.get_running_loop().time() >= deadline or len(chunks) >= MAX_RUN_BYTES:
                break
            if len(chunks) == seen_to:
                await asyncio.sleep(_POLL_S)
        # The marker's own events are none of the page's, and it begins with the one that names it.
        end = chunks.rfind(b"\n", 0, chunks.find(needle)) + 1 if complete else len(chunks)
        return self._capture(bytes(chunks[:end]), complete=complete)

    def _read(self, limit: int) -> bytes:
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                chunk = file.read(max(0, limit))
        except OSError:
            return b""
        self._offset += len(chunk)
        return chunk

    def _capture(self, data: bytes, *, complete: bool) -> NetlogCapture | None:
        if self._constants is None:
            self._constants = self._head()
        if self._constants is None:
            return None
        return NetlogCapture(constants=self._constants, lines=tuple(data.splitlines()), complete=complete)

    def _head(self) -> Mapping[str, Any] | None:
        try:
            with self._path.open("rb") as file:
                head = json.loads(file.readline(4 * 1024 * 1024).rstrip(b",\r\n") + b"}")
        except (OSError, ValueError):
            return None
        constants = head.get("constants")
        return constants if isinstance(constants, dict) else None


async def _ask_for(cdp: CDPSession, url: str) -> None:
    """Lets the browser ask for a URL; where a page's process has gone, the page must go there itself."""
    try:
        told = await cdp.send("Target.getTargetInfo")
        # The id of a page is that of its top frame.
        frame = {"frameId": told["targetInfo"]["targetId"]}
        options = {"disableCache": True, "includeCredentials": False}
        await cdp.send("Network.loadNetworkResource", frame | {"url": url, "options": options})
    except Error:
        await cdp.send("Page.navigate", {"url": url})
