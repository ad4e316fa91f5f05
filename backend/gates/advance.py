"""One step of one gate, whose row is held."""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from backend.fleet.queries import Health, RegionState, could_hear, regions_for
from backend.gates.addresses import Sides, without_headers
from backend.gates.arrivals import arrivals, doubtful, led_on, one_place
from backend.gates.baseline import VERSION, Baseline, baseline_of, history_of, not_comparable
from backend.gates.collecting import collect, tallies
from backend.gates.ending import end
from backend.gates.judging import MIN_EARLIER, judge_gate
from backend.gates.models import COUNTING, BaselineMode, Gate, GateRule, GateRun, Phase, RunState, Side, Status, Verdict
from backend.gates.rounds import Subject, Tally, is_complete, is_discarded, is_hopeless, next_subject, rounds_of
from backend.gates.wording import failed_sentence
from backend.runs.actions import RunsError, request_runs
from backend.runs.models import Trigger
from backend.sites.models import Monitor
from backend.sites.queries import versions_alike
from workers.diagnosis.units import lasting

log = logging.getLogger(__name__)

# Soon enough that a probe's round costs little more than the probe.
_PAUSE = timedelta(milliseconds=500)
_SENTENCES = {
    Health.OFFLINE: "its agents are silent",
    Health.NEVER: "no agent has joined it",
}
# More than half of a region's, and so many in all: what was released does not work, and more runs would only say it.
_MANY_FAILURES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What a step works with."""

    gate: Gate
    rules: Sequence[GateRule]
    monitors: Mapping[int, Monitor]
    regions: Mapping[str, RegionState]
    now: datetime

    @property
    def subjects(self) -> list[Subject]:
        return [(monitor, side) for monitor in self.monitors for side in self.gate.sides]

    def end(self, verdict: str, *, status: Status = Status.DONE) -> None:
        end(self.gate, verdict, now=self.now, status=status)


def advance(gate: Gate, now: datetime) -> None:
    """Brings a gate as far as it comes at this moment."""
    rules = list(gate.rules.select_related("monitor__site__organisation").order_by("position"))
    step = _Step(
        gate=gate,
        rules=rules,
        monitors={rule.monitor_id: rule.monitor for rule in rules},
        regions={state.region.code: state for state in regions_for(gate.organisation, now=now)},
        now=now,
    )
    if not rules or len(rules) < gate.rule_count:
        gate.reason = "A monitor that this gate asks about was deleted."
        step.end(Verdict.ERROR)
        return
    if gate.status == Status.QUEUED:
        _begin(step)
    if gate.is_open:
        runs = collect(gate)
        _end_if_changed(step, runs)
    if gate.is_open:
        _give_up_regions(step, runs)
        _go_on(step, runs)


def _begin(step: _Step) -> None:
    """Ends the gate before anything is measured when there is too little to compare with."""
    gate = step.gate
    gate.status, gate.started_at = Status.RUNNING, step.now
    baseline = baseline_of(gate, list(step.monitors.values()))
    gate.warnings = [*baseline.warnings, *_withheld(step)]
    if gate.phase == Phase.BEFORE or gate.baseline_mode == BaselineMode.URL:
        return
    compared = {rule.monitor_id for rule in step.rules if rule.max_change_pct is not None}
    too_few = _too_few if gate.baseline_mode == BaselineMode.HISTORY else _too_few_earlier
    reasons = (too_few(gate, step.monitors[pk], baseline) for pk in sorted(compared))
    gate.reason = next(filter(None, reasons), "")
    if gate.reason:
        step.end(Verdict.ERROR)


def _withheld(step: _Step) -> Iterator[str]:
    if step.gate.baseline_mode == BaselineMode.URL:
        sides = {int(pk): Sides(before=before, after=after) for pk, (before, after) in step.gate.addresses.items()}
        yield from without_headers(list(step.monitors.values()), sides)


def _too_few(gate: Gate, monitor: Monitor, baseline: Baseline) -> str:
    """Why history is too short to compare with; empty where it is not."""
    if baseline.count(monitor.pk) >= gate.min_samples or monitor.pk in baseline.cut:
        return ""
    since, until = history_of(gate)
    within = lasting((until - since).total_seconds())
    sentence = (
        f"Only {baseline.count(monitor.pk):,} scheduled runs of the {monitor.kind} in the {within} before the "
        f"release measured what it measures now; {gate.min_samples:,} are needed."
    )
    return " ".join([sentence, *_apart(not_comparable(gate, monitor)), *baseline.warnings])


def _apart(count: int) -> Iterator[str]:
    if count:
        yield (
            f"{count:,} more {'is' if count == 1 else 'are'} no baseline: other work of their agent's machine "
            "disturbed them, or their network was not as their profile says."
        )


def _too_few_earlier(_: Gate, monitor: Monitor, baseline: Baseline) -> str:
    """The same of an earlier gate: where none of its regions has enough, no number of fresh runs makes a verdict."""
    most = max(map(len, baseline.by_monitor.get(monitor.pk, {}).values()), default=0)
    if most >= MIN_EARLIER:
        return ""
    return (
        f"The earlier gate has at most {most} runs of the {monitor.kind} in a region that measured what it measures "
        f"now; {MIN_EARLIER} are needed."
    )


def _end_if_changed(step: _Step, runs: Sequence[GateRun]) -> None:
    """Runs that measured different things say nothing together. What a gate before the release measured is sorted by
    the one that compares with it."""
    if step.gate.phase == Phase.BEFORE:
        return
    measured: dict[int, set[int]] = defaultdict(set)
    for run in runs:
        version = run.values.get(VERSION)
        if version is not None and not run.discarded:
            measured[run.monitor_id].add(version)
    several = [step.monitors[pk] for pk, versions in measured.items() if len(versions) > 1]
    alike = versions_alike(several) if several else {}
    changed = next((one for one in several if not measured[one.pk] <= alike[one.pk]), None)
    if changed is not None:
        step.gate.reason = (
            f"The {changed.kind} was changed while the gate measured it: its runs cannot be judged together."
        )
        step.end(Verdict.ERROR)


def _give_up_regions(step: _Step, runs: Sequence[GateRun]) -> None:
    """Regions that do not measure are left out, and said so."""
    gate, counted = step.gate, tallies(runs, step.subjects, step.gate.regions)
    for code in gate.regions:
        why = _why_not(step, code, list(counted[code].values()), runs)
        if why and code not in gate.given_up:
            gate.given_up[code] = why
            gate.warnings.append(_left_out(code, why))


def _left_out(code: str, why: str) -> str:
    return f"{code} is left out: {why}."


def _why_not(step: _Step, code: str, counted: Sequence[Tally], runs: Sequence[GateRun]) -> str:
    if code not in step.regions:
        return "the region is gone"
    if is_hopeless(counted, rounds_of(step.gate)):
        said = [run.reason for run in runs if run.region.code == code and run.state == RunState.NOTHING]
        return f"its runs are missed again and again: “{said[-1].removesuffix('.')}”"
    health = step.regions[code].health
    return "" if health is Health.OFFLINE and not could_hear(step.now) else _SENTENCES.get(health, "")


def _go_on(step: _Step, runs: Sequence[GateRun]) -> None:
    """Judges what is complete, ends what is over, and asks for what comes next."""
    gate = step.gate
    left = [code for code in gate.regions if code not in gate.given_up]
    if not left or len(left) < len(gate.given_up):
        _end_without_regions(step)
        return
    counted = tallies(runs, step.subjects, left)
    plan = rounds_of(gate)
    if all(is_complete(region, plan, gate.look) for region in counted.values()):
        _judge(step, runs)
    elif _most_fail(gate, runs):
        _judge_finally(step, runs, status=Status.DONE)
    if gate.is_open and step.now >= gate.deadline:
        _judge_finally(step, runs, status=Status.TIMEOUT)
    if gate.is_open:
        _ask(step, counted, len(runs))
        gate.due_at = step.now + _PAUSE
        gate.save(update_fields=["status", "started_at", "look", "given_up", "warnings", "due_at"])


def _end_without_regions(step: _Step) -> None:
    """The reason tells of each region; to warn of them besides would say it twice."""
    gate = step.gate
    told = {_left_out(code, why) for code, why in gate.given_up.items()}
    gate.warnings = [warning for warning in gate.warnings if warning not in told]
    codes: dict[str, list[str]] = defaultdict(list)
    for code, reason in gate.given_up.items():
        codes[reason].append(code)
    why = "; ".join(f"{', '.join(alike)}: {reason}" for reason, alike in codes.items())
    given_up, all_of_them = len(gate.given_up), len(gate.regions)
    who = "The only region does" if all_of_them == 1 else f"{given_up} of {all_of_them} regions do"
    gate.reason = f"{who} not measure ({why})."
    step.end(Verdict.ERROR)


def _judge(step: _Step, runs: Sequence[GateRun]) -> None:
    """Judges a complete look: it ends the gate, or another follows."""
    gate = step.gate
    if gate.phase == Phase.BEFORE:
        step.end(Verdict.PASS)
        return
    verdict = _verdict(step, runs)
    is_over = gate.reason or gate.look >= rounds_of(gate).looks or _most_fail(gate, runs)
    if verdict in (Verdict.PASS, Verdict.FAIL) or is_over:
        _end_judged(step, runs, verdict, Status.DONE)
    else:
        gate.look += 1


def _judge_finally(step: _Step, runs: Sequence[GateRun], *, status: Status) -> None:
    """With what there is: the time is over, or most runs fail."""
    gate = step.gate
    ended = sum(run.state != RunState.PENDING for run in runs)
    late = f"The time was over when {ended} of {len(runs)} runs had come back." if status is Status.TIMEOUT else ""
    if gate.phase == Phase.BEFORE:
        counting = _counting(gate, runs)
        gate.reason = late or failed_sentence(
            [run.reason for run in counting if run.state == RunState.FAILED], len(counting)
        )
        step.end(Verdict.ERROR, status=status)
        return
    gate.warnings += [late] if late else []
    _end_judged(step, runs, _verdict(step, runs), status)


def _verdict(step: _Step, runs: Sequence[GateRun]) -> str:
    arrived = arrivals(step.gate, runs)
    step.gate.reason = one_place(step.monitors, arrived)
    if step.gate.reason:
        return Verdict.ERROR
    baseline = baseline_of(step.gate, list(step.monitors.values()))
    verdict = judge_gate(step.gate, step.rules, runs, baseline, doubtful(step.monitors, arrived))
    GateRule.objects.bulk_update(step.rules, ["verdict", "reason", "found"])
    return verdict.value


def _end_judged(step: _Step, runs: Sequence[GateRun], verdict: str, status: Status) -> None:
    if not step.gate.reason:
        step.gate.warnings += led_on(step.gate, step.monitors, arrivals(step.gate, runs))
    if verdict != Verdict.ERROR:
        step.gate.warnings += _failures(step, runs)
    left_out = {code for rule in step.rules for code in (rule.found or {}).get("left_out", [])}
    step.gate.warnings += [f"{code} is left out: too few runs to judge." for code in sorted(left_out)]
    step.end(verdict, status=status)


def _failures(step: _Step, runs: Sequence[GateRun]) -> Iterator[str]:
    """A sentence for each subject of which runs failed, too few to decide: who is told of a pass shall know."""
    for pk, side in step.subjects:
        counting = [run for run in _counting(step.gate, runs) if (run.monitor_id, run.side) == (pk, side)]
        failed = [run.reason for run in counting if run.state == RunState.FAILED]
        if failed:
            url = step.gate.address_of(pk, side)
            where = f" at {url}" if url is not None else ""
            yield failed_sentence(failed, len(counting), of=f" of the {step.monitors[pk].kind}{where}")


def _most_fail(gate: Gate, runs: Sequence[GateRun]) -> bool:
    """Of either side, in most of the regions that are left."""
    left = [code for code in gate.regions if code not in gate.given_up]
    return any(_most_of([run for run in runs if run.side == side and not run.discarded], left) for side in Side)


def _counting(gate: Gate, runs: Sequence[GateRun]) -> list[GateRun]:
    """Those that the verdict is made of."""
    return [run for run in runs if run.state in COUNTING and not run.discarded and run.region.code not in gate.given_up]


def _most_of(runs: Sequence[GateRun], regions: Sequence[str]) -> bool:
    """Where nobody answers runs end soonest: of those that have ended first, most may be of one such region."""
    states = [Counter(run.state for run in runs if run.region.code == code) for code in regions]
    failed = sum(count[RunState.FAILED] for count in states)
    failing = sum(count[RunState.FAILED] > count[RunState.MEASURED] for count in states)
    return failed >= _MANY_FAILURES and 2 * failing > len(regions)


def _ask(step: _Step, counted: Mapping[str, Mapping[Subject, Tally]], place: int) -> None:
    """For the next run of each region that has none under way."""
    gate, plan = step.gate, rounds_of(step.gate)
    asked: list[GateRun] = []
    for code, by_subject in counted.items():
        subject = next_subject(by_subject, plan, gate.look, turn=gate.regions.index(code))
        run_id = None if subject is None else _request(step, code, subject)
        if subject is None or run_id is None:
            continue
        monitor, side = subject
        asked.append(
            GateRun(
                gate=gate,
                monitor_id=monitor,
                region=step.regions[code].region,
                run_id=run_id,
                place=place + len(asked),
                side=side,
                discarded=is_discarded(by_subject[subject], plan),
                requested_at=step.now,
            )
        )
    GateRun.objects.bulk_create(asked)


def _request(step: _Step, code: str, subject: Subject) -> UUID | None:
    """The run that is asked for; None when too many are under way."""
    monitor, url = step.monitors[subject[0]], step.gate.url_of(step.monitors[subject[0]], subject[1])
    other = None if url == monitor.url else url
    try:
        (run_id,) = request_runs(actor=None, monitor=monitor, regions=[code], trigger=Trigger.GATE, url=other)
    except RunsError as error:
        log.warning("gate %s waits in %s: %s", step.gate.public_id, code, error)
        return None
    return run_id
