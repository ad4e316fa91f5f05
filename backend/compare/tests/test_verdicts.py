"""From stored pairs to verdicts, and what is kept of them."""

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.alerts.enrolment import enrol
from backend.alerts.models import Incident, Resolution, Watch
from backend.cast import Member
from backend.compare import actions, queries, steps
from backend.compare.judging import Change, judge_pairing
from backend.compare.models import HostLook, Pairing, StoredVerdict
from backend.compare.pairings import PairingDraft
from backend.compare.samples import Window, samples_of
from backend.compare.tests.world import World, make_world
from backend.fleet.models import Region
from backend.runs.actions import request_runs
from backend.runs.ingest import ingest
from backend.runs.models import PendingRun, Run, Trigger
from backend.runs.tests.factories import NOW
from backend.runs.tests.results import FAILED, line_of, page, pair
from backend.sites.actions import set_paused
from backend.sites.models import Host, Monitor, Site
from workers.diagnosis.pair.samples import Verdict, run_of
from workers.measurement.messages import Measured, PairMeasurement
from workers.measurement.pair import CacheReport, CacheState, Leg

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
DRAFT = PairingDraft(cdn_url="https://cdn.shop.example/app.js", origin="www.shop.example")


@pytest.fixture
def pairing(world: World) -> Pairing:
    return paired(world, DRAFT)


def paired(world: World, draft: PairingDraft) -> Pairing:
    """A pairing that has been measured for a week."""
    made = actions.create_pairing(actor=None, site=world.site, draft=draft)
    Pairing.objects.filter(pk=made.pk).update(compared_from=NOW - 7 * DAY, judge_at=NOW)
    made.refresh_from_db()
    return made


def feed(
    world: World,
    pairing: Pairing,
    count: int,
    *,
    cdn_ms: float = 60,
    origin_ms: float = 100,
    region: int = 0,
    until_min: float = 1,
) -> None:
    """So many pairs, five minutes apart, with a little noise that is the same on every call."""
    random = Random(count)
    for n in range(count):
        noise = [random.gauss(0, 2) for _ in range(2)]
        outcome = pair(round(1000 * (cdn_ms + noise[0])), round(1000 * (origin_ms + noise[1])))
        world.measure(pairing.monitor, outcome, minutes=until_min + 5 * n, region=region)


def window(until: datetime = NOW) -> Window:
    return Window(since=until - DAY, until=until)


def compared(world: World, pairing: Pairing) -> queries.Comparison:
    return queries.comparison_of(pairing, world.regions, window())


def stored(pairing: Pairing) -> dict[str | None, StoredVerdict]:
    rows = StoredVerdict.objects.filter(pairing=pairing).select_related("region")
    return {row.region.code if row.region else None: row for row in rows}


def test_stored_pairs_give_the_same_samples_as_the_measurement_itself(world: World, pairing: Pairing) -> None:
    sent = pair(61_000, 99_000)
    world.measure(pairing.monitor, sent)
    samples = samples_of([pairing], world.regions, window())[pairing.pk, world.regions[0].pk]
    assert isinstance(sent.measurement, PairMeasurement)
    assert samples.runs == (run_of(sent.measurement),)


def test_a_server_that_closes_its_connections_is_known_from_its_rows(world: World, pairing: Pairing) -> None:
    seen = pair().measurement
    assert isinstance(seen, PairMeasurement)
    closing = replace(seen, exchanges=seen.exchanges[:2], not_kept=(Leg.B,))
    world.measure(pairing.monitor, Measured(measurement=closing))
    (run,) = samples_of([pairing], world.regions, window())[pairing.pk, world.regions[0].pk].runs
    assert (run.not_kept, run.reused) == ((Leg.B,), None)


