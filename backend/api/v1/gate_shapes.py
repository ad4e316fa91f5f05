"""What is told of gates."""

from datetime import datetime
from uuid import UUID

from backend.alerts.metrics import metric_of
from backend.analysis.gate_types import method
from backend.api.v1.deploys import Deploy, deploy_shape
from backend.api.v1.shapes import Out
from backend.gates.documents import Bounds, RuleFound
from backend.gates.models import BaselineMode, Level, OnInconclusive, Phase, Status, Verdict
from backend.gates.models import Gate as GateRow
from backend.gates.queries import GateLine as LineView
from backend.gates.queries import GateView, RuleView
from backend.gates.report import markdown_report

# Sooner there is hardly ever anything new.
POLL_AFTER_S = 5


class GateChange(Out):
    """How much more than the baseline, with its one-sided bounds. `ms` is null for metrics that are no time.

    `change` is the same in the metric's own unit.
    """

    pct: float
    ci_pct: list[float]
    change: float | None
    ms: float | None
    confidence: float
    p_value: float
    method: str


class GateBaseline(Out):
    """What was compared with. `median` is in the metric's own unit, `median_ms` null where that is no time.

    `robust_cv` is how much single runs scatter, `batch_sd` how much whole batches do, both as parts of the value.
    """

    n: int
    median: float
    median_ms: float | None
    robust_cv: float
    batch_sd: float


class GateAfter(Out):
    """The fresh runs that count. `median` is the baseline's with the change, in the metric's own unit."""

    n: int
    median: float
    median_ms: float | None
    failed: int


class GateRegion(Out):
    region: str
    pct: float
    ci_pct: list[float]


class GateGrown(Out):
    """A phase that grew."""

    phase: str
    ms: float


class GateRule(Out):
    """A rule and what it came to. `verdict` is null until it is judged; `reason` says why it could not be.

    `effective_limit_pct` includes what does not count. `smallest_detectable_pct` is the smallest change that these runs
    can tell from none. `extra_runs_to_decide` is over all regions: 0 when it is decided, null when no number of runs
    decides it, or nothing is known yet.
    """

    metric: str
    monitor: UUID
    kind: str
    level: Level
    min_change: float
    max_value: float | None
    verdict: Verdict | None
    reason: str
    sentence: str
    limit_pct: float | None
    effective_limit_pct: float | None
    value: float | None
    value_ci: list[float] | None
    change: GateChange | None
    baseline: GateBaseline | None
    after: GateAfter | None
    smallest_detectable_pct: float | None
    extra_runs_to_decide: int | None
    grown: list[GateGrown]
    regions: list[GateRegion]


class GateAddress(Out):
    """The two addresses of a monitor: the release at `url` is compared with `baseline_url`."""

    monitor: UUID
    kind: str
    url: str
    baseline_url: str


class GateRuns(Out):
    """`planned` is what the present look needs, `looks` how many times it was judged."""

    planned: int
    completed: int
    failed: int
    discarded: int
    looks: int
    planned_looks: int
    duration_s: int | None


class GateLine(Out):
    """A gate in a list. `summary` is the verdict in words; where runs failed too often for one, it says with what."""

    id: UUID
    site: UUID
    status: Status
    phase: Phase
    verdict: Verdict | None
    exit_code: int | None
    conclusion: str | None
    summary: str
    deploy: Deploy | None
    created_at: datetime
    ended_at: datetime | None


class Gate(GateLine):
    """A question about a release and the answer so far.

    `exit_code` is 0 for pass, 1 for fail, 3 for inconclusive (or what `on_inconclusive` says) and 4 when it could not
    be measured; `conclusion` is `success`, `failure` or `neutral`. Both are null while it is open. `url` is its page.
    `addresses` are those that the mode `url` compares; where nothing scheduled measures the release yet, `deploy` is
    null and `release` is its name.
    """

    site_name: str
    regions: list[str]
    confidence: float
    on_inconclusive: OnInconclusive
    baseline_mode: BaselineMode
    baseline_gate: UUID | None
    addresses: list[GateAddress]
    release: str
    baseline_from: datetime | None
    baseline_to: datetime | None
    deadline: datetime
    rules: list[GateRule]
    runs: GateRuns
    warnings: list[str]
    markdown_report: str
    url: str
    poll_after_s: int


def line_shape(line: LineView) -> GateLine:
    return GateLine(
        **_head(line.gate),
        exit_code=line.exit_code,
        conclusion=line.conclusion,
        site=line.site.public_id,
        deploy=None if line.deploy is None else deploy_shape(line.deploy),
    )


