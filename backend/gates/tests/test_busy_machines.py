"""A release is not to blame for other work of the machines that its pages were loaded on."""

from dataclasses import replace

import pytest

from backend.gates.models import Gate
from backend.gates.questions import AskedRule, Baseline
from backend.gates.tests.world import Answer, World
from backend.runs.models import PendingRun, Run
from backend.runs.tests.results import page
from workers.measurement.messages import Measured, Outcome, PageMeasurement

pytestmark = pytest.mark.django_db

LCP = AskedRule(metric="lcp", max_change_pct=10)
CLS = AskedRule(metric="cls", max_value=0.01)
USUAL_US = 900_000


def loaded(*, slower: float, contended: bool) -> Measured:
    seen = page().measurement
    assert isinstance(seen, PageMeasurement)
    vitals = replace(seen.vitals, lcp_us=round(slower * USUAL_US), contention_us=USUAL_US if contended else 0)
    return Measured(measurement=replace(seen, vitals=vitals))


def answering(outcome: Outcome) -> Answer:
    def answer(_: PendingRun) -> Outcome:
        return outcome

    return answer


def played(world: World, rule: AskedRule, outcome: Measured) -> Gate:
    world.history(kind="page", lcp_us=USUAL_US)
    return world.play(world.ask(rule), answering(outcome))


def test_pages_that_are_slower_on_busy_machines_are_no_verdict_on_the_release(world: World) -> None:
    gate = played(world, LCP, loaded(slower=2.0, contended=True))
    assert gate.verdict == "inconclusive"
    rule = gate.rules.get()
    assert "busy with other work" in rule.reason
    assert rule.found is not None
    # No more runs make the machines idle.
    assert rule.found["extra_runs_to_decide"] is None


def test_pages_that_are_slower_on_machines_at_leisure_fail(world: World) -> None:
    assert played(world, LCP, loaded(slower=2.0, contended=False)).verdict == "fail"


def test_pages_that_are_no_slower_on_busy_machines_pass(world: World) -> None:
    assert played(world, LCP, loaded(slower=1.0, contended=True)).verdict == "pass"


def test_no_layout_shifts_more_for_a_busy_machine(world: World) -> None:
    world.history(kind="page", cls=0.01)
    shifting = loaded(slower=1.0, contended=True)
    assert world.play(world.ask(CLS), answering(shifting)).verdict == "fail"


def test_what_a_busy_machine_measured_before_the_release_is_nothing_to_compare_with(world: World) -> None:
    """Half of the past took five times as long as the rest: one that takes twice as long looks quick beside that."""
    world.history(kind="page", lcp_us=USUAL_US)
    slow = list(Run.objects.order_by("scheduled_for").values_list("run_id", flat=True))[::2]
    Run.objects.filter(run_id__in=slow).update(lcp_us=5 * USUAL_US, contended=True)
    assert world.play(world.ask(LCP), answering(loaded(slower=2.0, contended=False))).verdict == "fail"


def test_pages_that_are_slower_than_they_were_on_machines_as_busy_fail(world: World) -> None:
    before = world.play(world.ask(LCP, phase="before"), answering(loaded(slower=1.0, contended=True)))
    compare = Baseline(mode="gate", gate=before.public_id)
    after = world.play(world.ask(LCP, baseline=compare), answering(loaded(slower=2.0, contended=True)))
    assert after.verdict == "fail"


def test_a_greatest_value_asks_not_how_busy_machines_were_before(world: World) -> None:
    """It compares with nothing: what was as disturbed before makes these loads no slower than they are alone."""
    before = world.play(world.ask(LCP, phase="before"), answering(loaded(slower=1.0, contended=True)))
    compare, limit = Baseline(mode="gate", gate=before.public_id), AskedRule(metric="lcp", max_value=1_200)
    after = world.play(world.ask(limit, baseline=compare), answering(loaded(slower=2.0, contended=True)))
    assert after.verdict == "inconclusive"


@pytest.mark.parametrize(("elsewhere", "verdict"), [(1.0, "inconclusive"), (1.5, "fail")])
def test_one_region_with_a_busy_machine_fails_no_release_that_the_others_find_no_slower(
    world: World, elsewhere: float, verdict: str
) -> None:
    world.history(kind="page", lcp_us=USUAL_US)

    def busy_in_eu(run: PendingRun) -> Outcome:
        is_busy = run.region.code == "eu"
        return loaded(slower=2.0 if is_busy else elsewhere, contended=is_busy)

    gate = world.play(world.ask(LCP), busy_in_eu)
    assert gate.verdict == verdict
    assert ("busy with other work" in gate.rules.get().reason) is (verdict == "inconclusive")


@pytest.mark.parametrize("apart", [{"contended": True}, {"profile_verified": False}])
def test_a_history_of_disturbed_runs_is_told_to_be_that_and_not_to_be_too_short(
    world: World, apart: dict[str, bool]
) -> None:
    world.history(kind="page", lcp_us=USUAL_US, **apart)
    gate = world.play(world.ask(LCP))
    assert gate.verdict == "error"
    assert gate.summary.startswith("Only 0 scheduled runs of the page in the 24 h before the release measured ")
    assert " 120 more are no baseline: other work of their agent's machine disturbed them, or " in gate.summary
