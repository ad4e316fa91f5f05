"""`python -m backend.analysis gate`: a gate's verdict on a document, as the service would give it."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter

from backend.analysis.document import DocumentError, read
from backend.analysis.gate import judge
from backend.analysis.gate_metrics import canonical, is_time, offset_of
from backend.analysis.gate_types import MAX_LOOKS, Comparison, Found, Interval, Judged, Plan, Rule, method

ABOUT = """\
Judges fresh runs against history, as a deploy gate does.

stdin:   {"rules": [{"metric": "ttfb_ms", "max_change_pct": 10, "min_change_ms": 5}],
          "confidence": 0.99,
          "history": {"ttfb_ms": {"fra": [212, 208, …], "iad": […]}},     in order of time
          "fresh":   {"ttfb_ms": {"fra": [220, null, 231], "iad": […]}},  null = a run that failed
          "looks": 1, "planned_looks": 3,
          "paired": false}     true: runs of two addresses in turns, each fresh one beside that of history at its place
         a rule may have "max_value_ms" instead of "max_change_pct", and "level": "warn" (told, changes no verdict);
         of what is no time, such as bytes, there are "min_change" and "max_value", in its own unit
stdout:  {"verdict": "pass|fail|inconclusive|error",
          "rules": [{"metric", "verdict", "change": {"pct", "ci_pct", …}, "smallest_detectable_pct", …}]}
         values are in the metric's own unit; those whose names end in _ms are null where that is no time

exit codes: 0 answered, whatever the verdict; 2 the document is wrong (stderr names the field)
"""
MAX_RULES, MAX_REGIONS, MAX_VALUES = 100, 200, 100_000

_Value = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_LeastChange = Annotated[float, Field(ge=0, le=1e9)]
_GreatestValue = Annotated[float, Field(gt=0, le=1e12)]
_Name = Annotated[str, Field(min_length=1, max_length=100)]
_Series = Annotated[list[_Value | None], Field(max_length=MAX_VALUES)]
_ByRegion = Annotated[dict[_Name, _Series], Field(max_length=MAX_REGIONS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    metric: _Name
    max_change_pct: Annotated[float, Field(gt=0, le=1_000)] | None = None
    min_change_ms: _LeastChange | None = None
    min_change: _LeastChange | None = None
    max_value_ms: _GreatestValue | None = None
    max_value: _GreatestValue | None = None
    level: Annotated[str, Field(pattern="^(fail|warn)$")] = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    rules: Annotated[list[_Rule], Field(min_length=1, max_length=MAX_RULES)]
    history: dict[_Name, _ByRegion]
    fresh: dict[_Name, _ByRegion]
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    looks: Annotated[int, Field(ge=1, le=MAX_LOOKS)] = 1
    planned_looks: Annotated[int, Field(ge=1, le=MAX_LOOKS)] = 1
    paired: bool = False


_SHAPE = TypeAdapter(_Document)


def answer(text: bytes) -> dict[str, object]:
    """What to print for the document. Raises DocumentError."""
    document = read(_SHAPE, text)
    if document.looks > document.planned_looks:
        raise DocumentError(f"looks: {document.looks} is more than planned_looks, {document.planned_looks}")
    plan = Plan(confidence=document.confidence, looks=document.looks, planned_looks=document.planned_looks)
    comparisons = [_comparison(place, rule, document) for place, rule in enumerate(document.rules)]
    judgement = judge(comparisons, plan)
    return {
        "verdict": judgement.verdict.value,
        "rules": [told(rule, plan, paired=document.paired) for rule in judgement.rules],
    }


def _comparison(place: int, rule: _Rule, document: _Document) -> Comparison:
    min_change = _limit(place, rule.metric, "min_change", rule.min_change, rule.min_change_ms)
    max_value = _limit(place, rule.metric, "max_value", rule.max_value, rule.max_value_ms)
    if (rule.max_change_pct is None) == (max_value is None):
        raise DocumentError(f"rules[{place}]: needs one of max_change_pct and a greatest value")
    if min_change and max_value is not None:
        raise DocumentError(f"rules[{place}].min_change: belongs to max_change_pct; a greatest value has none")
    history, fresh = (
        _series(place, rule.metric, name, values)
        for name, values in (("history", document.history), ("fresh", document.fresh))
    )
    asked = Rule(
        metric=rule.metric,
        max_change_pct=rule.max_change_pct,
        min_change=min_change or 0.0,
        max_value=max_value,
        decides=rule.level == "fail",
    )
    return Comparison(rule=asked, history=history, fresh=fresh, paired=document.paired)


def _limit(place: int, metric: str, name: str, own: float | None, in_ms: float | None) -> float | None:
    """A limit in the metric's own unit, by whichever of its two names was used."""
    if in_ms is None:
        return own
    if not is_time(metric):
        raise DocumentError(f"rules[{place}].{name}_ms: {metric!r} is no time: give {name}, in its own unit")
    if own is not None:
        raise DocumentError(f"rules[{place}].{name}_ms: give {name}_ms or {name}, not both")
    return in_ms


