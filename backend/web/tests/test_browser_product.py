"""The product's pages in a real browser: nothing for axe to find, no complaint, no page wider than its window."""

from dataclasses import asdict
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.urls import reverse
from playwright.sync_api import ViewportSize, expect
from pytest_django.live_server_helper import LiveServer

from backend.runs.queries import run_detail
from backend.runs.sharing import link_of, share_run
from backend.runs.tests.factories import NOW
from backend.runs.tests.results import FAILED
from backend.sites.models import Site
from backend.web.tests import measurements
from backend.web.tests.browsing import PHONE, browsing
from backend.web.tests.world import World
from workers.measurement.messages import Measured
from workers.measurement.timing import phases_of

pytestmark = pytest.mark.django_db(transaction=True)

# The narrowest window that must do (WCAG 1.4.10), and a laptop's at 200 per cent.
# What can be pressed and is lower than a finger is wide (WCAG 2.5.5), or narrower than its own words. Links within a
# sentence may be; a box to tick is pressed by its label too.
LOW = """() => {
  const links = ".button, .brand, .nav a, .switch a, .crumbs a, .main-cell > a";
  const pressed = `${links}, button, select, textarea, summary, input`;
  const isSeen = (one) => one.checkVisibility({ visibilityProperty: true }) && one.type !== "hidden";
  const area = (one) => (["checkbox", "radio"].includes(one.type) ? one.labels[0] : one);
  const isLow = (one) => area(one).getBoundingClientRect().height < 44;
  const isCut = (one) => one.matches("a, button") && one.scrollWidth > one.clientWidth + 1;
  const all = [...document.querySelectorAll(pressed)].filter(isSeen);
  return all.filter((one) => isLow(one) || isCut(one)).map((one) => one.outerHTML.slice(0, 80));
}"""
NARROW: tuple[ViewportSize, ...] = ({"width": 320, "height": 700}, {"width": 720, "height": 450})


def product_paths(world: World) -> list[str]:
    """One of each page, with something on it."""
    live = world.pending("page", stage="loading", requests=14, scheduled_for=NOW - timedelta(minutes=1))
    failed = world.pending("probe")
    world.end(failed, FAILED)
    seen = run_detail(world.member.organisation, failed.run_id)
    assert seen is not None
    shared = share_run(actor=world.member.user, detail=seen)
    phases = asdict(phases_of(measurements.probe().hops[-1].timing))
    deeper = world.pending("probe", stage="loading", phases=phases, scheduled_for=NOW - timedelta(minutes=2))
    site = world.site.public_id
    return [
        "/sites/",
        "/sites/add/",
        f"{reverse('web:trial', args=[site])}?run={live.run_id}&run={failed.run_id}&run={deeper.run_id}",
        reverse("web:run", args=[failed.run_id]),
        reverse("web:shared", args=[link_of(shared)]),
        reverse("web:site_settings", args=[site]),
        reverse("web:site_delete", args=[site]),
        "/regions/",
        "/members/",
        "/profile/",
        "/account/password/change/",
    ]


def test_the_products_pages_are_accessible_and_keep_the_policy(world: World, server: LiveServer, broker: str) -> None:
    paths = product_paths(world)
    with browsing(world, server) as site:
        for path in paths:
            site.look_over(path)
        assert site.complaints == []


def test_no_page_is_wider_than_the_narrowest_window_or_than_one_that_is_zoomed_to_twice_its_size(
    world: World, server: LiveServer, broker: str
) -> None:
    paths = [*product_paths(world), "/members/audit/", "/imports/", "/tokens/", "/alerts/rules/", "/api/v1/docs"]
    with browsing(world, server) as site:
        for path in paths:
            page = site.open(path)
            for size in NARROW:
                page.set_viewport_size(size)
                assert not site.is_wider_than_window(), (path, size)


