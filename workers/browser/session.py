"""One warm browser with its driver: started, used for one page at a time in a fresh context each, closed or killed.

A fresh context is as cold as a fresh process: own cache, own sockets, own TLS sessions, own answers of the resolver.
It costs a tenth of the processor time.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Browser, BrowserContext, Error, Playwright, async_playwright

from workers.browser.black_hole import BlackHole
from workers.browser.canary import examine
from workers.browser.capture import PageLoad, Tell
from workers.browser.chromium import Chromium, flags, unwanted_flags
from workers.browser.context import context_options, cookies_of
from workers.browser.faults import ENDED, BrowserError, CanaryError
from workers.browser.launch import Launch, switches
from workers.browser.loopback_page import LoopbackPage
from workers.browser.netlog_tail import NetlogTail
from workers.browser.process_tree import ProcessTree
from workers.browser.pulse import is_lost
from workers.browser.settings import BrowserSettings
from workers.browser.steps import Carried, StepError, carry_out
from workers.browser.views import Load, may_repeat
from workers.browser.workspace import Workspace
from workers.measurement.messages import RunRequest
from workers.measurement.page_options import STEP_S, PageState

T = TypeVar("T")

_START_S = 30.0
# On a busy machine Chrome takes seconds to write down a cache that a second view is to find.
_CLOSE_S = 10.0
# Beyond the time a page is allowed: opening and closing its context, its picture, the log.
_OVERHEAD_S = 30.0


_ending: set[asyncio.Future[None]] = set()


def _end_late(starting: "asyncio.Future[Playwright]") -> None:
    """Ends a driver that comes up when nobody waits for it any more; before that there is nothing to end it by."""
    if starting.cancelled() or starting.exception() is not None:
        return
    ending = asyncio.ensure_future(starting.result().stop())
    _ending.add(ending)
    ending.add_done_callback(_ending.discard)


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A profile directory that outlives its browser, and the one request that it is for."""

    profile: Path
    request: RunRequest


