"""Runs as a table, one row each: what people take into spreadsheets and notebooks."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from backend.accounts.models import Organisation
from backend.runs.models import Run
from backend.runs.queries import Asked, ListedRun, RunFilter, listed_runs
from backend.sites.models import MonitorKind
from backend.spreadsheets import Cell
from workers.measurement.document import milliseconds

# As many are read at once, in three to eight statements. A row takes two kilobytes while it is made.
AT_ONCE = 2_000

AskedOf = Callable[[Sequence[Run]], Mapping[UUID, Asked]]
_PHASES = ("dns", "connect", "tls", "send", "wait", "download", "ttfb", "total")
_PAINTS = ("fcp", "lcp", "load", "fully_loaded", "start_render", "speed_index", "visually_complete", "tbt")
_DURATIONS = (*_PHASES, "rtt", *_PAINTS)
_AS_THEY_ARE = (
    "tls_round_trips",
    "cls",
    "requests",
    "connections",
    "bytes",
    "failure_kind",
    "failure_stage",
    "failure_blame",
    "failure_detail",
    "missed_reason",
    "profile_verified",
    "contended",
    "agent",
    "agent_version",
    "browser_version",
)
COLUMNS = (
    "run_id",
    "site_id",
    "site",
    "monitor_id",
    "kind",
    "region",
    "url",
    "other_url",
    "trigger",
    "outcome",
    "scheduled_for",
    "started_at",
    "received_at",
    "attempt",
    "late",
    "status",
    "protocol",
    "depth",
    *(f"{name}_ms" for name in _DURATIONS),
    *_AS_THEY_ARE,
    "timings_ms",
)


def run_blocks(
    organisation: Organisation, wanted: RunFilter, *, asked_of: AskedOf, now: datetime
) -> Iterator[list[Sequence[Cell]]]:
    """Ended runs as COLUMNS, the newest slot first, AT_ONCE together; what comes in meanwhile is not among them.

    Durations are milliseconds, instants UTC, the user timings that were followed one JSON object. `asked_of` tells
    where runs asked (`backend.gates.queries`).
    """
    before: tuple[datetime, UUID] | None = None
    while True:
        found = listed_runs(organisation, wanted, before=before, limit=AT_ONCE, now=now)
        asked = asked_of([one.run for one in found])
        yield [_cells(one, asked.get(one.run.run_id)) for one in found]
        if len(found) < AT_ONCE:
            return
        before = found[-1].run.scheduled_for, found[-1].run.run_id


def _cells(one: ListedRun, asked: Asked | None) -> Sequence[Cell]:
    run, monitor = one.run, one.monitor
    return (
        str(run.run_id),
        str(monitor.site.public_id),
        monitor.site.name,
        str(monitor.public_id),
        run.kind,
        one.region.code,
        None if asked is None else asked.url,
        None if asked is None or asked.other is None else asked.other.url,
        run.trigger,
        run.outcome,
        _instant(run.scheduled_for),
        _instant(run.started_at),
        _instant(run.received_at),
        run.attempt,
        run.late,
        run.status_code,
        run.protocol,
        run.depth if run.kind == MonitorKind.PROBE else None,
        *(milliseconds(getattr(run, f"{name}_us")) for name in _DURATIONS),
        *(getattr(run, name) for name in _AS_THEY_ARE),
        run.timings and json.dumps(_milliseconds(run.timings), ensure_ascii=False),
    )


def _milliseconds(timings: Mapping[str, int | None]) -> dict[str, float | None]:
    return {timing: milliseconds(us) for timing, us in timings.items()}


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