def test_under_a_finger_all_that_can_be_pressed_is_as_high_as_a_finger_is_wide(
    world: World, server: LiveServer, broker: str
) -> None:
    measured = world.pending("page")
    world.end(measured, Measured(measurement=measurements.eventful_page(10)))
    run, site_path = reverse("web:run", args=[measured.run_id]), reverse("web:site", args=[world.site.public_id])
    paths = [*product_paths(world), run, site_path, "/members/audit/", "/imports/", "/tokens/", "/alerts/rules/"]
    with browsing(world, server, size=PHONE, touch=True) as site:
        for path in paths:
            page = site.open(path)
            assert page.evaluate("matchMedia('(pointer: coarse)').matches")
            assert page.evaluate(LOW) == [], path
            assert not site.is_wider_than_window(), path


def test_an_empty_product_is_accessible_and_asks_for_an_address(world: World, server: LiveServer, broker: str) -> None:
    Site.objects.all().delete()
    with browsing(world, server) as site:
        page = site.open("/sites/")
        expect(page.get_by_role("heading", level=1)).to_have_text("See your first waterfall in about 20 seconds")
        assert site.axe() == []
        page.get_by_label("Page address").fill("new.example")
        page.get_by_role("button", name="Test it").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Testing new.example from Eu")
        assert site.complaints == []


def test_what_was_typed_is_there_again_after_a_session_ended_in_between(
    world: World, server: LiveServer, broker: str
) -> None:
    settings = reverse("web:site_settings", args=[world.site.public_id])
    steps = "visit https://shop.example/login\nsecret hunter2 into #password"
    with browsing(world, server) as site:
        page = site.open(settings)
        (session,) = (
            one["value"] for one in page.context.cookies() if one["name"] == django_settings.SESSION_COOKIE_NAME
        )
        page.get_by_label("Accepted status codes").last.fill("200, 204")
        page.locator("[name=page-steps]").fill(steps, force=True)
        page.locator("[name=page-headers]").fill("Authorization: hunter2", force=True)
        page.context.clear_cookies(name=django_settings.SESSION_COOKIE_NAME)
        page.locator("[name=page-steps]").evaluate("field => field.form.requestSubmit()")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        assert "hunter2" not in page.evaluate("sessionStorage.getItem('draft')")
        page.context.add_cookies([{"name": django_settings.SESSION_COOKIE_NAME, "value": session, "url": server.url}])
        site.open("/sites/")
        site.open(settings)
        expect(page.get_by_text("What you typed is here again")).to_be_visible()
        expect(page.get_by_label("Accepted status codes").last).to_have_value("200, 204")
        expect(page.locator("[name=page-steps]")).to_have_value(steps.replace("hunter2", "\N{BULLET}" * 8))
        expect(page.locator("[name=page-headers]")).to_have_value("")
        assert site.axe() == []
        site.open(settings)
        expect(page.get_by_text("What you typed is here again")).to_have_count(0)
        assert site.complaints == []


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_from_a_pasted_address_to_a_saved_site(world: World, server: LiveServer, broker: str, *, script: bool) -> None:
    with browsing(world, server, script=script) as site:
        page = site.open("/sites/add/")
        page.get_by_label("Page address").fill("http://10.0.0.1/")
        page.get_by_role("button", name="Test now").click()
        expect(page.locator(".errorlist")).to_contain_text("This address is inside your network")
        page.get_by_label("Page address").fill("new.example")
        page.get_by_role("button", name="Test now").click()
        expect(page.locator("li.todo")).to_have_count(2)
        page.get_by_label("Name").fill("New shop")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("New shop")
    assert Site.objects.filter(name="New shop", status="active").exists()


def test_the_theme_changes_with_a_form_and_stays(world: World, server: LiveServer, broker: str) -> None:
    with browsing(world, server, script=False) as site:
        page = site.open("/regions/")
        page.get_by_role("button", name="Dark").click()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        assert page.url.endswith("/regions/")


def test_the_first_tab_stop_skips_to_the_content(world: World, server: LiveServer, broker: str) -> None:
    with browsing(world, server) as site:
        page = site.open("/regions/")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#main")).to_be_focused()
