"""Uptime and status pages in a real browser: nothing for axe to find, no complaint, no page wider than its window."""

from datetime import timedelta

import pytest
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer

from backend.alerts.models import Outage
from backend.runs.tests.factories import NOW
from backend.sites.models import Site
from backend.web.tests.browsing import browsing
from backend.web.tests.world import World, make_status_page

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
    ]
    with browsing(world, server) as site:
        for path in paths:
            site.look_over(path)
            site.page.set_viewport_size({"width": 320, "height": 700})
            assert not site.is_wider_than_window(), path
        assert site.complaints == []
