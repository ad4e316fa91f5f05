"""From a gate's runs and its baseline to a verdict on each rule, and what is stored of it."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from backend.alerts.metrics import metric_of
from backend.analysis.gate import judge
from backend.analysis.gate_types import Comparison, Hours, Judged, Plan, Rule, Verdict, overall
from backend.analysis.settings import DAY_S, HOUR_S
from backend.gates.baseline import AT, CONTENDED, Baseline
from backend.gates.documents import found_document
from backend.gates.growth import Samples, growth
from backend.gates.models import COUNTING, BaselineMode, Gate, GateRule, GateRun, Level, RunState, Side
from backend.gates.rounds import rounds_of
from backend.gates.samples import Sample, name_of, says
from workers.measurement.messages import Kind

# Two sides of a dozen runs each are small, and all there is.
MIN_EARLIER = 5
# So far apart in the day runs are of one hour as far as phases go.
_SAME_HOUR_S = 2 * HOUR_S

# Then the run in the middle is one of them.
_MOSTLY = 0.5
_BUSY = (
    "The machines of the agents were busy with other work, which alone may have made these pages slower: not judged. "
    "Fewer browsers at a time, or a machine for each agent, make it a verdict."
)

Values = Mapping[str, Sequence[float | None]]


def judge_gate(
    gate: Gate,
    rules: Sequence[GateRule],
    runs: Sequence[GateRun],
    baseline: Baseline,
    doubtful: Mapping[int, str],
) -> Verdict:
    """The verdict on all rules at this look; each rule's own is put into it, not saved. By monitor `doubtful` says why
    nobody knows whether it was the release that was measured."""
    is_paired = gate.baseline_mode == BaselineMode.URL
    before: Runs = _made(gate, runs, Side.BEFORE) if is_paired else baseline.by_monitor
    after = _made(gate, runs, Side.AFTER)
    at = _middle_of(runs)
    hours = {rule.pk: _hours(rule, baseline, at) for rule in rules}
    comparisons = [_comparison(rule, before, after, hours[rule.pk], paired=is_paired) for rule in rules]
    plan = _plan(gate)
    judged_rules = zip(rules, comparisons, judge(comparisons, plan).rules, strict=True)
    believed = [
        (rule, _believed(one, comparison, plan, _busy(rule, before, after))) for rule, comparison, one in judged_rules
    ]
    found = [_sure(one, doubtful.get(rule.monitor_id)) for rule, one in believed]
    for rule, judged in zip(rules, found, strict=True):
        _put(rule, judged, _grown(rule, judged, _at_this_hour(before, at), after))
    return overall([(judged.verdict, judged.rule.decides) for judged in found])


# By monitor and region, in the order they were made; None is one that failed.
Runs = Mapping[int, Mapping[str, Sequence[Sample | None]]]


def _made(gate: Gate, runs: Sequence[GateRun], side: Side) -> Runs:
    """The gate's own runs of a side that count."""
    found: dict[int, dict[str, list[Sample | None]]] = defaultdict(lambda: defaultdict(list))
    for run in sorted(runs, key=lambda run: run.place):
        if run.side != side or run.discarded or run.region.code in gate.given_up:
            continue
        if run.state in COUNTING:
            found[run.monitor_id][run.region.code].append(run.values if run.state == RunState.MEASURED else None)
    return found


def _comparison(rule: GateRule, before: Runs, after: Runs, hours: Hours | None, *, paired: bool) -> Comparison:
    return Comparison(
        rule=Rule(
            metric=rule.metric,
            max_change_pct=rule.max_change_pct,
            min_change=rule.min_change,
            max_value=rule.max_value,
            decides=rule.level == Level.FAIL,
        ),
        history=_values(rule, before),
        fresh=_values(rule, after),
        paired=paired,
        hours=hours,
        lost=_lost(rule, after),
    )


def _lost(rule: GateRule, after: Runs) -> str:
    """What became of runs without a value: that some were measured all the same, where they were."""
    name = name_of(rule.metric)
    silent = sum(run is not None and run.get(name) is None for runs in _of(rule, after).values() for run in runs)
    return f"failed or, as {silent:,} did, told no {metric_of(rule.metric).label}" if silent else "failed"


def _believed(judged: Judged, comparison: Comparison, plan: Plan, busy: Collection[str]) -> Judged:
    """Whom other work of the agents' machines may have slowed, in all regions or in some that made it so, is no slower
    release. What passes all the same passes."""
    if judged.verdict is not Verdict.FAIL or not busy:
        return judged
    others = {region: values for region, values in comparison.fresh.items() if region not in busy}
    (without,) = judge([replace(comparison, fresh=others)], plan).rules
    return judged if without.verdict is Verdict.FAIL else judged.left_open(_BUSY)


