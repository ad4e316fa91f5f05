"""An agent that sees nothing is told of once, and no site is accused for it."""

import json
from datetime import timedelta

import pytest

from backend.alerts.models import Blindness, Incident, Notice, Rule, Watch
from backend.alerts.tests.world import MINUTE, World, make_world, put_run, titles, told
from backend.fleet.models import Agent
from backend.runs.models import PendingRun, Schedule
from backend.sites.models import Monitor, Site, SiteStatus

pytestmark = pytest.mark.django_db

SILENT = {"failure_kind": "connect_timeout", "failure_blame": "network"}


def many_sites(*codes: str, count: int = 4) -> World:
    """Sites of several hosts, each with a probe, measured in these regions and watched by the default rules."""
    world = make_world(*codes)
    organisation = world.fleet.organisation
    for n in range(1, count):
        site = Site.objects.create(
            organisation=organisation, name=f"Site {n}", url=f"https://{n}.example/", status=SiteStatus.ACTIVE
        )
        monitor = Monitor.objects.create(site=site, kind="probe", url=site.url, interval_s=60, timeout_s=10)
        world.monitors.append(monitor)
        for region in world.regions:
            Schedule.objects.create(
                monitor=monitor, region=region, kind="probe", interval_s=60, offset_us=0, next_at=world.now + MINUTE
            )
    world.judge()
    return world


def minute(world: World, pattern: str, **columns: object) -> None:
    """A minute in which all sites are seen alike. A letter a region. Sites are measured one after the other, and the
    regions of each stand evenly between each other."""
    began, sites, regions = world.now, len(world.monitors), len(world.regions)
    slots = [(round(sites * (n / sites + k / regions)) % sites, n, k) for n in range(sites) for k in range(regions)]
    for turn in range(sites):
        at = began + turn * MINUTE / sites + timedelta(seconds=1)
        for _, n, k in (slot for slot in slots if slot[0] == turn and pattern[slot[2]] != "-"):
            agent = {"agent": f"agent-of-{world.regions[k].code}"} | (columns if pattern[k] == "x" else {})
            monitor, region = world.monitors[n], world.regions[k]
            put_run(monitor, region, at, pattern[k], **agent)  # type: ignore[arg-type]  # of a test's own making
        world.now = at + timedelta(seconds=3)
        world.beat()
        world.judge()
    world.now = began + MINUTE


def minutes(world: World, patterns: str, **columns: object) -> None:
    for pattern in patterns.split():
        minute(world, pattern, **columns)


def open_keys() -> list[str]:
    return sorted(key.partition("/")[0] for key in Incident.objects.values_list("key", flat=True))


def test_an_agent_that_reaches_nothing_is_blamed_and_not_its_sites() -> None:
    world = many_sites("fra", "iad")
    minutes(world, ".. .. x. x. x. x. x. x. x.")
    assert open_keys() == ["agent"]
    assert titles()[0].startswith("Region Fra has reached none of its sites since")
    (said,) = [" ".join(notice.message["sentences"]) for notice in Notice.objects.all()]
    assert "it is the network of its agents that is broken" in said
    assert "4 monitors are not measured there" in said
    minutes(world, ".. ..")
    assert told() == ["opened", "recovered"]
    assert Blindness.objects.filter(until=None).count() == 0


def test_what_is_silent_for_a_region_that_is_alone_is_down_as_far_as_anybody_knows() -> None:
    world = many_sites("fra")
    minutes(world, ". . x x x x", **SILENT)
    assert open_keys() == ["availability"] * 4


def test_all_hosts_of_one_site_may_well_be_down_in_one_region() -> None:
    world = many_sites("fra", "iad")
    for number, monitor in enumerate(world.monitors):
        Monitor.objects.filter(pk=monitor.pk).update(url=f"https://www{number}.shop.example/")
    minutes(world, ".. .. x. x. x. x. x.")
    assert open_keys() == ["availability"] * 4


def test_sites_that_refuse_a_region_that_is_alone_are_down() -> None:
    world = many_sites("fra")
    minutes(world, ". . x x x x")
    assert open_keys() == ["availability"] * 4


