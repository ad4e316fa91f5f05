"""An experiment from the question to the verdict, on the real database, with an agent that answers as a test says."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from backend.experiments import advance
from backend.experiments.actions import cancel_experiment
from backend.experiments.models import Experiment, ExperimentRun, ExperimentStatus, LoadState, Side
from backend.experiments.steps import BUSY_S, IDLE_S, step
from backend.experiments.tests.world import FAILS, HOST, MINUTE, OURS, World, loaded, sooner
from backend.fleet.models import Agent
from backend.runs.actions import change_monitor, delete_monitor
from backend.runs.models import PendingRun, Run
from backend.runs.tests.factories import give_up
from backend.sites.keeping import settings_of
from backend.sites.models import Monitor
from workers.diagnosis.without.samples import LeftOut
from workers.measurement.messages import Failed, Measured, Outcome, PageMeasurement
from workers.measurement.page_view import ConsoleLevel, ConsoleMessage

pytestmark = pytest.mark.django_db


def test_a_host_that_costs_is_told_with_how_much_as_the_command_does(world: World) -> None:
    experiment = world.play(world.start(), sooner)
    assert (experiment.status, experiment.verdict, experiment.reason) == (ExperimentStatus.DONE, "sooner", "")
    assert experiment.sentence.startswith(f"Without {HOST} the largest paint comes 302 ms sooner (95 %: ")
    assert experiment.sentence.endswith(", 8 pairs of loads).")
    view = world.view(experiment)
    assert view.cost is not None
    assert (view.cost.sentence, view.complete) == (experiment.sentence, 8)
    assert [pair.number for pair in view.pairs] == list(range(9))


def test_loads_come_one_at_a_time_and_both_kinds_are_first_equally_often(world: World) -> None:
    experiment = world.start(pairs=10)
    under_way: list[int] = []

    def answer(run: ExperimentRun) -> Outcome:
        under_way.append(PendingRun.objects.filter(trigger="cost").count())
        return sooner(run)

    world.play(experiment, answer)
    assert set(under_way) == {1}
    runs = list(experiment.runs.order_by("pk"))
    assert [(run.pair, run.side) for run in runs[:2]] == [(0, Side.WITH), (0, Side.WITHOUT)]
    assert [run.pair for run in runs] == [number for number in range(11) for _ in Side]
    assert sorted(run.side for run in runs[2::2]) == [Side.WITH] * 5 + [Side.WITHOUT] * 5


def test_nothing_is_judged_before_all_pairs_are_there(world: World) -> None:
    experiment = world.start()
    for _ in range(15):
        Experiment.objects.update(due_at=timezone.now())
        step()
        world.answer(sooner)
    view = world.view(experiment)
    assert view.complete == 6
    assert (view.cost, view.experiment.verdict) == (None, "")


def test_pairs_that_are_left_out_are_made_up_for_by_half_as_many_again(world: World) -> None:
    def answer(run: ExperimentRun) -> Outcome:
        return FAILS if run.pair % 2 and run.side == Side.WITHOUT else sooner(run)

    experiment = world.play(world.start(), answer)
    view = world.view(experiment)
    assert view.cost is not None
    assert (len(view.pairs), view.complete, view.cost.left_out) == (13, 6, {LeftOut.FAILED: 6})


def test_three_failed_pairs_in_a_row_end_it(world: World) -> None:
    experiment = world.play(world.start(), lambda run: FAILS if run.pair else sooner(run))
    assert (experiment.status, experiment.verdict) == (ExperimentStatus.DONE, "inconclusive")
    assert len(world.view(experiment).pairs) == 4


def test_a_page_that_cannot_be_loaded_without_a_host_is_told_so(world: World) -> None:
    experiment = world.play(world.start(), lambda run: sooner(run) if run.side == Side.WITH else FAILS)
    assert experiment.verdict == "breaks"
    assert experiment.sentence == f"Without {HOST} the page cannot be loaded: {FAILS.failure.detail}"


def test_a_host_that_the_page_never_asks_ends_it_after_one_load(world: World) -> None:
    experiment = world.play(world.start(), lambda run: loaded(reached=True, host="other.example"))
    assert (experiment.status, experiment.verdict) == (ExperimentStatus.DONE, "not_asked")
    assert experiment.sentence.startswith(f"The page asked nothing of {HOST}: there is no verdict.")
    assert experiment.runs.count() == 1


def test_a_page_that_fails_at_once_ends_it_after_one_load(world: World) -> None:
    experiment = world.play(world.start(), lambda run: FAILS)
    assert (experiment.status, experiment.verdict, experiment.runs.count()) == (
        ExperimentStatus.DONE,
        "inconclusive",
        1,
    )
    cost = world.view(experiment).cost
    assert cost is not None
    assert cost.failure == FAILS.failure


def test_a_page_that_is_led_to_the_host_has_no_verdict(world: World) -> None:
    experiment = world.start(hosts=("www.example.org",))
    world.play(experiment, sooner)
    assert experiment.status == ExperimentStatus.FAILED
    assert experiment.reason == "https://shop.example/ leads to www.example.org: without it there is no page."


def test_an_agent_that_does_not_know_how_to_leave_hosts_out_is_found_out_by_its_loads(world: World) -> None:
    experiment = world.play(world.start(), lambda run: loaded(reached=True))
    assert (experiment.status, experiment.verdict, experiment.runs.count()) == (ExperimentStatus.FAILED, "", 2)
    assert experiment.reason == (
        f"The agent loaded the page with {HOST} where it should not have, as agents do that are older than this "
        "service. Update those of Eu."
    )


def test_loads_that_fail_by_our_own_fault_say_nothing_of_the_page(world: World) -> None:
    experiment = world.play(world.start(), lambda run: sooner(run) if run.side == Side.WITH else OURS)
    assert experiment.verdict == "inconclusive"
    assert set(experiment.runs.filter(side=Side.WITHOUT).values_list("state", flat=True)) == {LoadState.NOTHING}


def test_loads_that_are_missed_again_and_again_end_it(world: World) -> None:
    experiment = world.start()
    for _ in range(3):
        Experiment.objects.update(due_at=timezone.now())
        step()
        give_up(PendingRun.objects.get(trigger="cost"))
    Experiment.objects.update(due_at=timezone.now())
    step()
    experiment.refresh_from_db()
    assert experiment.status == ExperimentStatus.FAILED
    assert experiment.reason.startswith("Its loads say nothing again and again: ")


def test_a_run_that_is_gone_says_nothing(world: World) -> None:
    world.start()
    step()
    PendingRun.objects.all().delete()
    Experiment.objects.update(due_at=timezone.now())
    step()
    assert ExperimentRun.objects.get(pair=0, side=Side.WITH).reason == "The run is gone."


def test_a_lost_load_is_known_by_its_second_attempt(world: World) -> None:
    experiment = world.start()
    step()
    pending = PendingRun.objects.get(trigger="cost")
    first = pending.run_id
    again = uuid4()
    PendingRun.objects.filter(run_id=first).update(run_id=again, first_run_id=first, attempt=2)
    Experiment.objects.update(due_at=timezone.now())
    step()
    assert experiment.runs.get().state == LoadState.PENDING


def begun(world: World) -> Experiment:
    """An experiment of which a pair is complete."""
    experiment = world.start()
    for _ in range(5):
        Experiment.objects.update(due_at=timezone.now())
        step()
        world.answer(sooner)
    assert world.view(experiment).complete == 1
    return experiment


def go_on(experiment: Experiment) -> Experiment:
    Experiment.objects.update(due_at=timezone.now())
    step()
    experiment.refresh_from_db()
    return experiment


def test_silent_agents_end_it(world: World) -> None:
    experiment = world.start()
    Agent.objects.update(last_seen_at=timezone.now() - 5 * MINUTE)
    assert go_on(experiment).reason == "Eu does not measure: its agents are silent."
    assert experiment.status == ExperimentStatus.FAILED


def test_a_region_that_is_removed_ends_it(world: World) -> None:
    experiment = world.start()
    world.region.enabled = False
    world.region.save()
    assert go_on(experiment).reason == "The region Eu is gone."


def test_a_page_that_is_changed_meanwhile_has_no_verdict(world: World) -> None:
    experiment = begun(world)
    monitor = world.monitor
    settings = replace(settings_of(monitor), url="https://shop.example/other")
    change_monitor(actor=None, monitor=monitor, settings=settings)
    assert go_on(experiment).status == ExperimentStatus.FAILED
    assert experiment.reason == "The page was changed meanwhile: its loads cannot be judged together."


def test_a_load_of_the_page_as_it_was_for_a_while_has_no_verdict_either(world: World) -> None:
    experiment = begun(world)
    Run.objects.filter(run_id=experiment.runs.latest("pk").run_id).update(config_version=99)
    assert go_on(experiment).status == ExperimentStatus.FAILED
    assert experiment.reason == "The page was changed meanwhile: its loads cannot be judged together."


def test_a_change_that_leaves_what_is_measured_as_it_was_ends_nothing(world: World) -> None:
    experiment = begun(world)
    monitor = world.monitor
    change_monitor(actor=None, monitor=monitor, settings=replace(settings_of(monitor), timeout_s=33))
    assert Monitor.objects.get(pk=monitor.pk).config_version != experiment.config_version
    assert go_on(experiment).is_open


def test_a_page_that_is_paused_ends_it_with_what_there_is(world: World) -> None:
    experiment = begun(world)
    Monitor.objects.update(paused=True)
    assert go_on(experiment).reason == "The page was paused meanwhile."
    assert (experiment.status, experiment.verdict) == (ExperimentStatus.DONE, "inconclusive")
    assert experiment.sentence == "1 of 8 pairs of loads: no verdict yet."


def test_the_time_ends_it_in_any_case(world: World) -> None:
    experiment = world.start()
    assert step(experiment.deadline - timedelta(seconds=1)) == BUSY_S
    experiment.refresh_from_db()
    assert experiment.is_open
    step(experiment.deadline + timedelta(seconds=1))
    experiment.refresh_from_db()
    assert (experiment.status, experiment.reason) == (ExperimentStatus.FAILED, "The time was over.")
    assert step() == IDLE_S


def test_a_cancelled_experiment_has_no_verdict_and_asks_for_nothing_more(world: World) -> None:
    experiment = begun(world)
    cancel_experiment(actor=world.member.user, experiment=experiment)
    runs = experiment.runs.count()
    assert go_on(experiment).status == ExperimentStatus.CANCELLED
    assert (experiment.runs.count(), world.view(experiment).cost) == (runs, None)
    ended = experiment.ended_at
    assert cancel_experiment(actor=None, experiment=experiment).ended_at == ended


def test_a_deleted_page_takes_its_experiments_with_it(world: World) -> None:
    begun(world)
    delete_monitor(actor=None, monitor=world.monitor)
    assert not Experiment.objects.exists()
    assert not ExperimentRun.objects.exists()


def test_a_step_that_fails_is_tried_again_and_ends_at_the_deadline(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = world.start()
    monkeypatch.setattr(advance, "_ask", lambda *_: 1 / 0)
    step()
    experiment.refresh_from_db()
    assert experiment.is_open
    assert experiment.due_at > timezone.now()
    monkeypatch.setattr(advance, "_cut_short", lambda *_: 1 / 0)
    step(experiment.deadline + timedelta(seconds=1))
    experiment.refresh_from_db()
    assert experiment.status == ExperimentStatus.FAILED


def test_a_disturbed_first_load_tells_all_the_same_that_the_host_is_asked(world: World) -> None:
    def answer(run: ExperimentRun) -> Outcome:
        seen = sooner(run)
        assert isinstance(seen, Measured)
        page = seen.measurement
        assert isinstance(page, PageMeasurement)
        busy = replace(page, vitals=replace(page.vitals, contention_us=900_000))
        return seen if run.pair else Measured(measurement=busy)

    assert world.play(world.start(), answer).verdict == "sooner"


def test_what_an_agent_says_with_characters_that_no_database_keeps_spoils_no_step(world: World) -> None:
    def answer(run: ExperimentRun) -> Outcome:
        seen = sooner(run)
        assert isinstance(seen, Measured)
        page = seen.measurement
        assert isinstance(page, PageMeasurement)
        if (run.pair, run.side) == (1, Side.WITH):
            return Failed(failure=replace(OURS.failure, detail="no\0"))
        said = ConsoleMessage(level=ConsoleLevel.ERROR, text="lib\0 is not defined", at_us=None)
        vitals = replace(page.vitals, lcp_element="h1#a\0b")
        return Measured(measurement=replace(page, console=(said,), vitals=vitals))

    assert world.play(world.start(), answer).verdict == "sooner"
