"""One place in the pool: a thread with its event loop, in which a browser lives.

The browser is started at the first run, kept warm between runs, and closed with its driver when nobody has come for a
while. Runs that ask for a browser that was started otherwise get one of their own beside it; only one works at a time.
"""

import asyncio
import contextlib
import functools
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from workers.browser.capture import Tell
from workers.browser.chromium import inspect_chromium
from workers.browser.faults import BrowserError, CanaryError
from workers.browser.launch import ORDINARY, Launch, launch_of
from workers.browser.returning import load_and_return
from workers.browser.session import Home, Session
from workers.browser.settings import BrowserSettings
from workers.browser.steps import Carried
from workers.browser.views import Load
from workers.measurement.messages import RunRequest
from workers.measurement.page_options import PageState

T = TypeVar("T")
TellFault = Callable[[str | None], None]

_CLOSE_S = 30.0
# What Playwright writes into a future when its driver ends, and never reads: all calls in flight fail for it, and ours.
_DRIVER_ENDED = "Connection closed while reading from the driver"
# The ordinary one and the last two that were started otherwise: an experiment takes turns between two.
_MOST_BROWSERS = 3


def tell_nobody(_fault: str | None) -> None:
    """Nobody asked."""


class Seat:
    """`load` is for one caller at a time; the pool sees to that."""

    def __init__(
        self,
        settings: BrowserSettings,
        enter: Callable[[], None] | None = None,
        tell_fault: TellFault = tell_nobody,
    ) -> None:
        self._tell_fault = tell_fault
        self._settings = settings
        self._enter = enter
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._door, self._closed = threading.Lock(), False
        self._sessions: OrderedDict[Launch, Session] = OrderedDict()
        self._idle: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._awaited: asyncio.Task[object] | None = None

    def load(self, request: RunRequest, carried: Carried | None, tell: Tell) -> "Future[Load]":
        """The page, as soon as it has been seen; BrowserError when the browser could not be used.

        Whatever is done for the browser afterwards, the next load waits for it. Raises BrowserError once it is closed.
        """
        seen: Future[Load] = Future()
        work = self._begin(self._load(request, carried, tell, seen))
        work.add_done_callback(lambda done: _tell_of_failure(done, seen))
        return seen

    def carry_out(self, request: RunRequest) -> "Future[Carried]":
        """What the steps of a request leave; StepError for one that could not be done, BrowserError as for `load`."""
        return self._begin(self._carry_out(request))

    def prove(self) -> "Future[None]":
        """A browser started, and at our own page; BrowserError when that was not as it must be."""
        return self._begin(self._prove())

    def close(self) -> None:
        """Ends the browser and the thread, for good. Whoever still waits for a page is told that none comes."""
        with self._door:
            self._closed = True
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        self._loop.close()
        self._loop = self._thread = None

    def _begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Raises BrowserError once it is closed: what begins before that is ended by it, and nothing begins after."""
        with self._door:
            if self._closed:
                work.close()
                raise BrowserError("it was closed before the page was asked for")
            return asyncio.run_coroutine_threadsafe(work, self._running())

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._loop.set_exception_handler(_tell_of_fault)
            self._thread = threading.Thread(target=_run, args=(self._loop, self._enter), name="browser", daemon=True)
            self._thread.start()
        return self._loop

    async def _prove(self) -> None:
        async with self._at_work():
            await self._ready(ORDINARY)

    async def _load(self, request: RunRequest, carried: Carried | None, tell: Tell, seen: "Future[Load]") -> None:
        async with self._at_work():
            launch = launch_of(request, self._settings)
            if request.page.repeat is PageState.WARM_CACHE:
                start = functools.partial(self._start_sound, launch)
                seen.set_result(await load_and_return(start, request, carried, tell))
                return
            session = await self._ready(launch)
            sound = False
            try:
                load = await session.load(request, carried, tell)
                self._awaited = None
                seen.set_result(load)
                sound = load.sound and await session.tidy()
            finally:
                if not sound or not session.is_usable:
                    await self._drop(launch, stuck=not sound)

    async def _carry_out(self, request: RunRequest) -> Carried:
        async with self._at_work():
            launch = launch_of(request, self._settings)
            session = await self._ready(launch)
            try:
                return await session.carry_out(request)
            except BrowserError:
                await self._drop(launch, stuck=True)
                raise

    @asynccontextmanager
    async def _at_work(self) -> AsyncIterator[None]:
        async with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            self._awaited = asyncio.current_task()
            try:
                yield
            finally:
                self._awaited = None
                self._await_idleness()

    async def _ready(self, launch: Launch) -> Session:
        session = self._sessions.get(launch)
        if session is not None and not (session.is_usable and await _is_cold(session)):
            await self._drop(launch)
            session = None
        if session is None:
            while len(self._sessions) >= _MOST_BROWSERS:
                await self._drop(next(iter(self._sessions)))
            session = self._sessions[launch] = await self._start_sound(launch)
        self._sessions.move_to_end(launch)
        return session

    async def _start_sound(self, launch: Launch, home: Home | None = None) -> Session:
        """A new browser; a second one when the first was not cold, since a machine may have had a bad moment."""
        try:
            try:
                session = await self._start(launch, home)
            except CanaryError:
                session = await self._start(launch, home)
        except BrowserError as error:
            self._tell_fault(str(error))
            raise
        self._tell_fault(None)
        return session

    async def _start(self, launch: Launch, home: Home | None) -> Session:
        chromium = await asyncio.to_thread(inspect_chromium, self._settings.chromium)
        sandbox = chromium.sandbox if self._settings.sandbox is None else self._settings.sandbox
        starting = asyncio.ensure_future(Session.start(self._settings, chromium, launch, sandbox=sandbox, home=home))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # One that has only half begun cannot be ended without a trace.
            with contextlib.suppress(BrowserError):
                await (await starting).close()
            raise

    async def _drop(self, launch: Launch, *, stuck: bool = False) -> None:
        session = self._sessions.pop(launch, None)
        if session is not None:
            await session.close(stuck=stuck)

    async def _drop_all(self) -> None:
        for launch in tuple(self._sessions):
            await self._drop(launch)

    def _await_idleness(self) -> None:
        self._idle = asyncio.get_running_loop().call_later(self._settings.idle_s, self._rest)

    def _rest(self) -> None:
        self._closing = asyncio.get_running_loop().create_task(self._close_idle())

    async def _close_idle(self) -> None:
        async with self._lock:
            await self._drop_all()

    async def _end(self) -> None:
        if self._awaited is not None:
            self._awaited.cancel()
        async with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            await self._drop_all()


def _tell_of_fault(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What nobody took from a future, as asyncio tells it, but for an end that a run or a closing tells of."""
    if str(context.get("exception")) != _DRIVER_ENDED:
        loop.default_exception_handler(context)


def _tell_of_failure(done: "Future[None]", seen: "Future[Load]") -> None:
    """Without a page, why there is none. What goes wrong after it was seen spoils the browser and not the page."""
    if not seen.done():
        error = None if done.cancelled() else done.exception()
        seen.set_exception(error or BrowserError("the browser brought nothing back"))


async def _is_cold(session: Session) -> bool:
    """Whether it is, as far as it is time to ask."""
    try:
        await session.prove_cold_in_time()
    except BrowserError:
        return False
    return True


def _run(loop: asyncio.AbstractEventLoop, enter: Callable[[], None] | None) -> None:
    """The life of a seat's thread. What it starts, the driver and its browser, lives in the network that it entered."""
    if enter is not None:
        enter()
    loop.run_forever()
