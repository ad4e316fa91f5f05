"""Loads one page and brings back what was seen. Interprets nothing; every wait has an end."""

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import BrowserContext, CDPSession, Error, Page

from workers.browser.asking import WORLD, Ask, evaluate
from workers.browser.context import introduce
from workers.browser.faults import ENDED, BrowserError
from workers.browser.hearing import hear
from workers.browser.memory import MemoryBound
from workers.browser.netlog_tail import NetlogTail
from workers.browser.own_headers import WARNING as HEADERS_WARNING
from workers.browser.own_headers import OwnHeaders, own_headers
from workers.browser.picture import picture_of
from workers.browser.process_tree import ProcessTree
from workers.browser.pulse import is_lost
from workers.browser.recorder import BINDING, EVENTS, Recorder
from workers.browser.settings import BrowserSettings
from workers.browser.stock import Stock, take_stock
from workers.browser.watch import Watch
from workers.browser.workers import Workers
from workers.measurement.captures_page import DevToolsEvent, PageCapture
from workers.measurement.captures_sight import SightCapture
from workers.measurement.messages import ProgressStage, RunRequest

Tell = Callable[[ProgressStage, int | None], None]
T = TypeVar("T")

_SCRIPTS = Path(__file__).parent / "scripts"
# How long a page that has done its loading may take to answer for its text, its picture, its end.
_PATIENCE_S = 5.0
# … and one that has used up its time already.
_LATE_PATIENCE_S = 2.0
_PROGRESS_S = 0.5
# A page that has loaded but keeps a request open without a byte is at rest after this.
_STALLED_S = 5.0
_CUT_SHORT = (
    "Before it had loaded, the page stopped itself or went on to what is no page (a download, an answer without one):"
    " browsers then read it no further, and there is no load time."
)
# An answer that took longer had to wait for a task; what that did is painted, and its frame sent, within so long.
_TASK_S, _PAINT_S = 0.05, 0.25
# Of two clocks beside each other; not all of them are disturbed.
_READINGS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What a run brought back. `sound` is False when the browser must be replaced."""

    capture: PageCapture
    screenshot: bytes | None
    sound: bool
    sight: SightCapture | None = None


def _injection() -> str:
    names = ("observe", "fcp", "lcp", "cls", "tasks", "timings", "dom")
    body = "\n".join((_SCRIPTS / f"{name}.js").read_text("utf-8") for name in names)
    return f"if (window === window.top) {{ (() => {{\n{body}\n}})(); }}"


_INJECTION = _injection()
# So long a new context keeps the browser busy, on two processors. What the page asked for at once would wait for them:
# measured, its first lookup began up to 5 ms late, and after this rest less than 2.
_SETTLING_S = 0.06


class PageLoad:
    """One page in its own context, from opening to closing."""

    def __init__(
        self,
        context: BrowserContext,
        tail: NetlogTail,
        settings: BrowserSettings,
        tell: Tell,
        *,
        tree: ProcessTree | None = None,
    ) -> None:
        self._context = context
        self._tree = tree
        self._browser = context.browser
        self._version = "" if context.browser is None else context.browser.version
        self._tail = tail
        self._settings = settings
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._sound = True
        self._patience_s = _PATIENCE_S
        self._warnings: list[str] = []
        self._aside: set[asyncio.Future[None]] = set()

    async def run(self, request: RunRequest) -> Loaded:
        """Loads the page. Raises BrowserError or playwright's Error when the browser is lost."""
        page = await self._context.new_page()
        recorder = Recorder(self._loop.time)
        page.on("crash", recorder.crash)
        self._context.on("page", self._refuse)
        if self._browser is None:
            return await self._load_bounded(page, recorder, request)
        self._browser.on("disconnected", recorder.lose)
        try:
            return await self._load_bounded(page, recorder, request)
        finally:
            # The browser outlives the run, and would keep the recorder with everything in it.
            self._browser.remove_listener("disconnected", recorder.lose)
            self._context.remove_listener("page", self._refuse)

    async def _load_bounded(self, page: Page, recorder: Recorder, request: RunRequest) -> Loaded:
        """Also what is asked of the page after its load keeps within its memory."""
        try:
            async with MemoryBound(self._tree, self._settings.max_memory_bytes) as memory:
                loaded = await self._load(page, recorder, request)
        except (BrowserError, Error):
            # A browser may end with its page, as while it takes a picture.
            if not memory.outgrown:
                raise
            bare = PageCapture(url=request.url, main_frame=recorder.main_frame, events=recorder.close())
            loaded = Loaded(capture=bare, screenshot=None, sound=False)
        if memory.outgrown:
            ended = replace(loaded.capture, crashed=True, memory_limit_bytes=memory.limit_bytes)
            return replace(loaded, capture=ended, sound=False)
        return replace(loaded, capture=replace(loaded.capture, machine_ran_out=memory.ran_out))

    async def _load(self, page: Page, recorder: Recorder, request: RunRequest) -> Loaded:
        cdp = await self._context.new_cdp_session(page)
        main_frame = recorder.main_frame = await self._prepare(cdp, recorder, request)
        for name in EVENTS:
            hear(cdp, name, functools.partial(recorder.take, name))
        await asyncio.sleep(_SETTLING_S)
        clock_us = _wall_beside_us()
        bare = PageCapture(url=request.url, main_frame=main_frame, events=(), started_at=datetime.now(UTC))
        async with Watch(cdp, self._tree, lambda: self._do_aside(self._look_for_browser(recorder))) as watch:
            arrived = replace(await self._navigate(cdp, recorder, request, bare), told_us=_now_us())
        arrived = replace(arrived, clock_step_us=_wall_beside_us() - clock_us)
        if arrived.outgrew:
            # It would go on to fill the browser while it is looked at.
            await self._patiently(cdp.send("Page.stopLoading"))
        events = recorder.close()
        if recorder.cut_short and not recorder.crashed:
            self._warnings.append(_CUT_SHORT)
        seen, stock, screenshot, sight = await asyncio.gather(
            self._look(cdp, request, arrived),
            self._stock(cdp, arrived, events),
            self._picture(cdp, arrived),
            watch.sight(recorder.word_s if arrived.responsive and not arrived.overran else None),
        )
        netlog = await self._tail.read_now(cdp)
        capture = replace(
            _stocked(seen, stock),
            events=events,
            netlog=netlog,
            pieces=tuple(recorder.pieces),
            events_dropped=recorder.dropped,
            browser_version=self._version,
            secret_headers=frozenset(header.name.lower() for header in own_headers(request)),
            warnings=tuple(self._warnings),
        )
        sound = self._sound and not capture.crashed
        return Loaded(capture=capture, screenshot=screenshot, sound=sound, sight=sight)

    async def _prepare(self, cdp: CDPSession, recorder: Recorder, request: RunRequest) -> str:
        """Everything that must listen before the first byte. Gives the id of the top frame.

        Sent without waiting for answers in between: DevTools keeps the order, and each answer takes milliseconds.
        """
        listening = (
            # No buffers: nobody reads bodies back from DevTools but the check of the text.
            cdp.send("Network.enable", {"maxPostDataSize": 0}),
            cdp.send("Page.enable"),
            cdp.send("Runtime.enable"),
            cdp.send("Runtime.addBinding", {"name": BINDING, "executionContextName": WORLD}),
            cdp.send("Page.addScriptToEvaluateOnNewDocument", {"source": _INJECTION, "worldName": WORLD}),
            introduce(cdp, request, self._version),
            Workers(cdp, recorder.take).start(),
        )
        tree, *_ = await asyncio.gather(cdp.send("Page.getFrameTree"), asyncio.gather(*listening))
        if headers := own_headers(request):
            await OwnHeaders(cdp, headers).start(request.url, self._settings.extra_ports)
            self._warnings.append(HEADERS_WARNING)
        return str(tree["frameTree"]["frame"]["id"])

    async def _navigate(
        self, cdp: CDPSession, recorder: Recorder, request: RunRequest, bare: PageCapture
    ) -> PageCapture:
        self._tell(ProgressStage.CONNECTING, None)
        bare = replace(bare, asked_us=_now_us())
        deadline_s = self._loop.time() + request.timeout_us / 1_000_000
        navigation = asyncio.ensure_future(cdp.send("Page.navigate", {"url": request.url}))
        navigation.add_done_callback(lambda _: recorder.changed.set())
        try:
            return await self._follow(cdp, recorder, navigation, deadline_s, bare)
        finally:
            navigation.cancel()

    async def _follow(
        self,
        cdp: CDPSession,
        recorder: Recorder,
        navigation: "asyncio.Future[dict[str, Any]]",
        deadline_s: float,
        bare: PageCapture,
    ) -> PageCapture:
        told_s, told = 0.0, 0
        responsive: bool | None = None
        while True:
            recorder.changed.clear()
            if recorder.lost:
                raise BrowserError(ENDED)
            now_s = self._loop.time()
            if (broken := self._broken_off(recorder, navigation, bare)) is not None:
                return broken
            if recorder.requests > told and now_s - told_s >= _PROGRESS_S:
                told_s, told = now_s, recorder.requests
                self._tell(ProgressStage.LOADING, told)
            rest_s, quiet = self._rest(recorder, now_s)
            overran = now_s >= deadline_s
            if rest_s > 0 and not overran:
                responsive = None
                await self._any_change(recorder, min(rest_s, deadline_s - now_s, _PROGRESS_S))
            elif responsive is None:
                self._patience_s = _LATE_PATIENCE_S if overran else _PATIENCE_S
                # Where nothing has come yet there is no page to ask.
                responsive = not navigation.done() or await self._is_responsive(cdp)
            else:
                return replace(
                    bare, load_seen=recorder.load_seen, went_quiet=quiet, overran=overran, responsive=responsive
                )

    def _broken_off(
        self, recorder: Recorder, navigation: "asyncio.Future[dict[str, Any]]", bare: PageCapture
    ) -> PageCapture | None:
        """What is told of a page that came to nothing, or grew too large; None of one that goes on."""
        if recorder.crashed:
            return replace(bare, crashed=True)
        if navigation.done() and (error := navigation.result().get("errorText")):
            is_download = bool(navigation.result().get("isDownload"))
            return replace(bare, net_error=str(error).removeprefix("net::"), is_download=is_download)
        if navigation.done() and recorder.document_error is not None:
            return replace(bare, net_error=recorder.document_error)
        # Headers are no body, and what the page makes of nothing else stands in the log, which lies in memory too.
        outgrew = max(recorder.body_bytes, self._tail.unread_bytes) > self._settings.max_page_bytes
        return replace(bare, outgrew=True) if outgrew else None

    async def _is_responsive(self, cdp: CDPSession) -> bool:
        """Whether the main thread is free, once it is: a task may ask for more, and is told only at its end."""
        asked_s = self._loop.time()
        await self._patiently(cdp.send("Runtime.evaluate", {"expression": "0"}))
        if self._sound and self._loop.time() - asked_s > _TASK_S:
            await asyncio.sleep(_PAINT_S)
        return self._sound

    def _rest(self, recorder: Recorder, now_s: float) -> tuple[float, bool]:
        """How long until the page may be called complete if nothing happens, and whether it is quiet already."""
        if recorder.load_s is None:
            return float("inf"), False
        patience_s = self._settings.quiet_s if recorder.is_idle else max(_STALLED_S, self._settings.quiet_s)
        quiet_s = max(recorder.last_activity_s, recorder.load_s) + patience_s - now_s
        return min(quiet_s, recorder.load_s + self._settings.settle_s - now_s), quiet_s <= 0

    async def _any_change(self, recorder: Recorder, timeout_s: float) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await recorder.changed.wait()
        except TimeoutError:
            return

    async def _look(self, cdp: CDPSession, request: RunRequest, arrived: PageCapture) -> PageCapture:
        """The title and the text that must be there, from the page as it stands."""
        if arrived.crashed or arrived.net_error is not None:
            return arrived
        ask = self._asking(cdp)
        title = await evaluate(ask, arrived.main_frame, "String(document.title).slice(0, 1000)")
        found = None if request.body_text is None else await _has_text(ask, arrived.main_frame, request.body_text)
        return replace(arrived, title=title if isinstance(title, str) else None, text_found=found)

    async def _stock(self, cdp: CDPSession, seen: PageCapture, events: Sequence[DevToolsEvent]) -> Stock:
        """What could have been smaller; nothing of a page that did not come to its end."""
        if seen.crashed or seen.overran or not seen.load_seen:
            return Stock()
        return await take_stock(self._asking(cdp), seen.main_frame, events)

    async def _picture(self, cdp: CDPSession, arrived: PageCapture) -> bytes | None:
        if arrived.crashed or arrived.is_download:
            return None
        picture = await picture_of(self._asking(cdp))
        if picture is not None:
            return picture
        self._warnings.append("No picture of the page could be taken.")
        return None

    def _refuse(self, popup: Page) -> None:
        self._do_aside(_close(popup))

    async def _look_for_browser(self, recorder: Recorder) -> None:
        """Why a page is gone: a driver that has ended says nothing, and the page would be waited for all its time."""
        if self._browser is not None and await is_lost(self._browser):
            recorder.lose(self._browser)

    def _do_aside(self, work: Coroutine[Any, Any, None]) -> None:
        doing = asyncio.ensure_future(work)
        self._aside.add(doing)
        doing.add_done_callback(self._aside.discard)

    def _asking(self, cdp: CDPSession) -> Ask:
        return lambda method, params: self._patiently(cdp.send(method, params))

    async def _patiently(self, answer: Awaitable[T]) -> T | None:
        """An answer of the page, or None when it cannot give one; a page that does not answer spoils its browser."""
        if not self._sound:
            asyncio.ensure_future(answer).cancel()
            return None
        try:
            async with asyncio.timeout(self._patience_s):
                return await answer
        except TimeoutError:
            self._sound = False
        except Error as error:
            if "Target" in str(error) and "closed" in str(error):
                self._sound = False
        return None


