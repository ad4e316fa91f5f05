"""A gate from the question to the verdict, on the real database, with agents that answer as a test says."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.utils import timezone

from backend.cast import Member
from backend.gates import advance
from backend.gates.actions import cancel_gate
from backend.gates.collecting import collect
from backend.gates.models import Gate, GateRun
from backend.gates.queries import gate_view
from backend.gates.questions import AskedRule, Baseline, Runs
from backend.gates.steps import BUSY_S, IDLE_S, step
from backend.gates.tests.world import REGIONS, TEN, World, make_incident
from backend.runs.actions import change_monitor
from backend.runs.models import PendingRun, Trigger
from backend.runs.tests.processes import queued
from backend.sites.deploys import DeployMarker
from backend.sites.keeping import settings_of
from backend.sites.models import Deploy
from workers.measurement.connection import Header

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def test_an_unchanged_site_passes_at_the_first_look(world: World) -> None:
    world.history()
    gate = world.play(world.ask())
    told = world.view(gate)
    assert (gate.status, gate.verdict, told.exit_code, told.conclusion) == ("done", "pass", 0, "success")
    assert told.runs.completed == len(REGIONS) * (3 + 1)
    assert (told.runs.discarded, told.runs.failed, told.runs.looks) == (3, 0, 1)
    (rule,) = told.rules
    assert rule.found is not None
    assert rule.found.before_runs == 120
    assert rule.found.after_runs == 9
    assert gate.summary.startswith("First byte ")
    assert gate.warnings == []


def test_a_slower_site_fails_and_the_phase_that_grew_is_named(world: World) -> None:
    world.history()
    gate = world.play(world.ask(), lambda run: 1.4)
    told = world.view(gate)
    assert (gate.verdict, told.exit_code, told.conclusion) == ("fail", 1, "failure")
    (rule,) = told.rules
    assert rule.found is not None
    assert rule.found.pct is not None
    assert rule.found.pct.value == pytest.approx(27.5, abs=5)
    assert rule.found.grown[0].phase == "wait"
    assert rule.found.grown[0].ms == pytest.approx(55, abs=8)
    assert "What grew: waiting for the server by 5" in gate.summary


def test_what_is_between_is_measured_longer_until_it_is_decided_or_the_runs_are_used_up(world: World) -> None:
    world.history()
    gate = world.play(world.ask(AskedRule(metric="ttfb", max_change_pct=0.1)))
    told = world.view(gate)
    assert (gate.verdict, told.exit_code, told.conclusion) == ("inconclusive", 3, "neutral")
    assert (told.runs.looks, told.runs.planned_looks) == (3, 3)
    assert told.runs.completed == told.runs.planned == len(REGIONS) * (12 + 1)
    (rule,) = told.rules
    assert rule.found is not None
    assert rule.found.smallest_detectable_pct > 1
    assert "The smallest change that these runs can tell" in gate.summary


@pytest.mark.parametrize("ends", ["cancelled", "without agents"])
def test_a_look_counts_once_it_is_judged_and_one_that_is_never_judged_does_not(world: World, ends: str) -> None:
    world.history()
    gate, told = world.ask(AskedRule(metric="ttfb", max_change_pct=0.1)), []
    while gate.look < 2:
        told.append(world.view(gate).runs.looks)
        Gate.objects.update(due_at=timezone.now())
        step()
        world.answer_all(lambda run: 1.0)
        gate.refresh_from_db()
    assert set(told) == {0}
    assert (gate.is_open, world.view(gate).runs.looks) == (True, 1)
    if ends == "cancelled":
        cancel_gate(actor=world.member.user, gate=gate)
        gate.refresh_from_db()
    else:
        world.silence(*REGIONS)
        gate = world.play(gate, lambda run: None)
    assert (gate.is_open, world.view(gate).runs.looks) == (False, 1)


@pytest.mark.parametrize(("mapped", "code"), [("pass", 0), ("fail", 1), ("inconclusive", 3)])
def test_a_pipeline_says_what_inconclusive_means_to_it(world: World, mapped: str, code: int) -> None:
    world.history()
    runs = Runs(per_region=3, max_per_region=3)
    gate = world.play(world.ask(AskedRule(metric="ttfb", max_change_pct=0.1), on_inconclusive=mapped, runs=runs))
    assert gate.verdict == "inconclusive"
    assert world.view(gate).exit_code == code


def test_the_first_runs_only_warm_caches(world: World) -> None:
    world.history()
    seen: set[str] = set()

    def cold_at_first(run: PendingRun) -> float:
        is_first = run.region.code not in seen
        seen.add(run.region.code)
        return 9.0 if is_first else 1.0

    assert world.play(world.ask(), cold_at_first).verdict == "pass"


def test_a_region_makes_one_run_at_a_time_in_the_lane_of_gates(
    world: World, broker_client: redis.Redis, django_capture_on_commit_callbacks: Callable[..., object]
) -> None:
    world.history()
    world.ask()
    for _ in range(3):
        Gate.objects.update(due_at=timezone.now())
        with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]  # a context manager, untyped
            step()
    pending = PendingRun.objects.filter(trigger=Trigger.GATE)
    assert sorted(pending.values_list("region__code", flat=True)) == sorted(REGIONS)
    assert len(queued(broker_client, "eu:probe.gate")) == 1
    assert GateRun.objects.count() == len(REGIONS)


def test_two_monitors_take_turns(world: World) -> None:
    world.history()
    world.history(kind="page")
    gate = world.play(world.ask(TEN, AskedRule(metric="lcp", max_change_pct=10)))
    assert gate.verdict == "pass"
    kinds = list(gate.runs.filter(region__code="eu").order_by("place").values_list("monitor__kind", flat=True))
    assert sorted(kinds[:2]) == sorted(kinds[2:4]) == ["page", "probe"]
    assert gate.summary.startswith("All 2 rules hold: First byte ")


def test_without_enough_history_nothing_is_measured_and_it_says_what_is_missing(world: World) -> None:
    world.history(count=5)
    gate = world.play(world.ask())
    told = world.view(gate)
    assert (gate.verdict, told.exit_code, told.conclusion) == ("error", 4, "neutral")
    assert gate.summary.startswith("Only 15 scheduled runs of the probe in the 24 h before the release")
    assert not gate.runs.exists()


@pytest.mark.parametrize(("minutes", "told"), [(100, "100 min"), (24 * 60, "24 h"), (7 * 24 * 60, "7 days")])
def test_how_long_history_is_looked_at_is_told_in_whole_units(world: World, minutes: int, told: str) -> None:
    gate = world.play(world.ask(baseline=Baseline(window=timedelta(minutes=minutes))))
    assert f" in the {told} before the release measured " in gate.summary


def test_runs_that_somebody_asked_for_and_those_of_other_settings_are_no_history(world: World) -> None:
    world.history(trigger="gate")
    world.history(trigger="confirm")
    world.history(trigger="manual")
    world.history(config_version=7)
    world.history(outcome="failed")
    assert world.play(world.ask()).verdict == "error"


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"interval_s": 600}, "pass"),
        ({"timeout_s": 29}, "pass"),
        ({"regions": ("eu", "us")}, "pass"),
        ({"headers": (Header(name="Accept-Language", value="fi"),)}, "error"),
        ({"profile": "3g"}, "error"),
        ({"url": "https://shop.example/other"}, "error"),
    ],
)
def test_an_edit_that_leaves_what_is_measured_as_it_was_leaves_its_history(
    world: World, change: dict[str, Any], verdict: str
) -> None:
    world.history()
    monitor = world.monitor()
    change_monitor(actor=None, monitor=monitor, settings=replace(settings_of(monitor), **change))
    assert world.play(world.ask()).verdict == verdict


def test_what_came_after_the_deploy_is_no_history(world: World) -> None:
    world.history()
    deploy = world.ask().deploy
    assert deploy is not None
    Gate.objects.update(baseline_until=timezone.now() - 3 * HOUR, baseline_since=timezone.now() - 27 * HOUR)
    gate = world.play(Gate.objects.get())
    assert gate.summary.startswith("Only ")


def test_what_was_measured_during_an_incident_is_left_out_and_said(world: World) -> None:
    world.history()
    make_incident(world, since=timezone.now() - 1.5 * HOUR, until=timezone.now() - 0.5 * HOUR)
    gate = world.play(world.ask())
    assert gate.verdict == "pass"
    assert gate.warnings == ["The baseline overlaps an incident for 60 min; 36 runs were left out."]


def test_incidents_at_one_time_disturb_no_longer_than_they_lasted_together(world: World) -> None:
    """One hour and, from half of it on, another."""
    world.history()
    now = timezone.now()
    make_incident(world, since=now - 2 * HOUR, until=now - HOUR)
    make_incident(world, since=now - 1.5 * HOUR, until=now - 0.5 * HOUR, cause="cdn")
    make_incident(world, since=now - 1.9 * HOUR, until=now - 1.8 * HOUR, cause="availability")
    (warning,) = world.play(world.ask()).warnings
    assert warning == "The baseline overlaps 3 incidents for 90 min; 54 runs were left out."


def test_a_baseline_that_lies_within_an_incident_is_an_error(world: World) -> None:
    world.history()
    make_incident(world, since=timezone.now() - 5 * HOUR)
    gate = world.play(world.ask())
    assert (gate.verdict, gate.runs.count()) == ("error", 0)
    assert "overlaps an incident" in gate.summary


def test_a_certificate_that_runs_out_disturbs_no_timing(world: World) -> None:
    world.history()
    make_incident(world, since=timezone.now() - 5 * HOUR, cause="certificate")
    assert world.play(world.ask()).verdict == "pass"


def test_a_gate_before_the_release_is_the_baseline_of_the_one_after(world: World) -> None:
    before = world.play(world.ask(phase="before", runs=Runs(max_per_region=12)))
    assert (before.verdict, before.deploy, before.runs.count()) == ("pass", None, len(REGIONS) * 13)
    compare = Baseline(mode="gate", gate=before.public_id)
    after = world.play(world.ask(AskedRule(metric="ttfb", max_change_pct=15), baseline=compare))
    assert after.verdict == "pass"
    slower = world.play(world.ask(AskedRule(metric="ttfb", max_change_pct=15), baseline=compare), lambda run: 1.8)
    assert slower.verdict == "fail"


def test_a_warning_is_told_and_lets_the_release_pass(world: World) -> None:
    world.history()
    gate = world.play(world.ask(TEN, AskedRule(metric="total", max_value=50, level="warn")))
    told = world.view(gate)
    assert (gate.verdict, told.exit_code) == ("pass", 0)
    assert [rule.rule.verdict for rule in told.rules] == ["pass", "fail"]


def test_the_release_is_remembered_once_however_many_gates_ask_about_it(world: World) -> None:
    world.history()
    marker = DeployMarker(external_id="r1", version="9f3c2e1")
    gates = [world.ask(deploy=marker) for _ in range(2)]
    assert gates[0].deploy == gates[1].deploy == Deploy.objects.get()


def test_a_cancelled_gate_is_left_alone(world: World) -> None:
    world.history()
    gate = world.ask()
    step()
    cancel_gate(actor=world.member.user, gate=gate)
    Gate.objects.update(due_at=timezone.now())
    assert step() == IDLE_S
    gate.refresh_from_db()
    told = world.view(gate)
    assert (gate.status, gate.verdict, told.exit_code, told.conclusion) == ("cancelled", "", 4, "neutral")


def test_a_fault_of_ours_stops_no_other_gate_and_ends_this_one_at_its_deadline(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.history()
    broken, well = world.ask(), world.ask()

    def faulty(gate: Gate) -> list[GateRun]:
        if gate.pk == broken.pk:
            raise RuntimeError("a fault")
        return collect(gate)

    monkeypatch.setattr(advance, "collect", faulty)
    assert world.play(well).verdict == "pass"
    broken.refresh_from_db()
    assert broken.is_open
    Gate.objects.update(due_at=timezone.now())
    step(timezone.now() + HOUR)
    broken.refresh_from_db()
    assert (broken.status, broken.verdict) == ("timeout", "error")
    assert "A fault of the service" in broken.summary


@pytest.mark.usefixtures("standing_clock")
def test_with_nothing_to_do_it_waits_longer(world: World) -> None:
    assert step() == IDLE_S
    world.history()
    world.ask()
    assert step() == BUSY_S
    assert step() == IDLE_S


def test_another_organisation_sees_nothing_of_it(world: World, charlie: Member) -> None:
    world.history()
    gate = world.ask()
    assert gate_view(charlie.organisation, gate.public_id) is None
