"""Hosts and comparisons in a real browser: nothing for axe to find, no complaint, no page wider than its window."""

from collections.abc import Iterable

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from backend.compare.actions import create_pairing
from backend.compare.models import Pairing
from backend.compare.pairings import PairingDraft
from backend.runs.tests.factories import make_region
from backend.web.tests.browsing import PHONE, browsing
from backend.web.tests.cdn.shown import feed, load_page, loaded, second_site
from backend.web.tests.world import World, make_pairing

pytestmark = pytest.mark.django_db(transaction=True)


def compared(world: World) -> Pairing:
    """A pairing with three regions: one in which the CDN helps, one in which it costs, one with too few pairs."""
    loaded(world)
    pairing = make_pairing(world.site)
    feed(world, pairing, 24)
    feed(world, pairing, 24, cdn_ms=121, region=make_region("frankfurt", world.member.organisation))
    feed(world, pairing, 12, region=make_region("sao-paulo", world.member.organisation))
    draft = PairingDraft(cdn_url="https://cdn.shop.example/static/a-rather-long-name/app.css", origin="203.0.114.7")
    create_pairing(actor=None, site=world.site, draft=draft)
    load_page(second_site(world, "cdn.shop.example=203.0.114.7"))
    return pairing


def paths(world: World) -> list[str]:
    site, pairing = world.site.public_id, compared(world)
    cdn = reverse("web:cdn", args=[site])
    return [
        cdn,
        f"{cdn}?view=reused&region=frankfurt&range=7d",
        reverse("web:hosts", args=[site]),
        reverse("web:pairing_add", args=[site]),
        reverse("web:pairing", args=[site, pairing.public_id]),
    ]


def expect_nothing_to_mend(world: World, server: LiveServer, paths: Iterable[str]) -> None:
    with browsing(world, server) as site:
        for path in paths:
            site.look_over(path, open_details)
        assert site.complaints == []


def test_a_site_without_comparisons_has_an_accessible_page(world: World, server: LiveServer) -> None:
    loaded(world)
    expect_nothing_to_mend(world, server, [reverse("web:cdn", args=[world.site.public_id])])


def test_comparisons_are_accessible_and_keep_the_policy(world: World, server: LiveServer) -> None:
    expect_nothing_to_mend(world, server, paths(world))


def open_details(page: Page) -> None:
    for summary in page.locator("summary").all():
        summary.click()


def test_on_a_phone_the_difference_and_the_verdict_come_before_the_bars(world: World, server: LiveServer) -> None:
    compared(world)
    with browsing(world, server, size=PHONE) as site:
        page = site.open(reverse("web:cdn", args=[world.site.public_id]))
        row = page.locator("table.pairs tbody tr").first
        tops = [row.locator(part).first.bounding_box() for part in ("strong", ".pill", ".leg")]
        assert all(box is not None for box in tops)
        difference, verdict, bars = (box["y"] for box in tops if box is not None)
        assert max(difference, verdict) < bars


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_from_detected_pairs_to_a_comparison_and_a_corrected_role(
    world: World, server: LiveServer, *, script: bool
) -> None:
    loaded(world)
    with browsing(world, server, script=script) as site:
        page = site.open(reverse("web:hosts", args=[world.site.public_id]))
        page.locator("tr", has_text="img.shop.example").get_by_text("Correct").click()
        page.get_by_label("Role of img.shop.example").select_option("cdn")
        page.locator("tr", has_text="img.shop.example").get_by_role("button", name="Set").click()
        expect(page.get_by_text("img.shop.example is CDN from now on.")).to_be_visible()
        page.get_by_role("link", name="CDN vs origin").click()
        page.get_by_role("button", name="Compare them").click()
        expect(page.get_by_text("2 assets are compared from now on.")).to_be_visible()
        expect(page.get_by_role("heading", level=2).first).to_have_text("0 of 20 pairs; first verdict after 20")
    assert Pairing.objects.count() == 2
