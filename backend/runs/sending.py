"""Pending runs as messages, and those of which none can be made: they end at once, so that nobody waits for them."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from backend.runs.outgoing import (
    Execution,
    MonitorColumns,
    Outgoing,
    UnreadableSettingsError,
    entries_of_pending,
    outgoing,
)
from backend.runs.sql import array, execute
from workers.measurement.messages import MissedReason

log = logging.getLogger(__name__)


def into_missed(reason: str) -> str:
    """The end of a statement whose `gone` are pending runs that it deleted: they are missed, for a reason in SQL. The
    result of one whose pictures have come already may still come late.
    """
    return f"""
INSERT INTO runs_run (run_id, scheduled_for, monitor_id, region_id, attempt, kind, trigger, outcome, missed_reason,
    received_at, late, has_screenshot, has_film, first_run_id, config_version)
SELECT run_id, scheduled_for, monitor_id, region_id, attempt, kind, trigger, 'missed', {reason}, %(now)s, false,
    has_screenshot, has_film, first_run_id, config_version
FROM gone ON CONFLICT DO NOTHING
"""


_GIVE_UP = f"""
WITH taken AS (
    SELECT run_id FROM runs_pendingrun WHERE run_id = ANY(%(runs)s) AND published_at IS NULL FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM runs_pendingrun p USING taken WHERE p.run_id = taken.run_id RETURNING p.*
)
{into_missed(f"'{MissedReason.SETTINGS_UNREADABLE}'")}"""


def messages_of(entries: Iterable[tuple[Execution, MonitorColumns]], *, now: datetime) -> list[Outgoing]:
    """The messages of committed pending runs. A run whose monitor cannot be read is missed, and the others go on."""
    messages: list[Outgoing] = []
    unreadable: dict[UUID, str] = {}
    for execution, monitor in entries:
        try:
            messages.append(outgoing(execution, monitor))
        except UnreadableSettingsError as error:
            unreadable[execution.run_id] = f"monitor {monitor.monitor_id}: {error}"
    if unreadable:
        execute(_GIVE_UP, {"runs": array(unreadable), "now": now})
        log.error("%d runs are missed, such as that of %s", len(unreadable), next(iter(unreadable.values())))
    return messages


def messages_of_pending(rows: Sequence[tuple[Any, ...]], *, now: datetime) -> list[Outgoing]:
    """The same for rows of MONITOR_SQL followed by PENDING_SQL."""
    return messages_of(entries_of_pending(rows), now=now)
