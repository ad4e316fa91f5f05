"""Does the steps of a script in a context of their own, and brings back what they leave: cookies and storage.

Nothing of what is typed as a secret is told: no error of the driver, whose texts repeat it, leaves this module, the log
of these pages is read for addresses only, and a picture is taken only of a page that shows none (`last_sight`).
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, CDPSession, Error, FrameLocator, Locator, Page
from playwright.async_api import TimeoutError as LateError

from workers.browser.context import introduce
from workers.browser.faults import BrowserError
from workers.browser.last_sight import last_sight
from workers.browser.memory import MemoryBound
from workers.browser.netlog_tail import MAX_RUN_BYTES, NetlogTail
from workers.browser.own_headers import OwnHeaders, own_headers
from workers.browser.process_tree import ProcessTree
from workers.browser.settings import BrowserSettings
from workers.browser.tabs import Tabs
from workers.measurement.captures_page import PageCapture
from workers.measurement.compute.page.outcome import RAN_OUT
from workers.measurement.compute.page.page import compute_page
from workers.measurement.compute.texts import plain
from workers.measurement.messages import RunRequest
from workers.measurement.page_options import MAX_FRAMES, STEP_S, WITHIN, Click, Press, Step, TypeText, Visit, WaitFor
from workers.measurement.redaction import Masks, Redaction
from workers.measurement.target import origin_of

_MAX_STATE_BYTES = 5 * 1024 * 1024
_LOOK_S = 0.1
_MAX_SHOWN_CHARS = 120
_FOCUSED = "document.activeElement ?? document.documentElement"
_GONE = ("not attached", "Execution context was destroyed", "Cannot find context")


class StepError(Exception):
    """A step that could not be done; the text says which and why, and holds nothing that is typed.

    `picture` is the page as the step left it (JPEG), `addresses` all that the steps led to.
    """

    def __init__(self, text: str, *, picture: bytes | None = None, addresses: frozenset[str] = frozenset()) -> None:
        super().__init__(text)
        self.picture = picture
        self.addresses = addresses


class _StrangerError(Exception):
    """A secret was to be typed on a page of a server that no step visits; the text is its host."""


class _OutgrewError(Exception):
    """More was taken than is given, so that whom the steps asked is not known; the text says of what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What the views begin with. `addresses` are all that the steps led to."""

    state: Any
    addresses: frozenset[str] = frozenset()


async def carry_out(
    context: BrowserContext,
    request: RunRequest,
    tail: NetlogTail,
    settings: BrowserSettings,
    *,
    tree: ProcessTree | None,
) -> Carried:
    """Every step of a request. Raises StepError; BrowserError, or playwright's Error, when the browser is lost."""
    tail.skip()
    page = await context.new_page()
    cdp = await context.new_cdp_session(page)
    await introduce(cdp, request, context.browser.version if context.browser else "")
    if headers := own_headers(request):
        await OwnHeaders(cdp, headers).start(request.url, settings.extra_ports)
    await cdp.send("Page.enable")
    limit_bytes = min(settings.max_page_bytes, MAX_RUN_BYTES)
    memory = MemoryBound(tree, settings.max_memory_bytes)
    try:
        async with memory:
            await _bounded(_walk(page, request.page.steps, Tabs(cdp)), tail, limit_bytes, memory)
        state = await context.storage_state(indexed_db=True)
        if len(json.dumps(state)) > _MAX_STATE_BYTES:
            raise StepError(f"the steps leave more than {_MAX_STATE_BYTES // 2**20} MB in the browser's storage")
    except _OutgrewError as error:
        raise StepError(str(error)) from None
    except StepError as error:
        if memory.ran_out:
            raise BrowserError(RAN_OUT) from None
        secrets = [step.text for step in request.page.steps if isinstance(step, TypeText) and step.secret]
        picture = await last_sight(cdp, secrets, frames=len(page.frames))
        raise StepError(str(error), picture=picture, addresses=await _addresses(cdp, tail)) from None
    return Carried(state=state, addresses=await _addresses(cdp, tail))


async def _bounded(walk: Coroutine[Any, Any, None], tail: NetlogTail, limit_bytes: int, memory: MemoryBound) -> None:
    """The log lies in memory, and pages can fill it, and all other memory, faster than steps end."""
    walking = asyncio.ensure_future(walk)
    try:
        while not walking.done():
            await asyncio.wait({walking}, timeout=_LOOK_S)
            if tail.unread_bytes > limit_bytes:
                words = f"the browser's log of all that the steps ask for is larger than {limit_bytes // 2**20} MB"
                raise _OutgrewError(words)
            if memory.outgrown:
                raise _OutgrewError(f"a page took more than {memory.limit_bytes // 2**20} MB of memory")
        await walking
    finally:
        walking.cancel()
        await asyncio.gather(walking, return_exceptions=True)


async def _walk(page: Page, steps: Sequence[Step], tabs: Tabs) -> None:
    """Every step, and what the last one began."""
    name = ""
    for number, step in enumerate(steps, 1):
        name = f"step {number}, {_shown(step)}"
        if isinstance(step, Click | Press):
            tabs.at(name)
        try:
            await _carry_out(page, name, step, steps[:number])
        except StepError as error:
            raise StepError(tabs.told_before(str(error))) from None
    await _settle(page)
    if (asked := tabs.asked_by(name)) is not None:
        raise StepError(asked)


async def _addresses(cdp: CDPSession, tail: NetlogTail) -> frozenset[str]:
    capture = PageCapture(url="", main_frame="", events=(), netlog=await tail.read_now(cdp))
    return compute_page(capture).addresses


