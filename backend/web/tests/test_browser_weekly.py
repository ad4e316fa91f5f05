"""The reports of weeks in a real browser: nothing for axe to find, no complaint, no page wider than its window."""

from datetime import date
from uuid import uuid4

import pytest
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer

from backend.analysis.weeks import Course, MonitorWeek, RegionWeek
from backend.web.tests.browsing import browsing
from backend.web.tests.world import World
from backend.weekly.report import WEEK, AlertWeek, CauseWeek, Report, SiteWeek, UptimeWeek
from backend.weekly.steps import keep
from backend.weekly.tests.world import BEFORE, MORNING, THIS

pytestmark = pytest.mark.django_db(transaction=True)


def test_weeks_are_accessible_before_the_first_report_and_after(world: World, server: LiveServer, broker: str) -> None:
    with browsing(world, server) as site:
        site.look_over(reverse("web:weekly"))
    for monday in (BEFORE, THIS, THIS + WEEK):
        keep(world.member.organisation, report(world, monday, sites=60 if monday == THIS else 0), MORNING)
    with browsing(world, server) as site:
        site.look_over(reverse("web:week", args=[THIS]))
        site.look_over(reverse("web:week", args=[BEFORE]))
        assert site.complaints == []


def report(world: World, week: date, *, sites: int) -> Report:
    """A week of sites of which each was worse in another way than the one before; or one of which nothing is known."""
    alert = AlertWeek(
        incident_id=str(uuid4()), title="Shop is down", severity="critical", began_at=MORNING.isoformat(), ended_at=None
    )
    return Report(
        week=week,
        sites=tuple(site_week(world, place) for place in range(sites)),
        alerts=(alert,) if sites else (),
        alert_count=30 if sites else 0,
    )


def site_week(world: World, place: int) -> SiteWeek:
    course = list(Course)[place % len(Course)]
    regions = (RegionWeek(region="Frankfurt", now_us=4e5, before_us=3e5, course=course),)
    figures = MonitorWeek(now_us=4e5, before_us=3e5, course=course, slower=regions, faster=regions)
    return SiteWeek(
        site_id=str(world.site.public_id),
        name="shop" * (1 + place % 12),
        url=world.site.url,
        uptime=UptimeWeek(
            share=None if place == 3 else 0.998, before=1.0, down_us=place % 2 * 10**9, partly_us=10**9, outages=1
        ),
        alerts=place,
        probe=figures,
        page=figures if place % 2 else None,
        cause=CauseWeek(finding="tls.chain_incomplete", severity="critical", saving_us=None) if place % 3 else None,
    )
