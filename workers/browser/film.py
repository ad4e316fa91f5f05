"""The screen as it changes: small pictures, each with the instant at which it was shown.

Chrome's screencast sends a frame when the screen has changed and its last frames are acknowledged. A frame that comes
while two are not acknowledged is dropped, and of a page that then stands still nothing more is sent. So at the end the
cast is begun once more, which sends what is on the screen: if that is news, it was dropped before the last frame was
acknowledged, and this is the instant it gets. Where every frame before the last had been acknowledged when the last was
made, none can have been dropped behind it, and nothing is begun again: that would draw the whole page once more.

A frame that is still on its way when the cast ends is dropped too. Of a page that is drawn only once that is the only
one, and no later look could tell when it was shown; so where nothing but the page before was seen, it is waited for.
"""

import asyncio
import base64
import binascii
import contextlib
from collections.abc import Callable
from typing import Any

from playwright.async_api import CDPSession, Error

from workers.browser.hearing import hear, unhear
from workers.measurement.captures_sight import ScreenFrame

# At most so large, whichever side is longer: enough to recognise a page, and a hundredth of the cost of the screen.
_CAST = {"format": "jpeg", "quality": 50, "maxWidth": 200, "maxHeight": 240, "everyNthFrame": 1}
# A page that moves all the time is followed frame by frame for two seconds, then ten times a second.
_FAST_FRAMES = 120
_SLOW_S = 0.1
# Beyond these every second frame goes. A frame is 1 to 15 kB.
_MAX_FRAMES = 600
_MAX_BYTES = 8 * 1024 * 1024
# For a second frame; then for the end. A browser with a third of a processor sent frames up to 0.41 s after they were
# shown, and 0.06 s after its page was quiet.
_FRAME_S = 0.4
_PATIENCE_S = 0.5


class Film:
    """One page's film, from `start` to `finish`. `now_s` is the wall clock."""

    def __init__(self, cdp: CDPSession, now_s: Callable[[], float]) -> None:
        self._cdp = cdp
        self._now_s = now_s
        self._frames: list[ScreenFrame] = []
        self._size = self._count = 0
        self._acknowledged_s: float | None = None
        # When Chrome last knew of an acknowledgement, and whether a frame may have been dropped since the last one.
        self._known_s = 0.0
        self._may_lack = True
        self._last: asyncio.Future[ScreenFrame] | None = None
        self._changed = asyncio.Event()
        self._answers: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        hear(self._cdp, "Page.screencastFrame", self._take)
        await self._cdp.send("Page.startScreencast", _CAST)

    async def finish(self) -> tuple[ScreenFrame, ...]:
        """All frames; never raises for a page that does not answer. Waits for 0.9 s at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FRAME_S):
                await self._changed.wait()
        # Without an answer the frames so far are true, and the last may lack.
        with contextlib.suppress(TimeoutError, Error):
            async with asyncio.timeout(_PATIENCE_S):
                await self._cdp.send("Page.stopScreencast")
                if self._may_lack:
                    await self._look_again()
        unhear(self._cdp, "Page.screencastFrame", self._take)
        for answer in self._answers:
            answer.cancel()
        return tuple(self._frames)

    async def _look_again(self) -> None:
        self._last = asyncio.get_running_loop().create_future()
        await self._cdp.send("Page.startScreencast", _CAST)
        self._add_last(await self._last)
        await self._cdp.send("Page.stopScreencast")

    def _take(self, params: dict[str, Any]) -> None:
        frame = _read(params)
        if self._last is not None:
            if frame is not None and not self._last.done():
                self._last.set_result(frame)
            return
        if frame is not None:
            self._add(frame)
        self._may_lack = frame is None or bool(self._answers) or frame.wall_s <= self._known_s
        self._count += 1
        task = asyncio.get_running_loop().create_task(self._answer(params.get("sessionId", 0)))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def _answer(self, session: int) -> None:
        if self._count > _FAST_FRAMES:
            await asyncio.sleep(_SLOW_S)
        self._acknowledged_s = self._now_s()
        try:
            await self._cdp.send("Page.screencastFrameAck", {"sessionId": session})
        except Error:
            # The page has gone: no more frames.
            return
        self._known_s = self._now_s()

    def _add(self, frame: ScreenFrame) -> None:
        if self._frames and self._frames[-1].picture == frame.picture:
            return
        if self._frames:
            self._changed.set()
        self._frames.append(frame)
        self._size += len(frame.picture)
        if len(self._frames) > _MAX_FRAMES or self._size > _MAX_BYTES:
            # The first shows what was there before the page, the newest what it has become.
            del self._frames[1:-1:2]
            self._size = sum(len(kept.picture) for kept in self._frames)

    def _add_last(self, frame: ScreenFrame) -> None:
        if self._frames and self._acknowledged_s is not None:
            earliest_s = max(self._frames[-1].wall_s, min(frame.wall_s, self._acknowledged_s))
            frame = ScreenFrame(wall_s=earliest_s, picture=frame.picture)
        self._add(frame)


def _read(params: dict[str, Any]) -> ScreenFrame | None:
    wall_s = (params.get("metadata") or {}).get("timestamp")
    if not isinstance(wall_s, int | float):
        return None
    try:
        return ScreenFrame(wall_s=float(wall_s), picture=base64.b64decode(params.get("data", "")))
    except binascii.Error:
        return None
