"""Runs as the API tells them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from backend.api.v1.finding_shapes import (
    CheckedColumn,
    FoundCause,
    OpenQuestion,
    ToldCause,
    checklist_of,
    found_of,
    question_of,
    told_of,
)
from backend.api.v1.shapes import Bytes, Ms, Out
from backend.fleet.models import Region
from backend.runs.agents import has_picture
from backend.runs.failed import failure_of
from backend.runs.models import Outcome, PendingRun, Trigger
from backend.runs.models import Run as RunRow
from backend.runs.queries import Asked, ListedRun, RunState, state_of
from backend.runs.queries import FoundCause as FoundRow
from backend.runs.queries import RunDetail as Detail
from backend.sites.models import Monitor, MonitorKind
from workers.diagnosis.catalogue.failures import advice_on
from workers.measurement import timing
from workers.measurement.document import milliseconds
from workers.measurement.evidence import Depth
from workers.measurement.failure import Blame, FailureKind, Stage
from workers.measurement.finding import Diagnosis
from workers.measurement.messages import MissedReason
from workers.measurement.routes import PictureKind


class Phases(Out):
    """Of a page's own request, or a probe's last hop. `connect` never contains `tls`. `ttfb` and `total` are until its
    first and last byte, with the redirects before it.
    """

    dns_ms: Ms | None
    connect_ms: Ms | None
    tls_ms: Ms | None
    send_ms: Ms | None
    wait_ms: Ms | None
    download_ms: Ms | None
    ttfb_ms: Ms | None
    total_ms: Ms | None


class Metrics(Out):
    """What else was measured. Paint, layout and load are of pages only."""

    rtt_ms: Ms | None
    tls_round_trips: int | None
    fcp_ms: Ms | None
    lcp_ms: Ms | None
    cls: float | None
    load_ms: Ms | None
    fully_loaded_ms: Ms | None
    start_render_ms: Ms | None
    speed_index: Ms | None
    visually_complete_ms: Ms | None
    tbt_ms: Ms | None
    requests: int | None
    connections: int | None
    bytes: Bytes | None


class Failure(Out):
    """Why the target could not be measured: how far it had come, what it was, and whom to blame.

    `advice` is what to look at, in the words of the run's page; null where `detail` says it all.
    """

    kind: FailureKind
    stage: Stage
    blame: Blame
    detail: str
    advice: str | None


class Run(Out):
    """`state` is a stage while it has not ended, and `outcome` null; then `done`, `failed` or `missed`.

    `scheduled_for` is the slot: what orders runs. `late` says that the result came after its slot was given up.
    `url` is what it asked for, whatever its monitor asks for since, and `other_url` that of a pair's origin; null where
    nobody knows any more. `depth` is how deep a probe looked, null for pages and for what saw nothing. `findings` are
    in the order in which to mend them; in lists those of light probes leave out mere information.

    `profile_verified` tells of a run with a network profile whether its network kept the numbers, null for all others.
    Where it is false, phases and metrics that a network has part in are null: they are no one's, and enter no chart,
    baseline, rule or gate. The waterfall has what was seen. `contended` tells whether other work of the agent's machine
    kept its browser or its probe waiting so long that the times are not the target's: they enter no baseline and no
    rule, and no gate fails by them alone. Null where nobody knows. `timings` are the user timings that the monitor
    followed when the result came, null where the page did not tell it.
    """

    id: UUID
    site_id: UUID
    monitor_id: UUID
    kind: MonitorKind
    region: str
    url: str | None
    other_url: str | None
    trigger: Trigger
    state: RunState
    outcome: Outcome | None
    scheduled_for: datetime
    started_at: datetime | None
    received_at: datetime | None
    attempt: int
    late: bool
    status: int | None
    protocol: str | None
    phases: Phases
    metrics: Metrics
    timings: dict[str, Ms | None]
    failure: Failure | None
    missed_reason: MissedReason | None
    depth: Depth | None
    profile_verified: bool | None
    contended: bool | None
    findings: tuple[FoundCause, ...]


class Links(Out):
    """Where the rest is. A picture's is null when there is none."""

    site: str
    monitor: str
    waterfall: str
    har: str
    screenshot: str | None
    film: str | None
    newer: str | None
    older: str | None
    page: str


class RunDetail(Run):
    """`clock` says who stamped the arrivals. `links.page` is for people.

    `findings`, `not_judged` and the `checklist` are what today's rules make of what was seen; a page has no checklist.
    """

    findings: tuple[ToldCause, ...]
    not_judged: list[OpenQuestion]
    checklist: list[CheckedColumn]

    agent: str | None
    agent_version: str | None
    browser_version: str | None
    clock: str | None
    config_version: int | None
    duration_ms: Ms | None
    links: Links


def run_of(listed: ListedRun, asked: Asked | None, found: Sequence[FoundRow]) -> Run:
    """A run of a list, with the rows of its findings."""
    fields = _fields(listed.run, listed.monitor, listed.region, asked)
    return Run(**fields, findings=tuple(found_of(one) for one in found))


def detail_of(detail: Detail, asked: Asked | None, diagnosis: Diagnosis) -> RunDetail:
    """One run that has ended, and what is made of its evidence."""
    run = detail.run
    return RunDetail(
        **_fields(run, detail.monitor, detail.region, asked),
        findings=tuple(told_of(finding) for finding in diagnosis.findings),
        not_judged=[question_of(one) for one in diagnosis.not_judged],
        checklist=checklist_of(diagnosis),
        agent=run.agent,
        agent_version=run.agent_version,
        browser_version=run.browser_version,
        clock=run.clock,
        config_version=run.config_version,
        duration_ms=milliseconds(run.duration_us),
        links=_links(
            detail.monitor,
            run.run_id,
            newer=detail.newer,
            older=detail.older,
            pictures=frozenset(kind for kind in PictureKind if has_picture(run, kind)),
        ),
    )


