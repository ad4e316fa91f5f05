"""The loads of an experiment go as runs do; the verdict that they came to stays."""

from datetime import timedelta

import pytest
from django.utils import timezone

from backend.experiments.actions import cancel_experiment
from backend.experiments.models import Experiment, ExperimentRun
from backend.experiments.steps import step
from backend.experiments.tests.world import World, sooner
from backend.runs.models import Run
from backend.runs.partitions import drop_partitions

pytestmark = pytest.mark.django_db
# A month, and the time until the week of a run is dropped.
KEPT = timedelta(days=30 + 14)
DAY = timedelta(days=1)


def test_loads_are_forgotten_once_retention_has_passed_and_the_verdict_is_not(world: World) -> None:
    experiment = world.play(world.start(), sooner)
    assert experiment.ended_at is not None
    step(experiment.ended_at + KEPT - DAY)
    assert world.view(experiment).complete == 8
    step(experiment.ended_at + KEPT + DAY)
    view = world.view(experiment)
    assert (view.cost, view.complete, view.pairs) == (None, None, [])
    assert (view.experiment.verdict, view.experiment.sentence) == ("sooner", experiment.sentence)


def test_a_run_that_is_still_there_can_be_told_for_what_it_was_made(world: World) -> None:
    experiment = world.play(world.start(), sooner)
    for days in range(60):
        now = timezone.now() + days * DAY
        drop_partitions(now)
        step(now)
        if Run.objects.filter(trigger="cost").exists():
            assert world.view(experiment).complete == 8
    assert not ExperimentRun.objects.exists()


def test_experiments_are_forgotten_one_after_another_and_never_what_is_under_way(world: World) -> None:
    first, second, third = (world.start() for _ in range(3))
    Experiment.objects.update(due_at=timezone.now())
    step()
    for ended in (first, second):
        cancel_experiment(actor=None, experiment=ended)
    Experiment.objects.update(due_at=timezone.now() + 1000 * DAY)
    left = []
    for _ in range(3):
        step(timezone.now() + 100 * DAY)
        left.append(set(ExperimentRun.objects.values_list("experiment_id", flat=True)))
    assert left == [{second.pk, third.pk}, {third.pk}, {third.pk}]
