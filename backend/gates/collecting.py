"""What came of the runs that a gate asked for."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from backend.gates.baseline import COLUMNS, CONTENDED, VERSION
from backend.gates.models import Gate, GateRun, RunState
from backend.gates.rounds import Subject, Tally, other_half
from backend.gates.samples import with_timings
from backend.runs.models import Outcome, Run
from backend.runs.queries import requested_runs
from workers.diagnosis.catalogue.failures import why_missed
from workers.measurement.failure import Blame
from workers.measurement.messages import MissedReason


def collect(gate: Gate) -> list[GateRun]:
    """All runs of a gate, those that have ended since the last time brought up to date. At most four statements."""
    runs = list(gate.runs.select_related("region").order_by("place"))
    waiting = [run for run in runs if run.state == RunState.PENDING]
    if waiting:
        alive, ended = requested_runs([run.run_id for run in waiting], since=gate.created_at)
        changed = [run for run in waiting if _settle(run, ended.get(run.run_id), is_alive=run.run_id in alive)]
        GateRun.objects.bulk_update(changed, ["state", "ended_run_id", "reason", "values"])
    return runs


def tallies(
    runs: Iterable[GateRun], subjects: Sequence[Subject], regions: Sequence[str]
) -> dict[str, dict[Subject, Tally]]:
    """How far each subject is, by region; of `runs` in their order."""
    counts: dict[tuple[str, Subject], Counter[str]] = defaultdict(Counter)
    failed: dict[tuple[str, Subject], list[bool]] = defaultdict(list)
    for run in runs:
        place, name = (run.region.code, (run.monitor_id, run.side)), _counted_as(run)
        counts[place][name] += 1
        if name == "counting":
            failed[place].append(run.state == RunState.FAILED)

    def tally(region: str, subject: Subject) -> Tally:
        lost = _lost(failed[region, subject], failed[region, other_half(subject)])
        return Tally(**counts[region, subject], lost=lost)

    return {region: {subject: tally(region, subject) for subject in subjects} for region in regions}


def _lost(failed: Sequence[bool], other: Sequence[bool]) -> int:
    """Of runs that count how many failed, or did so in the other half of their pair, which may still be to come."""
    return sum(map(any, zip_longest(failed, other[: len(failed)], fillvalue=False)))


def _counted_as(run: GateRun) -> str:
    if run.state == RunState.PENDING:
        return "pending"
    if run.state == RunState.NOTHING:
        return "nothing"
    return "discarded" if run.discarded else "counting"


def _settle(run: GateRun, ended: Run | None, *, is_alive: bool) -> bool:
    """Puts into a run what it came to; whether there was anything."""
    if ended is None:
        if is_alive:
            return False
        # Deleted with its monitor's site, or by a retention that is shorter than the gate.
        run.state, run.reason = RunState.NOTHING, "The run is gone."
        return True
    run.ended_run_id = ended.run_id
    if ended.profile_verified is False:
        run.state, run.reason = RunState.NOTHING, "The network did not keep the numbers of the monitor's profile."
    elif ended.outcome == Outcome.MEASURED:
        run.state = RunState.MEASURED
        beside = {CONTENDED: float(bool(ended.contended)), VERSION: ended.config_version}
        run.values = with_timings({column: getattr(ended, column) for column in COLUMNS} | beside, ended.timings)
    elif ended.outcome == Outcome.FAILED:
        run.state = RunState.NOTHING if ended.failure_blame == Blame.MONITOR else RunState.FAILED
        run.reason = (ended.failure_detail or "It failed.")[:1_000]
    else:
        run.state = RunState.NOTHING
        run.reason = why_missed(MissedReason(ended.missed_reason)) if ended.missed_reason else "The run was missed."
    return True