def test_sites_that_are_down_for_all_regions_are_down() -> None:
    world = many_sites("fra", "iad")
    minutes(world, ".. .. xx xx xx xx", **SILENT)
    assert open_keys() == ["availability"] * 4


def test_two_sites_may_well_be_down_in_one_region() -> None:
    world = many_sites("fra", "iad", count=2)
    minutes(world, ".. .. x. x. x. x. x.")
    assert open_keys() == ["availability"] * 2


def test_an_agent_that_reaches_nothing_is_not_asked_and_confirms_nothing() -> None:
    world = many_sites("fra", "iad", "sin")
    Rule.objects.filter(kind="agent").update(params={"silent_s": 3600})
    minutes(world, "... ... x.. x.. x..")
    PendingRun.objects.all().delete()
    put_run(world.monitor, world.regions[1], world.now, "x", agent="agent-of-iad")
    world.now += timedelta(seconds=20)
    world.judge()
    (asked,) = PendingRun.objects.filter(trigger="confirm", monitor=world.monitor)
    assert asked.region.code == "sin"
    # It was asked before it was cut off, say.
    run_id = asked.run_id
    asked.delete()
    at = world.now + timedelta(seconds=2)
    memory = json.loads(Watch.objects.get(monitor=world.monitor).memory)
    memory["asks"][0][1] = "fra"
    Watch.objects.filter(monitor=world.monitor).update(memory=json.dumps(memory))
    put_run(world.monitor, world.regions[0], at, "x", trigger="confirm", run_id=run_id, agent="agent-of-fra")
    world.now += timedelta(seconds=10)
    world.judge()
    minutes(world, "x.. x..")
    assert open_keys() == []


def test_without_a_rule_about_agents_sites_are_told_of() -> None:
    world = many_sites("fra")
    Rule.objects.filter(kind="agent").update(enabled=False)
    minutes(world, ". . x x x x", **SILENT)
    assert open_keys() == ["availability"] * 4


def test_one_of_two_agents_that_reaches_nothing_accuses_no_site() -> None:
    world = many_sites("fra", "iad")
    told_of = {"version": "1", "last_seen_at": world.now, "clock_skew_us": 0}
    Agent.objects.create(region=world.regions[0], name="broken", **told_of)
    minutes(world, ".. ..")
    for round_number in range(12):
        # Chance gives each of them about every second run; here the broken one has three in a row.
        minute(world, "x." if round_number % 4 else "..", agent="broken")
    assert open_keys() == []


def test_a_region_whose_work_does_not_come_is_told_of_once_and_no_site_lacks_data() -> None:
    world = many_sites("fra", "iad")
    minutes(world, ".. .. -- -- -- -- -- -- -- -- -- --")
    assert open_keys() == ["agent", "agent"]
    assert titles()[0].startswith("Region Fra has brought no measurement since")
    assert "although agents are running" in titles()[0]
    minutes(world, ".. ..")
    assert sorted(told()) == ["opened", "opened", "recovered", "recovered"]


def test_a_judge_that_was_away_calls_no_region_blind() -> None:
    world = many_sites("fra", "iad")
    minutes(world, ".. .. -- -- --")
    world.now += timedelta(minutes=40)
    world.beat()
    world.judge()
    minutes(world, ".. ..")
    assert told() == []


@pytest.mark.parametrize("pause", [timedelta(seconds=100), timedelta(minutes=6), timedelta(minutes=40)])
@pytest.mark.parametrize(("patterns", "on"), [(".. .. x. x. x. x. x. x. x.", "x."), (f".. ..{' -.' * 10}", "-.")])
def test_a_pause_of_the_service_ends_no_blindness_that_goes_on(patterns: str, on: str, pause: timedelta) -> None:
    world = many_sites("fra", "iad")
    minutes(world, patterns)
    assert told() == ["opened"]
    world.now += pause
    world.listening_since = world.now
    world.judge()
    minutes(world, " ".join([on] * 6))
    assert told() == ["opened"]
