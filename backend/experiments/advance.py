"""One step of one experiment, whose row is held."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

from backend.experiments.collecting import CHANGED, collect, measures_the_same
from backend.experiments.loads import cost_in, leads_nowhere, load_of_run, pairs_of
from backend.experiments.models import MAX_TEXT_CHARS, Experiment, ExperimentRun, ExperimentStatus, LoadState, Side
from backend.fleet.queries import Health, could_hear, regions_for
from backend.runs.actions import RunsError, load_without
from workers.diagnosis.without.samples import complete
from workers.diagnosis.without.turns import is_over, pairs_to_make

log = logging.getLogger(__name__)

# Soon enough that the second load of a pair comes right behind the first.
_PAUSE = timedelta(seconds=1)
# What says nothing so often in a row goes on saying nothing.
_MISSED_IN_A_ROW = 3
_SILENT = {
    Health.OFFLINE: "its agents are silent",
    Health.NEVER: "no agent has joined it",
}


def advance(experiment: Experiment, now: datetime) -> None:
    """Brings an experiment as far as it comes at this moment."""
    runs = collect(experiment)
    if reason := _spoiled(experiment, runs):
        end(experiment, ExperimentStatus.FAILED, now=now, reason=reason)
    elif _is_complete(experiment, runs):
        end_with_verdict(experiment, runs, now=now)
    elif reason := _cut_short(experiment, runs, now):
        if complete(pairs_of(runs, experiment.hosts)):
            end_with_verdict(experiment, runs, now=now, reason=reason)
        else:
            end(experiment, ExperimentStatus.FAILED, now=now, reason=reason)
    else:
        _ask(experiment, runs, now)


def end_with_verdict(experiment: Experiment, runs: Sequence[ExperimentRun], *, now: datetime, reason: str = "") -> None:
    cost = cost_in(runs, experiment.hosts)
    experiment.verdict, experiment.sentence = str(cost.verdict), cost.sentence
    end(experiment, ExperimentStatus.DONE, now=now, reason=reason)


def end(experiment: Experiment, status: ExperimentStatus, *, now: datetime, reason: str = "") -> None:
    """Ends a locked experiment for good."""
    experiment.status, experiment.ended_at, experiment.reason = status, now, reason[:MAX_TEXT_CHARS]
    experiment.save(update_fields=["status", "ended_at", "reason", "verdict", "sentence"])


def _spoiled(experiment: Experiment, runs: Sequence[ExperimentRun]) -> str:
    """Why its loads cannot be judged together, in a sentence; empty where they can."""
    ends = next((run.reason for run in runs if run.state == LoadState.ENDS), "")
    if ends or measures_the_same(experiment, experiment.monitor.config_version):
        return ends
    return CHANGED


def _is_complete(experiment: Experiment, runs: Sequence[ExperimentRun]) -> bool:
    """Whether there are pairs enough, or as many as are made at most; no further load where the first leads nowhere."""
    if any(run.state == LoadState.PENDING for run in runs):
        return False
    if runs and leads_nowhere(load_of_run(runs[0]), experiment.hosts):
        return True
    pairs = pairs_of(runs, experiment.hosts)
    return is_over(pairs, experiment.pairs) or len(runs) == len(_loads_to_make(experiment))


def _cut_short(experiment: Experiment, runs: Sequence[ExperimentRun], now: datetime) -> str:
    """Why no further load is made, in a sentence; empty where one is."""
    if experiment.monitor.paused:
        return "The page was paused meanwhile."
    if now >= experiment.deadline:
        return "The time was over."
    last = [run for run in runs if run.state != LoadState.PENDING][-_MISSED_IN_A_ROW:]
    if len(last) == _MISSED_IN_A_ROW and all(run.state == LoadState.NOTHING for run in last):
        return f"Its loads say nothing again and again: {last[-1].reason}"
    return _silence(experiment, now)


def _silence(experiment: Experiment, now: datetime) -> str:
    states = regions_for(experiment.organisation, now=now)
    health = next((state.health for state in states if state.region.pk == experiment.region_id), None)
    if health is None:
        return f"The region {experiment.region.name} is gone."
    why = "" if health is Health.OFFLINE and not could_hear(now) else _SILENT.get(health, "")
    return f"{experiment.region.name} does not measure: {why}." if why else ""


def _loads_to_make(experiment: Experiment) -> list[tuple[int, Side]]:
    """All that may be made, by their pair. Drawn by the experiment's id, so that each step knows the same order."""
    pairs = pairs_to_make(experiment.pairs, Random(experiment.public_id.int))
    numbered = enumerate([(Side.WITH, Side.WITHOUT), *pairs])
    return [(number, Side(side)) for number, both in numbered for side in both]


def _ask(experiment: Experiment, runs: Sequence[ExperimentRun], now: datetime) -> None:
    """For the next load, where none is under way."""
    experiment.due_at = now + _PAUSE
    experiment.save(update_fields=["due_at"])
    if any(run.state == LoadState.PENDING for run in runs):
        return
    number, side = _loads_to_make(experiment)[len(runs)]
    hosts = experiment.hosts if side == Side.WITHOUT else []
    try:
        run_id = load_without(monitor=experiment.monitor, region=experiment.region.code, hosts=hosts)
    except RunsError as error:
        log.warning("experiment %s waits: %s", experiment.public_id, error)
        return
    ExperimentRun.objects.create(experiment=experiment, pair=number, side=side, run_id=run_id, requested_at=now)