def pending_of(run: PendingRun, asked: Asked | None) -> RunDetail:
    """One run that has not ended: all that will be measured is null."""
    return RunDetail(
        **_place(run.run_id, run.monitor, run.region, asked),
        trigger=Trigger(run.trigger),
        state=state_of(run.stage),
        outcome=None,
        scheduled_for=run.scheduled_for,
        started_at=None,
        received_at=None,
        attempt=run.attempt,
        late=False,
        status=None,
        protocol=None,
        phases=Phases(**dict.fromkeys(Phases.model_fields)),
        metrics=Metrics(**dict.fromkeys(Metrics.model_fields)),
        timings={},
        failure=None,
        missed_reason=None,
        depth=None,
        profile_verified=None,
        contended=None,
        findings=(),
        not_judged=[],
        checklist=[],
        agent=run.agent or None,
        agent_version=None,
        browser_version=None,
        clock=None,
        config_version=None,
        duration_ms=None,
        links=_links(run.monitor, run.run_id, newer=None, older=None, pictures=frozenset()),
    )


def _place(run_id: UUID, monitor: Monitor, region: Region, asked: Asked | None) -> dict[str, Any]:
    return {
        "id": run_id,
        "site_id": monitor.site.public_id,
        "monitor_id": monitor.public_id,
        "kind": MonitorKind(monitor.kind),
        "region": region.code,
        "url": None if asked is None else asked.url,
        "other_url": None if asked is None or asked.other is None else asked.other.url,
    }


def _fields(run: RunRow, monitor: Monitor, region: Region, asked: Asked | None) -> dict[str, Any]:
    return _place(run.run_id, monitor, region, asked) | {
        "trigger": Trigger(run.trigger),
        "state": state_of(run.outcome),
        "outcome": Outcome(run.outcome),
        "scheduled_for": run.scheduled_for,
        "started_at": run.started_at,
        "received_at": run.received_at,
        "attempt": run.attempt,
        "late": run.late,
        "status": run.status_code,
        "protocol": run.protocol,
        "phases": phases_shape(run),
        "metrics": _metrics(run),
        "timings": {timing: milliseconds(us) for timing, us in (run.timings or {}).items()},
        "failure": _failure(run),
        "missed_reason": None if run.missed_reason is None else MissedReason(run.missed_reason),
        "depth": Depth(run.depth) if run.depth is not None and run.kind == MonitorKind.PROBE else None,
        "profile_verified": run.profile_verified,
        "contended": run.contended,
    }


def numbers_of(run: RunRow) -> dict[str, float | None]:
    """Phases and metrics, by their names."""
    return {**phases_shape(run).model_dump(), **_metrics(run).model_dump()}


def phases_shape(run: RunRow | timing.Phases) -> Phases:
    return Phases(
        dns_ms=milliseconds(run.dns_us),
        connect_ms=milliseconds(run.connect_us),
        tls_ms=milliseconds(run.tls_us),
        send_ms=milliseconds(run.send_us),
        wait_ms=milliseconds(run.wait_us),
        download_ms=milliseconds(run.download_us),
        ttfb_ms=milliseconds(run.ttfb_us),
        total_ms=milliseconds(run.total_us),
    )


def _metrics(run: RunRow) -> Metrics:
    return Metrics(
        rtt_ms=milliseconds(run.rtt_us),
        tls_round_trips=run.tls_round_trips,
        fcp_ms=milliseconds(run.fcp_us),
        lcp_ms=milliseconds(run.lcp_us),
        cls=run.cls,
        load_ms=milliseconds(run.load_us),
        fully_loaded_ms=milliseconds(run.fully_loaded_us),
        start_render_ms=milliseconds(run.start_render_us),
        speed_index=milliseconds(run.speed_index_us),
        visually_complete_ms=milliseconds(run.visually_complete_us),
        tbt_ms=milliseconds(run.tbt_us),
        requests=run.requests,
        connections=run.connections,
        bytes=run.bytes,
    )


def _failure(run: RunRow) -> Failure | None:
    failed = failure_of(run.failure_kind, run.failure_stage, run.failure_blame, run.failure_detail)
    if failed is None:
        return None
    return Failure(
        kind=failed.kind,
        stage=failed.stage,
        blame=failed.blame,
        detail=failed.detail,
        advice=advice_on(failed) or None,
    )


def _links(
    monitor: Monitor, run_id: UUID, *, newer: UUID | None, older: UUID | None, pictures: frozenset[PictureKind]
) -> Links:
    here = f"/api/v1/runs/{run_id}"
    return Links(
        site=f"/api/v1/sites/{monitor.site.public_id}",
        monitor=f"/api/v1/monitors/{monitor.public_id}",
        waterfall=f"{here}/waterfall",
        har=f"{here}/har",
        screenshot=f"{here}/screenshot" if PictureKind.SCREENSHOT in pictures else None,
        film=f"{here}/film" if PictureKind.FILM in pictures else None,
        newer=None if newer is None else f"/api/v1/runs/{newer}",
        older=None if older is None else f"/api/v1/runs/{older}",
        page=f"{settings.BASE_URL}/runs/{run_id}/",
    )
