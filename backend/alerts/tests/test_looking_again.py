"""A site that is held to be down is looked at again before its own next slot, so that its end is told when it is."""

import json
from itertools import pairwise

import pytest

from backend.alerts.models import Incident, Maintenance, Rule, Watch
from backend.alerts.tests.outages import MINUTE, SECOND, a_page, answer, happen, pass_by, under_way
from backend.alerts.tests.world import make_rule, only_incident, put_run, titles, told
from backend.runs.models import PendingRun, Schedule
from backend.runs.tests.factories import make_pending
from backend.sites.models import Monitor, Site

pytestmark = pytest.mark.django_db


def test_a_short_outage_is_over_within_three_minutes_although_the_next_slot_is_far() -> None:
    world = a_page()
    happen(world, "... xxx")
    assert told() == ["opened"]
    down_at = world.now
    asked = pass_by(world, 180, ".")
    assert told() == ["opened", "recovered"]
    assert sorted(region for _, region in asked) == ["fra", "iad", "sin"]
    incident = only_incident()
    assert incident.changed_at == asked[-1][0] <= down_at + 3 * MINUTE
    assert incident.resolved_at == incident.members.get().ended_at == asked[0][0]
    assert titles()[-1] == "Shop can be reached again, after 2 min"


def test_what_is_still_down_is_asked_about_every_two_minutes_and_later_every_ten() -> None:
    world = a_page()
    happen(world, "... xxx")
    first = pass_by(world, 30 * 60, "x", every_s=20)
    later = pass_by(world, 60 * 60, "x", every_s=60)
    assert 12 <= len(first) <= 15
    assert 5 <= len(later) <= 7
    times = [at for at, _ in first]
    assert all(after - before >= 2 * MINUTE for before, after in pairwise(times))
    assert {region for _, region in first} == {"fra", "iad", "sin"}
    assert told() == ["opened"]
    assert only_incident().state == "failing"


def test_a_site_that_is_well_again_in_some_regions_only_has_not_recovered() -> None:
    world = a_page()
    happen(world, "... xxx")
    pass_by(world, 30 * 60, {"fra": ".", "iad": ".", "sin": "x"}, every_s=30)
    assert told() == ["opened"]
    pass_by(world, 15 * 60, ".", every_s=30)
    assert told() == ["opened", "recovered"]


@pytest.mark.parametrize("letter", ["m", "o"])
def test_a_run_that_says_nothing_counts_for_nothing(letter: str) -> None:
    world = a_page()
    happen(world, "... xxx")
    asked = pass_by(world, 60 * 60, letter, every_s=30)
    assert asked
    assert told() == ["opened"]


def test_one_region_alone_has_to_see_it_well_twice_a_minute_apart() -> None:
    world = a_page("fra")
    happen(world, ". x x")
    assert told() == ["opened"]
    asked = pass_by(world, 240, ".")
    assert told() == ["opened", "recovered"]
    assert len(asked) == 2
    assert asked[1][0] - asked[0][0] >= MINUTE
    assert only_incident().members.get().ended_at == asked[0][0]


def test_a_site_that_fails_every_other_time_is_not_called_well_nor_asked_about_without_end() -> None:
    world = a_page("fra")
    happen(world, ". x x")
    count = 0
    for _ in range(4 * 60):
        count += len(pass_by(world, 15, ".x"[count % 2], every_s=15))
    assert told() == ["opened"]
    assert 12 <= count <= 20


def test_where_a_site_is_down_in_one_region_alone_that_region_is_asked() -> None:
    world = a_page()
    happen(world, "... ..x ..x ..x")
    assert only_incident().state == "degraded"
    asked = pass_by(world, 300, ".")
    assert {region for _, region in asked} == {"sin"}
    assert told() == ["opened", "recovered"]


def test_a_region_whose_first_run_failed_is_not_asked_for_a_second_where_another_is_down() -> None:
    world = a_page()
    happen(world, "... ..x ..x ..x x.x")
    asked = pass_by(world, 600, "x", every_s=30)
    assert {region for _, region in asked} == {"sin"}
    assert only_incident().state == "degraded"


@pytest.mark.parametrize("interval_s", [60, 120])
def test_what_is_measured_as_often_anyway_is_not_asked_about(interval_s: int) -> None:
    world = a_page(interval_s=interval_s)
    happen(world, "... xxx xxx")
    assert pass_by(world, 600, every_s=30) == []


def test_where_the_own_next_slot_is_near_or_under_way_it_is_waited_for() -> None:
    world = a_page("fra")
    happen(world, ". x x")
    pending = make_pending(world.fleet, world.monitor, scheduled_for=world.now, expires_at=world.now + 10 * MINUTE)
    assert pass_by(world, 300) == []
    pending.delete()
    assert pass_by(world, 60, "x") != []


def test_a_region_without_a_living_agent_is_not_asked() -> None:
    world = a_page("fra", "iad")
    happen(world, ".. xx")
    for _ in range(60):
        world.now += 10 * SECOND
        world.beat("iad")
        world.judge()
        assert all(run.region.code == "iad" for run in under_way())
        if under_way():
            answer(world, ".")
    assert told() == ["opened"]


def test_nothing_is_asked_of_a_paused_monitor_nor_by_a_rule_that_asks_nobody() -> None:
    world = a_page()
    Rule.objects.update(params={"confirm": False})
    happen(world, "... xxx")
    assert told() == ["opened"]
    assert pass_by(world, 600, every_s=30) == []
    Rule.objects.update(params={"confirm": True})
    Monitor.objects.update(paused=True)
    assert pass_by(world, 600, every_s=30) == []


