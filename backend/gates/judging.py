"""From a gate's runs and its baseline to a verdict on each rule, and what is stored of it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from backend.alerts.metrics import METRICS
from backend.analysis.gate import judge
from backend.analysis.gate_types import Comparison, Judged, Plan, Rule, Verdict
from backend.gates.baseline import Baseline
from backend.gates.documents import found_document
from backend.gates.growth import growth
from backend.gates.models import BaselineMode, Gate, GateRule, GateRun, Level, RunState
from backend.gates.rounds import Plan as Rounds

# Two sides of a dozen runs each are small, and all there is.
MIN_EARLIER = 5

Values = Mapping[str, Sequence[float | None]]


def judge_gate(gate: Gate, rules: Sequence[GateRule], runs: Sequence[GateRun], baseline: Baseline) -> Verdict:
    """The verdict on all rules at this look; each rule's own is put into it, not saved."""
    fresh = _fresh(gate, runs)
    judgement = judge([_comparison(rule, fresh, baseline) for rule in rules], _plan(gate))
    for rule, judged in zip(rules, judgement.rules, strict=True):
        _put(rule, judged, _grown(rule, judged, fresh, baseline))
    return judgement.verdict


def rounds_of(gate: Gate) -> Rounds:
    return Rounds(per_region=gate.runs_per_region, most=gate.max_per_region, discard=gate.discard_first)


Runs = Mapping[int, Mapping[str, list[Mapping[str, float | None] | None]]]


def _fresh(gate: Gate, runs: Sequence[GateRun]) -> Runs:
    """The runs that count, by monitor and region, in the order they were made; None is one that failed."""
    found: dict[int, dict[str, list[Mapping[str, float | None] | None]]] = defaultdict(lambda: defaultdict(list))
    for run in sorted(runs, key=lambda run: run.place):
        if run.discarded or run.region.code in gate.given_up:
            continue
        if run.state in (RunState.MEASURED, RunState.FAILED):
            found[run.monitor_id][run.region.code].append(run.values if run.state == RunState.MEASURED else None)
    return found


def _comparison(rule: GateRule, fresh: Runs, baseline: Baseline) -> Comparison:
    return Comparison(
        rule=Rule(
            metric=rule.metric,
            max_change_pct=rule.max_change_pct,
            min_change=rule.min_change,
            max_value=rule.max_value,
            decides=rule.level == Level.FAIL,
        ),
        history=_before(rule, rule.metric, baseline),
        fresh=_after(rule, rule.metric, fresh),
    )


def _before(rule: GateRule, metric: str, baseline: Baseline) -> Values:
    column, scale = METRICS[metric].column, METRICS[metric].scale
    found = {}
    for region, samples in baseline.by_monitor.get(rule.monitor_id, {}).items():
        values = (sample.get(column) for sample in samples)
        found[region] = [value * scale for value in values if value is not None]
    return found


def _after(rule: GateRule, metric: str, fresh: Runs) -> Values:
    """A run that was measured, but not this metric of it, is as good as one that failed."""
    column, scale = METRICS[metric].column, METRICS[metric].scale

    def value_of(run: Mapping[str, float | None] | None) -> float | None:
        value = run.get(column) if run is not None else None
        return None if value is None else value * scale

    return {region: [value_of(run) for run in runs] for region, runs in fresh.get(rule.monitor_id, {}).items()}


def _plan(gate: Gate) -> Plan:
    looks = rounds_of(gate).looks
    if gate.baseline_mode == BaselineMode.GATE:
        return Plan(confidence=gate.confidence, looks=gate.look, planned_looks=looks, min_history=MIN_EARLIER)
    return Plan(confidence=gate.confidence, looks=gate.look, planned_looks=looks)


def _grown(rule: GateRule, judged: Judged, fresh: Runs, baseline: Baseline) -> list[dict[str, object]]:
    """Which phases grew, when a rule was broken by a change; else nothing."""
    if judged.verdict is not Verdict.FAIL or rule.max_change_pct is None:
        return []
    before = baseline.by_monitor.get(rule.monitor_id, {})
    after = {
        region: [run for run in runs if run is not None] for region, runs in fresh.get(rule.monitor_id, {}).items()
    }
    return growth(rule.metric, before, after)


def _put(rule: GateRule, judged: Judged, grown: list[dict[str, object]]) -> None:
    rule.verdict, rule.reason = judged.verdict.value, judged.reason
    rule.found = None if judged.found is None else found_document(judged.found) | {"grown": grown}
