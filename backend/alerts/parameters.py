"""The kinds of rules and what of each can be set: one sentence for each fault. Pure.

Parameters are stored as the JSON that doors speak: durations in ms, as everywhere at doors.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from backend.alerts.judgement.budgets import Budget
from backend.alerts.judgement.certificates import DaysLeft
from backend.alerts.judgement.failures import FailureLimit
from backend.alerts.judgement.findings import FindingLimit
from backend.alerts.metrics import METRICS
from backend.analysis.user_timings import is_user_timing
from backend.faults import InvalidError
from backend.sites.followed import followed_fault
from workers.measurement.finding import FindingId, Severity

MAX_OF_LAST = 50
MAX_REGIONS = 50
MAX_INTERVALS = 100
# A day has one as a rule, and more where something changed.
MAX_DEEP_RUNS = 10
MAX_DELAY_S = 24 * 3600
# What a probe and a page have, that visitors feel and that rarely moves by itself.
DEFAULT_METRICS = ("ttfb_ms", "lcp_ms")
MAX_METRICS = 8

Json = Mapping[str, Any]
Faults = Iterator[tuple[str, str]]


class InvalidRuleError(InvalidError):
    """The rule cannot be as it was asked for. `faults` holds a sentence for each field at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfRule:
    """What of a kind can be set, its defaults, how it is checked, and what it is called."""

    label: str
    question: str
    defaults: Json
    faults: Callable[[Json], Faults]
    # What its incidents are about: rules of one cause share one incident of a site.
    cause: str
    severity: str
    of_organisation: bool = False


def checked(kind: str, given: Json) -> dict[str, Any]:
    """The complete parameters of a kind: what was given, the rest by default. Raises InvalidRuleError."""
    if kind not in KINDS:
        raise InvalidRuleError({"kind": f"There is no kind of rule {kind[:40]!r}; choose from {', '.join(KINDS)}."})
    known = KINDS[kind]
    faults = {
        f"params.{name[:40]}": f"{known.label} has no setting {name[:40]!r}; it has {_names(known)}."
        for name in given
        if name not in known.defaults
    }
    params = {**known.defaults, **{name: given[name] for name in known.defaults if name in given}}
    faults |= {f"params.{name}": sentence for name, sentence in known.faults(params)}
    if faults:
        raise InvalidRuleError(faults)
    return params


def failure_limit(params: Json) -> FailureLimit:
    return FailureLimit(failed=params["failed"], of_last=params["of_last"], regions=params["regions"])


def budget(params: Json) -> Budget:
    return Budget(
        metric=params["metric"],
        limit=params["limit"],
        critical_limit=params["critical_limit"],
        of_last=params["of_last"],
        regions=params["regions"],
    )


def days_left(params: Json) -> DaysLeft:
    return DaysLeft(warn=params["warn_days"], critical=params["critical_days"])


def finding_limit(params: Json) -> FindingLimit:
    return FindingLimit(
        min_severity=Severity(params["min_severity"]),
        ids=frozenset(params["ids"]),
        found=params["found"],
        of_last=params["of_last"],
        regions=params["regions"],
    )


def _names(kind: KindOfRule) -> str:
    return ", ".join(kind.defaults) or "none"


def _whole(params: Json, name: str, low: int, high: int) -> Faults:
    value = params[name]
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        yield name, f"{name} must be a whole number from {low} to {high}."


def _number(params: Json, name: str) -> Faults:
    value = params[name]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < 1e12:
        yield name, f"{name} must be a number above 0."


def _no_faults(params: Json) -> Faults:
    yield from ()


def _availability_faults(params: Json) -> Faults:
    if not isinstance(params["confirm"], bool):
        yield "confirm", "confirm must be true or false."


def _failure_faults(params: Json) -> Faults:
    wrong = [
        *_whole(params, "of_last", 1, MAX_OF_LAST),
        *_whole(params, "failed", 1, MAX_OF_LAST),
        *_whole(params, "regions", 1, MAX_REGIONS),
    ]
    yield from wrong
    if not wrong and params["failed"] > params["of_last"]:
        yield "failed", f"{params['failed']} of the last {params['of_last']} runs can never fail."


def _budget_faults(params: Json) -> Faults:
    yield from _metric_faults("metric", params["metric"])
    wrong = list(_number(params, "limit"))
    if params["critical_limit"] is not None:
        wrong += _number(params, "critical_limit")
        if not wrong and params["critical_limit"] <= params["limit"]:
            wrong.append(("critical_limit", "critical_limit must be above limit, or left out."))
    yield from wrong
    yield from _whole(params, "of_last", 1, MAX_OF_LAST)
    yield from _whole(params, "regions", 1, MAX_REGIONS)


def _metric_faults(name: str, metric: object) -> Faults:
    if isinstance(metric, str) and is_user_timing(metric):
        fault = followed_fault([metric])
        yield from [(name, fault)] if fault else []
    elif not isinstance(metric, str) or metric not in METRICS:
        shown = str(metric)[:40]
        known = ", ".join(METRICS)
        yield name, f"There is no metric {shown!r}; choose from {known}, or a user timing such as mark:hero-painted."


