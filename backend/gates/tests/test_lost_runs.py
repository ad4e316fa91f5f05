"""What a gate makes of runs that fail, say nothing of the site, or do not come back."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from backend.fleet.models import Region
from backend.gates.collecting import collect
from backend.gates.models import Gate, RunState
from backend.gates.questions import AskedRule, Runs
from backend.gates.steps import step
from backend.gates.tests.world import REGIONS, TEN, World, failing
from backend.runs.models import PendingRun, Run
from backend.runs.tests.factories import make_region
from workers.diagnosis.catalogue.failures import why_missed
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Missed, MissedReason, Outcome

pytestmark = pytest.mark.django_db


def test_with_all_agents_silent_it_is_an_error_at_once(world: World) -> None:
    world.history()
    world.silence(*REGIONS)
    gate = world.play(world.ask())
    told = world.view(gate)
    assert (gate.status, gate.verdict, told.exit_code) == ("done", "error", 4)
    assert gate.summary == "3 of 3 regions do not measure (ap, eu, us: its agents are silent)."
    assert gate.warnings == [], "they would say the same once more"


def test_the_only_region_of_a_gate_is_told_of_as_one(world: World) -> None:
    world.history(count=80)
    world.silence(*REGIONS)
    gate = world.play(world.ask(runs=Runs(regions=("eu",))))
    assert gate.summary == "The only region does not measure (eu: its agents are silent)."


def test_what_was_left_out_before_most_regions_were_is_told_once(world: World) -> None:
    world.history()
    world.silence("ap")
    gate = world.ask()
    step()
    gate.refresh_from_db()
    assert gate.warnings == ["ap is left out: its agents are silent."]
    world.silence("us")
    gate = world.play(gate, lambda run: None)
    assert gate.summary == "2 of 3 regions do not measure (ap, us: its agents are silent)."
    assert gate.warnings == []


def test_agents_that_stop_in_the_middle_end_it_too(world: World) -> None:
    world.history()
    gate = world.ask()
    step()
    world.silence(*REGIONS)
    gate = world.play(gate, lambda run: None)
    assert (gate.verdict, gate.status) == ("error", "done")


def test_after_a_pause_of_the_service_nobody_is_called_silent_before_he_could_be_heard(world: World) -> None:
    world.history()
    gate = world.ask()
    step()
    world.silence(*REGIONS)
    world.listen_since(timezone.now() - timedelta(seconds=80))
    Gate.objects.update(due_at=timezone.now())
    step()
    gate.refresh_from_db()
    assert (gate.is_open, gate.given_up, gate.warnings) == (True, {}, [])
    world.listen_since(timezone.now() - timedelta(seconds=91))
    gate = world.play(gate, lambda run: None)
    assert gate.summary == "3 of 3 regions do not measure (ap, eu, us: its agents are silent)."


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
    assert "runs failed; at most 30 % may. The reason: The server refused the connection: 203.0.113.7." in gate.summary
    assert gate.runs.count() <= len(REGIONS) * 3


def test_one_region_that_fails_at_once_does_not_end_it_before_the_others_have_answered(world: World) -> None:
    """Where nobody answers runs end soonest: of those that have ended first, most are its."""
    world.history()
    in_ap = 0

    def down_in_ap_at_first(run: PendingRun) -> float | Outcome | None:
        nonlocal in_ap
        in_ap += run.region.code == "ap"
        if run.region.code == "ap" and in_ap <= 4:
            return failing(run)
        return 1.0 if in_ap >= 4 else None

    gate = world.play(world.ask(), down_in_ap_at_first)
    assert (gate.verdict, gate.look) == ("pass", 2)
    assert gate.rules.get().reason == "", "it was an error at the first look"


def test_two_failures_end_no_gate_early(world: World) -> None:
    world.history(count=80)
    made = 0

    def fails_twice(run: PendingRun) -> float | Outcome:
        nonlocal made
        made += 1
        return failing(run) if made <= 2 else 1.0

    gate = world.play(world.ask(runs=Runs(regions=("eu",), discard_first=0)), fails_twice)
    assert (gate.verdict, gate.look) == ("pass", 3)


def test_half_of_the_regions_are_enough_to_go_on(world: World) -> None:
    world.history()
    world.silence("us")
    assert world.play(world.ask(runs=Runs(regions=("eu", "us")))).verdict == "pass"


def test_what_a_region_had_measured_before_it_was_left_out_counts_no_more(world: World) -> None:
    world.history()
    in_eu = 0

    def slow_and_then_silent_in_eu(run: PendingRun) -> float | None:
        nonlocal in_eu
        in_eu += run.region.code == "eu"
        if run.region.code == "eu":
            return 3.0
        if in_eu == 4:
            world.silence("eu")
        return 1.0 if in_eu >= 4 else None

    gate = world.play(world.ask(), slow_and_then_silent_in_eu)
    assert (gate.verdict, gate.warnings) == ("pass", ["eu is left out: its agents are silent."])


def test_before_the_release_a_site_that_is_down_is_told_as_one_and_a_late_one_as_late(world: World) -> None:
    down = world.play(world.ask(phase="before"), failing)
    assert (down.status, down.verdict) == ("done", "error")
    assert down.summary == "3 of 3 runs failed. The reason: The server refused the connection: 203.0.113.7."
    late = world.ask(phase="before")
    step()
    Gate.objects.filter(pk=late.pk).update(deadline=timezone.now(), due_at=timezone.now())
    late = world.play(late, lambda run: None)
    assert (late.status, late.verdict) == ("timeout", "error")
    assert late.summary == "The time was over when 0 of 3 runs had come back."
    assert late.warnings == []


def test_of_several_reasons_the_summary_of_an_error_says_the_one_that_was_met_most_often(world: World) -> None:
    world.history()
    calls: list[str] = []

    def fails_differently(run: PendingRun) -> Outcome:
        calls.append(run.region.code)
        kind = FailureKind.DNS_NOT_FOUND if len(calls) == 1 else FailureKind.CONNECT_TIMEOUT
        return Failed(failure=failure(kind))

    gate = world.play(world.ask(runs=Runs(discard_first=0)), fails_differently)
    assert gate.summary.endswith(f"at most 30 % may. Most often: {failure(FailureKind.CONNECT_TIMEOUT).detail}")


def test_an_error_is_told_with_the_failures_of_the_monitor_that_it_is_about(world: World) -> None:
    world.history()
    world.history(kind="page")
    page = AskedRule(metric="lcp", max_change_pct=10)

    def page_fails(run: PendingRun) -> float | Outcome:
        return Failed(failure=failure(FailureKind.PAGE_CRASHED)) if run.kind == "page" else 1.0

    gate = world.play(world.ask(TEN, page), page_fails)
    assert (gate.verdict, gate.summary.startswith("Largest paint: ")) == ("error", True)
    assert gate.summary.endswith(f"The reason: {failure(FailureKind.PAGE_CRASHED).detail}")


def test_what_could_not_be_compared_is_not_put_down_to_runs_that_failed(world: World) -> None:
    gate = world.play(world.ask(), failing)
    assert (gate.verdict, "The reason" in gate.summary) == ("error", False)


def test_a_few_failures_are_told_and_do_not_decide(world: World) -> None:
    world.history()
    calls: list[str] = []

    def one_in_seven(run: PendingRun) -> object:
        calls.append(run.region.code)
        return failing(run) if len(calls) % 7 == 0 else 1.0

    gate = world.play(world.ask(), one_in_seven)  # type: ignore[arg-type]  # a float or an outcome
    assert gate.verdict == "pass"
    assert gate.warnings == [
        "1 of 10 runs of the probe failed. The reason: The server refused the connection: 203.0.113.7."
    ]


def test_runs_that_say_nothing_of_the_site_are_made_again(world: World) -> None:
    world.history()
    asked: list[object] = []

    def loses_two(run: PendingRun) -> object:
        if run.region.code == "eu":
            asked.append(run.run_id)
        return Missed(reason=MissedReason.QUEUE_FULL) if run.run_id in asked[1:3] else 1.0

    gate = world.play(world.ask(), loses_two)  # type: ignore[arg-type]  # a float or an outcome
    assert gate.verdict == "pass"
    assert gate.runs.filter(state=RunState.NOTHING, discarded=False).count() == 2
    assert world.view(gate).runs.failed == 0
    (rule,) = world.view(gate).rules
    assert rule.found is not None
    assert (rule.found.after_runs, rule.found.failed) == (9, 0)


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
    why = "“The region had more work than its agents could do in time, or their disks keep no more results”"
    assert gate.warnings == [f"eu is left out: its runs are missed again and again: {why}."]
    assert "eu is left out" not in gate.summary


def test_a_region_that_is_removed_meanwhile_is_left_out(world: World) -> None:
    world.history()
    gate = world.ask()
    Region.objects.filter(code="eu").update(enabled=False)
    assert world.play(gate).verdict == "pass"
    assert gate.warnings == ["eu is left out: the region is gone."]


def test_a_region_whose_history_is_too_short_is_left_out(world: World) -> None:
    world.history()
    Run.objects.filter(region_id=world.regions["eu"].pk).delete()
    gate = world.play(world.ask())
    assert (gate.verdict, gate.warnings) == ("pass", ["eu is left out: too few runs to judge."])


def test_where_all_regions_miss_again_and_again_the_error_says_why(world: World) -> None:
    world.history()
    gate = world.play(world.ask(), lambda run: Failed(failure=failure(FailureKind.BROWSER_FAILED)))
    assert gate.verdict == "error"
    why = "“The browser could not be used”"
    assert gate.summary.endswith(f" regions do not measure (ap, eu, us: its runs are missed again and again: {why}).")


@pytest.mark.parametrize("reason", list(MissedReason))
def test_a_missed_run_says_in_a_sentence_why_it_says_nothing(world: World, reason: MissedReason) -> None:
    world.history()
    gate = world.ask()
    step()
    world.answer_all(lambda run: Missed(reason=reason))
    collect(gate)
    assert set(gate.runs.values_list("reason", flat=True)) == {why_missed(reason)}


def test_a_run_whose_network_did_not_keep_its_profile_says_nothing(world: World) -> None:
    world.history()
    gate = world.ask()
    step()
    world.answer_all(lambda run: 1.0 if run.region.code == "eu" else failing(run))
    Run.objects.filter(trigger="gate").exclude(region_id=world.regions["ap"].pk).update(profile_verified=False)
    states = {run.region.code: run.state for run in collect(gate)}
    assert states == {"eu": RunState.NOTHING, "us": RunState.NOTHING, "ap": RunState.FAILED}
    told = gate.runs.get(region__code="eu").reason
    assert told == "The network did not keep the numbers of the monitor's profile."


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
    again, lost = _measured_again(first), _measured_again(first)
    lost.run_id, lost.first_run_id, lost.attempt, lost.outcome = asked, None, 1, "missed"
    Run.objects.bulk_create([again, lost])
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