def _stocked(seen: PageCapture, stock: Stock) -> PageCapture:
    return replace(
        seen,
        pictures=stock.pictures,
        texts=stock.texts,
        hints=stock.hints,
        text_waits=stock.text_waits,
        text_made=stock.text_made,
        body=stock.body,
        blocking=stock.blocking,
    )


async def _close(popup: Page) -> None:
    try:
        await popup.close()
    except Error:
        # It went away by itself.
        return


async def _has_text(ask: Ask, frame: str, text: str) -> bool:
    words = _javascript_string(text)
    rendered = f"(document.body ? document.body.innerText : '').includes({words})"
    source = f"document.documentElement.outerHTML.includes({words})"
    return bool(await evaluate(ask, frame, f"{rendered} || {source}"))


def _now_us() -> int:
    """On Chrome's own clock."""
    return time.monotonic_ns() // 1000


def _wall_beside_us() -> int:
    """By how much the wall clock is before Chrome's own. Who is kept waiting between two readings tells less."""
    return max(time.time_ns() // 1000 - _now_us() for _ in range(_READINGS))


def _javascript_string(text: str) -> str:
    """A literal that cannot end early: every character by its number."""
    return "String.fromCodePoint(" + ",".join(str(ord(char)) for char in text[:2000]) + ")"
