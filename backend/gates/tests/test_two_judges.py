"""Several judges at once: no gate is lost, none is judged twice, and no region measures two runs at a time."""

from collections import Counter

import pytest
from django.utils import timezone

from backend.gates.models import Gate, GateRun, RunState
from backend.gates.steps import step
from backend.gates.tests.world import World
from backend.runs.models import PendingRun
from backend.tests.side_by_side import side_by_side

pytestmark = pytest.mark.django_db(transaction=True)
JUDGES = 3


def test_judges_share_the_work(world: World) -> None:
    world.history()
    gates = [world.ask() for _ in range(4)]
    for _ in range(12):
        Gate.objects.update(due_at=timezone.now())
        for _ in range(2):
            assert side_by_side(JUDGES, lambda _: step()) == []
        pending = PendingRun.objects.filter(trigger="gate").count()
        asked = GateRun.objects.filter(state=RunState.PENDING).values_list("gate", "region")
        assert max(Counter(asked).values(), default=0) <= 1
        assert pending == len(asked)
        world.answer_all(lambda run: 1.0)
    for gate in gates:
        gate.refresh_from_db()
        assert (gate.status, gate.verdict) == ("done", "pass")
        places = list(gate.runs.values_list("place", flat=True))
        assert sorted(places) == list(range(len(places)))
