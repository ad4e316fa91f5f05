"""Looks at a page while it loads: its screen, its main thread, its console. Every wait has an end."""

import asyncio
import time
from collections.abc import Callable

from playwright.async_api import CDPSession

from workers.browser.console import Console
from workers.browser.film import Film
from workers.browser.meter import Meter
from workers.browser.process_tree import ProcessTree
from workers.browser.processes import ProcessClock
from workers.measurement.captures_sight import ScreenFrame, SightCapture


class Watch:
    """One page's, as a context: from before its navigation to the end of its load; then `sight` gives what was seen.

    `tree` are the browser's processes, None when not known; `gone` is called if the page goes in between. Raises
    playwright's Error at the beginning when the page is gone; the end never raises, and waits for less than a second.
    """

    def __init__(self, cdp: CDPSession, tree: ProcessTree | None, gone: Callable[[], None]) -> None:
        self._film = Film(cdp, time.time)
        self._meter = Meter(cdp, None if tree is None else ProcessClock(tree), gone)
        self._console = Console(cdp)
        self._frames: tuple[ScreenFrame, ...] = ()

    async def __aenter__(self) -> "Watch":
        await asyncio.gather(self._console.start(), self._film.start(), self._meter.start())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._frames, _last = await asyncio.gather(self._film.finish(), self._meter.finish())

    async def sight(self, word_s: float | None) -> SightCapture:
        """What was seen, with what the console says until `word_s` of the loop's clock where that has a word to wait
        for. Never raises."""
        if word_s is not None:
            await asyncio.sleep(word_s - asyncio.get_running_loop().time())
        # The meter's last answer came behind all that the page had said until then.
        self._console.finish()
        return SightCapture(
            frames=self._frames,
            samples=tuple(self._meter.samples),
            received=dict(self._meter.received),
            console=tuple(self._console.events),
        )
