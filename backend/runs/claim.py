"""Taking what is due: slots become pending runs, in bulk, whoever else is doing the same at this moment.

Two statements in one transaction. The first locks due schedules, skipping those another scheduler has locked. The
second moves them on, writes the pending runs, and writes what older slots missed. Between the two the names of the runs
are made here, since PostgreSQL cannot make a UUIDv5.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from backend.kept import retention_start
from backend.runs.models import Trigger
from backend.runs.outgoing import MONITOR_SQL, MONITOR_WIDTH, Execution, MonitorColumns, Outgoing
from backend.runs.sending import messages_of
from backend.runs.slots import is_first_of_day, newest_slot, next_slot, window_end
from backend.runs.sql import array, execute, fetch
from workers.measurement.evidence import Depth
from workers.measurement.identity import run_id
from workers.measurement.messages import Kind, MissedReason
from workers.measurement.routes import Lane

BATCH = 1_000
# So long the process that wrote a pending run has it to itself; then any scheduler publishes it.
PUBLISH_GRACE = timedelta(seconds=3)

_DUE = f"""
SELECT {MONITOR_SQL}, s.id, s.interval_s, s.offset_us, s.next_at
FROM runs_schedule s JOIN sites_monitor m ON m.id = s.monitor_id JOIN fleet_region r ON r.id = s.region_id
WHERE s.enabled AND s.next_at <= %s ORDER BY s.next_at LIMIT %s FOR UPDATE OF s SKIP LOCKED
"""
_CLAIM = f"""
WITH slot AS (
    SELECT * FROM unnest(%(schedule)s::bigint[], %(run_id)s::uuid[], %(slot)s::timestamptz[],
        %(expires_at)s::timestamptz[], %(next_at)s::timestamptz[], %(missed_from)s::timestamptz[], %(deep)s::boolean[],
        %(version)s::int[])
        AS slot (schedule_id, run_id, scheduled_for, expires_at, next_at, missed_from, deep, config_version)
), due AS (
    UPDATE runs_schedule s SET next_at = slot.next_at FROM slot WHERE s.id = slot.schedule_id
    RETURNING s.monitor_id, s.region_id, s.kind, s.interval_s, slot.*
), missed AS (
    INSERT INTO runs_run (run_id, scheduled_for, monitor_id, region_id, attempt, kind, trigger, outcome, missed_reason,
        received_at, late, has_screenshot, config_version)
    SELECT gen_random_uuid(), older, monitor_id, region_id, 1, kind, '{Trigger.SCHEDULE}', 'missed',
        '{MissedReason.SERVICE_DOWN}', %(now)s, false, false, config_version
    FROM due,
        generate_series(missed_from, scheduled_for - interval '1 microsecond', make_interval(secs => interval_s)) older
    ON CONFLICT DO NOTHING
)
INSERT INTO runs_pendingrun (run_id, monitor_id, region_id, scheduled_for, attempt, kind, trigger, urgent, created_at,
    expires_at, publish_after, agent, stage, has_screenshot, config_version, depth)
SELECT run_id, monitor_id, region_id, scheduled_for, 1, kind, '{Trigger.SCHEDULE}', false, %(now)s, expires_at,
    %(publish_after)s, '', 'queued', false, config_version, CASE WHEN deep THEN '{Depth.DEEP}' ELSE '{Depth.LIGHT}' END
FROM due ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    """A due schedule with its newest slot. `missed_from` is its oldest slot that nobody ran, or the newest itself."""

    monitor: MonitorColumns
    schedule_id: int
    execution: Execution
    next_at: datetime
    missed_from: datetime


def claim(now: datetime, limit: int = BATCH) -> list[Outgoing]:
    """Makes pending runs of at most `limit` due slots and gives their messages, which are to be published after this.

    Of a schedule that is behind only the newest slot runs. Its older ones, as far as retention reaches, are missed.
    """
    with transaction.atomic():
        rows = fetch(_DUE, [now, limit])
        due = [_newest(MonitorColumns(*row[:MONITOR_WIDTH]), *row[MONITOR_WIDTH:], now=now) for row in rows]
        if due:
            execute(_CLAIM, _columns(due, now))
    return messages_of(((entry.execution, entry.monitor) for entry in due), now=now)


def next_due() -> datetime | None:
    """When the next slot is due; None when nothing is scheduled."""
    ((at,),) = fetch("SELECT min(next_at) FROM runs_schedule WHERE enabled")
    return at if isinstance(at, datetime) else None


def _newest(
    monitor: MonitorColumns, schedule_id: int, interval_s: int, offset_us: int, next_at: datetime, *, now: datetime
) -> _Due:
    slot = newest_slot(now, interval_s, offset_us)
    execution = Execution(
        run_id=run_id(monitor_id=monitor.monitor_id, region=monitor.region, scheduled_for=slot, attempt=1),
        scheduled_for=slot,
        attempt=1,
        expires_at=window_end(slot, interval_s),
        lane=Lane.SCHEDULE,
        depth=_depth(monitor, interval_s, since=next_at, slot=slot),
    )
    return _Due(
        monitor=monitor,
        schedule_id=schedule_id,
        execution=execution,
        next_at=slot + timedelta(seconds=interval_s),
        missed_from=next_at
        if next_at > retention_start(now)
        else next_slot(retention_start(now), interval_s, offset_us),
    )


def _depth(monitor: MonitorColumns, interval_s: int, *, since: datetime, slot: datetime) -> Depth:
    """A probe looks deeper once a day. Its first connection is the same as ever, so that the series does not bend."""
    if monitor.kind != Kind.PROBE:
        return Depth.LIGHT
    is_due = is_first_of_day(monitor.monitor_id, monitor.region, since=since, slot=slot, interval_s=interval_s)
    return Depth.DEEP if is_due else Depth.LIGHT


def _columns(due: Sequence[_Due], now: datetime) -> dict[str, object]:
    return {
        "schedule": array(entry.schedule_id for entry in due),
        "run_id": array(entry.execution.run_id for entry in due),
        "slot": array(entry.execution.scheduled_for for entry in due),
        "expires_at": array(entry.execution.expires_at for entry in due),
        "next_at": array(entry.next_at for entry in due),
        "missed_from": array(entry.missed_from for entry in due),
        "version": array(entry.monitor.config_version for entry in due),
        "deep": array(entry.execution.depth is Depth.DEEP for entry in due),
        "now": now,
        "publish_after": now + PUBLISH_GRACE,
    }
