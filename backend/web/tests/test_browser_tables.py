"""Tables wider than their frame, in a real browser: the keyboard reaches what has to be scrolled, and nothing else."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from backend.web.tests.browsing import HALF, browsing
from backend.web.tests.cdn.shown import loaded
from backend.web.tests.incidents import make_incident
from backend.web.tests.world import World, make_pairing

pytestmark = pytest.mark.django_db(transaction=True)
# How wide a machine's own font is nobody knows; spaced like this, no table of ten columns fits half a window.
WIDE = "document.documentElement.style.letterSpacing = '0.3em'"
# In how many lines the text of a cell stands.
LINES = """cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getClientRects().length;
}"""
HOSTS = "Hosts with what one page load asks of them, medians of new connections"


def test_the_keyboard_reaches_a_table_for_as_long_as_it_has_to_be_scrolled(world: World, server: LiveServer) -> None:
    loaded(world)
    make_pairing(world.site)
    with browsing(world, server, size=HALF) as site:
        page = site.open(reverse("web:cdn", args=[world.site.public_id]))
        page.evaluate(WIDE)
        frame = page.get_by_role("region", name=HOSTS)
        expect(frame).to_have_attribute("tabindex", "0")
        assert site.axe() == []

        frame.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("frame => frame.scrollLeft > 0", arg=frame.element_handle())

        page.set_viewport_size({"width": 2400, "height": 900})
        expect(page.locator(".table-wrap[tabindex]")).to_have_count(0)
        assert site.axe() == []


def test_beside_a_name_without_any_break_the_words_of_other_cells_stay_whole(
    world: World, server: LiveServer, broker: str
) -> None:
    make_incident(world, title=f"{'W' * 100} is slower")
    with browsing(world, server) as site:
        page = site.open("/alerts/")
        evidence = page.locator("td[data-label=Evidence]")
        expect(evidence).to_have_text("Regression")
        # A machine that lacks the usual fonts may show one as wide as this.
        for family in ("sans-serif", "monospace"):
            page.evaluate("family => { document.body.style.fontFamily = family }", family)
            assert evidence.evaluate(LINES) == 1
        assert not site.is_wider_than_window()
