"""A monitor that is deleted while a gate measures it: what was asked of it is judged by nobody."""

import pytest

from backend.gates.questions import AskedRule
from backend.gates.tests.world import TEN, Answer, World
from backend.runs.actions import delete_monitor
from backend.runs.models import PendingRun

pytestmark = pytest.mark.django_db
LCP = AskedRule(metric="lcp", max_value=2_000)


def deleting(world: World, kind: str, *, after: int) -> Answer:
    """The monitor is deleted when so many runs have ended."""
    ended = 0

    def answer(_: PendingRun) -> float | None:
        nonlocal ended
        ended += 1
        if ended == after:
            delete_monitor(actor=world.member.user, monitor=world.monitor(kind))
        return None if ended == after else 1.0

    return answer


@pytest.mark.parametrize("rules", [(TEN,), (TEN, LCP), (LCP, TEN)])
@pytest.mark.parametrize("after", [1, 7])
def test_a_gate_without_one_of_its_monitors_passes_nothing(
    world: World, rules: tuple[AskedRule, ...], after: int
) -> None:
    world.history()
    gate = world.play(world.ask(*rules), deleting(world, "probe", after=after))
    assert gate.verdict == "error"
    assert gate.summary == "A monitor that this gate asks about was deleted."
