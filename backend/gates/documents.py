"""What is stored of a judged rule, and how it is read back: JSON in, frozen types out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backend.analysis.gate_types import Found, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """A value and how far it may be off."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionFound:
    region: str
    pct: Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    phase: str
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFound:
    """What runs said of a rule, in the metric's unit at the doors. `pct` is None where nothing is compared."""

    value: Bounds
    pct: Bounds | None
    limit_pct: float | None
    change: float | None
    p_value: float
    before_runs: int | None
    before: float | None
    after_runs: int
    after: float
    failed: int
    robust_cv: float
    batch_sd: float
    smallest_detectable_pct: float
    extra_runs_to_decide: int | None
    regions: tuple[RegionFound, ...]
    left_out: tuple[str, ...]
    grown: tuple[Grown, ...]


def found_document(found: Found) -> dict[str, Any]:
    """For the database."""
    return {
        "value": _document(found.value),
        "pct": None if found.pct is None else _document(found.pct),
        "limit_pct": found.limit_pct,
        "change": found.change,
        "p_value": found.p_value,
        "before_runs": None if found.before is None else found.before.runs,
        "before": None if found.before is None else found.before.typical,
        "after_runs": found.after.runs,
        "after": found.after.typical,
        "failed": found.failed,
        "robust_cv": found.robust_cv,
        "batch_sd": found.batch_sd,
        "smallest_detectable_pct": found.smallest_detectable_pct,
        "extra_runs_to_decide": found.extra_runs_to_decide,
        "regions": [{"region": part.region, "pct": _document(part.pct)} for part in found.regions],
        "left_out": list(found.left_out),
    }


def rule_found(document: Mapping[str, Any]) -> RuleFound:
    """Out of the database."""
    kept = {name: document[name] for name in RuleFound.__slots__ if name not in _NESTED}
    return RuleFound(
        value=Bounds(**document["value"]),
        pct=None if document["pct"] is None else Bounds(**document["pct"]),
        regions=tuple(RegionFound(region=part["region"], pct=Bounds(**part["pct"])) for part in document["regions"]),
        left_out=tuple(document["left_out"]),
        grown=tuple(Grown(**part) for part in document["grown"]),
        **kept,
    )


_NESTED = frozenset({"value", "pct", "regions", "left_out", "grown"})


def _document(interval: Interval) -> dict[str, float]:
    return {"value": interval.value, "low": interval.low, "high": interval.high}
