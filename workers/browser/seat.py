"""One place in the pool: a thread with its event loop, in which at most one browser lives.

The browser is started at the first run, kept warm between runs, and closed with its driver when nobody has come for a
while.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

from workers.browser.capture import Loaded, Tell
from workers.browser.chromium import inspect_chromium
from workers.browser.session import Session
from workers.browser.settings import BrowserSettings
from workers.measurement.messages import RunRequest

_CLOSE_S = 30.0


class Seat:
    """`load` is for one caller at a time; the pool sees to that."""

    def __init__(self, settings: BrowserSettings, enter: Callable[[], None] | None = None) -> None:
        self._settings = settings
        self._enter = enter
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._session: Session | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    def load(self, request: RunRequest, tell: Tell) -> "Future[Loaded]":
        """The page, when it has been seen; BrowserError when the browser could not be used."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_run, args=(self._loop, self._enter), name="browser", daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(self._load(request, tell), self._loop)

    def close(self) -> None:
        """Ends the browser and the thread."""
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        self._loop.close()
        self._loop = self._thread = None

    async def _load(self, request: RunRequest, tell: Tell) -> Loaded:
        async with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            session = await self._ready()
            sound = False
            try:
                loaded = await session.load(request, tell)
                sound = loaded.sound
            finally:
                if not sound or not session.is_usable:
                    await self._drop(stuck=not sound)
                self._await_idleness()
        return loaded

    async def _ready(self) -> Session:
        if self._session is not None and not self._session.is_usable:
            await self._drop()
        if self._session is None:
            chromium = await asyncio.to_thread(inspect_chromium, self._settings.chromium)
            sandbox = chromium.sandbox if self._settings.sandbox is None else self._settings.sandbox
            self._session = await Session.start(self._settings, chromium, sandbox=sandbox)
        return self._session

    async def _drop(self, *, stuck: bool = False) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close(stuck=stuck)

    def _await_idleness(self) -> None:
        self._idle = asyncio.get_running_loop().call_later(self._settings.idle_s, self._rest)

    def _rest(self) -> None:
        self._closing = asyncio.get_running_loop().create_task(self._close_idle())

    async def _close_idle(self) -> None:
        async with self._lock:
            await self._drop()

    async def _end(self) -> None:
        async with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            await self._drop()


def _run(loop: asyncio.AbstractEventLoop, enter: Callable[[], None] | None) -> None:
    """The life of a seat's thread. What it starts, the driver and its browser, lives in the network that it entered."""
    if enter is not None:
        enter()
    loop.run_forever()