def gate_shape(view: GateView, *, base_url: str) -> Gate:
    gate, url = view.gate, f"{base_url}/gates/{view.gate.public_id}/"
    return Gate(
        **_head(gate),
        exit_code=view.exit_code,
        conclusion=view.conclusion,
        site=view.site.public_id,
        site_name=view.site.name,
        deploy=None if view.deploy is None else deploy_shape(view.deploy),
        regions=list(gate.regions),
        confidence=gate.confidence,
        on_inconclusive=OnInconclusive(gate.on_inconclusive),
        baseline_mode=BaselineMode(gate.baseline_mode),
        baseline_gate=view.baseline_gate,
        addresses=[
            GateAddress(
                monitor=pair.monitor.public_id, kind=pair.monitor.kind, url=pair.after, baseline_url=pair.before
            )
            for pair in view.addresses
        ],
        release=release_name(view),
        baseline_from=gate.baseline_since,
        baseline_to=gate.baseline_until,
        deadline=gate.deadline,
        rules=[_rule(rule, gate, view.runs.planned_looks) for rule in view.rules],
        runs=_runs(view),
        warnings=list(gate.warnings),
        markdown_report=markdown_report(view, url=url),
        url=url,
        poll_after_s=POLL_AFTER_S if gate.is_open else 0,
    )


def release_name(view: GateView) -> str:
    """What the release is called; empty when nobody said."""
    return view.gate.release if view.deploy is None else view.deploy.version or view.deploy.external_id


def _head(gate: GateRow) -> dict[str, object]:
    return {
        "id": gate.public_id,
        "status": Status(gate.status),
        "phase": Phase(gate.phase),
        "verdict": Verdict(gate.verdict) if gate.verdict else None,
        "summary": gate.summary,
        "created_at": gate.created_at,
        "ended_at": gate.ended_at,
    }


def _rule(view: RuleView, gate: GateRow, looks: int) -> GateRule:
    rule, found = view.rule, view.found
    return GateRule(
        metric=rule.metric,
        monitor=view.monitor.public_id,
        kind=view.monitor.kind,
        level=Level(rule.level),
        min_change=rule.min_change,
        max_value=rule.max_value,
        verdict=Verdict(rule.verdict) if rule.verdict else None,
        reason=rule.reason,
        sentence=view.sentence,
        limit_pct=rule.max_change_pct,
        effective_limit_pct=found and _rounded(found.limit_pct),
        value=found and round(found.value.value, 3),
        value_ci=found and _ci(found.value),
        change=found and _change(found, gate, rule.metric, looks),
        baseline=found and _baseline(found, rule.metric),
        after=found
        and GateAfter(
            n=found.after_runs,
            median=round(found.after, 3),
            median_ms=_ms(rule.metric, found.after),
            failed=found.failed,
        ),
        smallest_detectable_pct=found and round(found.smallest_detectable_pct, 2),
        extra_runs_to_decide=found and found.extra_runs_to_decide,
        grown=[GateGrown(phase=part.phase, ms=part.ms) for part in found.grown] if found else [],
        regions=[
            GateRegion(region=part.region, pct=round(part.pct.value, 2), ci_pct=_ci(part.pct)) for part in found.regions
        ]
        if found
        else [],
    )


def _change(found: RuleFound, gate: GateRow, metric: str, looks: int) -> GateChange | None:
    if found.pct is None:
        return None
    return GateChange(
        pct=round(found.pct.value, 2),
        ci_pct=_ci(found.pct),
        change=None if found.change is None else round(found.change, 3),
        ms=_ms(metric, found.change),
        confidence=gate.confidence,
        p_value=float(f"{found.p_value:.3g}"),
        method=method(looks, paired=gate.baseline_mode == BaselineMode.URL),
    )


def _baseline(found: RuleFound, metric: str) -> GateBaseline | None:
    if found.before is None or found.before_runs is None:
        return None
    return GateBaseline(
        n=found.before_runs,
        median=round(found.before, 3),
        median_ms=_ms(metric, found.before),
        robust_cv=round(found.robust_cv, 4),
        batch_sd=round(found.batch_sd, 4),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _ms(metric: str, value: float | None) -> float | None:
    return round(value, 3) if value is not None and metric_of(metric).is_time else None


def _ci(bounds: Bounds) -> list[float]:
    return [round(bounds.low, 3), round(bounds.high, 3)]


def _runs(view: GateView) -> GateRuns:
    runs = view.runs
    return GateRuns(
        planned=runs.planned,
        completed=runs.completed,
        failed=runs.failed,
        discarded=runs.discarded,
        looks=runs.looks,
        planned_looks=runs.planned_looks,
        duration_s=view.duration_s,
    )
