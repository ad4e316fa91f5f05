"""What the page's main thread, the browser's processes and the network do while a page loads, sampled.

A sample asks the main thread for its counters, which also answers in the middle of a script. Ten times a second while
there is something to do, less often while there is not: each sample costs a millisecond of processor time.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from playwright.async_api import CDPSession, Error

from workers.browser.hearing import hear, unhear
from workers.browser.processes import ProcessClock
from workers.measurement.captures_sight import ThreadSample
from workers.measurement.compute.page.activity import COUNTERS, TASKS

_PERIOD_S, _IDLE_PERIOD_S = 0.1, 0.5
# A main thread that worked less than this share of the time is idle.
_IDLE_SHARE = 0.05
# More than any page is given time for.
_MAX_SAMPLES = 3_000
_PATIENCE_S = 0.2
_EVENTS = ("Network.responseReceived", "Network.dataReceived", "Network.loadingFinished", "Network.loadingFailed")


class Meter:
    """One page's samples, from `start` to `finish`. `clock` is None where processor time cannot be told.

    `gone` is called once if the page, or all that leads to it, has gone in between.
    """

    def __init__(self, cdp: CDPSession, clock: ProcessClock | None, gone: Callable[[], None]) -> None:
        self._cdp = cdp
        self._clock = clock
        self._gone = gone
        self.samples: list[ThreadSample] = []
        self.received: defaultdict[int, int] = defaultdict(int)
        self._open: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        for name in _EVENTS:
            hear(self._cdp, name, self._receive)
        await self._cdp.send("Performance.enable", {"timeDomain": "timeTicks"})
        await self._sample()
        self._task = asyncio.get_running_loop().create_task(self._follow())

    async def finish(self) -> None:
        """Takes a last sample, unless the page does not answer."""
        for name in _EVENTS:
            unhear(self._cdp, name, self._receive)
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Error):
                await self._task
        with contextlib.suppress(TimeoutError, Error):
            async with asyncio.timeout(_PATIENCE_S):
                await self._sample()

    async def _follow(self) -> None:
        while len(self.samples) < _MAX_SAMPLES:
            await asyncio.sleep(_IDLE_PERIOD_S if self._is_idle() else _PERIOD_S)
            try:
                await self._sample()
            except Error:
                self._gone()
                return

    async def _sample(self) -> None:
        answer = await self._cdp.send("Performance.getMetrics")
        told = {one["name"]: float(one["value"]) for one in answer["metrics"]}
        self.samples.append(
            ThreadSample(
                monotonic_s=told["Timestamp"],
                counters={name: told[name] for name in COUNTERS & told.keys()},
                processors=None if self._clock is None else self._clock.read(),
            )
        )

    def _is_idle(self) -> bool:
        if len(self.samples) < 2:
            return False
        before, now = self.samples[-2:]
        worked_s = now.counters.get(TASKS, 0.0) - before.counters.get(TASKS, 0.0)
        return 0 <= worked_s < _IDLE_SHARE * (now.monotonic_s - before.monotonic_s)

    def _receive(self, params: dict[str, Any]) -> None:
        """Of each request what is new since it was last heard of: the end tells the whole."""
        request, at = str(params.get("requestId")), int(float(params.get("timestamp") or 0) * 100)
        so_far = self._open.get(request, 0)
        if (response := params.get("response")) is not None:
            whole = max(so_far, int(response.get("encodedDataLength") or 0))
        elif "dataLength" in params:
            whole = so_far + int(params.get("encodedDataLength") or 0)
        else:
            whole = int(params.get("encodedDataLength") or so_far)
            self._open.pop(request, None)
            self._note(at, whole - so_far)
            return
        self._open[request] = whole
        self._note(at, whole - so_far)

    def _note(self, at: int, size: int) -> None:
        if size > 0:
            self.received[at] += size
