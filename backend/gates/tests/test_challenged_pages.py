"""A release is judged by what visitors are shown, not by the tests that our browser is given instead."""

from itertools import count

import pytest

from backend.gates.questions import AskedRule
from backend.gates.tests.world import Answer, World
from backend.runs.models import PendingRun
from backend.runs.tests.results import page
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Outcome

pytestmark = pytest.mark.django_db

LCP = AskedRule(metric="lcp", max_change_pct=10)
CHALLENGED = Failed(
    failure=failure(FailureKind.PAGE_CHALLENGE, "Cloudflare (cf-mitigated: challenge)"),
    measurement=page().measurement,
)


def challenging(share: int, *, slower: float = 1.0) -> Answer:
    """Every so many of the runs, the first one included."""
    place = count()

    def answer(run: PendingRun) -> float | Outcome:
        return CHALLENGED if next(place) % share == 0 else slower

    return answer


def test_a_gate_whose_runs_were_all_challenged_is_no_verdict_on_the_release(world: World) -> None:
    world.history(kind="page")
    gate = world.play(world.ask(LCP), challenging(1))
    assert gate.verdict in {"inconclusive", "error"}
    assert not gate.runs.filter(state="failed").exists()


def test_runs_that_were_challenged_are_left_out_and_the_others_decide(world: World) -> None:
    world.history(kind="page")
    assert world.play(world.ask(LCP), challenging(4)).verdict == "pass"
    assert world.play(world.ask(LCP), challenging(4, slower=2.0)).verdict == "fail"
