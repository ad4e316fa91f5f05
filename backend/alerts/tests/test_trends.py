"""Sites that become slower, from stored runs to what is told."""

import json
from datetime import timedelta

import pytest

from backend.alerts.actions.incidents import accept
from backend.alerts.actions.rules import RuleSettings, change_rule
from backend.alerts.models import Rule, Trend
from backend.alerts.queries.sight import sight
from backend.alerts.tests.slow_site import STEP, Site, slower, slower_in_sin, usual
from backend.alerts.tests.world import only_incident, titles, told
from backend.alerts.upkeep import tidy
from backend.alerts.wording import length
from backend.cast import Member
from backend.runs.models import PendingRun, Run, Schedule
from backend.sites.models import Deploy, Monitor

pytestmark = pytest.mark.django_db


def test_a_site_that_becomes_slower_everywhere_is_told_once_with_the_phase_and_the_deploy() -> None:
    site = Site()
    site.pass_time(60, usual)
    Deploy.objects.create(
        organisation=site.world.fleet.organisation, site=site.world.fleet.site, version="v42", at=site.world.now
    )
    site.pass_time(120, slower)
    incident = only_incident()
    assert told() == ["opened"]
    assert titles()[0].startswith("Shop is slower in ")
    assert incident.state == "regressed"
    (member,) = incident.members.all()
    assert member.facts["cause"] == "origin"
    assert member.facts["confirmed"] is True
    assert any(sentence.startswith("It began with the deploy of v42 ") for sentence in member.facts["sentences"])
    assert member.before_run != member.after_run
    assert member.before_run is not None
    assert member.after_run is not None
    before, after = (Run.objects.get(run_id=run).ttfb_us or 0 for run in (member.before_run, member.after_run))
    assert before < 190_000 < after
    assert incident.events.filter(kind="confirmed").exists()


def test_a_release_that_adds_a_redirect_is_told_with_what_it_costs() -> None:
    """The phases, which are those of the answer, are as before."""
    site = Site()
    site.pass_time(60, usual)
    site.redirects_us = 90_000
    site.pass_time(120, usual)
    (member,) = only_incident().members.all()
    assert member.facts["cause"] == "redirects"
    assert "By phase: Redirects 0 ms → 90 ms." in member.facts["sentences"]
    assert "That points to the redirects on the way to the page." in member.facts["sentences"]
    assert diagnosed() == ["fra", "iad", "sin"]


def test_the_runs_before_and_after_are_usual_ones_of_their_region_however_far_others_are() -> None:
    waits = {"fra": 60.0, "iad": 100.0, "sin": 400.0}
    site = Site(lambda region, passed: waits[region])
    site.pass_time(60, lambda region, passed: 1.8 * waits[region])
    member = only_incident().members.get()
    waited = dict(Run.objects.values_list("run_id", "wait_us"))
    assert member.before_run is not None
    assert member.after_run is not None
    assert waited[member.before_run] == pytest.approx(60_000, rel=0.02)
    assert waited[member.after_run] == pytest.approx(108_000, rel=0.06)


def test_its_recovery_is_told_once() -> None:
    site = Site()
    site.pass_time(90, slower)
    site.pass_time(240, usual)
    assert told() == ["opened", "recovered"]
    assert not only_incident().is_open


def test_it_is_over_when_it_was_quick_again_and_not_when_that_was_sure() -> None:
    site = Site()
    site.pass_time(90, slower)
    quick_again = site.world.now
    site.pass_time(240, usual)
    incident = only_incident()
    assert incident.resolved_at is not None
    assert quick_again <= incident.resolved_at <= quick_again + STEP
    assert incident.changed_at > incident.resolved_at, "it takes some runs to be sure"
    assert [member.ended_at for member in incident.members.all()] == [incident.resolved_at]
    assert length(incident.resolved_at - incident.opened_at) in titles()[-1]


def test_what_comes_again_with_another_deploy_is_told_with_that_one() -> None:
    site = Site()
    for version in ("v42", "v43"):
        Deploy.objects.create(
            organisation=site.world.fleet.organisation, site=site.world.fleet.site, version=version, at=site.world.now
        )
        site.pass_time(60, slower)
        while only_incident().is_open:
            site.pass_time(5, usual)
        site.pass_time(5, usual)
    (member,) = only_incident().members.all()
    assert told() == ["opened", "recovered", "opened", "recovered"]
    assert any("v43" in sentence for sentence in member.facts["sentences"]), member.facts
    assert not any("v42" in sentence for sentence in member.facts["sentences"])


def test_when_it_is_quick_again_its_probes_look_whether_the_cause_is_gone() -> None:
    """What they found while it was slow stands until they look again."""
    site = Site()
    site.pass_time(60, slower)
    assert diagnosed() == ["fra", "iad", "sin"]
    PendingRun.objects.all().delete()
    site.pass_time(60, usual)
    assert told() == ["opened", "recovered"]
    assert diagnosed() == ["fra", "iad", "sin"]


