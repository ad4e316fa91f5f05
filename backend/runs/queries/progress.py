"""Where runs are that a person waits for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q

from backend.accounts.models import Organisation
from backend.runs.early import early_from
from backend.runs.models import Outcome
from backend.runs.sql import fetch
from backend.sites.models import Site
from workers.measurement.messages import Early, Kind, ProgressStage
from workers.measurement.timing import Phases

MAX_RUNS = 100
# How many runs one agent carries out at once, for the estimate: test-now pages have a browser of their own.
_SLOTS = {Kind.PROBE: 200, Kind.PAGE: 1, Kind.PAIR: 200}
_SAMPLE = 20
_SAMPLE_PERIOD = timedelta(hours=1)

# `asked` is the id that the person was given; a second attempt answers to it too.
_PROGRESS = """
WITH asked AS (SELECT * FROM unnest(%(runs)s::uuid[]) WITH ORDINALITY AS asked (run_id, place)), found AS (
    SELECT asked.place, asked.run_id AS asked_id, p.run_id, p.monitor_id, p.region_id, p.kind, p.stage AS state,
        p.requests, p.phases, NULL::text AS reason, p.created_at, p.urgent,
        p.agent = '' AND p.stage = 'queued' AS queued
    FROM asked CROSS JOIN LATERAL (
        SELECT * FROM runs_pendingrun WHERE runs_pendingrun.run_id = asked.run_id
        UNION ALL SELECT * FROM runs_pendingrun WHERE runs_pendingrun.first_run_id = asked.run_id
    ) p
    UNION ALL
    SELECT asked.place, asked.run_id, run.run_id, run.monitor_id, run.region_id, run.kind, run.outcome,
        run.requests, NULL, coalesce(run.failure_detail, run.missed_reason), run.received_at, NULL, false
    FROM asked CROSS JOIN LATERAL (
        SELECT * FROM runs_run WHERE runs_run.run_id = asked.run_id
        UNION ALL SELECT * FROM runs_run WHERE runs_run.first_run_id = asked.run_id
    ) run
)
SELECT found.asked_id, found.run_id, found.kind, r.code, r.name, found.state, found.requests, found.phases::text,
    found.reason, found.created_at,
    CASE WHEN queued THEN 1 + (
        SELECT count(*) FROM runs_pendingrun ahead WHERE ahead.region_id = found.region_id AND ahead.kind = found.kind
            AND ahead.urgent = found.urgent AND ahead.stage = 'queued' AND ahead.agent = ''
            AND (ahead.created_at, ahead.run_id) < (found.created_at, found.run_id)
    ) END,
    CASE WHEN found.urgent IS NOT NULL THEN (
        SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_us) FROM (
            SELECT duration_us FROM runs_run WHERE runs_run.region_id = found.region_id AND runs_run.kind = found.kind
                AND scheduled_for >= %(since)s AND scheduled_for <= %(now)s AND duration_us IS NOT NULL LIMIT %(sample)s
        ) sample
    ) END
FROM found JOIN fleet_region r ON r.id = found.region_id
JOIN sites_monitor m ON m.id = found.monitor_id JOIN sites_site s ON s.id = m.site_id
WHERE s.organisation_id = %(organisation)s
ORDER BY found.place
"""


class RunState(StrEnum):
    """How far a run is, or how it ended."""

    QUEUED = "queued"
    STARTING = "starting"
    CONNECTING = "connecting"
    LOADING = "loading"
    COMPUTING = "computing"
    DONE = "done"
    FAILED = "failed"
    MISSED = "missed"

    @property
    def ended(self) -> bool:
        return self in (RunState.DONE, RunState.FAILED, RunState.MISSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """A run, pending or ended. `asked_id` was given when it was started; `run_id` is that of its attempt now.

    `queue_place` counts from 1 while it is queued; `about_s` is a guess of what is left. `reason` says why it failed or
    was missed. `since` is when it was started, or when its result came. `early` is what a probe knows that is looking
    deeper; one that has ended has it in its result.
    """

    asked_id: UUID
    run_id: UUID
    kind: str
    region: str
    region_name: str
    state: RunState
    requests: int | None
    reason: str | None
    since: datetime
    queue_place: int | None
    about_s: int | None
    early: Early | None = None

    @property
    def phases(self) -> Phases | None:
        """Those that are known of a probe that is looking deeper."""
        return None if self.early is None else self.early.phases


def progress(organisation: Organisation, run_ids: Sequence[UUID], *, now: datetime) -> list[RunProgress]:
    """The runs in the order asked, at most 100; unknown ones and those of others are left out. One statement."""
    parameters = {
        "runs": list(run_ids[:MAX_RUNS]),
        "organisation": organisation.pk,
        "now": now,
        "since": now - _SAMPLE_PERIOD,
        "sample": _SAMPLE,
    }
    lines: dict[UUID, RunProgress] = {}
    for line in (_line(_Row(*row)) for row in fetch(_PROGRESS, parameters)):
        known = lines.get(line.asked_id)
        # Both attempts may be there when the first came late after all: what has ended is what the person waits for.
        if known is None or not known.state.ended:
            lines[line.asked_id] = line
    return list(lines.values())


def site_of_pending(organisation: Organisation, run_id: UUID) -> Site | None:
    """The site of a run that has not ended; None when there is no such run in the organisation. One statement."""
    is_it = Q(monitors__pending_runs__run_id=run_id) | Q(monitors__pending_runs__first_run_id=run_id)
    return Site.objects.filter(is_it, organisation=organisation).first()


class _Row(NamedTuple):
    asked_id: UUID
    run_id: UUID
    kind: str
    region: str
    region_name: str
    state: str
    requests: int | None
    phases: str | None
    reason: str | None
    since: datetime
    queue_place: int | None
    median_us: int | None


def _line(row: _Row) -> RunProgress:
    return RunProgress(
        asked_id=row.asked_id,
        run_id=row.run_id,
        kind=row.kind,
        region=row.region,
        region_name=row.region_name,
        state=state_of(row.state),
        requests=row.requests,
        early=early_from(row.phases) if row.kind == Kind.PROBE else None,
        reason=row.reason,
        since=row.since,
        queue_place=row.queue_place,
        about_s=_about_s(row),
    )


def state_of(word: str) -> RunState:
    """From a stage of a pending run or the outcome of one that has ended."""
    if word == ProgressStage.DONE:
        # The last word of an agent whose result is still on its way.
        return RunState.COMPUTING
    return RunState.DONE if word == Outcome.MEASURED else RunState(word)


def _about_s(row: _Row) -> int | None:
    if row.median_us is None:
        return None
    rounds = ceil((row.queue_place or 1) / _SLOTS[Kind(row.kind)])
    return max(1, ceil(rounds * row.median_us / 1_000_000))
