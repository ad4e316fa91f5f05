"""What does not fit is there all the same: under the pointer, in the details, on paper."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from backend.web.tests import measurements
from backend.web.tests.browsing import browsing
from backend.web.tests.world import World
from workers.measurement.messages import Measured

pytestmark = pytest.mark.django_db(transaction=True)
# Whether all that an element holds can be seen.
IS_WHOLE = "element => element.scrollWidth <= element.clientWidth && element.scrollHeight <= element.clientHeight"


def run_path(world: World) -> str:
    pending = world.pending("page")
    world.end(pending, Measured(measurement=measurements.eventful_page(40)))
    return reverse("web:run", args=[pending.run_id])


def test_what_is_cut_off_in_a_row_is_told_under_the_pointer(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        name = page.locator("#r6 .wf-name")
        assert not name.evaluate(IS_WHOLE)
        name.locator(".wf-note").first.hover()
        expect(name).to_have_attribute("title", "blocks rendering · img.shop.example")
        page.locator("#r1 .wf-host").hover()
        expect(page.locator("#r1 .wf-name")).to_have_attribute("title", "www.shop.example")
        assert site.complaints == []


def test_on_paper_everything_can_be_read(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(f"{path}?request=6")
        headers = page.locator("#details details", has_text="Response headers").locator("dl")
        settings = page.locator(".finding details", has_text="Settings by server").first
        expect(headers).to_be_hidden()
        expect(settings).to_be_visible()
        page.emulate_media(media="print")
        expect(headers).to_be_visible()
        expect(settings).to_be_hidden()
        for row in page.locator(".wf-row .wf-name").all():
            assert row.evaluate(IS_WHOLE), row.inner_text()
        assert page.locator("#details").evaluate(IS_WHOLE)