def diagnosed() -> list[str]:
    """Regions in which a deep run was asked for."""
    return sorted(PendingRun.objects.filter(trigger="diagnose", depth="deep").values_list("region__code", flat=True))


def test_a_quiet_site_is_never_told_of() -> None:
    site = Site()
    site.pass_time(24 * 60, usual, look=False)
    for _ in range(10):
        site.look()
    assert told() == []


def test_what_is_left_of_a_slowdown_stands_in_the_title_and_is_not_told() -> None:
    site = Site()
    site.pass_time(120, lambda region, passed: 900.0)
    assert _level() == pytest.approx(958, rel=0.03)
    site.pass_time(180, lambda region, passed: 160.0)
    assert told() == ["opened"]
    assert only_incident().is_open
    assert _level() == pytest.approx(218, rel=0.1)
    site.pass_time(180, usual)
    assert told() == ["opened", "recovered"]


def test_a_slowdown_that_becomes_twice_what_was_told_is_told_again_and_one_that_grows_by_less_is_not() -> None:
    site = Site()
    site.pass_time(90, lambda region, passed: 140.0)
    site.pass_time(90, lambda region, passed: 165.0)
    assert told() == ["opened"]
    site.pass_time(90, lambda region, passed: 330.0)
    assert told() == ["opened", "worse"]
    assert only_incident().title == titles()[-1]
    assert _level() == pytest.approx(388, rel=0.05)
    assert only_incident().events.filter(kind="worse").count() == 1
    site.pass_time(90, lambda region, passed: 360.0)
    assert told() == ["opened", "worse"]


def _level() -> int:
    """The milliseconds in the title of the incident."""
    return int(only_incident().title.partition("First byte ")[2].split()[0])


def test_one_region_alone_is_regional() -> None:
    site = Site()
    site.pass_time(120, slower_in_sin)
    assert only_incident().state == "degraded"
    assert titles()[0].startswith("Shop is slower in Sin only: First byte")


def test_an_incident_of_a_region_that_is_not_measured_any_more_ends_and_is_not_said_to_have_recovered() -> None:
    site = Site()
    site.pass_time(120, slower_in_sin)
    Schedule.objects.filter(region__code="sin").update(enabled=False)
    site.pass_time(10, usual)
    assert told() == ["opened", "resolved"]
    assert only_incident().get_resolution_display() == "Something else is measured now"


def test_nobody_waits_for_a_word_of_a_region_that_is_not_measured_any_more() -> None:
    site = Site()
    site.pass_time(60, slower)
    Schedule.objects.filter(region__code="sin").delete()
    site.silent = {"sin"}
    site.pass_time(5, slower)
    assert only_incident().title.startswith("Shop is slower in Fra and Iad: ")
    site.pass_time(40, usual)
    assert told() == ["opened", "recovered"]


def test_a_patient_rule_is_told_of_what_has_lasted_only() -> None:
    site = Site(tell="regression")
    site.pass_time(40, slower)
    assert told() == []
    site.pass_time(80, slower)
    assert told() == ["opened"]


def test_a_short_slowdown_is_not_told_to_a_patient_rule() -> None:
    site = Site(tell="regression")
    site.pass_time(30, slower)
    site.pass_time(180, usual)
    assert told() == []


def test_an_accepted_level_is_the_new_normal(bob: Member) -> None:
    site = Site()
    site.pass_time(90, slower)
    accept(actor=bob.user, incident=only_incident())
    site.pass_time(120, slower)
    assert told() == ["opened", "resolved"]
    assert only_incident().resolution == "accepted"
    site.pass_time(120, lambda region, passed: 330.0)
    assert told() == ["opened", "resolved", "opened"]


def test_a_changed_rule_begins_anew_and_ends_what_it_told(bob: Member) -> None:
    site = Site()
    site.pass_time(90, slower)
    settings = RuleSettings(kind="regression", params={"metrics": ["ttfb_ms"], "min_change_pct": 300})
    change_rule(actor=bob.user, rule=Rule.objects.get(), settings=settings)
    site.pass_time(30, slower)
    assert told() == ["opened", "resolved"]


def test_another_address_is_another_thing_to_measure() -> None:
    site = Site()
    site.pass_time(30, usual)
    Monitor.objects.update(url="https://shop.example/other")
    site.pass_time(180, slower)
    assert told() == []


def test_an_incident_of_another_address_is_not_said_to_be_accepted() -> None:
    site = Site()
    site.pass_time(60, slower)
    Monitor.objects.update(url="https://shop.example/other")
    site.look()
    assert told() == ["opened", "resolved"]
    assert only_incident().get_resolution_display() == "Something else is measured now"


def test_a_paused_monitor_ends_its_incident() -> None:
    site = Site()
    site.pass_time(60, slower)
    assert told() == ["opened"]
    Monitor.objects.update(paused=True)
    site.look()
    assert told() == ["opened", "resolved"]
    assert only_incident().resolution == "paused"


