"""A release is judged by pages that were loaded at leisure: where the machine was busy, the release is not to blame."""

from dataclasses import replace

import pytest

from backend.gates.questions import AskedRule
from backend.gates.tests.world import Answer, World
from backend.runs.models import PendingRun, Run
from backend.runs.tests.results import page
from workers.measurement.messages import Measured, Outcome, PageMeasurement

pytestmark = pytest.mark.django_db

LCP = AskedRule(metric="lcp", max_change_pct=10)


def disturbed() -> Measured:
    seen = page().measurement
    assert isinstance(seen, PageMeasurement)
    return Measured(measurement=replace(seen, vitals=replace(seen.vitals, lcp_us=9_000_000, contention_us=5_000_000)))


def on_a_busy_machine(count: int) -> Answer:
    """The first so many runs."""
    left = iter(range(count))

    def answer(run: PendingRun) -> float | Outcome:
        return disturbed() if next(left, None) is not None else 1.0

    return answer


def test_a_gate_whose_runs_were_all_disturbed_is_no_verdict_on_the_release(world: World) -> None:
    world.history(kind="page")
    gate = world.play(world.ask(LCP), on_a_busy_machine(10_000))
    assert gate.verdict in {"inconclusive", "error"}
    assert {run.reason for run in gate.runs.all()} == {"The agent's machine was busy with other work."}


def test_runs_that_were_disturbed_are_made_again_and_the_others_decide(world: World) -> None:
    world.history(kind="page")
    assert world.play(world.ask(LCP), on_a_busy_machine(3)).verdict == "pass"


def test_what_a_busy_machine_measured_before_the_release_is_nothing_to_compare_with(world: World) -> None:
    """Half of the past took five times as long as the rest: one that takes twice as long looks quick beside that."""
    world.history(kind="page")
    slow = list(Run.objects.order_by("scheduled_for").values_list("run_id", flat=True))[::2]
    for run in Run.objects.filter(run_id__in=slow):
        Run.objects.filter(run_id=run.run_id).update(lcp_us=5 * (run.lcp_us or 0), contended=True)
    assert world.play(world.ask(LCP), lambda _: 2.0).verdict == "fail"
