"""Uptime and status pages in a real browser: nothing for axe to find, no complaint, no page wider than its window."""

from contextlib import suppress
from datetime import UTC, timedelta
from typing import Literal

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Locator, Page, TimeoutError
from pytest_django.live_server_helper import LiveServer

from backend.alerts.models import Outage
from backend.fleet.models import Region
from backend.runs.tests.factories import NOW
from backend.sites.models import Site
from backend.status.announcing import Said, update_announcement
from backend.status.models import AnnouncementStage
from backend.status.walls import link_of, show_wall
from backend.web.tests.browsing import PHONE, browsing, meanwhile
from backend.web.tests.incidents import make_window
from backend.web.tests.world import World, make_announcement, make_pairing, make_status_page

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)


def test_uptime_and_status_pages_are_accessible_and_keep_the_policy(
    world: World, server: LiveServer, broker: str
) -> None:
    Site.objects.update(created_at=NOW - 90 * 24 * HOUR)
    world.end(world.pending("probe", scheduled_for=NOW - timedelta(minutes=1)))
    monitor = world.monitor("probe")
    Outage.objects.bulk_create(
        Outage(
            monitor=monitor, state=state, regions=["eu"], began_at=NOW - ago, ended_at=ended_at, why="Refused. " * 30
        )
        for state, ago, ended_at in (
            ("failing", HOUR / 4, None),
            ("failing", 30 * HOUR, NOW - 20 * HOUR),
            ("degraded", 60 * HOUR, NOW - 59 * HOUR),
        )
    )
    made = make_status_page(world)
    paths = [
        reverse("web:uptime", args=[world.site.public_id]),
        reverse("web:status_pages"),
        reverse("web:status_page", args=[made.public_id]),
        reverse("web:status", args=["acme"]),
        reverse("web:wall", args=[link_of(show_wall(actor=None, organisation=world.member.organisation))]),
    ]
    with browsing(world, server) as site:
        for path in paths:
            site.look_over(path)
            site.page.set_viewport_size({"width": 320, "height": 700})
            assert not site.is_wider_than_window(), path
        assert site.complaints == []


def test_announcements_are_accessible_where_they_are_made_and_where_guests_read_them(
    world: World, server: LiveServer, broker: str
) -> None:
    made = make_status_page(world)
    # Two of a name, as every page of a shop is called.
    made.sites.add(
        Site.objects.create(organisation=world.member.organisation, name=world.site.name, url=world.site.url)
    )
    # The same again, as it happens twice.
    over, going_on = make_announcement(made), make_announcement(made)
    update_announcement(
        actor=None, announcement=over, said=Said(stage=AnnouncementStage.RESOLVED, text=f"See {'x' * 300}")
    )
    with browsing(world, server) as site:
        for path in (
            reverse("web:announcements", args=[made.public_id]),
            reverse("web:announcement", args=[made.public_id, going_on.public_id]),
            reverse("web:announcement_delete", args=[made.public_id, over.public_id]),
            reverse("web:status", args=["acme"]),
        ):
            site.look_over(path)
        assert site.complaints == []


def pass_until(page: Page, locator: Locator, state: Literal["hidden", "visible"]) -> None:
    """Lets the page's time pass until a look has brought it, however many a busy machine does not answer in time."""
    for _ in range(20):
        page.clock.run_for(16_000)
        with suppress(TimeoutError):
            return locator.wait_for(state=state, timeout=6_000)
    raise AssertionError(f"not {state}")


def test_a_wall_says_when_the_service_is_lost_and_changes_what_changed_alone(
    world: World, server: LiveServer, broker: str
) -> None:
    # What is served goes by the clock: a run of when this process began may be no news any more.
    now = timezone.now()
    world.end(world.pending("probe", scheduled_for=now - timedelta(minutes=1)))
    link = link_of(show_wall(actor=None, organisation=world.member.organisation))
    path = reverse("web:wall", args=[link])
    with browsing(world, server) as site:
        page = site.open(path)
        page.clock.install()
        page.reload()
        lost, tile = page.locator(".lost"), page.locator(".tile")
        page.evaluate("document.querySelector('.tile').kept = true")

        page.route(f"**{path}", lambda route: route.abort())
        page.clock.run_for(30_000)
        assert not lost.is_visible()
        page.clock.run_for(30_000)
        lost.wait_for(state="visible")
        assert "does not answer. What is shown is as of" in lost.inner_text()
        page.unroute(f"**{path}")
        pass_until(page, lost, "hidden")
        assert page.evaluate("document.querySelector('.tile').kept")

        monitor = world.site.monitors.filter(kind="probe")
        meanwhile(lambda: Outage.objects.create(monitor=monitor.get(), state="failing", began_at=now, why="Refused."))
        pass_until(page, page.locator(".tile.bad"), "visible")
        assert tile.inner_text().startswith("Shop\n")


def test_a_date_stands_behind_the_name_of_its_site_whichever_way_that_is_read(world: World, server: LiveServer) -> None:
    Site.objects.update(name="חנות 2")
    make_status_page(world)
    begins = make_window(world).starts_at.astimezone(UTC)
    with browsing(world, server) as site:
        site.open(reverse("web:status", args=["acme"]))
        name, day, month = site.beginnings("li", "חנות 2", f": {begins.day} ", f" {begins:%b %Y}")
        assert name < day < month


def test_a_name_without_any_break_makes_no_page_wider_than_its_window(world: World, server: LiveServer) -> None:
    make_status_page(world)
    make_window(world)
    make_pairing(world.site)
    Site.objects.update(name="W" * 100)
    Region.objects.update(name="M" * 60)
    world.end(world.pending("probe"))
    own = [world.site.public_id]
    paths = [reverse("web:status", args=["acme"]), reverse("web:site", args=own), reverse("web:cdn", args=own)]
    with browsing(world, server, size=PHONE) as site:
        for path in paths:
            site.open(path)
            assert not site.is_wider_than_window(), path
