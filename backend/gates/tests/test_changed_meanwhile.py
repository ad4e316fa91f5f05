"""A monitor that is changed while a gate measures it: what its runs measured is no longer one thing."""

from dataclasses import replace
from typing import Any

import pytest

from backend.gates.questions import AskedRule, Runs
from backend.gates.tests.world import TEN, Answer, World
from backend.runs.actions import change_monitor
from backend.runs.models import PendingRun
from backend.sites.keeping import settings_of

pytestmark = pytest.mark.django_db
GREATEST = AskedRule(metric="ttfb", max_value=400)
ELSEWHERE = {"url": "https://shop.example/other"}


def changing(world: World, change: dict[str, Any], *, after: int) -> Answer:
    """The monitor is changed when so many runs have ended."""
    ended = 0

    def answer(_: PendingRun) -> float:
        nonlocal ended
        ended += 1
        if ended == after:
            monitor = world.monitor()
            change_monitor(actor=world.member.user, monitor=monitor, settings=replace(settings_of(monitor), **change))
        return 1.0

    return answer


@pytest.mark.parametrize("rule", [GREATEST, TEN])
def test_runs_before_and_after_a_change_are_not_judged_together(world: World, rule: AskedRule) -> None:
    world.history()
    gate = world.play(world.ask(rule), changing(world, ELSEWHERE, after=7))
    assert gate.verdict == "error"
    assert gate.summary == "The probe was changed while the gate measured it: its runs cannot be judged together."


@pytest.mark.parametrize("change", [{"interval_s": 600}, {"timeout_s": 29}])
def test_a_change_that_leaves_what_is_measured_as_it_was_matters_to_no_gate(
    world: World, change: dict[str, Any]
) -> None:
    world.history()
    assert world.play(world.ask(GREATEST), changing(world, change, after=7)).verdict == "pass"


def test_what_only_warmed_caches_before_the_change_does_not_matter(world: World) -> None:
    world.history()
    gate = world.play(world.ask(GREATEST), changing(world, ELSEWHERE, after=3))
    assert gate.verdict == "pass"


def test_a_gate_before_the_release_leaves_that_to_the_one_after(world: World) -> None:
    asked = world.ask(phase="before", runs=Runs(max_per_region=6))
    assert world.play(asked, changing(world, ELSEWHERE, after=7)).verdict == "pass"
