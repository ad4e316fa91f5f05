"""Gates: may this release go out? Fresh runs against history or another address, and a verdict to act on."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated
from uuid import UUID

from django.conf import settings
from ninja import Router, Status
from pydantic import Field, StringConstraints

from backend.accounts.permissions import Permission, Scope
from backend.alerts.metrics import METRICS
from backend.analysis.gate_metrics import canonical
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.deploys import DeployOfPipeline, OfSite, SiteName, faults_of, site_called
from backend.api.v1.gate_shapes import Gate, GateLine, gate_shape, line_shape
from backend.api.v1.paging import Cursor, Limit, moment_of, page_of
from backend.api.v1.problems import INVALID, LIMIT_REACHED, ProblemError, existing
from backend.api.v1.shapes import In, Page, RegionCode, Url
from backend.api.v1.waiting import Wait, wait_for
from backend.gates import actions, queries
from backend.gates.actions import GateLimitError
from backend.gates.addresses import MAX_NAMED, Address, MonitorUrl
from backend.gates.models import BaselineMode, Level, OnInconclusive, Phase
from backend.gates.models import Gate as GateRow
from backend.gates.questions import (
    CONFIDENCE_RANGE,
    MAX_DISCARD,
    MAX_MONITORS,
    MAX_REGIONS,
    MAX_RULES,
    RUNS_RANGE,
    SAMPLES_RANGE,
    TIMEOUT_RANGE_S,
    AskedRule,
    Baseline,
    InvalidGateError,
    Question,
    Runs,
)
from backend.sites.followed import MAX_TIMING_CHARS

router = Router(tags=["Gates"])

READ = needs(Scope.READ, Scope.GATES)
ASK = needs(Scope.GATES, permission=Permission.EDIT_SITES)

MonitorName = Annotated[str, StringConstraints(min_length=1, max_length=40)]
Monitors = Annotated[
    list[MonitorName], Field(max_length=MAX_MONITORS, description="Ids of monitors, or `probe` and `page`.")
]
Number = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


class NewGateRule(In):
    """A limit for a metric (`ttfb` or `ttfb_ms`): how much it may change, or its greatest value. A user timing that the
    page follows is one too, such as `mark:hero-painted`.

    `min_change_ms` belongs to `max_change_pct` and is the least change that counts: where none is given, 10 of
    blocking, 1 of DNS, TCP, TLS, download and of a page's own measures, any of the rest. For metrics that are no time
    there are `min_change` and `max_value`, in the metric's own unit, and only these. A rule of level `warn` is told and
    changes no verdict.
    """

    metric: Annotated[str, StringConstraints(min_length=1, max_length=MAX_TIMING_CHARS)]
    max_change_pct: Annotated[float, Field(gt=0, le=1_000, allow_inf_nan=False)] | None = None
    min_change_ms: Number | None = None
    min_change: Number | None = None
    max_value_ms: Number | None = None
    max_value: Number | None = None
    level: Level = Level.FAIL
    monitors: Monitors = []


class NewMonitorUrl(In):
    """The whole URL that a monitor, by its id, `probe` or `page`, is measured at."""

    monitor: MonitorName
    url: Url


MonitorUrls = Annotated[list[NewMonitorUrl], Field(max_length=MAX_NAMED)]


class NewAddress(In):
    """Where a release is reached: `url` in place of the monitors' own server, their path and query stay; or `urls`.

    What is not said is the monitors' own. Only for a baseline of the mode `url`. Request headers of a monitor are sent
    to its own server only.
    """

    url: Url | None = None
    urls: MonitorUrls = []


class NewBaseline(In):
    """`history`: scheduled runs in a window before the deploy. `gate`: the runs of an earlier gate, by its id.

    `url`: runs of another address, in turns with those of the release: `url` in place of the monitors' own server, or
    `urls`. Window and samples are those of the mode `history`.
    """

    mode: BaselineMode = BaselineMode.HISTORY
    window: Annotated[str, StringConstraints(pattern="^[1-9][0-9]{0,4}[mhd]$")] = "24h"
    min_samples: Annotated[int, Field(ge=SAMPLES_RANGE[0], le=SAMPLES_RANGE[1])] = 60
    gate: UUID | None = None
    url: Url | None = None
    urls: MonitorUrls = []


class NewRuns(In):
    """So many runs a region, doubled until it is decided. The first runs of each region only warm caches."""

    per_region: Annotated[int, Field(ge=RUNS_RANGE[0], le=RUNS_RANGE[1])] = 3
    max_per_region: Annotated[int, Field(ge=RUNS_RANGE[0], le=RUNS_RANGE[1])] = 12
    discard_first: Annotated[int, Field(ge=0, le=MAX_DISCARD)] = 1
    regions: Annotated[
        list[RegionCode],
        Field(max_length=MAX_REGIONS, description="Empty: wherever the monitors measure and an agent has joined."),
    ] = []


class NewGate(In):
    """A question about a release. The release itself is remembered as a deploy.

    `phase` `before` only measures, for a later gate to compare with. `callback_url` is told how it ended. `pages` are
    the same as `monitors`; a `profile` must be the one that they measure with.
    """

    site: SiteName
    rules: Annotated[list[NewGateRule], Field(min_length=1, max_length=MAX_RULES)]
    monitors: Monitors = []
    pages: Monitors = []
    profile: Annotated[str, StringConstraints(max_length=40)] | None = None
    deploy: DeployOfPipeline = Field(default_factory=DeployOfPipeline)
    phase: Phase = Phase.AFTER
    baseline: NewBaseline = Field(default_factory=NewBaseline)
    release: NewAddress = Field(default_factory=NewAddress)
    runs: NewRuns = Field(default_factory=NewRuns)
    confidence: Annotated[float, Field(ge=CONFIDENCE_RANGE[0], le=CONFIDENCE_RANGE[1])] = 0.95
    on_inconclusive: OnInconclusive = OnInconclusive.INCONCLUSIVE
    timeout_s: Annotated[int, Field(ge=TIMEOUT_RANGE_S[0], le=TIMEOUT_RANGE_S[1])] = 600
    callback_url: Annotated[str, StringConstraints(min_length=1, max_length=2_000)] | None = None


@router.get("/gates", auth=READ, response=Page[GateLine])
def list_gates(request: ApiRequest, site: OfSite = "", limit: Limit = 50, cursor: Cursor = "") -> Page[GateLine]:
    """Gates, the newest first."""
    before = moment_of(request, cursor)
    of_site = site_called(request, site, pointer="?site") if site else None
    rows = queries.gates(request.caller.organisation, site=of_site, before=before, limit=limit + 1)
    return page_of(
        request,
        rows,
        Page[GateLine],
        limit=limit,
        shape=line_shape,
        key=lambda row: [row.gate.created_at.isoformat(), row.gate.pk],
    )


@router.post("/gates", auth=ASK, response={202: Gate})
def create_gate(request: ApiRequest, gate: NewGate) -> Status[Gate]:
    """Begins a gate. Ask for it with `?wait=60` until its status is `done`, `timeout` or `cancelled`."""
    caller = request.caller
    site = site_called(request, gate.site, pointer="#/site")
    try:
        _refuse_other_units(gate)
        made = actions.create_gate(
            actor=caller.actor,
            organisation=caller.organisation,
            site=site,
            question=_question(gate),
            token_name=caller.token.name if caller.token else "",
        )
    except InvalidGateError as error:
        raise ProblemError(
            INVALID, faults=faults_of(_in_words_of(gate, error.faults), {"external_id": "id"})
        ) from error
    except GateLimitError as error:
        raise ProblemError(LIMIT_REACHED, str(error)) from error
    request.out["Location"] = f"/api/v1/gates/{made.public_id}"
    return Status(202, _shown(request, made.public_id))


@router.get("/gates/{uuid:gate_id}", auth=READ, response=Gate)
def get_gate(request: ApiRequest, gate_id: UUID, wait: Wait = 0) -> Gate:
    """One gate with all that it has found so far. `?wait=` answers as soon as it has ended."""
    wait_for(lambda: _owned(request, gate_id), lambda gate: not gate.is_open, wait_s=wait)
    return _shown(request, gate_id)


@router.post("/gates/{uuid:gate_id}/cancel", auth=ASK, response=Gate)
def cancel_gate(request: ApiRequest, gate_id: UUID) -> Gate:
    """Ends a gate without a verdict. One that has ended stays as it is."""
    actions.cancel_gate(actor=request.caller.actor, gate=_owned(request, gate_id))
    return _shown(request, gate_id)


def _owned(request: ApiRequest, gate_id: UUID) -> GateRow:
    return existing(queries.gate(request.caller.organisation, gate_id), "There is no such gate.")


def _shown(request: ApiRequest, gate_id: UUID) -> Gate:
    view = existing(queries.gate_view(request.caller.organisation, gate_id), "There is no such gate.")
    return gate_shape(view, base_url=settings.BASE_URL)


def _question(gate: NewGate) -> Question:
    window = gate.baseline.window
    return Question(
        rules=tuple(_rule(rule) for rule in gate.rules),
        monitors=tuple(dict.fromkeys([*gate.monitors, *gate.pages])),
        profile=gate.profile or "",
        deploy=gate.deploy.marker(),
        phase=gate.phase,
        baseline=Baseline(
            mode=gate.baseline.mode,
            window=int(window[:-1]) * _UNITS[window[-1]],
            min_samples=gate.baseline.min_samples,
            gate=gate.baseline.gate,
            address=_address(gate.baseline.url, gate.baseline.urls),
        ),
        release=_address(gate.release.url, gate.release.urls),
        runs=Runs(
            per_region=gate.runs.per_region,
            max_per_region=gate.runs.max_per_region,
            discard_first=gate.runs.discard_first,
            regions=tuple(gate.runs.regions),
        ),
        confidence=gate.confidence,
        on_inconclusive=gate.on_inconclusive,
        timeout_s=gate.timeout_s,
        callback_url=gate.callback_url or "",
    )


def _address(base: str | None, urls: Sequence[NewMonitorUrl]) -> Address:
    named = tuple(MonitorUrl(monitor=one.monitor, url=one.url) for one in urls)
    return Address(base=base or "", urls=named)


def _rule(rule: NewGateRule) -> AskedRule:
    return AskedRule(
        metric=rule.metric,
        max_change_pct=rule.max_change_pct,
        min_change=(rule.min_change_ms if rule.min_change_ms is not None else rule.min_change) or 0.0,
        max_value=rule.max_value_ms if rule.max_value_ms is not None else rule.max_value,
        level=rule.level,
        monitors=tuple(rule.monitors),
    )


def _refuse_other_units(gate: NewGate) -> None:
    """Raises InvalidGateError."""
    faults = {
        f"rules/{place}/{name}_ms": fault
        for place, rule in enumerate(gate.rules)
        for name in ("min_change", "max_value")
        if (fault := _unit_fault(rule, name))
    }
    if faults:
        raise InvalidGateError(faults)


def _unit_fault(rule: NewGateRule, name: str) -> str | None:
    """What is wrong with a limit in milliseconds, where one was sent."""
    if getattr(rule, f"{name}_ms") is None:
        return None
    metric = METRICS.get(canonical(rule.metric) or "")
    if metric is not None and not metric.is_time:
        return f"{metric.name!r} is no time: give {name}, in its own unit."
    return None if getattr(rule, name) is None else f"Give {name}_ms or {name}, not both."


def _in_words_of(gate: NewGate, faults: dict[str, str]) -> dict[str, str]:
    """Under the names that were used: `max_value_ms` and `min_change_ms` are the same fields in milliseconds.

    `pages` are the same as `monitors`, which are named where both were sent.
    """
    told = {}
    for path, fault in faults.items():
        first, *rest = path.split("/")
        if first == "rules" and len(rest) == 2 and getattr(gate.rules[int(rest[0])], f"{rest[1]}_ms", None) is not None:
            path += "_ms"
        if path == "monitors" and not gate.monitors:
            path = "pages" if gate.pages else path
        told[path] = fault
    return told