class Session:
    """Made by `start`. Belongs to the event loop that started it."""

    def __init__(self, settings: BrowserSettings, launch: Launch, workspace: Workspace, driver: Playwright) -> None:
        self._settings = settings
        self._how = launch
        self._workspace = workspace
        self._driver = driver
        self.tail = NetlogTail(workspace.netlog)
        self._browser: Browser | None = None
        self._canary: LoopbackPage | None = None
        self._own: BrowserContext | None = None
        self._hole: BlackHole | None = None
        self._spent: BrowserContext | None = None
        self._pid: int | None = None
        self._tree: ProcessTree | None = None
        self._runs = 0

    @classmethod
    async def start(
        cls, settings: BrowserSettings, chromium: Chromium, launch: Launch, *, sandbox: bool, home: Home | None = None
    ) -> "Session":
        """A browser that is ready and was cold at our own page. Raises BrowserError when it does not come up.

        With a `home` its runs are not made in fresh contexts, but in that of the profile.
        """
        workspace = await asyncio.to_thread(Workspace, settings.ca_file)
        starting = asyncio.ensure_future(async_playwright().start())
        try:
            async with asyncio.timeout(_START_S):
                driver = await asyncio.shield(starting)
        except Exception as error:
            starting.add_done_callback(_end_late)
            workspace.remove()
            raise BrowserError(f"Playwright's driver does not start: {error}") from error
        session = cls(settings, launch, workspace, driver)
        try:
            await session._come_up(chromium, home, sandbox=sandbox)
        except BaseException:
            # Whatever it was, a fault of our own too: nobody else knows of this browser.
            await session.close()
            raise
        return session

    @property
    def is_usable(self) -> bool:
        """Whether another run may be given to this browser: it lives, and is neither old nor its log too large."""
        return (
            self._browser is not None
            and self._browser.is_connected()
            and self._runs < self._settings.recycle_after
            and self.tail.size_bytes < self._settings.recycle_netlog_bytes
        )

    @property
    def parts(self) -> tuple[Browser, LoopbackPage]:
        """The browser and our own page for it. Raises BrowserError when it was never started."""
        if self._browser is None or self._canary is None:
            raise BrowserError("the browser was never started")
        return self._browser, self._canary

    async def prove_cold_in_time(self) -> None:
        """As `prove_cold`, every so many runs."""
        if self._runs and self._runs % self._settings.canary_every == 0:
            await self.prove_cold()

    async def prove_cold(self) -> None:
        """Visits our own page. Raises CanaryError when that was not as cold as a first visit must be, BrowserError when
        the browser was lost.
        """
        browser, page = self.parts
        try:
            fault = await examine(browser, self.tail, page)
        except (Error, TimeoutError) as error:
            raise BrowserError(f"the browser was lost: {str(error)[:300] or 'no answer'}") from error
        if fault is not None:
            raise CanaryError(fault)

    async def load(self, request: RunRequest, carried: Carried | None, tell: Tell) -> Load:
        """A load with its repeat view; `tidy` when it is sound.

        Raises BrowserError when the browser was lost or stuck: it is of no more use.
        """
        self._runs += 1
        views = 1 if request.page.repeat is None else 2
        limit_s = views * (request.timeout_us / 1_000_000 + _OVERHEAD_S)
        return await self._in_time(self._load(request, carried, tell), limit_s)

    async def tidy(self) -> bool:
        """Ends the context of the last load, for which its outcome need not wait; whether the browser could do it."""
        context, self._spent = self._spent, None
        return context is None or await self._end(context)

    async def carry_out(self, request: RunRequest) -> Carried:
        """The steps of a request. Raises StepError, and BrowserError as `load` does."""
        return await self._in_time(self._carry_out(request), len(request.page.steps) * (STEP_S + 5) + _OVERHEAD_S)

    async def _in_time(self, work: Awaitable[T], limit_s: float) -> T:
        try:
            async with asyncio.timeout(limit_s):
                return await work
        except TimeoutError as error:
            raise BrowserError("the browser did not answer in time") from error
        except Error as error:
            raise BrowserError(f"the browser was lost: {str(error).splitlines()[0][:300]}") from error

    async def close(self, *, stuck: bool = False) -> None:
        """Ends browser and driver and removes their files. Never raises.

        A browser that is `stuck` is killed at once, any other when it does not end in time.
        """
        if stuck:
            self._kill()
        if not await self._close_browser():
            self._kill()
            # Once more, for the driver to see the end and remove the profile before it ends itself.
            await self._close_browser()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_CLOSE_S):
                await self._driver.stop()
        if self._canary is not None:
            await self._canary.close()
        if self._hole is not None:
            self._hole.close()
        await asyncio.to_thread(self._workspace.remove)

    async def _close_browser(self) -> bool:
        """Whether it is gone; an error says that it went before us."""
        try:
            async with asyncio.timeout(_CLOSE_S):
                if self._browser is not None:
                    await self._browser.close()
        except TimeoutError:
            return False
        except Error:
            return True
        return True

    async def _come_up(self, chromium: Chromium, home: Home | None, *, sandbox: bool) -> None:
        try:
            async with asyncio.timeout(_START_S):
                await self._launch(chromium, home, sandbox=sandbox)
        except (Error, TimeoutError, OSError) as error:
            raise BrowserError(f"Chromium does not start: {str(error)[:500] or 'no answer'}") from error
        # The second visit would find what the first has left.
        await self.prove_cold()
        await self.prove_cold()

    async def _launch(self, chromium: Chromium, home: Home | None, *, sandbox: bool) -> None:
        self._canary = await LoopbackPage.start()
        self._hole = BlackHole() if self._how.black_holes else None
        how: dict[str, Any] = {
            "executable_path": chromium.path,
            "args": flags(chromium, self._workspace.netlog, trusted_key=self._canary.key_hash)
            + switches(self._how, quic=self._settings.quic, hole=None if self._hole is None else self._hole.place),
            "chromium_sandbox": sandbox,
            "ignore_default_args": unwanted_flags(),
            "artifacts_dir": self._workspace.path,
            "env": self._workspace.environment,
            "handle_sigint": False,
            "handle_sigterm": False,
            "handle_sighup": False,
        }
        if home is None:
            self._browser = await self._driver.chromium.launch(**how)
        else:
            options = how | context_options(home.request, chromium.version)
            self._own = await self._driver.chromium.launch_persistent_context(home.profile, **options)
            self._browser = self._own.browser
        if self._browser is None:
            raise BrowserError("Playwright does not tell of the browser that it started")
        cdp = await self._browser.new_browser_cdp_session()
        processes = (await cdp.send("SystemInfo.getProcessInfo"))["processInfo"]
        self._pid = next((int(process["id"]) for process in processes if process["type"] == "browser"), None)
        await cdp.detach()
        if self._pid is not None:
            self._tree = ProcessTree(self._pid)
            self._workspace.adopt_profile(self._pid)

    async def _load(self, request: RunRequest, carried: Carried | None, tell: Tell) -> Load:
        browser, _ = self.parts
        self.tail.skip()
        context = self._spent = await self._open(request, carried)
        hole = None if self._hole is None else self._hole.address
        load = Load(first=await self._page(context, tell).run(request), hole=hole)
        if request.page.repeat is PageState.WARM_CONNECTION and may_repeat(load.first):
            # In a page of its own, as the first view was, so that nothing comes from the first one's memory.
            for page in context.pages:
                await page.close()
            load = replace(load, repeat=await self._page(context, tell).run(request))
        if not load.outgrew_memory and (not browser.is_connected() or (not load.sound and await is_lost(browser))):
            raise BrowserError(ENDED)
        return load

    async def _open(self, request: RunRequest, carried: Carried | None) -> BrowserContext:
        """A fresh context, or that of the profile, with what the steps left and the request's cookies."""
        browser, _ = self.parts
        options = context_options(request, browser.version)
        context = self._own or await browser.new_context(**options)
        if carried is not None:
            await context.set_storage_state(carried.state)
        if request.page.cookies:
            await context.add_cookies(cookies_of(request))
        return context

    async def _carry_out(self, request: RunRequest) -> Carried:
        browser, _ = self.parts
        context = await browser.new_context(**context_options(request, browser.version))
        try:
            return await carry_out(context, request, self.tail, self._settings, tree=self._tree)
        except StepError:
            if await is_lost(browser):
                raise BrowserError(ENDED) from None
            raise
        finally:
            await self._end(context)

    def _page(self, context: BrowserContext, tell: Tell) -> PageLoad:
        return PageLoad(context, self.tail, self._settings, tell, tree=self._tree)

    async def _end(self, context: BrowserContext) -> bool:
        try:
            async with asyncio.timeout(_CLOSE_S):
                await context.close()
        except (Error, TimeoutError):
            return False
        return True

    def _kill(self) -> None:
        if self._pid is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self._pid, signal.SIGKILL)
        self._pid = None
