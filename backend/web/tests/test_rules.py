"""The pages of rules."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from backend.alerts.message import Event, Message, Severity
from backend.alerts.models import Channel, Delivery, Rule, RulePreview
from backend.alerts.notices import tell
from backend.alerts.parameters import KINDS
from backend.alerts.previewed import Preview
from backend.cast import Member
from backend.runs.tests.results import FAILED
from backend.sites.models import Site
from backend.web.rule_preview import sentence
from backend.web.tests.incidents import make_incident, make_rule, make_window
from backend.web.tests.visits import Send, look
from backend.web.tests.world import World, make_channel

pytestmark = pytest.mark.django_db

USUAL = {"severity": "warning", "notify": "on", "delay_min": "0", "remind": "", "name": ""}
BUDGET = {
    "param_metric": "lcp_ms",
    "param_limit": "2500",
    "param_critical_limit": "",
    "param_of_last": "5",
    "param_regions": "1",
}


def test_every_kind_of_rule_is_said_in_words_and_has_a_form(client: Client, world: World) -> None:
    client.logout()
    for kind in KINDS:
        rule = make_rule(world, kind, site=None if KINDS[kind].of_organisation else world.site)
        assert client.get(reverse("web:rule", args=[rule.public_id])).status_code == 302
    text = look(client, world.member, "/alerts/rules/")
    assert "Nothing would wake you" in text
    assert "3 of the last 5 runs failed in any region" in text
    assert "First byte over 800 ms; median of the last 5 runs in 1 region" in text
    assert "First byte and largest paint slower than usual by 5 % or more; told at once" in text
    for kind in KINDS:
        assert "<form" in look(client, world.member, f"/alerts/rules/add/?kind={kind}"), kind
    for rule in Rule.objects.all():
        assert rule.title in look(client, world.member, reverse("web:rule", args=[rule.public_id]))


def test_a_rule_that_looks_at_one_run_says_so(client: Client, world: World) -> None:
    once = {"of_last": 1, "regions": 1}
    for kind, params in (
        ("failures", {"failed": 1}),
        ("budget", {"metric": "ttfb_ms", "limit": 800, "critical_limit": None}),
        ("finding", {"min_severity": "high", "ids": [], "found": 1}),
    ):
        rule = make_rule(world, kind, site=world.site)
        Rule.objects.filter(pk=rule.pk).update(params={**params, **once})
    text = look(client, world.member, "/alerts/rules/")
    assert "The last run failed in any region" in text
    assert "First byte over 800 ms; the last run in 1 region" in text
    assert "found by the last deep probe or page load in any region" in text


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["tls.version_old"], "found by 2 of the last 3 deep probes in any region"),
        (["page.extra_hosts_and_lost_mux"], "found by 2 of the last 3 page loads in any region"),
        ([], "found by 2 of the last 3 deep probes or page loads in any region"),
    ],
)
def test_a_rule_about_causes_names_the_runs_that_tell_them(
    client: Client, world: World, ids: list[str], said: str
) -> None:
    rule = make_rule(world, "finding", site=world.site)
    params = {"min_severity": "high", "ids": ids, "found": 2, "of_last": 3, "regions": 1}
    Rule.objects.filter(pk=rule.pk).update(params=params)
    assert said in look(client, world.member, "/alerts/rules/")


def test_the_list_says_what_each_rule_would_have_sent(client: Client, world: World) -> None:
    quiet, loud = make_rule(world), make_rule(world, "failures")
    assert look(client, world.member, "/alerts/rules/").count("being worked out") == 2
    now = timezone.now()
    for rule, alerts, days in ((quiet, 0, 14), (loud, 31, 5)):
        RulePreview.objects.create(
            rule=rule,
            version=rule.version,
            computed_at=now - timedelta(hours=2),
            since=now - timedelta(days=days),
            alerts=alerts,
            runs=9_000,
            moments=[now.isoformat()] * min(alerts, 3),
        )
    text = look(client, world.member, "/alerts/rules/")
    assert "no alert<br>" in text
    assert "31 alerts in the last 5 days" in text
    assert text.count("2 h ago") >= 2
    text = look(client, world.member, reverse("web:rule", args=[loud.public_id]))
    assert "Would have sent 31 alerts in the last 5 days" in text
    assert "Tried on 9,000 runs" in text


def test_the_verdict_names_who_is_told(client: Client, world: World) -> None:
    make_rule(world)
    make_channel(world.member)
    text = look(client, world.member, "/alerts/rules/")
    assert "1 rule would wake you" in text
    assert "They tell ops-acme." in text


def test_rules_do_not_pass_for_well_while_a_channel_does_not_take_what_they_tell(client: Client, world: World) -> None:
    make_rule(world)
    channel = make_channel(world.member)
    message = Message(event=Event.OPENED, severity=Severity.CRITICAL, title="Shop is down", at=timezone.now())
    tell(organisation=world.member.organisation, about=uuid4(), message=message, channels=[channel])
    Delivery.objects.update(state="failed", attempts=3, answer="no_service", status=404)
    text = look(client, world.member, "/alerts/rules/")
    assert '<section class="verdict warn">' in text
    assert "1 rule would tell ops-acme. The last answer: 404 no_service" in text
    assert text.count("ops-acme did not take the last message") == 1
    assert text.count("See the channels") == 1
    assert "rule would wake you" not in text


def test_a_channel_that_is_switched_off_wakes_nobody(client: Client, world: World) -> None:
    make_rule(world)
    channel = make_channel(world.member)
    Channel.objects.filter(pk=channel.pk).update(enabled=False)
    text = look(client, world.member, "/alerts/rules/")
    assert "no channel is there and switched on" in text
    assert "Add a channel" in text


def test_rules_that_tell_nobody_are_not_put_down_to_channels(client: Client, world: World) -> None:
    rule = make_rule(world)
    make_channel(world.member)
    Rule.objects.filter(pk=rule.pk).update(notify=False)
    text = look(client, world.member, "/alerts/rules/")
    assert "no rule tells a channel" in text
    assert "Add a channel" not in text


def test_a_rule_is_added_for_one_site_or_for_all(world: World, send: Send) -> None:
    path = "/alerts/rules/add/?kind=budget"
    channel = make_channel(world.member)
    fields = USUAL | BUDGET | {"site": str(world.site.public_id), "channels": str(channel.public_id), "name": "Paint"}
    assert (
        send(world.member, path, **fields | {"param_critical_limit": "4000", "delay_min": "5", "remind": "3600"})[0]
        == 200
    )
    rule = Rule.objects.get()
    assert (rule.site, rule.name, rule.delay_s, rule.remind_every_s) == (world.site, "Paint", 300, 3600)
    assert rule.params["limit"] == 2500
    assert rule.params["critical_limit"] == 4000
    assert list(rule.channels.all()) == [channel]
    send(world.member, path, **USUAL | BUDGET | {"site": ""})
    assert Rule.objects.filter(site=None).exists()


def test_what_cannot_be_is_said_at_its_field(world: World, send: Send) -> None:
    status, text = send(
        world.member, "/alerts/rules/add/?kind=budget", **USUAL | BUDGET | {"param_critical_limit": "100"}
    )
    assert (status, "“Critical limit” must be above limit" in text) == (400, True)
    status, text = send(world.member, "/alerts/rules/add/?kind=budget", **USUAL | BUDGET | {"param_limit": "much"})
    assert (status, "Enter a number" in text) == (400, True)
    assert not Rule.objects.exists()
    assert send(world.member, "/alerts/rules/add/?kind=pigeon")[1].count("Alert rules")


def test_a_rule_is_changed_switched_and_deleted(world: World, send: Send) -> None:
    rule = make_rule(world, "failures")
    path = reverse("web:rule", args=[rule.public_id])
    fields = USUAL | {"param_failed": "2", "param_of_last": "4", "param_regions": "1"}
    _, text = send(world.member, path, **fields)
    assert "2 of the last 4 runs failed" in text
    assert send(world.member, path, **fields | {"param_failed": "9"})[0] == 400
    send(world.member, reverse("web:rule_switch", args=[rule.public_id]))
    rule.refresh_from_db()
    assert not rule.enabled
    send(world.member, reverse("web:rule_switch", args=[rule.public_id]), on="1")
    send(world.member, reverse("web:rule_delete", args=[rule.public_id]))
    assert not Rule.objects.exists()


def test_who_saves_what_was_changed_meanwhile_is_told_before_it_is_lost(
    client: Client, world: World, send: Send
) -> None:
    rule = make_rule(world, "failures")
    path = reverse("web:rule", args=[rule.public_id])
    (opened,) = re.findall(r'name="seen" value="(.+?)"', look(client, world.member, path))
    mine, theirs = ({"param_failed": number, "param_of_last": "9", "param_regions": "1"} for number in ("2", "4"))
    assert send(world.member, path, **USUAL | theirs, seen=opened)[0] == 200
    status, text = send(world.member, path, **USUAL | mine, seen=opened)
    assert (status, "This was changed after you had opened it" in text, 'value="2"' in text) == (400, True, True)
    rule.refresh_from_db()
    assert rule.params["failed"] == 4
    (again,) = re.findall(r'name="seen" value="(.+?)"', text)
    assert send(world.member, path, **USUAL | mine, seen=again)[0] == 200
    rule.refresh_from_db()
    assert rule.params["failed"] == 2


def test_a_rule_is_deleted_only_after_a_question_that_says_what_ends(client: Client, world: World) -> None:
    rule = make_rule(world, "failures")
    make_incident(world, rule=rule)
    address = reverse("web:rule_delete", args=[rule.public_id])
    assert f'href="{address}"' in look(client, world.member, reverse("web:rule", args=[rule.public_id]))
    text = look(client, world.member, address)
    assert "Delete Failed runs of Shop?" in text
    assert "1 open alert is over then" in text
    assert Rule.objects.get() == rule


def test_a_rule_is_tried_on_the_past_before_it_is_stored(world: World, send: Send) -> None:
    add = "/alerts/rules/add/?kind=failures"
    fields = USUAL | {"param_failed": "1", "param_of_last": "1", "param_regions": "1", "preview": "1"}
    assert "There is nothing to try it on yet" in send(world.member, add, **fields)[1]
    Site.objects.update(created_at=timezone.now() - timedelta(days=100))
    for minutes in (30, 20, 10):
        pending = world.pending("probe", scheduled_for=timezone.now() - timedelta(minutes=minutes))
        world.end(pending, FAILED if minutes == 20 else None)
    cache.clear()
    _, text = send(world.member, add, **fields)
    assert "Would have sent 1 alert in the last 14 days" in text
    assert "Tried on 3 runs; nothing was stored. The latest:" in text
    now = timezone.now()
    assert sentence(Preview(alerts=0, since=now - timedelta(days=3), runs=1), now).text.startswith("Tried on 1 run; ")
    assert not Rule.objects.exists()
    rule = make_rule(world, "certificate")
    _, text = send(
        world.member,
        reverse("web:rule", args=[rule.public_id]),
        **USUAL | {"param_warn_days": "20", "param_critical_days": "3", "preview": "1"},
    )
    assert "Would have sent " in text
    rule.refresh_from_db()
    assert rule.params["warn_days"] == 14


def test_two_rules_are_not_tried_at_once(world: World, send: Send) -> None:
    cache.add(f"rule-preview-{world.member.organisation.pk}", 1, 30)
    fields = USUAL | {"param_failed": "1", "param_of_last": "1", "param_regions": "1", "preview": "1"}
    assert "Another rule is being tried" in send(world.member, "/alerts/rules/add/?kind=failures", **fields)[1]


def test_suggestions_go_once_they_are_taken(world: World, send: Send) -> None:
    _, text = send(world.member, reverse("web:rule_suggest", args=["ttfb"]))
    assert "First byte over 800 ms: added for all sites." in text
    assert "Largest paint over 2.5 s" in text
    assert "the limit of good for the first byte" not in text
    assert send(world.member, reverse("web:rule_suggest", args=["pigeon"]))[0] == 404
    _, text = send(world.member, reverse("web:rule_suggest", args=["ttfb"]))
    assert "First byte over 800 ms: such a rule is there already." in text
    assert Rule.objects.count() == 1


def test_a_suggested_rule_is_named_for_all_that_it_finds(world: World, send: Send) -> None:
    send(world.member, reverse("web:rule_suggest", args=["findings"]))
    rule = Rule.objects.get()
    assert (rule.name, rule.params["min_severity"]) == ("A high or critical cause appeared", "high")


def test_an_open_incident_is_counted_at_its_rule(client: Client, world: World) -> None:
    make_incident(world, rule=make_rule(world))
    assert "1 open</span>" in look(client, world.member, "/alerts/rules/")


def test_a_channel_of_others_cannot_be_chosen(world: World, charlie: Member, send: Send) -> None:
    theirs = make_channel(charlie, "theirs")
    status, _ = send(
        world.member, "/alerts/rules/add/?kind=budget", **USUAL | BUDGET | {"channels": str(theirs.public_id)}
    )
    assert status == 400


def test_a_list_of_rules_costs_the_same_for_one_and_for_twenty(client: Client, world: World) -> None:
    client.force_login(world.member.user)

    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get("/alerts/rules/")
        return len(captured)

    make_rule(world)
    few = count()
    for _ in range(20):
        make_rule(world).channels.add(make_channel(world.member, f"hook {Rule.objects.count()}"))
    assert count() == few <= 11


def test_rules_of_many_sites_are_shown_a_site_at_a_time(client: Client, world: World) -> None:
    organisation = world.member.organisation
    names = [f"Site {number:02}" for number in range(9)]
    sites = [Site.objects.create(organisation=organisation, name=name, status=world.site.status) for name in names]
    Rule.objects.bulk_create(
        Rule(organisation=organisation, site=site, kind="failures", name=f"Fails at {site.name}", params={})
        for site in sites
    )
    make_rule(world, "agent", site=None)
    text = look(client, world.member, "/alerts/rules/")
    assert "Silent region" in text
    assert "Fails at" not in text
    rule = Rule.objects.get(name="Fails at Site 04")
    opened = f"/alerts/rules/?site={rule.site.public_id if rule.site else None}"
    assert opened in text
    shown = look(client, world.member, opened)
    assert [name for name in names if f"Fails at {name}" in shown] == ["Site 04"]
    response = client.post(reverse("web:rule_switch", args=[rule.public_id]))
    assert response["location"] == opened
    assert f"{rule.title} is switched off." in look(client, world.member, "/alerts/rules/?site=pigeon")
    assert "Fails at" not in look(client, world.member, "/alerts/rules/?site=pigeon")


def test_a_viewer_reads_and_changes_nothing(client: Client, world: World, vera: Member, send: Send) -> None:
    rule = make_rule(world)
    make_window(world)
    for path in ("/alerts/rules/", "/alerts/maintenance/"):
        text = look(client, vera, path)
        for button in ("Switch off", "End it", "Plan it", "Go on", "Add<"):
            assert button not in text, (path, button)
    for path in (reverse("web:rule", args=[rule.public_id]), "/alerts/maintenance/", "/alerts/rules/add/?kind=budget"):
        assert send(vera, path)[0] == 403
