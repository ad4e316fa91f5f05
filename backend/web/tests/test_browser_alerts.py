"""The alert pages in a real browser: nothing for axe to find, no complaint, and a list that keeps itself up to date."""

from datetime import time, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from backend.alerts.actions.channels import change_channel
from backend.alerts.hours import DAYS, Hours
from backend.alerts.models import Channel, Incident, Rule
from backend.runs.tests.factories import NOW
from backend.runs.tests.results import FAILED
from backend.web.tests.browsing import browsing, meanwhile
from backend.web.tests.incidents import TITLE, hold, make_incident, make_over, make_rule, make_window
from backend.web.tests.world import World, make_channel

# Which of two presses were held back, before any of them leaves the page.
PRESS_TWICE = """() => {
    const button = [...document.querySelectorAll("button")].find((one) => one.textContent === "Add the comment");
    const held = [];
    const hear = (event) => { held.push(event.defaultPrevented); event.preventDefault(); };
    window.addEventListener("submit", hear);
    button.click();
    button.click();
    window.removeEventListener("submit", hear);
    return held;
}"""

OFFICE = Hours(days=DAYS[:5], begins=time(8), ends=time(18), time_zone="Europe/Berlin")

pytestmark = pytest.mark.django_db(transaction=True)


def alert_paths(world: World) -> list[str]:
    """One of each page, with something on it."""
    runs = [world.pending("page"), world.pending("page", scheduled_for=NOW - timedelta(hours=5))]
    for run in runs:
        world.end(run)
    incident = make_incident(world, runs=(runs[0].run_id, runs[1].run_id))
    make_incident(world, muted_until_recovery=True, title="Shop: Transferred 1.2 MB in Eu, over the limit of 800 kB")
    make_over(world)
    make_window(world)
    make_window(world, starts_in=timedelta(days=1), site=None)
    channel, gone = make_channel(world.member), make_channel(world.member, "pager")
    change_channel(actor=None, channel=channel, after_s=900, hours=OFFICE)
    hold(channel, incident)
    Channel.objects.filter(pk=gone.pk).update(enabled=False, disabled_reason="channel_is_archived")
    rule = make_rule(world, "failures")
    return [
        "/alerts/",
        reverse("web:incident", args=[incident.public_id]),
        "/alerts/rules/",
        reverse("web:rule", args=[rule.public_id]),
        "/alerts/rules/add/?kind=regression",
        "/alerts/maintenance/",
        "/settings/channels/",
        reverse("web:channel", args=[channel.public_id]),
        reverse("web:channel_delete", args=[channel.public_id]),
    ]


def test_the_alert_pages_are_accessible_and_keep_the_policy(world: World, server: LiveServer, broker: str) -> None:
    paths = alert_paths(world)
    with browsing(world, server) as site:
        for path in paths:
            site.look_over(path)
        assert site.complaints == []


def test_without_alerts_rules_and_channels_the_pages_say_what_to_do(
    world: World, server: LiveServer, broker: str
) -> None:
    with browsing(world, server) as site:
        for path in ("/alerts/", "/alerts/rules/", "/alerts/maintenance/", "/settings/channels/"):
            site.open(path)
            assert site.axe() == [], path
        assert site.complaints == []


def test_from_an_alert_to_its_mute_without_a_script(world: World, server: LiveServer, broker: str) -> None:
    make_incident(world)
    with browsing(world, server, script=False) as site:
        page = site.open("/alerts/")
        page.get_by_role("button", name="Acknowledge").click()
        expect(page.locator(".pill.warn")).to_have_text("◐ Acknowledged")
        page.get_by_role("link", name="Mute").click()
        page.get_by_label("until it has recovered").check()
        page.get_by_role("button", name="Mute", exact=True).click()
        expect(page.locator(".lead .pill")).to_have_text("\N{EN DASH} Muted")
    assert Incident.objects.get().muted_until_recovery


def test_a_form_whose_button_is_pressed_twice_is_sent_once(world: World, server: LiveServer, broker: str) -> None:
    incident = make_incident(world)
    with browsing(world, server) as site:
        page = site.open(reverse("web:incident", args=[incident.public_id]))
        page.get_by_label("Comment").fill("the new database")
        assert page.evaluate(PRESS_TWICE) == [False, True]
        page.reload()
        for text in ("it is over", "it is not"):
            page.get_by_label("Comment").fill(text)
            page.get_by_role("button", name="Add the comment").click()
            expect(page.locator(".timeline")).to_contain_text(text)
            page.go_back()
    assert incident.events.filter(kind="comment").count() == 2


def test_the_list_keeps_itself_up_to_date_but_not_under_somebodys_hands(
    world: World, server: LiveServer, broker: str
) -> None:
    with browsing(world, server) as site:
        site.page.clock.install()
        page = site.open("/alerts/")
        expect(page.locator(".verdict h2")).to_have_text("Nothing is wrong")
        meanwhile(lambda: make_incident(world))
        page.clock.run_for(31_000)
        expect(page.locator(".verdict h2")).to_have_text(f"1 open alert: {TITLE}")
        expect(page.locator("[data-refresh=status]")).to_have_text(f"1 open alert: {TITLE}")
        expect(page.locator(".badge")).to_contain_text("1")
        assert page.title().startswith("(1) ")
        page.get_by_role("button", name="Acknowledge").focus()
        meanwhile(lambda: Incident.objects.all().delete())
        page.clock.run_for(31_000)
        expect(page.get_by_role("button", name="Acknowledge")).to_be_focused()
        page.locator("#main").focus()
        page.clock.run_for(31_000)
        expect(page.locator(".verdict h2")).to_have_text("Nothing is wrong")
        assert site.complaints == []


def test_a_rule_tells_what_it_would_have_done_while_it_is_written(
    world: World, server: LiveServer, broker: str
) -> None:
    for minutes in (20, 10):
        world.end(world.pending("probe", scheduled_for=timezone.now() - timedelta(minutes=minutes)), FAILED)
    with browsing(world, server) as site:
        page = site.open("/alerts/rules/add/?kind=failures")
        verdict = page.locator("#trial h2")
        expect(verdict).to_have_text("Would have sent 0 alerts in the last hour")
        page.get_by_label("Failed runs").fill("2")
        page.get_by_label("Of the last … runs").fill("2")
        page.get_by_label("Name").focus()
        expect(verdict).to_have_text("Would have sent 1 alert in the last hour")
        assert site.axe() == []
        assert site.complaints == []
    assert not Rule.objects.exists()