def test_each_region_has_its_verdict_and_all_have_one(
    world: World, pairing: Pairing, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    feed(world, pairing, 24)
    feed(world, pairing, 24, cdn_ms=110, origin_ms=90, region=1)
    with django_assert_num_queries(2):
        found = compared(world, pairing)
    eu, us = found.regions
    assert (eu.cold.verdict, us.cold.verdict) == (Verdict.CDN_FASTER, Verdict.ORIGIN_FASTER)
    assert eu.cold.difference is not None
    assert eu.cold.difference.estimate_us == pytest.approx(-40_000, abs=2_000)
    assert eu.cold.by_phase is not None
    assert eu.cold.by_phase.total == eu.cold.difference.estimate_us
    assert eu.reused.difference is not None
    assert eu.reused.difference.estimate_us == pytest.approx(-20_000, abs=2_000)
    assert [warning.id for warning in found.cold.warnings] == ["regions_contradict"]
    assert eu.newest is not None
    assert Run.objects.get(run_id=eu.newest).scheduled_for == NOW - timedelta(minutes=1)


def test_nineteen_pairs_are_too_few_for_a_verdict_and_twenty_are_enough(world: World, pairing: Pairing) -> None:
    feed(world, pairing, 19)
    assert compared(world, pairing).regions[0].cold.verdict is Verdict.INCONCLUSIVE
    assert compared(world, pairing).regions[0].cold.sentence == "19 of 20 pairs: no verdict yet."
    feed(world, pairing, 1, until_min=200)
    assert compared(world, pairing).regions[0].cold.verdict is Verdict.CDN_FASTER


def test_what_fails_or_was_measured_before_or_by_hand_does_not_count(world: World, pairing: Pairing) -> None:
    feed(world, pairing, 3)
    world.measure(pairing.monitor, FAILED, minutes=30)
    feed(world, pairing, 2, until_min=60 * 25)
    request_runs(actor=None, monitor=pairing.monitor, regions=["eu"], trigger=Trigger.MANUAL)
    ingest(world.regions[0], [line_of(run) for run in PendingRun.objects.filter(trigger="manual")], now=NOW)
    eu, us = compared(world, pairing).regions
    assert (eu.cold.pairs, eu.failed, us.cold.pairs, us.failed) == (3, 1, 0, 0)
    assert eu.last_failure is not None
    assert "failed_pairs" in {warning.id for warning in eu.cold.warnings}
    Pairing.objects.filter(pk=pairing.pk).update(compared_from=NOW - timedelta(minutes=8))
    pairing.refresh_from_db()
    assert compared(world, pairing).regions[0].cold.pairs == 2


def test_a_pairing_is_looked_for_only_where_it_is_measured(world: World) -> None:
    pairing = paired(world, replace(DRAFT, regions=("us",)))
    assert [one.region.code for one in compared(world, pairing).regions] == ["us"]


def test_several_assets_in_one_region_take_two_statements(
    world: World, pairing: Pairing, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    other = paired(world, replace(DRAFT, cdn_url="https://cdn.shop.example/app.css"))
    feed(world, pairing, 3)
    feed(world, other, 2, cdn_ms=20)
    with django_assert_num_queries(2):
        first, second = queries.compare_assets([pairing, other], world.regions[0], window())
    assert (first.region.reused.pairs, second.region.reused.pairs) == (3, 2)
    assert second.region.cold.a is not None
    assert second.region.cold.a.caches == {CacheState.HIT: 2}


def test_verdicts_are_stored_with_since_when_they_hold(world: World, pairing: Pairing) -> None:
    feed(world, pairing, 24)
    assert judge_pairing(pairing, now=NOW) == []
    first = stored(pairing)
    assert {code: row.verdict for code, row in first.items()} == {
        "eu": "cdn_faster",
        "us": "inconclusive",
        None: "cdn_faster",
    }
    assert first["eu"].reason
    later = NOW + timedelta(minutes=5)
    judge_pairing(pairing, now=later)
    again = stored(pairing)["eu"]
    assert (again.since, again.judged_at, again.pairs) == (NOW, later, 24)


def changed(pairing: Pairing, now: datetime) -> list[tuple[str, bool]]:
    found: list[Change] = judge_pairing(pairing, now=now)
    return [(change.region.code, change.slower) for change in found]


def test_a_cdn_that_became_slower_is_told_once_and_so_is_its_end(world: World, pairing: Pairing) -> None:
    feed(world, pairing, 24, cdn_ms=110, origin_ms=90)
    assert changed(pairing, NOW) == [("eu", True)]
    assert changed(pairing, NOW + timedelta(minutes=5)) == []
    assert stored(pairing)["eu"].slower_since == NOW
    # Where it is no longer measured nothing is known, and nothing is over.
    assert changed(pairing, NOW + 2 * DAY) == []
    assert stored(pairing)["eu"].slower_since == NOW
    feed(world, pairing, 24, until_min=-60 * 24 * 2.5)
    assert changed(pairing, NOW + 3 * DAY) == [("eu", False)]
    assert stored(pairing)["eu"].slower_since is None


def test_rules_hear_of_a_slower_cdn_once_and_of_its_end(world: World, pairing: Pairing) -> None:
    enrol(NOW)
    feed(world, pairing, 24, cdn_ms=110, origin_ms=90)
    changed(pairing, NOW)
    changed(pairing, NOW + timedelta(minutes=5))
    incident = Incident.objects.get()
    assert (incident.cause, incident.site, incident.resolved_at) == ("cdn", world.site, None)
    assert "the CDN is 20 ms slower than the origin in Eu" in incident.title
    feed(world, pairing, 24, until_min=-60 * 24 * 2.5)
    changed(pairing, NOW + 3 * DAY)
    incident.refresh_from_db()
    assert incident.resolved_at is not None


@pytest.mark.parametrize("end", ["deleted", "moved"])
def test_what_was_said_of_a_pairing_ends_with_it(world: World, pairing: Pairing, end: str) -> None:
    enrol(NOW)
    feed(world, pairing, 24, cdn_ms=110, origin_ms=90)
    changed(pairing, NOW)
    if end == "deleted":
        actions.delete_pairing(actor=None, pairing=pairing)
    else:
        actions.change_pairing(actor=None, pairing=pairing, draft=replace(DRAFT, origin="198.51.101.7"))
    assert Incident.objects.get().resolved_at is not None


def test_an_alert_of_a_pairing_ends_where_it_is_paused_and_begins_again_with_it(world: World, pairing: Pairing) -> None:
    enrol(NOW)
    feed(world, pairing, 24, cdn_ms=110, origin_ms=90)
    changed(pairing, NOW)
    set_paused(actor=None, monitor=pairing.monitor, paused=True)
    changed(pairing, NOW + timedelta(minutes=5))
    assert [one.resolution for one in Incident.objects.all()] == [Resolution.PAUSED]
    changed(pairing, NOW + timedelta(minutes=10))
    set_paused(actor=None, monitor=pairing.monitor, paused=False)
    changed(pairing, NOW + timedelta(minutes=15))
    assert [one.resolution for one in Incident.objects.order_by("pk")] == [Resolution.PAUSED, ""]


@pytest.mark.parametrize("end", ["deleted", "moved"])
def test_a_judge_that_read_a_pairing_before_it_changed_says_nothing_of_the_old_one(
    world: World, pairing: Pairing, end: str
) -> None:
    enrol(NOW)
    feed(world, pairing, 24, cdn_ms=110, origin_ms=90)
    read_before = Pairing.objects.select_related("monitor", "site__organisation").get(pk=pairing.pk)
    if end == "deleted":
        actions.delete_pairing(actor=None, pairing=pairing)
    else:
        actions.change_pairing(actor=None, pairing=pairing, draft=replace(DRAFT, origin="198.51.101.7"))
    assert judge_pairing(read_before, now=NOW) == []
    assert not Incident.objects.exists()


def test_a_failing_pair_is_no_alarm_of_the_site(world: World, pairing: Pairing) -> None:
    enrol(NOW)
    assert set(Watch.objects.values_list("monitor__kind", flat=True)) == {"probe", "page"}


def test_a_small_loss_is_a_verdict_long_before_it_is_an_alert(world: World, pairing: Pairing) -> None:
    random = Random(7)
    for n in range(40):
        cdn_ms, origin_ms = 106 + random.gauss(0, 8), 100 + random.gauss(0, 8)
        world.measure(pairing.monitor, pair(round(cdn_ms * 1000), round(origin_ms * 1000)), minutes=1 + 5 * n)
    assert compared(world, pairing).regions[0].cold.verdict is Verdict.ORIGIN_FASTER
    assert changed(pairing, NOW) == []
    assert stored(pairing)["eu"].slower_since is None


def test_equal_legs_are_never_told(world: World, pairing: Pairing) -> None:
    feed(world, pairing, 60, cdn_ms=100, origin_ms=100)
    assert changed(pairing, NOW) == []
    assert stored(pairing)["eu"].verdict in ("no_difference", "inconclusive")


def test_a_step_judges_what_is_due_and_comes_back_when_the_verdicts_are_old(world: World, pairing: Pairing) -> None:
    feed(world, pairing, 20)
    assert steps.judge_due_pairings(NOW - timedelta(seconds=1)) == 0
    assert steps.judge_due_pairings(NOW) == 1
    assert stored(pairing)["eu"].pairs == 20
    assert steps.judge_due_pairings(NOW + timedelta(minutes=14)) == 0
    assert steps.judge_due_pairings(NOW + timedelta(minutes=15)) == 1


def test_a_pairing_that_cannot_be_judged_does_not_keep_the_others_waiting(
    world: World, pairing: Pairing, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []

    def judge(one: Pairing, *, now: datetime) -> list[Change]:
        if one == pairing:
            raise ArithmeticError
        judged.append(one.name)
        return []

    other = paired(world, replace(DRAFT, cdn_url="https://cdn.shop.example/other.js"))
    Pairing.objects.filter(pk=pairing.pk).update(judge_at=NOW - timedelta(minutes=1))
    monkeypatch.setattr(steps, "judge_pairing", judge)
    assert steps.judge_due_pairings(NOW) == 2
    assert judged == [other.name]
    assert steps.judge_due_pairings(NOW) == 0


def test_a_site_whose_hosts_cannot_be_looked_at_keeps_neither_others_nor_pairings_waiting(
    world: World, pairing: Pairing, bob: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def look(*, site: Site, now: datetime) -> int:
        if site == world.site:
            raise ArithmeticError
        looked.append(site.name)
        return 1

    other = make_world(bob, "ap").site
    monkeypatch.setattr(steps, "look_at_hosts", look)
    steps.step(NOW)
    assert looked == [other.name]
    assert HostLook.objects.get(site=world.site).due_at == NOW + steps.LOOK_AGAIN
    assert stored(pairing)["eu"].pairs == 0


def test_a_step_looks_at_hosts_soon_after_the_first_page_load_and_then_now_and_then(world: World) -> None:
    assert steps.step(NOW) == steps.IDLE_S
    assert not Host.objects.exists()
    world.measure(world.monitor("page"), page(12))
    assert steps.look_at_due_hosts(NOW + timedelta(seconds=29)) == 0
    steps.step(NOW + timedelta(seconds=30))
    assert Host.objects.count() == 3
    assert HostLook.objects.get().due_at == NOW + timedelta(seconds=30) + steps.LOOK_EVERY


def test_answers_without_a_cache_are_told(world: World, pairing: Pairing) -> None:
    for n in range(20):
        outcome = pair(60_000 + n, 100_000, cache=CacheReport(state=CacheState.MISS))
        world.measure(pairing.monitor, outcome, minutes=1 + n)
    assert "all_misses" in {warning.id for warning in compared(world, pairing).regions[0].cold.warnings}


def test_a_cdn_that_was_slower_where_it_is_not_measured_any_more_is_not_said_to_be_so_no_longer(
    world: World, pairing: Pairing
) -> None:
    enrol(NOW)
    feed(world, pairing, 24, cdn_ms=110, origin_ms=90)
    feed(world, pairing, 24, region=1)
    changed(pairing, NOW)
    Monitor.objects.filter(pk=pairing.monitor.pk).update(regions=["us"])
    changed(pairing, NOW + timedelta(minutes=5))
    assert Incident.objects.get().resolution == Resolution.REPLACED


def test_an_alert_of_a_pairing_that_no_region_measures_any_more_ends_and_says_so(
    world: World, pairing: Pairing
) -> None:
    enrol(NOW)
    feed(world, pairing, 24, cdn_ms=110, origin_ms=90)
    changed(pairing, NOW)
    Region.objects.update(enabled=False)
    changed(pairing, NOW + timedelta(minutes=5))
    assert Incident.objects.get().resolution == Resolution.UNMEASURED
