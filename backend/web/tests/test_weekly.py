"""The page of a week."""

from datetime import timedelta

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import Membership, Organisation
from backend.alerts.models import Channel, Outage
from backend.alerts.tests.world import World
from backend.cast import Member
from backend.fleet.models import Region
from backend.runs.tests.factories import make_region
from backend.sites.models import Site
from backend.web.tests.test_findings import words
from backend.weekly.models import WeeklyReport
from backend.weekly.report import WEEK, Report
from backend.weekly.steps import keep, step
from backend.weekly.tests.world import BEFORE, MORNING, THIS, incident, outage, week, weekly_world, weeks

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(alice: Member, client: Client) -> World:
    """The shop of alice, who is signed in, measured for two weeks."""
    client.force_login(alice.user)
    world = weekly_world()
    Membership.objects.filter(user=alice.user).update(organisation=world.fleet.organisation)
    weeks(world, 300, 400)
    return world


def page(client: Client, week: object = THIS) -> str:
    answer = client.get(f"/weekly/{week}/")
    assert answer.status_code == 200
    return words(answer.content.decode())


def test_before_the_first_report_it_says_when_it_comes(world: World, client: Client) -> None:
    assert "The first report comes on Monday" in words(client.get("/weekly/").content.decode())


def test_the_newest_report_is_shown_first(world: World, client: Client) -> None:
    step(MORNING)

    assert client.get("/weekly/").headers["Location"] == f"/weekly/{THIS}/"


def test_it_tells_uptime_and_what_became_slower_and_where(world: World, client: Client) -> None:
    outage(world, THIS, hours=1)
    incident(world, THIS, title="Shop is down: connection refused")
    step(MORNING)

    text = page(client)

    assert "Shop was down for 60 min and became slower" in text
    assert "99.404 %" in text
    assert "down for 60 min, 100 % the week before" in text
    assert "396 ms" in text
    assert "slower in Fra and Sin" in text
    assert "300 ms the week before" in text
    assert "Shop is down: connection refused" in text


def test_what_became_slower_in_one_region_and_faster_in_others_is_told_of_each(world: World, client: Client) -> None:
    week(world.monitor, make_region("gru"), BEFORE, 400)
    week(world.monitor, Region.objects.get(code="gru"), THIS, 300)
    step(MORNING)

    assert "slower in Fra and Sin, faster in Gru" in page(client)


def test_a_week_in_which_nothing_happened_says_so(world: World, client: Client) -> None:
    step(MORNING)
    row = WeeklyReport.objects.get()
    row.document = {"week": str(THIS), "sites": [], "alerts": [], "alert_count": 0}
    row.save()

    text = page(client)

    assert "Nothing was down, and nothing became slower" in text
    assert "None that channels heard of." in text


def test_weeks_lead_to_those_beside_them(world: World, client: Client) -> None:
    step(MORNING)
    step(MORNING + WEEK + timedelta(days=1))
    keep(world.fleet.organisation, Report(week=BEFORE, sites=(), alerts=(), alert_count=0), MORNING)

    assert ("Week before" in page(client, BEFORE), "Week after" in page(client, BEFORE)) == (False, True)
    assert ("Week before" in page(client), "Week after" in page(client)) == (True, False)


@pytest.mark.parametrize("week", ["2025-13-01", "2025-11-31", "0000-00-00", "9999-12-31"])
def test_a_day_that_is_none_has_no_page(world: World, client: Client, week: str) -> None:
    assert client.get(f"/weekly/{week}/").status_code == 404


def test_what_was_deleted_since_is_named_and_leads_nowhere(world: World, client: Client) -> None:
    incident(world, THIS, title="Shop is down: connection refused")
    step(MORNING)
    Site.objects.all().delete()

    body = client.get(f"/weekly/{THIS}/").content.decode()

    assert "Shop is down: connection refused" in body
    assert "/sites/" + str(world.fleet.site.public_id) not in body


def test_what_was_down_from_some_regions_only_is_told_so(world: World, client: Client) -> None:
    outage(world, THIS, hours=1)
    Outage.objects.update(state="degraded")
    step(MORNING)

    assert "! 100 % down for 60 min from some regions only" in page(client)


def test_other_organisations_weeks_are_not_found(world: World, client: Client) -> None:
    step(MORNING)
    WeeklyReport.objects.update(organisation=Organisation.objects.create(name="Other", slug="other"))

    assert client.get(f"/weekly/{THIS}/").status_code == 404


def test_names_of_others_are_text(world: World, client: Client) -> None:
    Site.objects.update(name="<b>Shop</b>\u202e")
    step(MORNING)

    body = client.get(f"/weekly/{THIS}/").content.decode()

    assert "<b>Shop" not in body
    assert "\u202e" not in body


def test_it_takes_as_many_statements_for_many_sites(
    world: World, client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    step(MORNING)
    row = WeeklyReport.objects.get()
    row.document["sites"] *= 150
    row.save()

    with django_assert_max_num_queries(11):
        text = page(client)
    assert "Sites 1 to 100 of 150" in text


def test_a_channel_is_told_of_weeks_by_a_tick(world: World, client: Client) -> None:
    client.post(
        "/settings/channels/add/slack/", {"slack-url": "https://hooks.slack.com/services/T/B/x", "slack-weekly": "on"}
    )

    assert Channel.objects.get(kind="slack").weekly
    assert "weekly report" in words(client.get("/settings/channels/").content.decode())
