from datetime import timedelta

import pytest

from backend.alerts.models import Delivery, Incident, Rule, Watch
from backend.alerts.tests.world import DETAIL, MINUTE, make_world, only_incident, put_run, titles, told
from backend.runs.models import PendingRun, Schedule
from backend.runs.tests.factories import make_pending
from backend.sites.models import Monitor

pytestmark = pytest.mark.django_db


def test_a_new_site_is_watched_from_now_on_with_rules_of_its_own() -> None:
    world = make_world()
    kinds = set(Rule.objects.filter(site=world.fleet.site).values_list("kind", flat=True))
    assert kinds == {"availability", "certificate", "no_data", "regression", "finding", "cdn"}
    assert Rule.objects.get(site=None).kind == "agent"
    assert Watch.objects.count() == 1


def test_rules_that_were_deleted_stay_deleted() -> None:
    world = make_world()
    Rule.objects.all().delete()
    world.minute("...")
    assert Rule.objects.count() == 0


def test_history_before_the_watch_raises_nothing() -> None:
    world = make_world()
    for minutes in range(10):
        put_run(world.monitor, world.regions[0], world.now - minutes * MINUTE, "x")
    world.minute("...")
    assert told() == []


def test_one_bad_sample_does_not_alert() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... .x. ... ... x.. ... ..x ...")
    assert told() == []
    assert not Incident.objects.exists()


def test_a_site_that_is_down_everywhere_is_one_incident_with_one_notice() -> None:
    world = make_world(kinds=("probe", "page"))
    world.minute("...", monitor=world.monitors[1])
    for _ in range(4):
        world.minute("xxx", monitor=world.monitors[1], judge=False)
        world.now -= MINUTE
        world.minute("xxx")
    incident = only_incident()
    assert told() == ["opened"]
    assert titles() == [f"Shop is down: {DETAIL}"]
    assert incident.state == "failing"
    assert incident.severity == "critical"
    assert incident.members.count() == 2
    assert Delivery.objects.get().channel == world.channel


def test_recovery_is_told_once_and_not_before_every_region_agrees() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... xxx xxx")
    world.minute(".xx")
    assert told() == ["opened"]
    world.minutes("... ... ...")
    assert told() == ["opened", "recovered"]
    assert titles()[1] == "Shop can be reached again, after 3 min"
    incident = only_incident()
    assert incident.resolution == "recovered"
    assert not incident.members.filter(ended_at=None).exists()


def test_a_region_that_is_down_alone_is_regional_after_a_while() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... ..x ..x")
    assert told() == []
    world.minutes("..x ..x")
    assert titles() == [f"Shop is down in Sin only: {DETAIL}"]
    incident = only_incident()
    assert (incident.state, incident.severity) == ("degraded", "warning")
    world.minutes("... ...")
    assert told() == ["opened", "recovered"]


def test_a_regional_outage_that_spreads_is_told_as_worse() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... ..x ..x ..x xxx xxx")
    assert told() == ["opened", "worse"]
    assert only_incident().state == "failing"


def test_a_single_region_needs_two_failures() -> None:
    world = make_world("fra", rules=["availability"])
    world.minutes(". x")
    assert told() == []
    world.minutes("x x")
    assert told() == ["opened"]


def test_our_own_faults_and_missed_runs_say_nothing_of_the_site() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... ooo mmm oom mmo")
    assert not Incident.objects.exists()


def test_a_doubtful_failure_is_confirmed_from_another_region_at_once() -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    put_run(world.monitor, world.regions[0], world.now + timedelta(seconds=1), "x")
    world.now += timedelta(seconds=20)
    world.judge()
    (asked,) = PendingRun.objects.filter(trigger="confirm")
    assert asked.region != world.regions[0]
    assert told() == []
    run_id = asked.run_id
    asked.delete()
    put_run(
        world.monitor,
        asked.region,
        world.now + timedelta(seconds=2),
        "x",
        trigger="confirm",
        run_id=run_id,
    )
    world.now += timedelta(seconds=10)
    world.judge()
    assert told() == ["opened"]
    world.now += timedelta(seconds=10)
    world.judge()
    assert told() == ["opened"]


