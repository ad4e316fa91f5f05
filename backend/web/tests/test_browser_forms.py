"""Long forms in a real browser: what sends them is in reach wherever somebody is in them, and hides nothing."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from backend.web.tests.browsing import PHONE, browsing
from backend.web.tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("size", [(1320, 900), PHONE])
def test_a_long_form_can_be_sent_from_any_of_its_fields_and_none_with_the_focus_is_hidden(
    world: World, server: LiveServer, size: tuple[int, int]
) -> None:
    with browsing(world, server, size=size) as site:
        page = site.open(reverse("web:site_settings", args=[world.site.public_id]))
        save = page.get_by_role("button", name="Save the page load")
        form = page.locator("form", has=save)
        fields = form.locator("input:not([type=hidden]), select, textarea")
        assert fields.count() > 10
        fields.first.focus()
        for _ in range(fields.count() - 1):
            page.keyboard.press("Tab")
            expect(save).to_be_in_viewport()
            focused, bar = page.evaluate(
                """() => {
                    const field = document.activeElement, bar = field.closest("form")?.querySelector(".form-actions");
                    return [field, bar].map(one => one?.getBoundingClientRect().toJSON());
                }"""
            )
            assert bar is not None
            is_of_bar = bar["top"] <= focused["top"] <= bar["bottom"]
            assert is_of_bar or min(focused["bottom"], focused["top"] + 24) <= bar["top"] + 1
        assert not site.is_wider_than_window()
        assert site.complaints == []