def test_a_run_that_was_asked_for_and_never_ended_is_not_joined_by_another() -> None:
    world = a_page()
    happen(world, "... xxx")
    pass_by(world, 1200, every_s=30)
    (_,) = under_way()
    assert told() == ["opened"]


def test_a_confirmation_that_comes_after_minutes_opens_the_incident_all_the_same() -> None:
    world = a_page("fra", "iad")
    happen(world, ".. ..")
    world.minute("x-")
    asked_at = world.now
    assert [run.region.code for run in under_way()] == ["iad"]
    pass_by(world, 300)
    assert told() == []
    answer(world, "x", asked_at)
    pass_by(world, 60)
    assert told() == ["opened"]
    assert only_incident().title.startswith("Shop is down:")


def test_a_look_that_takes_minutes_ends_the_incident_all_the_same() -> None:
    world = a_page("fra", "iad")
    happen(world, ".. xx")
    for _ in range(60):
        if told() == ["opened", "recovered"]:
            return
        pass_by(world, 10)
        if under_way():
            asked_at = world.now
            pass_by(world, 240, every_s=40)
            answer(world, ".", asked_at)
    pytest.fail("its end was not told")


def test_what_no_run_answers_is_forgotten_in_the_end() -> None:
    world = a_page("fra", "iad")
    happen(world, ".. ..")
    world.minute("x-")
    assert under_way()
    pass_by(world, 4000, every_s=60)
    memory = json.loads(Watch.objects.get(monitor=world.monitor).memory)
    assert not {"asks", "late"} & memory.keys()


def test_an_answer_that_is_older_than_the_failure_of_a_slot_says_nothing() -> None:
    world = a_page("fra")
    happen(world, ". x x")
    while not under_way():
        pass_by(world, 10)
    asked_at = world.now
    put_run(world.monitor, world.regions[0], asked_at + 5 * SECOND, "x")
    world.now += 20 * SECOND
    world.judge()
    (asked,) = under_way()
    PendingRun.objects.all().delete()
    put_run(world.monitor, asked.region, asked_at, ".", trigger="confirm", run_id=asked.run_id)
    world.now += 10 * SECOND
    world.judge()
    place = json.loads(Watch.objects.get().memory)["rules"][str(Rule.objects.get().pk)]["m"]["places"]["fra"]
    assert place[:2] == [4, 0]


def test_confirmations_of_what_is_new_come_first() -> None:
    world = a_page("fra")
    sites = [
        Site.objects.create(organisation=world.fleet.organisation, name=f"S{number}", url=url, status="active")
        for number, url in enumerate(f"https://shop.example/{number}" for number in range(8))
    ]
    others = Monitor.objects.bulk_create(
        Monitor(site=site, kind="page", url=site.url, interval_s=900, timeout_s=10) for site in sites
    )
    Schedule.objects.bulk_create(
        Schedule(
            monitor=monitor,
            region=world.regions[0],
            kind="page",
            interval_s=900,
            offset_us=0,
            next_at=world.now + MINUTE,
        )
        for monitor in others
    )
    world.judge()
    for _ in range(3):
        for monitor in others:
            put_run(monitor, world.regions[0], world.now + SECOND, "x")
        world.now += MINUTE
        world.beat()
        world.judge()
    PendingRun.objects.all().delete()
    for _ in range(24):
        world.now += 10 * SECOND
        world.beat()
        world.judge()
    assert len(under_way()) == 5
    put_run(world.monitor, world.regions[0], world.now, "x")
    world.now += MINUTE
    world.beat()
    world.judge()
    assert PendingRun.objects.filter(trigger="confirm", monitor=world.monitor).exists()


def test_answers_enter_no_budget_and_no_count_of_failed_runs() -> None:
    world = a_page(rules=("availability",))
    make_rule(world, "budget", params={"metric": "lcp_ms", "limit": 100, "of_last": 3})
    make_rule(world, "failures", params={"failed": 3, "of_last": 5, "regions": 1})
    happen(world, "... xxx")
    assert told() == ["opened"]
    pass_by(world, 1200, "x", every_s=30)
    pass_by(world, 300, ".")
    pass_by(world, 1200, every_s=60)
    assert set(Incident.objects.values_list("members__rule__kind", flat=True)) == {"availability"}
    assert told() == ["opened", "recovered"]


def test_of_two_rules_the_one_that_asks_asks_for_both() -> None:
    world = a_page()
    Rule.objects.update(params={"confirm": False})
    make_rule(world, "availability", params={"confirm": True})
    happen(world, "... xxx")
    pass_by(world, 240, ".")
    assert told() == ["opened", "recovered"]
    assert not only_incident().members.filter(ended_at=None).exists()


def test_a_judge_goes_on_from_what_an_earlier_version_remembered() -> None:
    world = a_page()
    happen(world, "... xxx")
    watch = Watch.objects.get()
    memory = json.loads(watch.memory)
    memory.pop("rechecked", None)
    for rule in memory["rules"].values():
        rule["m"].pop("up_us", None)
        rule.pop("r")
    watch.memory = json.dumps(memory)
    watch.save()
    pass_by(world, 240, ".")
    assert told() == ["opened", "recovered"]


def test_in_maintenance_the_end_is_seen_all_the_same_and_told_once_after_it() -> None:
    world = a_page()
    happen(world, "... xxx")
    Maintenance.objects.create(
        organisation=world.fleet.organisation, starts_at=world.now, ends_at=world.now + 10 * MINUTE
    )
    pass_by(world, 300, ".")
    assert told() == ["opened"]
    assert only_incident().resolution == "recovered"
    world.now += 10 * MINUTE
    world.judge()
    assert told() == ["opened", "recovered"]