def _certificate_faults(params: Json) -> Faults:
    wrong = [*_whole(params, "warn_days", 1, 365), *_whole(params, "critical_days", 0, 364)]
    yield from wrong
    if not wrong and params["critical_days"] >= params["warn_days"]:
        yield "critical_days", "critical_days must be fewer than warn_days."


def _presence_faults(params: Json) -> Faults:
    yield from _whole(params, "intervals", 2, MAX_INTERVALS)


def _agent_faults(params: Json) -> Faults:
    yield from _whole(params, "silent_s", 90, 24 * 3600)


def _regression_faults(params: Json) -> Faults:
    metrics = params["metrics"]
    if not isinstance(metrics, list) or not 1 <= len(metrics) <= MAX_METRICS:
        yield "metrics", f"metrics must be a list of 1 to {MAX_METRICS} metrics."
    else:
        yield from next(([fault] for metric in metrics for fault in _metric_faults("metrics", metric)), [])
    value = params["min_change_pct"]
    if not isinstance(value, int | float) or isinstance(value, bool) or not 1 <= value <= 1_000:
        yield "min_change_pct", "min_change_pct must be a number from 1 to 1,000."
    if params["tell"] not in ("slowdown", "regression"):
        yield "tell", "tell must be slowdown (at once) or regression (once it has lasted)."


def _finding_faults(params: Json) -> Faults:
    if params["min_severity"] not in set(Severity):
        yield "min_severity", f"min_severity must be one of {', '.join(Severity)}."
    yield from _id_faults(params["ids"])
    wrong = [
        *_whole(params, "of_last", 1, MAX_DEEP_RUNS),
        *_whole(params, "found", 1, MAX_DEEP_RUNS),
        *_whole(params, "regions", 1, MAX_REGIONS),
    ]
    yield from wrong
    if not wrong and params["found"] > params["of_last"]:
        yield "found", f"{params['found']} of the last {params['of_last']} deep runs can never have it."


def _id_faults(ids: object) -> Faults:
    if not isinstance(ids, list) or len(ids) > len(FindingId):
        yield "ids", "ids must be a list of findings; an empty one means all."
        return
    unknown = [str(id)[:40] for id in ids if not isinstance(id, str) or id not in set(FindingId)]
    if unknown:
        yield "ids", f"There is no finding {unknown[0]!r}; they are {', '.join(FindingId)}."


KINDS: dict[str, KindOfRule] = {
    "availability": KindOfRule(
        label="Availability",
        question="Can the site be reached?",
        defaults={"confirm": True},
        faults=_availability_faults,
        cause="availability",
        severity="critical",
    ),
    "failures": KindOfRule(
        label="Failed runs",
        question="Did too many of the last runs fail?",
        defaults={"failed": 3, "of_last": 5, "regions": 1},
        faults=_failure_faults,
        cause="availability",
        severity="warning",
    ),
    "budget": KindOfRule(
        label="Budget",
        question="Is a metric over its limit?",
        defaults={"metric": "ttfb_ms", "limit": 800, "critical_limit": None, "of_last": 5, "regions": 1},
        faults=_budget_faults,
        cause="speed",
        severity="warning",
    ),
    "certificate": KindOfRule(
        label="Certificate",
        question="Does the certificate end soon?",
        defaults={"warn_days": 14, "critical_days": 3},
        faults=_certificate_faults,
        cause="certificate",
        severity="critical",
    ),
    "no_data": KindOfRule(
        label="No data",
        question="Did measurements stop although agents live?",
        defaults={"intervals": 3},
        faults=_presence_faults,
        cause="no_data",
        severity="warning",
    ),
    "regression": KindOfRule(
        label="Regression",
        question="Has the site become slower than it was?",
        defaults={"metrics": list(DEFAULT_METRICS), "min_change_pct": 5, "tell": "slowdown"},
        faults=_regression_faults,
        cause="speed",
        severity="warning",
    ),
    "finding": KindOfRule(
        label="Finding",
        question="Did a cause of slowness or failure appear?",
        defaults={"min_severity": "critical", "ids": [], "found": 2, "of_last": 2, "regions": 1},
        faults=_finding_faults,
        cause="finding",
        severity="critical",
    ),
    "cdn": KindOfRule(
        label="CDN slower than origin",
        question="Does the CDN make the site slower?",
        defaults={},
        faults=_no_faults,
        cause="cdn",
        severity="warning",
    ),
    "agent": KindOfRule(
        label="Silent region",
        question="Did all agents of a region stop?",
        defaults={"silent_s": 180},
        faults=_agent_faults,
        cause="agent",
        severity="warning",
        of_organisation=True,
    ),
}
# What a site begins with; an organisation begins with `agent`.
DEFAULTS_OF_SITE = ("availability", "certificate", "no_data", "regression", "finding", "cdn")
DEFAULTS_OF_ORGANISATION = ("agent",)