def test_what_is_as_slow_after_a_pause_is_told_again() -> None:
    site = Site()
    site.pass_time(90, slower)
    Monitor.objects.update(paused=True)
    site.look()
    site.world.now += timedelta(hours=1)
    Monitor.objects.update(paused=False)
    site.pass_time(60, slower)
    assert told() == ["opened", "resolved", "opened"]
    site.pass_time(180, usual)
    assert told() == ["opened", "resolved", "opened", "recovered"]


def test_looks_that_come_late_find_the_same() -> None:
    site = Site()
    site.pass_time(20, usual, look=False)
    site.pass_time(60, slower, look=False)
    site.look()
    tidy(site.world.now)
    assert told() == ["opened"]


def test_what_a_page_tells_is_looked_at_within_two_minutes() -> None:
    site = Site()
    Monitor.objects.update(interval_s=900)
    site.look()
    assert Trend.objects.get().due_at - site.world.now == timedelta(minutes=2)


def test_a_look_that_finds_nothing_new_leaves_all_as_it_is() -> None:
    site = Site()
    site.pass_time(60, usual)
    before = json.loads(Trend.objects.get().memory)
    site.look()
    assert json.loads(Trend.objects.get().memory) == before
    assert before["eyes"]


def test_how_small_a_change_would_be_noticed_is_kept_for_the_page() -> None:
    site = Site()
    site.pass_time(10, usual)
    (found,) = sight(site.world.fleet.site)
    (seen,) = found.seen
    assert (found.kind, found.learning, seen.metric, seen.regions) == ("probe", (), "ttfb_ms", 3)
    assert seen.typical == pytest.approx(158, abs=3)
    assert 5 <= seen.day_pct <= seen.hour_pct < 20


def test_what_is_still_being_learned_is_said_to_be() -> None:
    site = Site()
    Run.objects.all().delete()
    Trend.objects.update(memory="{}")
    site.look()
    (found,) = sight(site.world.fleet.site)
    assert (found.seen, found.learning) == ((), ("ttfb_ms",))


def test_a_phase_that_takes_a_step_is_looked_at_deeper_although_nothing_is_slower() -> None:
    site = Site()
    site.pass_time(180, usual)
    assert not PendingRun.objects.filter(trigger="diagnose").exists()
    site.tls_us = 50_000
    site.pass_time(40, lambda region, passed: 80.0)
    assert diagnosed() == ["fra", "iad", "sin"]
    assert told() == []


@pytest.mark.parametrize(("tell", "minutes"), [("slowdown", 30), ("regression", 120)])
def test_a_rule_that_waits_is_told_when_it_has_waited_although_nothing_else_happens(tell: str, minutes: int) -> None:
    site = Site(tell=tell)
    Rule.objects.update(delay_s=60 * minutes)
    site.pass_time(30, usual)
    began = site.world.now
    site.pass_time(minutes - 10, slower)
    assert told() == []
    site.pass_time(20, slower)
    assert told() == ["opened"]
    told_at = only_incident().told_at
    assert told_at is not None
    assert abs(told_at - began - timedelta(minutes=minutes)) <= timedelta(minutes=5)


def test_a_slowdown_that_passes_before_a_rule_has_waited_is_not_told() -> None:
    site = Site()
    Rule.objects.update(delay_s=3600)
    site.pass_time(30, usual)
    site.pass_time(30, slower)
    site.pass_time(120, usual)
    assert told() == []


def test_a_slowdown_that_no_region_measures_any_more_ends_and_is_told_again_where_one_does() -> None:
    site = Site()
    site.pass_time(120, slower)
    assert told() == ["opened"]
    kept = list(Schedule.objects.all())
    Schedule.objects.all().delete()
    site.look()
    assert told() == ["opened", "resolved"]
    assert only_incident().resolution == "unmeasured"
    site.look()
    assert told() == ["opened", "resolved"]
    Schedule.objects.bulk_create(kept)
    site.pass_time(120, slower)
    assert told() == ["opened", "resolved", "opened"]


def test_why_it_is_slower_is_looked_for_when_a_rule_that_waits_tells_it() -> None:
    site = Site()
    Rule.objects.update(delay_s=3600)
    site.pass_time(40, slower)
    assert told() == []
    PendingRun.objects.all().delete()
    site.pass_time(60, slower)
    assert told() == ["opened"]
    assert diagnosed() == ["fra", "iad", "sin"]


def test_why_further_regions_are_slower_is_looked_for_too() -> None:
    site = Site()
    site.pass_time(60, slower_in_sin)
    assert only_incident().state == "degraded"
    PendingRun.objects.all().delete()
    site.pass_time(60, slower)
    assert only_incident().state == "regressed"
    assert diagnosed() == ["fra", "iad", "sin"]