def test_a_denied_failure_is_no_alert_and_asked_about_once() -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    put_run(world.monitor, world.regions[0], world.now + timedelta(seconds=1), "x")
    world.now += timedelta(seconds=20)
    world.judge()
    (asked,) = PendingRun.objects.filter(trigger="confirm")
    run_id = asked.run_id
    asked.delete()
    at = world.now + timedelta(seconds=2)
    put_run(world.monitor, asked.region, at, ".", trigger="confirm", run_id=run_id)
    for _ in range(3):
        world.now += timedelta(seconds=10)
        world.judge()
    assert told() == []
    assert not PendingRun.objects.filter(trigger="confirm").exists()


def test_runs_that_people_or_gates_asked_for_are_not_judged() -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    for seconds in range(5):
        for region in world.regions:
            put_run(world.monitor, region, world.now + timedelta(seconds=seconds + 0.2), "x", trigger="manual")
            put_run(world.monitor, region, world.now + timedelta(seconds=seconds + 0.5), "x", trigger="gate")
    world.minute("...")
    assert told() == []


def test_a_slot_that_is_under_way_holds_those_behind_it() -> None:
    world = make_world("fra", rules=["availability"])
    world.minute(".")
    pending = make_pending(
        world.fleet, world.monitor, scheduled_for=world.now + timedelta(seconds=1), expires_at=world.now + MINUTE
    )
    world.minutes("- x x")
    assert told() == []
    pending.delete()
    put_run(world.monitor, world.regions[0], pending.scheduled_for, ".")
    world.minute("-")
    assert told() == ["opened"]


def test_a_gap_is_passed_after_a_while_and_what_comes_later_changes_nothing() -> None:
    world = make_world("fra", rules=["availability"])
    world.minute(".")
    first = world.now + timedelta(seconds=1)
    make_pending(world.fleet, world.monitor, scheduled_for=first, expires_at=world.now + MINUTE)
    world.minutes("- x x x x x x")
    assert told() == ["opened"]
    PendingRun.objects.all().delete()
    put_run(world.monitor, world.regions[0], first, ".", late=True)
    world.minutes("x x")
    assert told() == ["opened"]


def test_the_last_attempt_that_tells_anything_is_the_slots_result() -> None:
    world = make_world("fra", rules=["availability"])
    world.minute(".")
    for minute in range(4):
        at = world.now + minute * MINUTE + timedelta(seconds=1)
        put_run(world.monitor, world.regions[0], at, "m", missed_reason="agent_lost")
        put_run(world.monitor, world.regions[0], at, ".", attempt=2)
    world.minutes("- - - -")
    assert told() == []


def test_a_silent_region_is_one_notice_and_no_site_alerts() -> None:
    world = make_world(kinds=("probe", "page"))
    world.minute("...")
    for _ in range(8):
        world.now += MINUTE
        world.beat("fra", "iad")
        for monitor in world.monitors:
            for region, letter in zip(world.regions, "..m", strict=True):
                put_run(monitor, region, world.now - timedelta(seconds=30), letter)
        world.judge()
    assert told() == ["opened"]
    assert titles()[0].startswith("Region Sin is silent: no agent heard since")
    assert only_incident().site is None
    world.beat()
    world.judge()
    assert told() == ["opened", "recovered"]


def test_all_regions_silent_are_a_notice_each_and_no_site_alerts() -> None:
    world = make_world("fra", "iad")
    world.minute("..")
    for _ in range(8):
        world.now += MINUTE
        for region in world.regions:
            put_run(world.monitor, region, world.now - timedelta(seconds=30), "m")
        world.judge()
    assert sorted(Incident.objects.values_list("key", flat=True)) == ["agent/fra", "agent/iad"]


def test_while_no_web_process_listens_nobody_is_called_silent_nor_right_after() -> None:
    world = make_world("fra", "iad")
    world.minute("..")
    world.listening_since = None
    world.now += 8 * MINUTE
    world.judge()
    world.listening_since = world.now
    world.now += MINUTE
    world.judge()
    assert told() == []


