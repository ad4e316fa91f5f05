"""What a gate makes of runs that fail, say nothing of the site, or do not come back."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from backend.gates.collecting import collect
from backend.gates.models import Gate, RunState
from backend.gates.questions import AskedRule
from backend.gates.steps import step
from backend.gates.tests.world import REGIONS, World, failing
from backend.runs.models import PendingRun, Run
from backend.runs.tests.factories import make_region
from workers.measurement.messages import Missed, MissedReason

pytestmark = pytest.mark.django_db


def test_with_all_agents_silent_it_is_an_error_at_once(world: World) -> None:
    world.history()
    world.silence(*REGIONS)
    gate = world.play(world.ask())
    told = world.view(gate)
    assert (gate.status, gate.verdict, told.exit_code) == ("done", "error", 4)
    assert gate.summary.startswith("It could not be measured in 3 of 3 regions (")
    assert "its agents are silent" in gate.summary


def test_agents_that_stop_in_the_middle_end_it_too(world: World) -> None:
    world.history()
    gate = world.ask()
    step()
    world.silence(*REGIONS)
    gate = world.play(gate, lambda run: None)
    assert (gate.verdict, gate.status) == ("error", "done")


def test_a_region_that_is_silent_is_left_out_with_a_warning(world: World) -> None:
    world.history()
    world.silence("ap")
    gate = world.play(world.ask())
    assert gate.verdict == "pass"
    assert gate.warnings == ["ap is left out: its agents are silent."]
    assert set(gate.runs.values_list("region__code", flat=True)) == {"eu", "us"}


def test_regions_that_no_agent_has_joined_are_not_asked_at_all(world: World) -> None:
    """With more of them than of others the gate would end for want of regions."""
    for code in ("af", "au", "ca", "sa"):
        make_region(code, joined_at=None)
    world.history()
    gate = world.play(world.ask())
    assert (gate.verdict, gate.regions, gate.warnings) == ("pass", sorted(REGIONS), [])


def test_when_nothing_comes_back_it_ends_at_its_deadline(world: World) -> None:
    world.history()
    gate = world.ask(timeout_s=60)
    step()
    Gate.objects.update(due_at=timezone.now())
    step(timezone.now() + timedelta(seconds=61))
    gate.refresh_from_db()
    told = world.view(gate)
    assert (gate.status, gate.verdict, told.exit_code) == ("timeout", "error", 4)
    assert gate.warnings == ["The time was over when 0 of 3 runs had come back."]


def test_a_deadline_after_a_look_gives_what_is_known(world: World) -> None:
    world.history()
    gate = world.ask(AskedRule(metric="ttfb", max_change_pct=0.1))
    for _ in range(5):
        Gate.objects.update(due_at=timezone.now())
        step()
        world.answer_all(lambda run: 1.0)
    Gate.objects.update(due_at=timezone.now(), deadline=timezone.now())
    step()
    gate.refresh_from_db()
    told = world.view(gate)
    assert (gate.status, gate.verdict, told.exit_code) == ("timeout", "inconclusive", 3)


def test_a_site_that_is_down_ends_it_early_and_says_why(world: World) -> None:
    world.history()
    gate = world.play(world.ask(), failing)
    assert (gate.verdict, world.view(gate).exit_code) == ("error", 4)
    assert "runs failed; at most 30 % may." in gate.summary
    assert gate.runs.count() <= len(REGIONS) * 3


def test_a_few_failures_are_told_and_do_not_decide(world: World) -> None:
    world.history()
    calls: list[str] = []

    def one_in_seven(run: PendingRun) -> object:
        calls.append(run.region.code)
        return failing(run) if len(calls) % 7 == 0 else 1.0

    gate = world.play(world.ask(), one_in_seven)  # type: ignore[arg-type]  # a float or an outcome
    assert gate.verdict == "pass"
    assert world.view(gate).runs.failed >= 1


def test_runs_that_say_nothing_of_the_site_are_made_again(world: World) -> None:
    world.history()
    lost: list[object] = []

    def loses_two(run: PendingRun) -> object:
        if run.region.code == "eu" and len(lost) < 2:
            lost.append(run.run_id)
            return Missed(reason=MissedReason.QUEUE_FULL)
        return 1.0

    gate = world.play(world.ask(), loses_two)  # type: ignore[arg-type]  # a float or an outcome
    assert gate.verdict == "pass"
    assert gate.runs.filter(state=RunState.NOTHING).count() == 2
    assert world.view(gate).runs.failed == 0


def test_a_run_that_ends_while_its_gate_looks_for_it_counts(world: World) -> None:
    world.history()
    gate = world.ask()
    step()
    asked = {run.run_id for run in gate.runs.all()}
    came: list[str] = []

    def come_after_the_first_look(execute: Any, sql: str, *rest: Any) -> Any:
        looked = execute(sql, *rest)
        if not came and sql.startswith("SELECT") and ('FROM "runs_run"' in sql or 'FROM "runs_pendingrun"' in sql):
            came.append(sql)
            world.answer_all(lambda run: 1.0)
        return looked

    Gate.objects.update(due_at=timezone.now())
    with connection.execute_wrapper(come_after_the_first_look):
        collect(gate)
    collect(gate)
    assert came
    assert {run.state for run in gate.runs.filter(run_id__in=asked)} == {RunState.MEASURED}


def test_a_region_that_misses_again_and_again_is_left_out(world: World) -> None:
    world.history()

    def never_in_eu(run: PendingRun) -> object:
        return Missed(reason=MissedReason.QUEUE_FULL) if run.region.code == "eu" else 1.0

    gate = world.play(world.ask(), never_in_eu)  # type: ignore[arg-type]  # a float or an outcome
    assert gate.verdict == "pass"
    assert gate.warnings == ["eu is left out: its runs are missed again and again."]


def test_a_second_attempt_counts_for_the_first(world: World) -> None:
    world.history()
    gate = world.ask()
    step()
    first = PendingRun.objects.get(region__code="eu", trigger="gate")
    asked = first.run_id
    PendingRun.objects.filter(run_id=asked).update(
        run_id="00000000-0000-4000-8000-00000000000b", first_run_id=asked, attempt=2
    )
    Gate.objects.update(due_at=timezone.now())
    step()
    assert gate.runs.get(run_id=asked).state == RunState.PENDING
    Run.objects.bulk_create([_measured_again(first)])
    PendingRun.objects.filter(first_run_id=asked).delete()
    Gate.objects.update(due_at=timezone.now())
    step()
    assert gate.runs.get(run_id=asked).state == RunState.MEASURED


def _measured_again(first: PendingRun) -> Run:
    return Run(
        run_id="00000000-0000-4000-8000-00000000000b",
        first_run_id=first.run_id,
        scheduled_for=first.scheduled_for,
        monitor_id=first.monitor_id,
        region_id=first.region_id,
        attempt=2,
        kind=first.kind,
        trigger="gate",
        outcome="measured",
        received_at=timezone.now(),
        ttfb_us=200_000,
    )
