"""A browser for tests, signed in, that keeps whatever it complains about.

There is one of each test process, since starting one takes a second; each test has a profile of its own in it.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache

from axe_playwright_python.sync_playwright import Axe
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from backend.web.tests.world import World

DESKTOP, HALF, PHONE = (1320, 900), (800, 900), (390, 800)
# Patience costs nothing where all is well, and a machine may have much else to do.
PATIENCE_MS = 120_000
expect.set_options(timeout=PATIENCE_MS)
_KEPT = ExitStack()
# What another theme can break: it is other colours and nothing else (`test_a_theme_is_colours_alone`).
_OF_COLOURS = ["color-contrast", "link-in-text-block"]
# After the frame in which the page hears of its new sizes.
_AXE = """(rules) => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
  .then(() => axe.run({resultTypes: ["violations"], ...(rules && {runOnly: rules})}))
  .then((all) => all.violations.flatMap((rule) =>
    rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary}`)))"""
# Of the first element that has all the texts.
_BEGINNINGS = """([place, texts]) => {
  const has = (one) => texts.every((text) => one.textContent.includes(text));
  const within = [...document.querySelectorAll(place)].find(has);
  return texts.map((text) => {
    const walker = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
    while (!walker.nextNode().data.includes(text));
    const range = document.createRange(), start = walker.currentNode.data.indexOf(text);
    range.setStart(walker.currentNode, start);
    range.setEnd(walker.currentNode, start + text.length);
    return range.getBoundingClientRect().left;
  });
}"""


class Site:
    """A signed-in browser on the live server; everything it complains about is kept."""

    def __init__(self, page: Page, server: str) -> None:
        self.page, self.server = page, server
        page.set_default_timeout(PATIENCE_MS)
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.server}{path}")
        return self.page

    def axe(self, rules: Sequence[str] | None = None) -> list[str]:
        """What axe finds on the page as it is: the rule, where, and why. By these rules alone, or by all."""
        # Once for a page: handing it over takes as long as a look.
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(Axe().axe_script)
        found: list[str] = self.page.evaluate(_AXE, rules)
        return found

    def look_over(self, path: str, prepare: Callable[[Page], object] = lambda _: None) -> None:
        """Opens the page in each width: nothing for axe to find in either theme, and no wider than its window."""
        for width, height in (DESKTOP, HALF, PHONE):
            self.page.set_viewport_size({"width": width, "height": height})
            self.page.emulate_media(color_scheme="light")
            prepare(self.open(path))
            assert self.axe() == [], (path, width, "light")
            assert not self.is_wider_than_window(), (path, width)
            self.page.emulate_media(color_scheme="dark")
            assert self.axe(_OF_COLOURS) == [], (path, width, "dark")

    def beginnings(self, place: str, *texts: str) -> list[float]:
        """How far right each of the texts begins to be drawn, in the first such element that has all of them."""
        found: list[float] = self.page.evaluate(_BEGINNINGS, [place, texts])
        return found

    def is_wider_than_window(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def meanwhile(act: Callable[[], object]) -> None:
    """Uses the database while a browser is open: in another thread, since Playwright has its event loop in this one."""

    def alone() -> None:
        act()
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(alone).result()


@contextmanager
def browsing(
    world: World,
    server: LiveServer,
    *,
    size: tuple[int, int] = DESKTOP,
    dark: bool = False,
    script: bool = True,
    touch: bool = False,
) -> Iterator[Site]:
    """A page of somebody who is signed in; with `touch` on a screen that is worked with fingers."""
    client = Client()
    client.force_login(world.member.user)
    session = client.cookies[django_settings.SESSION_COOKIE_NAME].value
    with _chromium() as browser:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
            has_touch=touch,
            is_mobile=touch,
        )
        context.add_cookies([{"name": django_settings.SESSION_COOKIE_NAME, "value": session, "url": server.url}])
        try:
            yield Site(context.new_page(), server.url)
        finally:
            # The server keeps a database connection for each of the browser's: the next test waits for their end.
            context.close()


def end_browser() -> None:
    """Where one was started."""
    if _started.cache_info().currsize:
        with _chromium():
            _KEPT.close()


@contextmanager
def _chromium() -> Iterator[Browser]:
    """Playwright tells this thread that its loop runs there; others, who have loops of their own, must not hear it."""
    browser, loop = _started()
    asyncio._set_running_loop(loop)
    try:
        yield browser
    finally:
        asyncio._set_running_loop(None)


@cache
def _started() -> tuple[Browser, asyncio.AbstractEventLoop]:
    executable = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    playwright = _KEPT.enter_context(sync_playwright())
    browser = playwright.chromium.launch(executable_path=executable, chromium_sandbox=os.geteuid() != 0)
    _KEPT.callback(browser.close)
    return browser, asyncio.get_running_loop()
