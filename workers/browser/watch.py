"""Looks at a page while it loads: its screen, its main thread, its console. Every wait has an end."""

import asyncio
import time
from collections.abc import Callable

from playwright.async_api import CDPSession

from workers.browser.console import Console
from workers.browser.film import Film
from workers.browser.meter import Meter
from workers.browser.processes import ProcessClock
from workers.measurement.captures_sight import SightCapture


class Watch:
    """One page's, as a context: from before its navigation to the end of its load; then `sight` is what was seen.

    `pid` is the browser's, None when not known; `gone` is called if the page goes in between. Raises playwright's Error
    at the beginning when the page is gone; the end never raises, and waits for less than a second.
    """

    def __init__(self, cdp: CDPSession, pid: int | None, gone: Callable[[], None]) -> None:
        self._film = Film(cdp, time.time)
        self._meter = Meter(cdp, None if pid is None else ProcessClock(pid), gone)
        self._console = Console(cdp)
        self.sight: SightCapture | None = None

    async def __aenter__(self) -> "Watch":
        await asyncio.gather(self._console.start(), self._film.start(), self._meter.start())
        return self

    async def __aexit__(self, *_: object) -> None:
        frames, _last = await asyncio.gather(self._film.finish(), self._meter.finish())
        # The meter's last answer came behind all that the page had said until then.
        self._console.finish()
        self.sight = SightCapture(
            frames=frames,
            samples=tuple(self._meter.samples),
            received=dict(self._meter.received),
            console=tuple(self._console.events),
        )
