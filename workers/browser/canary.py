"""Visits our own page in a fresh context, as a run would visit its target, and says whether it was as cold."""

import asyncio
import functools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from playwright.async_api import Browser, BrowserContext, Error

from workers.browser.hearing import hear
from workers.browser.loopback_page import HOLD_S, HOST, LoopbackPage
from workers.browser.netlog_tail import NetlogTail
from workers.browser.recorder import EVENTS, Recorder
from workers.measurement.captures_page import PageCapture
from workers.measurement.compute.page.canary import canary_fault, remembered_names
from workers.measurement.compute.page.page import compute_page

_PATIENCE_S = 10.0


async def examine(browser: Browser, tail: NetlogTail, page: LoopbackPage) -> str | None:
    """What was not as in a first visit; None when all was.

    Raises playwright's Error when the browser is lost, TimeoutError when it does not answer.
    """
    tail.skip()
    page.begin()
    async with _context(browser) as context:
        try:
            capture = await view(context, tail, page.url)
        except (Error, TimeoutError) as error:
            if not browser.is_connected():
                raise
            return f"it did not load: {''.join(str(error).splitlines()[:1])[:200] or 'no answer'}"
    return fault_of(page, capture)


@asynccontextmanager
async def _context(browser: Browser) -> AsyncIterator[BrowserContext]:
    """A fresh one. A browser that has stopped answers for neither its beginning nor its end, and says so nowhere."""
    async with asyncio.timeout(_PATIENCE_S):
        context = await browser.new_context()
    try:
        yield context
    finally:
        async with asyncio.timeout(_PATIENCE_S):
            await context.close()


def fault_of(page: LoopbackPage, capture: PageCapture) -> str | None:
    """What a view that was seen by both sides was not."""
    remembered = remembered_names(capture.netlog, HOST)
    seen = compute_page(capture).measurement
    return canary_fault(page.seen, seen, remembered=remembered, held_us=round(HOLD_S * 1_000_000))


async def view(context: BrowserContext, tail: NetlogTail, url: str) -> PageCapture:
    """A page up to its load event, without pictures. Raises TimeoutError and playwright's Error."""
    async with asyncio.timeout(_PATIENCE_S):
        page = await context.new_page()
        recorder = Recorder(asyncio.get_running_loop().time)
        cdp = await context.new_cdp_session(page)
        await cdp.send("Network.enable", {"maxPostDataSize": 0})
        await cdp.send("Page.enable")
        for name in EVENTS:
            hear(cdp, name, functools.partial(recorder.take, name))
        tree = await cdp.send("Page.getFrameTree")
        asked_us = time.monotonic_ns() // 1000
        await page.goto(url, wait_until="load")
        events = recorder.close()
        netlog = await tail.read_now(cdp)
    return PageCapture(
        url=url,
        main_frame=str(tree["frameTree"]["frame"]["id"]),
        events=events,
        started_at=datetime.now(UTC),
        asked_us=asked_us,
        netlog=netlog,
        load_seen=True,
    )