def test_no_data_although_agents_live_is_told_and_so_is_its_end() -> None:
    world = make_world(rules=["no_data"])
    world.minutes("... --- --- ---")
    assert told() == []
    world.minutes("--- ---")
    assert told() == ["opened"]
    assert only_incident().state == "no_data"
    world.minute(".--")
    assert told() == ["opened", "recovered"]


def test_agents_that_come_back_are_given_time_before_data_is_missed() -> None:
    world = make_world("fra", rules=["no_data"])
    world.minute(".")
    for _ in range(10):
        world.now += MINUTE
        world.judge()
    world.minutes("- -")
    assert told() == []


def test_a_judge_that_was_away_does_not_miss_data() -> None:
    world = make_world(rules=["no_data"])
    world.minute("...")
    world.now += timedelta(minutes=40)
    world.beat()
    world.judge()
    assert told() == []


def test_no_data_is_missed_yet_of_a_monitor_that_is_to_be_measured_more_often_from_now_on() -> None:
    world = make_world(rules=["no_data"])
    Monitor.objects.update(interval_s=3600)
    world.minutes("... " + "--- " * 50)
    Monitor.objects.update(interval_s=60)
    world.minutes("--- --- ---")
    assert told() == []
    world.minutes("--- --- ---")
    assert told() == ["opened"]


def test_a_region_in_place_of_another_is_given_time_before_data_is_missed() -> None:
    world = make_world(rules=["no_data"])
    Schedule.objects.exclude(region=world.regions[0]).delete()
    world.minutes(".-- " * 10)
    changed_at = world.now
    Schedule.objects.update(region=world.regions[1])
    world.minutes("--- --- ---")
    assert told() == []
    world.minutes("--- --- ---")
    assert told() == ["opened"]
    assert only_incident().opened_at >= changed_at


def test_a_monitor_that_was_measured_nowhere_is_given_time_once_it_is_again() -> None:
    world = make_world(rules=["no_data"])
    world.minute("...")
    kept = list(Schedule.objects.all())
    Schedule.objects.all().delete()
    world.minutes("--- " * 10)
    assert told() == []
    Schedule.objects.bulk_create(kept)
    world.minutes("--- --- ---")
    assert told() == []


def test_a_paused_monitor_ends_its_incidents_and_begins_anew() -> None:
    world = make_world(rules=["availability", "no_data"])
    world.minutes("... xxx xxx")
    assert told() == ["opened"]
    world.monitor.paused = True
    world.monitor.save()
    world.minute("---")
    assert told() == ["opened", "resolved"]
    assert only_incident().resolution == "paused"
    world.minutes("--- --- --- ---")
    world.monitor.paused = False
    world.monitor.save()
    world.minutes("... ... ...")
    assert told() == ["opened", "resolved"]


def test_a_region_that_is_no_longer_measured_keeps_nothing_bad_alive() -> None:
    world = make_world(rules=["failures"])
    world.minutes("... ..x ..x ..x")
    assert told() == ["opened"]
    Schedule.objects.filter(region=world.regions[2]).delete()
    world.minutes("..- ..-")
    assert told() == ["opened", "resolved"]
    assert only_incident().resolution == "replaced"


def test_x_of_the_last_n_finds_what_never_fails_twice_in_a_row() -> None:
    world = make_world(rules=["failures"])
    world.minutes("... x.. ... x.. ... x..")
    assert told() == ["opened"]
    assert titles() == ["Shop: 3 of the last 5 runs failed in Fra"]
    world.minutes("... x.. ...")
    assert told() == ["opened"]
    world.minutes("... ...")
    assert told() == ["opened", "recovered"]


def test_what_a_judge_that_was_away_too_long_finds_is_history() -> None:
    world = make_world(rules=["availability"])
    world.minute("...")
    for _ in range(20):
        world.minute("xxx", judge=False)
    for _ in range(45):
        world.minute("...", judge=False)
    world.judge()
    assert told() == []
