"""What came of the loads that an experiment asked for."""

from backend.experiments.loads import kept, storable
from backend.experiments.models import MAX_TEXT_CHARS, Experiment, ExperimentRun, LoadState, Side
from backend.runs.failed import failure_of
from backend.runs.models import Outcome, Run
from backend.runs.queries import requested_runs, result_of
from backend.sites.queries import versions_alike
from workers.diagnosis.catalogue.failures import why_missed
from workers.diagnosis.without.before import leading_nowhere, own_host_sentence, reached
from workers.diagnosis.without.samples import LeftOut, load_of
from workers.measurement.failure import Blame
from workers.measurement.messages import Failed, Measured, MissedReason

CHANGED = "The page was changed meanwhile: its loads cannot be judged together."
_FIELDS = ("state", "ended_run_id", "reason", "load")


def collect(experiment: Experiment) -> list[ExperimentRun]:
    """All loads in their order, those that have ended since the last time brought up to date. At most five statements:
    one at a time is under way."""
    runs = list(experiment.runs.order_by("pk"))
    waiting = [run for run in runs if run.state == LoadState.PENDING]
    if waiting:
        under_way, ended = requested_runs([run.run_id for run in waiting], since=experiment.created_at)
        changed = [run for run in waiting if run.run_id in ended or run.run_id not in under_way]
        for run in changed:
            _settle(experiment, run, ended.get(run.run_id))
            run.reason = storable(run.reason[:MAX_TEXT_CHARS])
        ExperimentRun.objects.bulk_update(changed, _FIELDS)
    return runs


def _settle(experiment: Experiment, run: ExperimentRun, ended: Run | None) -> None:
    """Puts into a load what it came to."""
    run.state = LoadState.NOTHING
    if ended is None:
        # Deleted with its monitor's site, or by a retention that is shorter than the experiment.
        run.reason = "The run is gone."
        return
    run.ended_run_id = ended.run_id
    if ended.outcome == Outcome.MISSED:
        run.reason = why_missed(MissedReason(ended.missed_reason)) if ended.missed_reason else "The run was missed."
        return
    outcome = _outcome_of(ended)
    if ended.config_version is not None and not measures_the_same(experiment, ended.config_version):
        run.state, run.reason = LoadState.ENDS, CHANGED
    elif outcome is None:
        run.reason = "What was measured cannot be read."
    else:
        _take(experiment, run, outcome)


def measures_the_same(experiment: Experiment, version: int) -> bool:
    """Whether a version of the monitor measures what it measures now, and did when the experiment began. One statement
    at most."""
    monitor = experiment.monitor
    if experiment.config_version == version == monitor.config_version:
        return True
    return {experiment.config_version, version} <= versions_alike([monitor])[monitor.pk]


def _outcome_of(ended: Run) -> Measured | Failed | None:
    """What the agent sent; of a failure before which nothing was seen its row tells all."""
    result = result_of(ended)
    if result is not None and isinstance(result.outcome, Measured | Failed):
        return result.outcome
    failed = failure_of(ended.failure_kind, ended.failure_stage, ended.failure_blame, ended.failure_detail)
    return None if failed is None else Failed(failure=failed)


def _take(experiment: Experiment, run: ExperimentRun, outcome: Measured | Failed) -> None:
    hosts = frozenset(experiment.hosts)
    fault = _fault(experiment, run, outcome)
    if fault is not None:
        run.state, run.reason = LoadState.ENDS, fault
        return
    goes_before = run.pair == 0 and run.side == Side.WITH
    load = (leading_nowhere(outcome, hosts) if goes_before else None) or load_of(outcome, hosts)
    run.reason = "" if load.failure is None else load.failure.detail
    # A test of the visitor is nobody's fault and counted as such; what else is our fault says nothing of the page.
    is_ours = load.left_out is LeftOut.FAILED and load.failure is not None and load.failure.blame is Blame.MONITOR
    if not is_ours:
        run.state, run.load = LoadState.LOADED, kept(load)


def _fault(experiment: Experiment, run: ExperimentRun, outcome: Measured | Failed) -> str | None:
    """What a load tells that makes all further ones pointless, in a sentence."""
    hosts = frozenset(experiment.hosts)
    if run.side == Side.WITH:
        return own_host_sentence(outcome, experiment.url, hosts)
    if not (asked := reached(outcome, hosts)):
        return None
    return (
        f"The agent loaded the page with {', '.join(sorted(asked))} where it should not have, as agents do that are "
        f"older than this service. Update those of {experiment.region.name}."
    )