async def _carry_out(page: Page, name: str, step: Step, done: Sequence[Step]) -> None:
    try:
        async with asyncio.timeout(STEP_S + 2):
            await _do(page, step, _homes(done))
    except _StrangerError as error:
        rule = "a secret is typed only where a step visits its host and port"
        raise StepError(f"{name}: the page is of {error}; {rule}") from None
    except (Error, TimeoutError) as error:
        # Without its cause, whose text may hold what was typed.
        raise StepError(f"{name}: {await _reason(page, step, error)}") from None


async def _do(page: Page, step: Step, homes: frozenset[str]) -> None:
    limit_ms = STEP_S * 1000
    if isinstance(step, Visit):
        await page.goto(step.url, wait_until="load", timeout=limit_ms)
    elif isinstance(step, Click):
        await _visible(page, step.selector).click(timeout=limit_ms)
    elif isinstance(step, TypeText):
        await _fill(_visible(page, step.selector), step, homes)
    elif isinstance(step, Press):
        await _press(page, step)
    else:
        await _visible(page, step.selector).first.wait_for(state="visible", timeout=limit_ms)


async def _fill(field: Locator, step: TypeText, homes: frozenset[str]) -> None:
    """A list is chosen from by value, everything else is written into: the element that was looked at and no other."""
    limit_ms = STEP_S * 1000
    while True:
        element = await field.element_handle(timeout=limit_ms)
        try:
            name, origin = await element.evaluate("element => [element.localName, location.origin]")
            if step.secret and origin_of(origin)[0] not in homes:
                raise _StrangerError(plain(urlsplit(origin).netloc or "nobody", _MAX_SHOWN_CHARS))
            if name == "select":
                await element.select_option(value=step.text, timeout=limit_ms)
                await element.focus()
            else:
                await element.fill(step.text, timeout=limit_ms)
        except Error as error:
            # A page that draws itself anew, or is left, takes the element away.
            if not any(sign in str(error) for sign in _GONE):
                raise
        else:
            return


async def _press(page: Page, step: Press) -> None:
    """By the element that has the focus and not by the keyboard alone, so that what the key begins is waited for."""
    focused = (await page.evaluate_handle(_FOCUSED)).as_element()
    for _ in range(MAX_FRAMES):
        frame = None if focused is None else await focused.content_frame()
        if frame is None:
            break
        focused = (await frame.evaluate_handle(_FOCUSED)).as_element()
    if focused is not None:
        await focused.press(step.key, timeout=STEP_S * 1000)


def _homes(done: Sequence[Step]) -> frozenset[str]:
    """To whom a secret may be told: origins that a step has visited, in the clear only where it visited them so."""
    visited = {origin_of(step.url)[0] for step in done if isinstance(step, Visit)}
    return frozenset(visited | {f"https{origin[4:]}" for origin in visited if origin.startswith("http:")})


def _visible(page: Page, selector: str) -> Locator:
    return _found(page, selector).filter(visible=True)


def _found(page: Page, selector: str) -> Locator:
    """Elements by CSS; those within a frame by that of the frame, `>>>` and their own."""
    *frames, inner = selector.split(WITHIN)
    place: Page | FrameLocator = page
    for frame in frames:
        place = place.frame_locator(f"css={frame}")
    return place.locator(f"css={inner}")


async def _settle(page: Page) -> None:
    """What the last click began must have come to an end, or its cookies are lost; a page that never rests is left."""
    with contextlib.suppress(LateError):
        await page.wait_for_load_state("networkidle", timeout=STEP_S * 1000)


def _shown(step: Step) -> str:
    if isinstance(step, Press):
        return f"press {step.key}"
    where = Masks(Redaction.STANDARD).url(step.url) if isinstance(step, Visit) else step.selector
    return f"{_VERBS[type(step)]} {plain(where, _MAX_SHOWN_CHARS)}"


_VERBS: dict[type, str] = {Visit: "visit", Click: "click", TypeText: "type into", WaitFor: "wait for"}


async def _reason(page: Page, step: Step, error: Exception) -> str:
    if isinstance(step, Visit):
        name = next((word for word in str(error).replace(":", " ").split() if word.startswith("ERR_")), None)
        return name or f"it did not load within {STEP_S} s"
    if isinstance(step, Press):
        return f"the page did not take it within {STEP_S} s"
    if "is not a valid selector" in str(error) or "Unexpected token" in str(error):
        return "this is no CSS selector"
    if (frame := await _frame_fault(page, step.selector)) is not None:
        return frame
    found = await _count(lambda: _visible(page, step.selector).count())
    if not found:
        hidden = await _count(lambda: _found(page, step.selector).count())
        return f"{'not visible' if hidden else 'no such element'} within {STEP_S} s"
    if found > 1 and not isinstance(step, WaitFor):
        return f"{found} elements are visible; say which one"
    return f"the element is there, but did not take it within {STEP_S} s"


async def _frame_fault(page: Page, selector: str) -> str | None:
    """Whether one of the frames that lead to an element is none, or several."""
    *frames, _ = selector.split(WITHIN)
    for depth in range(1, len(frames) + 1):
        count = await _count(_found(page, WITHIN.join(frames[:depth])).count)
        if count != 1:
            name = plain(frames[depth - 1], _MAX_SHOWN_CHARS)
            return f"{count} frames are {name}; say which one" if count else f"no frame {name} within {STEP_S} s"
    return None


async def _count(ask: Callable[[], Awaitable[int]]) -> int:
    with contextlib.suppress(Error, TimeoutError):
        async with asyncio.timeout(2):
            return await ask()
    return 0