def _series(
    place: int, metric: str, side: str, values: dict[str, dict[str, list[float | None]]]
) -> dict[str, list[float | None]]:
    """Under the rule's own name, or another name of the same metric. What was not measured is an error's business."""
    names = [name for name in values if name == metric or (canonical(name) and canonical(name) == canonical(metric))]
    if not names:
        raise DocumentError(f"{side}.{metric}: is missing, and rules[{place}] needs it")
    found = values[names[0]]
    if not offset_of(metric) and any(value == 0 for series in found.values() for value in series):
        raise DocumentError(f"{side}.{metric}: a value of 0 cannot be compared in per cent")
    return found


def told(judged: Judged, plan: Plan, *, paired: bool = False) -> dict[str, object]:
    """A judged rule as the API tells it."""
    rule = judged.rule
    head: dict[str, object] = {
        "metric": rule.metric,
        "verdict": judged.verdict.value,
        "level": "fail" if rule.decides else "warn",
        "limit_pct": rule.max_change_pct,
        "max_value": rule.max_value,
    }
    why: dict[str, object] = {"reason": judged.reason} if judged.reason else {}
    return head | why | (_told_found(rule.metric, judged.found, plan, paired=paired) if judged.found else {})


def _told_found(metric: str, found: Found, plan: Plan, *, paired: bool) -> dict[str, object]:
    return {
        "effective_limit_pct": None if found.limit_pct is None else round(found.limit_pct, 2),
        "change": _told_change(metric, found, plan, paired=paired),
        "value": {"value": round(found.value.value, 3), "ci": _bounds(found.value)},
        "baseline": None
        if found.before is None
        else {
            "n": found.before.runs,
            **_in_both_units("median", "median_ms", metric, found.before.typical),
            "robust_cv": round(found.robust_cv, 4),
            "batch_sd": round(found.batch_sd, 4),
        },
        "after": {
            "n": found.after.runs,
            **_in_both_units("median", "median_ms", metric, found.after.typical),
            "failed": found.failed,
        },
        "smallest_detectable_pct": round(found.smallest_detectable_pct, 2),
        "extra_runs_to_decide": found.extra_runs_to_decide,
        "regions": [
            {"region": part.region, "pct": round(part.pct.value, 2), "ci_pct": _bounds(part.pct)}
            for part in found.regions
        ],
        "left_out": list(found.left_out),
    }


def _told_change(metric: str, found: Found, plan: Plan, *, paired: bool) -> dict[str, object] | None:
    if found.pct is None or found.change is None:
        return None
    return {
        "pct": round(found.pct.value, 2),
        "ci_pct": _bounds(found.pct),
        **_in_both_units("change", "ms", metric, found.change),
        "confidence": plan.confidence,
        "p_value": float(f"{found.p_value:.3g}"),
        "method": method(plan.planned_looks, paired=paired),
    }


def _in_both_units(name: str, name_ms: str, metric: str, value: float) -> dict[str, float | None]:
    """In the metric's own unit, and in milliseconds if it is a time."""
    rounded = round(value, 3)
    return {name: rounded, name_ms: rounded if is_time(metric) else None}


def _bounds(interval: Interval) -> list[float]:
    return [round(interval.low, 3), round(interval.high, 3)]
