"""The pages in a real browser: no violation of the policy, no error, keys that work, nothing for axe to find."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings as django_settings
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from backend.cast import Member
from backend.runs.tests.factories import NOW
from backend.runs.tests.results import FAILED
from backend.web.tests import measurements
from backend.web.tests.world import World, make_world
from workers.measurement.messages import Measured

pytestmark = pytest.mark.django_db(transaction=True)

DESKTOP, PHONE = (1320, 900), (390, 800)


class Site:
    """A signed-in browser on the live server; everything it complains about is kept."""

    def __init__(self, page: Page, server: str) -> None:
        self.page, self.server = page, server
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.server}{path}")
        return self.page

    def axe(self) -> list[str]:
        """The ids of what axe finds on the page as it is."""
        return [violation["id"] for violation in Axe().run(self.page).response["violations"]]

    def is_wider_than_window(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))


@pytest.fixture
def world(alice: Member, monkeypatch: pytest.MonkeyPatch) -> World:
    # Playwright's own event loop runs in this thread; the database is used from it one call at a time all the same.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    return make_world(alice)


@pytest.fixture
def server(transactional_db: None, settings: Settings) -> Iterator[LiveServer]:
    """A server of this test's own: the session-wide one starts before the test's settings hold."""
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    running = LiveServer("127.0.0.1")
    yield running
    running.stop()


@contextmanager
def browsing(
    world: World, server: LiveServer, size: tuple[int, int] = DESKTOP, scheme: str = "light"
) -> Iterator[Site]:
    client = Client()
    client.force_login(world.member.user)
    session = client.cookies[django_settings.SESSION_COOKIE_NAME].value
    executable = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, chromium_sandbox=os.geteuid() != 0)
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)  # type: ignore[arg-type]  # a word
        context.add_cookies([{"name": django_settings.SESSION_COOKIE_NAME, "value": session, "url": server.url}])
        yield Site(context.new_page(), server.url)
        browser.close()


def run_path(world: World, requests: int = 100) -> str:
    pending = world.pending("page")
    world.end(pending, Measured(measurement=measurements.page(requests)))
    return reverse("web:run", args=[pending.run_id])


def site_path(world: World) -> str:
    for minutes in range(1, 8):
        pending = world.pending("probe", scheduled_for=NOW - timedelta(minutes=minutes))
        world.end(pending, FAILED if minutes == 3 else Measured(measurement=measurements.probe()))
    return f"{reverse('web:site', args=[world.site.public_id])}?kind=probe&range=3h"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_run_and_site_are_accessible_and_keep_the_policy(
    world: World, server: LiveServer, size: tuple[int, int], scheme: str
) -> None:
    paths = [run_path(world), site_path(world)]
    with browsing(world, server, size, scheme) as site:
        for path in paths:
            site.open(path)
            assert site.axe() == []
            assert not site.is_wider_than_window()
        assert site.complaints == []


def test_keys_go_through_the_rows_and_the_address_follows(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(page.locator("#details h3")).to_have_text("3. inter.woff2")
        expect(page.locator("tr.selected")).to_have_id("r3")
        assert page.url.endswith("?request=3")
        page.keyboard.press("k")
        expect(page.locator("#details h3")).to_have_text("2. hero.avif")
        page.keyboard.press("Enter")
        expect(page.locator("#details")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("tr.selected")).to_have_count(0)
        expect(page.locator("#r2 a")).to_be_focused()
        assert site.complaints == []


def test_typing_filters_at_once_and_survives_a_reload(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        page.keyboard.press("/")
        page.keyboard.type("404")
        expect(page.locator("output")).to_have_text("1 of 100")
        expect(page.locator("tr.wf-row:visible")).to_have_count(1)
        page.reload()
        expect(page.locator("tr.wf-row:visible")).to_have_count(1)
        page.locator("#wf-q").fill("nowhere")
        expect(page.locator(".wf-none")).to_be_visible()
        assert site.complaints == []


def test_of_two_thousand_rows_only_those_in_sight_are_drawn(world: World, server: LiveServer) -> None:
    path = run_path(world, 2_000)
    with browsing(world, server) as site:
        page = site.open(path)
        expect(page.locator("output")).to_have_text("2000 of 2000")
        assert page.locator("tr.wf-row").count() < 120
        page.locator("#wf-q").fill("/1999/")
        expect(page.locator("tr.wf-row")).to_have_count(1)
        page.locator("#wf-q").fill("")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        expect(page.locator("tr.wf-row").last).to_have_attribute("aria-rowindex", "2001")
        assert site.complaints == []


def test_the_chart_is_drawn_with_the_figures_behind_it(world: World, server: LiveServer) -> None:
    path = site_path(world)
    with browsing(world, server) as site:
        page = site.open(f"{path}&region=eu")
        painted = (
            "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(byte => byte)"
        )
        page.wait_for_function(f"({painted})(document.querySelector('canvas'))")
        page.get_by_text("Show as table").click()
        expect(page.get_by_role("cell", name="222 ms").first).to_be_visible()
        assert site.complaints == []


def test_without_the_script_rows_are_links(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        context = page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]  # it was launched
        context.add_cookies([{**cookie} for cookie in page.context.cookies()])  # type: ignore[misc]  # the same shape
        plain = context.new_page()
        plain.goto(f"{server.url}{path}")
        plain.locator("#r18 a").click()
        expect(plain.locator("#details h3")).to_have_text("18. app.css")
        plain.locator("#wf-q").fill("404")
        plain.get_by_role("button", name="Apply").click()
        expect(plain.locator("output")).to_have_text("1 of 100")
