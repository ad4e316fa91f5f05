"""The page by which a browser proves that it is cold: it passes when it is, and tells what was not when it is not."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext

from workers.browser import session
from workers.browser.canary import examine, fault_of, view
from workers.browser.chromium import inspect_chromium
from workers.browser.launch import ORDINARY
from workers.browser.loopback_page import LoopbackPage
from workers.browser.pool import BrowserPool
from workers.browser.session import Session
from workers.fitness import browser_fault, teller
from workers.measurement.failure import Blame, FailureKind
from workers.tests.browser import processes
from workers.tests.browser.conftest import browser_settings, failed, measured, page_request
from workers.tests.browser.sites import Site
from workers.tests.waiting import undisturbed

# Of all waits for a browser that does not answer, and of a new one's start on a busy machine.
_LONG_S = 150.0


@asynccontextmanager
async def started() -> AsyncIterator[Session]:
    running = await Session.start(browser_settings(), inspect_chromium(), ORDINARY, sandbox=False)
    try:
        yield running
    finally:
        await running.close()


async def again(context: BrowserContext, running: Session, page: LoopbackPage) -> str | None:
    """What the next visit in the same context is blamed for."""
    running.tail.skip()
    page.begin()
    return fault_of(page, await view(context, running.tail, page.url))


@undisturbed
def test_every_visit_in_a_context_of_its_own_is_cold() -> None:
    async def run() -> list[str | None]:
        async with started() as running:
            browser, page = running.parts
            return [await examine(browser, running.tail, page) for _ in range(3)]

    assert asyncio.run(run()) == [None, None, None]


@undisturbed
def test_what_an_earlier_visit_left_is_told() -> None:
    async def run() -> tuple[str | None, str | None]:
        async with started() as running:
            browser, page = running.parts
            context = await browser.new_context()
            assert await again(context, running, page) is None
            warm = await again(context, running, page)
            await page.hang_up()
            return warm, await again(context, running, page)

    warm, closed = asyncio.run(run())
    assert warm == "its server was asked for nothing instead of the page and its file"
    # The page is in the cache, so nothing is asked for after the connections have gone either.
    assert closed is not None


@undisturbed
def test_a_session_that_is_taken_up_is_seen_by_both_sides() -> None:
    async def run() -> tuple[int, str | None]:
        async with started() as running:
            browser, page = running.parts
            context = await browser.new_context()
            await again(context, running, page)
            await page.hang_up()
            cdp = await context.new_cdp_session(context.pages[0])
            await cdp.send("Network.clearBrowserCache")
            fault = await again(context, running, page)
            return page.seen.resumed, fault

    resumed, fault = asyncio.run(run())
    assert resumed == 1
    assert fault == "a TLS session of an earlier visit was taken up"


@undisturbed
def test_a_connection_that_is_still_open_is_told_when_the_cache_is_empty() -> None:
    async def run() -> tuple[int, str | None]:
        async with started() as running:
            browser, page = running.parts
            context = await browser.new_context()
            await again(context, running, page)
            cdp = await context.new_cdp_session(context.pages[0])
            await cdp.send("Network.clearBrowserCache")
            fault = await again(context, running, page)
            return page.seen.connects, fault

    connects, fault = asyncio.run(run())
    assert connects == 0
    assert fault is not None
    assert fault.startswith("there were 0 connections")


@pytest.fixture
def warm(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """What the next visits to our page come to, instead of what they would; the real thing when the list is empty."""
    faults: list[str | None] = []

    async def pretend(browser: Browser, tail: object, page: LoopbackPage) -> str | None:
        return faults.pop(0) if faults else None

    monkeypatch.setattr(session, "examine", pretend)
    return faults


def test_a_browser_that_is_not_cold_is_out_of_service_and_says_so(
    ca_file: Path, site: Site, tmp_path: Path, warm: list[str | None]
) -> None:
    unfit = tmp_path / "unfit"
    url = site.page("/", "<p>page")
    before = set(processes.browsers())
    with BrowserPool(browser_settings(ca_file), tell_fault=teller(unfit)) as pool:
        warm += ["something was still in the cache"] * 2
        outcome = failed(pool.load(page_request(url)))
        assert outcome.failure.kind is FailureKind.BROWSER_FAILED
        assert outcome.failure.blame is Blame.MONITOR
        assert outcome.failure.detail.endswith("failed at a page of our own: something was still in the cache")
        assert site.hits == []
        assert browser_fault(unfit) == outcome.failure.detail.partition("used: ")[2]
        assert set(processes.browsers()) <= before
        measured(pool.load(page_request(url)))
        assert browser_fault(unfit) is None


def test_a_browser_of_which_our_own_page_cannot_be_read_is_ended(
    ca_file: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of our own in every run would otherwise fill the machine with browsers that nobody knows of."""

    async def break_down(browser: Browser, tail: object, page: LoopbackPage) -> str | None:
        raise KeyError("a fault of our own")

    monkeypatch.setattr(session, "examine", break_down)
    before = set(processes.browsers())
    with BrowserPool(browser_settings(ca_file)) as pool:
        with pytest.raises(KeyError, match="a fault of our own"):
            pool.load(page_request(site.page("/", "<p>page")))
        assert set(processes.browsers()) <= before


def test_a_browser_that_grows_warm_is_replaced_before_the_next_run(
    ca_file: Path, site: Site, warm: list[str | None]
) -> None:
    url = site.page("/", "<p>page")
    before = set(processes.browsers())
    with BrowserPool(browser_settings(ca_file, canary_every=1)) as pool:
        measured(pool.load(page_request(url)))
        first = set(processes.browsers()) - before
        warm.append("the address of an earlier visit was remembered")
        measured(pool.load(page_request(url)))
        assert set(processes.browsers()) - before != first


def test_a_browser_that_stops_answering_holds_up_no_run(ca_file: Path, site: Site) -> None:
    """At our own page as anywhere else: what never answers is replaced, and the next run has a browser that does."""
    url = site.page("/", "<p>page")
    before = set(processes.browsers())
    with BrowserPool(browser_settings(ca_file, canary_every=1)) as pool:
        measured(pool.load(page_request(url)))
        (stuck,) = set(processes.browsers()) - before
        os.kill(stuck, signal.SIGSTOP)
        with ThreadPoolExecutor(1) as caller:
            asked = caller.submit(pool.load, page_request(url))
            try:
                measured(asked.result(timeout=_LONG_S))
            except TimeoutError:
                os.kill(stuck, signal.SIGCONT)
                raise
        assert stuck not in processes.browsers()


def test_the_fault_of_a_process_that_is_gone_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / str(2**22 + 1)).write_text("broken")
    (tmp_path / "not-a-process").write_text("broken")
    assert browser_fault(tmp_path) is None
    assert browser_fault(tmp_path / "nowhere") is None