def _sure(judged: Judged, doubt: str | None) -> Judged:
    """What may be no release passes none; that it is slower holds of whatever it is."""
    return judged if doubt is None or judged.verdict is not Verdict.PASS else judged.left_open(doubt)


def _busy(rule: GateRule, before: Runs, after: Runs) -> set[str]:
    """Regions of which other work disturbed half of the runs, and did not disturb as well what these are compared with;
    only times mind that. A greatest value is compared with nothing."""
    if not metric_of(rule.metric).is_time:
        return set()
    earlier = _of(rule, before) if rule.max_value is None else {}
    fresh = _of(rule, after)
    return {
        region
        for region, runs in fresh.items()
        if _contended_share(runs) >= _MOSTLY and _contended_share(earlier.get(region, ())) < _MOSTLY
    }


def _contended_share(runs: Sequence[Sample | None]) -> float:
    shares = [run.get(CONTENDED) or 0.0 for run in runs if run is not None]
    return fmean(shares) if shares else 0.0


def _hours(rule: GateRule, baseline: Baseline, at: float | None) -> Hours | None:
    """None where nobody knows when the runs of history were made."""
    before, history = _of(rule, baseline.before), _of(rule, baseline.by_monitor)
    runs = {region: [*before.get(region, ()), *made] for region, made in history.items()}
    times = {region: [made for run in known if run and (made := run.get(AT))] for region, known in runs.items()}
    if at is None or any(len(times[region]) != len(known) for region, known in runs.items()):
        return None
    return Hours(
        times=times,
        at=at,
        before=_values(rule, baseline.before),
        lately=_values(rule, baseline.lately),
        lately_until=baseline.lately_until,
    )


def _middle_of(runs: Sequence[GateRun]) -> float | None:
    """About when a gate's own runs were made, in Unix seconds."""
    return fmean(run.requested_at.timestamp() for run in runs) if runs else None


def _values(rule: GateRule, side: Runs) -> Values:
    """A run that was measured, but not this metric of it, is as good as one that failed."""
    name, scale = name_of(rule.metric), metric_of(rule.metric).scale

    def value_of(run: Sample | None) -> float | None:
        value = run.get(name) if run is not None else None
        return None if value is None else value * scale

    return {region: [value_of(run) for run in runs] for region, runs in _of(rule, side).items()}


def _of(rule: GateRule, side: Runs) -> Mapping[str, Sequence[Sample | None]]:
    """The runs of a rule's monitor, by region, as far as they say anything of its metric."""
    regions = side.get(rule.monitor_id, {})
    return {region: [run for run in runs if says(run, rule.metric)] for region, runs in regions.items()}


def _plan(gate: Gate) -> Plan:
    looks = rounds_of(gate).looks
    if gate.baseline_mode == BaselineMode.GATE:
        return Plan(confidence=gate.confidence, looks=gate.look, planned_looks=looks, min_history=MIN_EARLIER)
    return Plan(confidence=gate.confidence, looks=gate.look, planned_looks=looks)


def _grown(rule: GateRule, judged: Judged, before: Runs, after: Runs) -> list[dict[str, object]]:
    """Which phases grew, when a rule was broken by a change; else nothing."""
    if judged.verdict is not Verdict.FAIL or rule.max_change_pct is None:
        return []
    is_probe = rule.monitor.kind == Kind.PROBE
    return growth(rule.metric, _measured(rule, before), _measured(rule, after), is_probe=is_probe)


def _at_this_hour(before: Runs, at: float | None) -> Runs:
    """Of each region the runs of about this time of the day, where there are enough: a busy hour is no growth."""
    if at is None:
        return before
    return {
        monitor: {region: _beside(runs, at) or runs for region, runs in regions.items()}
        for monitor, regions in before.items()
    }


def _beside(runs: Sequence[Sample | None], at: float) -> list[Sample]:
    known = [(run, made) for run in runs if run and (made := run.get(AT))]
    chosen = [run for run, made in known if abs((made - at + DAY_S / 2) % DAY_S - DAY_S / 2) <= _SAME_HOUR_S]
    return chosen if len(chosen) >= MIN_EARLIER else []


def _measured(rule: GateRule, side: Runs) -> Samples:
    return {region: [run for run in runs if run is not None] for region, runs in _of(rule, side).items()}


def _put(rule: GateRule, judged: Judged, grown: list[dict[str, object]]) -> None:
    rule.verdict, rule.reason = judged.verdict.value, judged.reason
    rule.found = None if judged.found is None else found_document(judged.found) | {"grown": grown}
