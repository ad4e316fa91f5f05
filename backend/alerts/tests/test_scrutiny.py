"""Causes that come and go, from what deep probes found to what is told."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from backend.alerts import scrutiny
from backend.alerts.actions.rules import RuleSettings, change_rule, delete_rule
from backend.alerts.deeper import look_deeper
from backend.alerts.models import Incident, Notice, Rule, Scrutiny
from backend.alerts.preview import preview
from backend.alerts.tests.world import World, make_rule, make_world, put_run, titles, told
from backend.cast import Member
from backend.runs import actions
from backend.runs.models import Finding, PendingRun, Run, Schedule
from backend.sites.models import Monitor
from workers.diagnosis.catalogue import entry
from workers.measurement.finding import FindingId

pytestmark = pytest.mark.django_db

OVERFLOW, EXPIRED, OLD = "tls.record_overflow", "tls.cert_expired", "tls.version_old"
BLOCKED, NO_H2 = "page.third_party_blocking", "http.h2_missing"
SEVERITIES = {OVERFLOW: "high", EXPIRED: "critical", OLD: "high", BLOCKED: "high", NO_H2: "high"}


@pytest.fixture
def world() -> World:
    """A site measured from two regions, with one rule: a high finding in two of the last two deep runs."""
    world = make_world("fra", "iad", rules=["finding"])
    Rule.objects.update(params={"min_severity": "high", "ids": [], "found": 2, "of_last": 2, "regions": 1})
    return world


def probe(
    world: World, region: str, *ids: str, depth: str = "deep", trigger: str = "schedule", refused: bool = False
) -> Run:
    """A minute passes, in which a probe finds this; with "?" before an id it could not judge it. It has `refused` the
    certificate, or ended well."""
    place = next(one for one in world.regions if one.code == region)
    world.now += timedelta(minutes=1)
    world.beat()
    failure = {"failure_stage": "tls", "failure_kind": "tls_expired"} if refused else {}
    run = put_run(world.monitor, place, world.now, "x" if refused else ".", depth=depth, trigger=trigger, **failure)
    Finding.objects.bulk_create(_finding(run, position, id) for position, id in enumerate(ids, start=1))
    look(world)
    return run


def look(world: World) -> None:
    Schedule.objects.update(next_at=world.now + timedelta(hours=1))
    Scrutiny.objects.update(due_at=world.now)
    scrutiny.step(lambda: world.now)


def _finding(run: Run, position: int, id: str) -> Finding:
    is_open, name = id.startswith("?"), id.removeprefix("?")
    told = {"not_judged": "loss"} if is_open else {"severity": SEVERITIES[name], "confidence": "high"}
    return Finding(
        run_id=run.run_id,
        scheduled_for=run.scheduled_for,
        position=position,
        monitor_id=run.monitor_id,
        region_id=run.region_id,
        finding=name,
        saving_us=None if is_open else 380_000,
        **told,
    )


def asked() -> list[str]:
    """Regions in which a deep run was asked for."""
    return sorted(PendingRun.objects.filter(trigger="diagnose", depth="deep").values_list("region__code", flat=True))


def test_a_cause_that_two_deep_runs_found_is_told_with_its_cost_and_what_to_do(world: World) -> None:
    first = probe(world, "fra", OVERFLOW)
    assert told() == []
    second = probe(world, "fra", OVERFLOW)
    assert told() == ["opened"]
    message = Notice.objects.get().message
    assert message["title"] == ("Shop: the first record is too large to be read in time, which costs 380 ms in Fra")
    advice = entry(FindingId.TLS_RECORD_OVERFLOW).advice
    assert "Seen in 2 of the last 2 deep probes." in message["sentences"]
    assert any(sentence and advice.startswith(sentence) for sentence in message["sentences"])
    incident = Incident.objects.get()
    assert (incident.cause, incident.state, incident.severity) == ("finding", "degraded", "warning")
    assert incident.key.endswith(OVERFLOW)
    assert incident.opened_at == first.scheduled_for
    assert incident.members.get().after_run == second.run_id
    assert message["data"]["members"][0]["finding"] == OVERFLOW


def test_it_is_over_when_two_deep_runs_do_not_have_it_any_more(world: World) -> None:
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    probe(world, "fra")
    assert told() == ["opened"]
    probe(world, "fra")
    assert told() == ["opened", "recovered"]
    assert titles()[-1].startswith("Shop: mended: the first record is too large")
    assert not Incident.objects.get().is_open


def test_a_run_that_could_not_judge_it_neither_ends_nor_begins_it(world: World) -> None:
    for _ in range(2):
        probe(world, "fra", "?" + OVERFLOW)
    assert told() == []
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    for _ in range(3):
        probe(world, "fra", "?" + OVERFLOW)
    assert told() == ["opened"]


def test_light_runs_neither_begin_nor_end_anything(world: World) -> None:
    for _ in range(3):
        probe(world, "fra", OVERFLOW, depth="light")
    assert told() == []
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    for _ in range(3):
        probe(world, "fra", depth="light")
    assert told() == ["opened"]


@pytest.mark.parametrize("trigger", ["gate", "mapped", "cost"])
def test_runs_that_may_be_of_another_server_say_nothing_of_the_site(world: World, trigger: str) -> None:
    probe(world, "fra")
    asked = PendingRun.objects.count()
    for depth in ("deep", "light"):
        for _ in range(2):
            probe(world, "fra", OVERFLOW, trigger=trigger, depth=depth)
    assert told() == []
    assert PendingRun.objects.count() == asked


def test_each_cause_has_an_incident_of_its_own(world: World) -> None:
    for _ in range(2):
        probe(world, "fra", OVERFLOW, OLD)
    assert told() == ["opened", "opened"]
    for _ in range(2):
        probe(world, "fra", OLD)
    assert {one.key.rpartition("/")[2]: one.is_open for one in Incident.objects.all()} == {OVERFLOW: False, OLD: True}


def test_another_region_that_has_it_too_joins_without_a_word(world: World) -> None:
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    for _ in range(2):
        probe(world, "iad", OVERFLOW)
    assert told() == ["opened"]
    assert Incident.objects.get().members.get().regions == ["fra", "iad"]


def test_what_makes_visitors_fail_is_critical(world: World) -> None:
    for _ in range(2):
        probe(world, "fra", EXPIRED)
    incident = Incident.objects.get()
    assert (incident.state, incident.severity) == ("failing", "critical")


def test_the_rule_that_sites_begin_with_tells_only_of_what_makes_visitors_fail() -> None:
    world = make_world("fra")
    assert Rule.objects.filter(kind="finding").count() == 1
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    assert told() == []
    for _ in range(2):
        probe(world, "fra", EXPIRED)
    assert [notice.message["severity"] for notice in Notice.objects.all()] == ["critical"]


def test_a_second_run_is_asked_for_at_once_where_the_first_found_something(world: World) -> None:
    probe(world, "iad")
    PendingRun.objects.all().delete()
    probe(world, "fra", OVERFLOW)
    assert asked() == ["fra"]
    look(world)
    assert asked() == ["fra"], "one at a time"


def test_a_second_run_is_asked_for_again_where_that_came_to_nothing(world: World) -> None:
    probe(world, "iad")
    probe(world, "fra", OVERFLOW)
    PendingRun.objects.all().delete()
    look(world)
    assert asked() == ["fra"]


def test_nothing_more_is_asked_for_where_the_runs_agree(world: World) -> None:
    for _ in range(2):
        for region in ("fra", "iad"):
            probe(world, region, OVERFLOW)
    PendingRun.objects.all().delete()
    look(world)
    assert asked() == []


def test_a_region_that_never_looked_deeper_does_so_at_the_first_look(world: World) -> None:
    look(world)
    assert asked() == ["fra", "iad"]


def test_so_many_deep_runs_are_asked_for_in_six_hours(world: World) -> None:
    for _ in range(4):
        probe(world, "fra", depth="light", trigger="diagnose")
    PendingRun.objects.all().delete()
    look(world)
    assert asked() == ["iad"]


def test_a_site_that_could_not_be_reached_is_looked_at_deeper_once_it_can_be(world: World) -> None:
    fra = world.regions[0]
    put_run(world.monitor, fra, world.now, "x", depth="deep", trigger="diagnose")
    look(world)
    assert asked() == ["iad"], "the next one would come to nothing too, and so many are left for six hours"
    put_run(world.monitor, fra, world.now + timedelta(minutes=1), ".", depth="light")
    look(world)
    assert asked() == ["fra", "iad"]


def test_a_certificate_that_is_taken_again_is_looked_at_until_its_alert_ends(world: World) -> None:
    for _ in range(2):
        probe(world, "iad", trigger="diagnose")
        probe(world, "fra", trigger="diagnose")
    for _ in range(2):
        probe(world, "fra", EXPIRED, trigger="diagnose", refused=True)
    assert told() == ["opened"]
    PendingRun.objects.all().delete()
    probe(world, "fra", depth="light", refused=True)
    assert asked() == []
    probe(world, "fra", depth="light")
    assert asked() == ["fra"]
    for _ in range(2):
        PendingRun.objects.all().delete()
        probe(world, "fra", trigger="diagnose")
    assert told() == ["opened", "recovered"]


def test_something_new_in_a_light_run_is_looked_at_deeper(world: World) -> None:
    for region in ("fra", "iad"):
        probe(world, region, OLD)
        probe(world, region, OLD)
    PendingRun.objects.all().delete()
    probe(world, "fra", OLD, depth="light")
    assert asked() == []
    probe(world, "fra", OLD, EXPIRED, depth="light")
    assert asked() == ["fra"]


def test_a_paused_monitor_has_no_open_findings_and_is_asked_nothing(world: World) -> None:
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    PendingRun.objects.all().delete()
    Monitor.objects.update(paused=True)
    look(world)
    assert told() == ["opened", "resolved"]
    assert asked() == []


def test_a_changed_rule_begins_anew(world: World, bob: Member) -> None:
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    rule = Rule.objects.get()
    change_rule(actor=bob.user, rule=rule, settings=RuleSettings(kind="finding", params={"ids": [OLD]}))
    look(world)
    assert told() == ["opened", "resolved"]
    delete_rule(actor=bob.user, rule=Rule.objects.get())
    look(world)
    assert told() == ["opened", "resolved"]


def test_two_rules_of_a_site_share_the_incident_of_a_cause(world: World) -> None:
    params = {"min_severity": "high", "found": 1, "of_last": 1}
    make_rule(world, "finding", params=params)
    probe(world, "fra", OVERFLOW)
    probe(world, "fra", OVERFLOW)
    assert told() == ["opened"]
    assert Incident.objects.get().members.count() == 2


def test_a_patient_rule_waits_although_no_further_run_comes(world: World) -> None:
    Rule.objects.update(delay_s=3600)
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    assert told() == []
    world.now += timedelta(hours=2)
    look(world)
    assert told() == ["opened"]


def _would_have_told(world: World, **params: object) -> int | None:
    organisation, site = world.fleet.organisation, world.fleet.site
    return preview(organisation, kind="finding", params=params, site=site, now=world.now).alerts


def test_the_preview_counts_what_would_have_been_told_cause_by_cause(world: World) -> None:
    for _ in range(3):
        for _ in range(2):
            probe(world, "fra", OVERFLOW, OLD)
        for _ in range(2):
            probe(world, "fra", OLD)
        for _ in range(30):
            probe(world, "fra", OLD, depth="light")
    assert told().count("opened") == 4
    assert _would_have_told(world, min_severity="high") == 4
    assert _would_have_told(world, min_severity="high", ids=[OLD]) == 1
    assert _would_have_told(world, min_severity="critical") == 0
    assert _would_have_told(world, min_severity="high", regions=2) == 0


def test_a_look_without_news_takes_a_fixed_number_of_statements(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for region in ("fra", "iad"):
        for _ in range(2):
            probe(world, region, OVERFLOW)
    PendingRun.objects.all().delete()
    Scrutiny.objects.update(due_at=world.now)
    with django_assert_num_queries(8):
        scrutiny.watch_batch(world.now)


def test_a_cause_that_two_page_loads_found_is_told_and_no_probe_is_asked_for() -> None:
    world = make_world("fra", kinds=["page"], rules=["finding"])
    Rule.objects.update(params={"min_severity": "high", "ids": [], "found": 2, "of_last": 2, "regions": 1})
    probe(world, "fra", BLOCKED, NO_H2)
    assert told() == []
    probe(world, "fra", BLOCKED, NO_H2)
    assert told() == ["opened"]
    assert "Seen in 2 of the last 2 page loads." in Notice.objects.get().message["sentences"]
    assert asked() == []
    probe(world, "fra")
    probe(world, "fra")
    assert told() == ["opened", "recovered"]


def test_a_cause_of_another_address_is_not_said_to_be_mended_and_counts_for_nothing(world: World) -> None:
    for _ in range(2):
        probe(world, "fra", OVERFLOW)
    Monitor.objects.update(url="https://shop.example/other")
    look(world)
    assert told() == ["opened", "resolved"]
    assert titles()[-1].startswith("Closed after 1 min: Shop: the first record is too large")
    assert Incident.objects.get().get_resolution_display() == "Something else is measured now"
    assert asked() == ["fra", "iad"]
    probe(world, "fra", OVERFLOW)
    assert told() == ["opened", "resolved"]
    probe(world, "fra", OVERFLOW)
    assert told() == ["opened", "resolved", "opened"]


def test_a_cause_that_no_region_looks_for_any_more_is_over_and_says_why(world: World) -> None:
    probe(world, "fra", OVERFLOW)
    probe(world, "fra", OVERFLOW)
    assert told() == ["opened"]
    Schedule.objects.all().delete()
    look(world)
    assert told() == ["opened", "resolved"]
    assert Incident.objects.get().resolution == "unmeasured"


def test_a_cause_of_a_region_that_is_not_measured_any_more_is_not_called_mended(world: World) -> None:
    probe(world, "iad")
    probe(world, "iad")
    probe(world, "fra", OVERFLOW)
    probe(world, "fra", OVERFLOW)
    assert told() == ["opened"]
    Schedule.objects.filter(region__code="fra").delete()
    look(world)
    assert told() == ["opened", "resolved"]
    assert Incident.objects.get().resolution == "replaced"


def test_who_may_ask_for_no_more_diagnoses_does_not_ask_for_each_region(
    world: World, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr(actions, "MAX_DIAGNOSES", 0)
    with CaptureQueriesContext(connection) as of_one:
        assert look_deeper(world.monitor.pk, ["fra"], now=world.now) == []
    with django_assert_num_queries(len(of_one)):
        assert look_deeper(world.monitor.pk, ["fra", "iad"], now=world.now) == []
    monkeypatch.setattr(actions, "MAX_DIAGNOSES", 1)
    assert look_deeper(world.monitor.pk, ["fra", "iad"], now=world.now) == ["fra"]
