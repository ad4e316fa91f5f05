"""What the judge reads, in bulk: which monitors are due for a look, and their slots that have ended since the last.

A slot of a region is ended when no earlier one is still under way. What is under way is read before the runs are: a run
that ends in between is seen at the next look, and none is passed over.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from backend.alerts.judgement.samples import Sample, Seen, seen_in
from backend.alerts.metrics import COLUMNS
from backend.instants import to_us
from backend.runs.sql import Row, array, execute, fetch

# Of one monitor in one region at a time; the rest follows at the next look, which is at once.
MAX_RUNS = 200

_DUE = """
SELECT w.monitor_id, w.memory, m.public_id, m.kind, m.url, m.interval_s, m.timeout_s, m.paused, m.profile,
    m.manner_version, s.id, s.public_id, s.organisation_id, s.status = 'active', m.user_timings
FROM {table} w JOIN sites_monitor m ON m.id = w.monitor_id JOIN sites_site s ON s.id = m.site_id
WHERE w.due_at <= %(now)s ORDER BY w.due_at LIMIT %(limit)s FOR UPDATE OF w SKIP LOCKED
"""
# The driver's own way with an array of texts takes twenty times as long.
_REMEMBER = """
UPDATE {table} w SET memory = v.memory, due_at = v.due_at
FROM ROWS FROM (
    unnest(%(monitors)s::bigint[]), json_array_elements_text(%(memories)s::json), unnest(%(due)s::timestamptz[])
) AS v (monitor_id, memory, due_at)
WHERE w.monitor_id = v.monitor_id
"""
_STREAMS = """
SELECT s.monitor_id, s.region_id, r.code, s.next_at, (
    SELECT min(p.scheduled_for) FROM runs_pendingrun p
    WHERE p.monitor_id = s.monitor_id AND p.region_id = s.region_id AND p.trigger = 'schedule'
)
FROM runs_schedule s JOIN fleet_region r ON r.id = s.region_id
WHERE s.monitor_id = ANY(%(monitors)s::bigint[]) AND s.enabled ORDER BY s.monitor_id, r.code
"""
_VALUES = ", ".join(f"runs_run.{column}" for column in COLUMNS)
_NO_VALUES = (None,) * len(COLUMNS)
SAMPLE_SQL = f"""runs_run.monitor_id, runs_run.region_id, runs_run.scheduled_for, runs_run.attempt, runs_run.run_id,
    runs_run.outcome, runs_run.failure_blame, runs_run.failure_detail, runs_run.agent, runs_run.contended,
    runs_run.timings, {_VALUES}"""
# The two outer bounds keep the partitions of other weeks out when the statement is planned.
_RUNS = f"""
SELECT run.* FROM unnest(%(monitors)s::bigint[], %(regions)s::bigint[], %(after)s::timestamptz[],
    %(before)s::timestamptz[]) AS stream (monitor_id, region_id, after, before),
LATERAL (
    SELECT {SAMPLE_SQL} FROM runs_run
    WHERE runs_run.monitor_id = stream.monitor_id AND runs_run.region_id = stream.region_id
        AND runs_run.scheduled_for > stream.after AND runs_run.scheduled_for < stream.before
        AND runs_run.scheduled_for > %(first)s AND runs_run.scheduled_for <= %(last)s
        AND runs_run.trigger = 'schedule'
    ORDER BY runs_run.scheduled_for, runs_run.attempt LIMIT {MAX_RUNS}
) run
"""
_CONFIRMATIONS = f"""
SELECT coalesce(runs_run.first_run_id, runs_run.run_id), {SAMPLE_SQL} FROM runs_run
WHERE (run_id = ANY(%(runs)s::uuid[]) OR first_run_id = ANY(%(runs)s::uuid[]))
    AND scheduled_for >= %(first)s AND scheduled_for <= %(last)s
ORDER BY attempt
"""


class Due(NamedTuple):
    """A monitor that is looked at now; its row of memory is locked."""

    monitor_id: int
    memory: str
    public_id: UUID
    kind: str
    url: str
    interval_s: int
    timeout_s: int
    paused: bool
    profile: str
    manner_version: int
    site_id: int
    site_public_id: UUID
    organisation_id: int
    active: bool
    user_timings: Sequence[str]

    @property
    def what(self) -> str:
        """Another address or another network is another thing to measure: what was seen before says nothing of it."""
        return f"{self.profile} {self.url}"

    @property
    def how(self) -> str:
        """`what`, and in which manner: with other headers or as another device, its times are others."""
        return self.what if self.manner_version == 1 else f"{self.what} {self.manner_version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A monitor in a region: all slots after `after` and before `before` have ended. `next_at` is the next slot."""

    region_id: int
    region: str
    after: datetime
    before: datetime
    next_at: datetime
    pending: datetime | None

    def between(self, after: datetime, before: datetime) -> "Stream":
        """The same, of another time."""
        return replace(self, after=after, before=before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Streams by monitor, and the samples of each monitor in the order of their slots.

    `reached` says, by monitor and region, up to which slot was read where that is not the stream's end.
    """

    streams: dict[int, list[Stream]]
    samples: dict[int, list[Sample]]
    reached: dict[int, dict[int, datetime]]


def due(table: str, now: datetime, limit: int) -> list[Due]:
    """Monitors whose look is due, locked until the transaction ends; those that another judge looks at left out."""
    return [Due(*row) for row in fetch(_DUE.format(table=table), {"now": now, "limit": limit})]


def remember(table: str, monitors: Iterable[int], memories: Sequence[str], due_at: Iterable[datetime]) -> None:
    """Writes what the next looks go on from, and when they are due."""
    parameters = {"monitors": array(monitors), "memories": json.dumps(memories), "due": array(due_at)}
    execute(_REMEMBER.format(table=table), parameters)


def hold(interval_s: int, timeout_s: int) -> timedelta:
    """How long a slot that has not ended is waited for: its window, two attempts, and some grace.

    The next slot of its region comes an interval later, so that waiting costs next to nothing.
    """
    return timedelta(seconds=min(interval_s, 3600) + 2 * timeout_s + 120)


def streams_of(rows: Sequence[Due], marks: dict[int, dict[str, datetime]], now: datetime) -> dict[int, list[Stream]]:
    """What can be judged, from the marks that earlier looks have left. A region without a mark begins now."""
    by_id = {row.monitor_id: row for row in rows}
    found: dict[int, list[Stream]] = {row.monitor_id: [] for row in rows}
    for monitor_id, region_id, code, next_at, pending in fetch(_STREAMS, {"monitors": array(by_id)}):
        row = by_id[monitor_id]
        open_slot = min(next_at, pending) if pending else next_at
        # A slot ahead may still move, when the monitor's interval is changed.
        end = max(min(open_slot, now), now - hold(row.interval_s, row.timeout_s))
        after = marks[monitor_id].get(code, now)
        stream = Stream(region_id=region_id, region=code, after=after, before=end, next_at=next_at, pending=pending)
        found[monitor_id].append(stream)
    return found


def read(streams: dict[int, list[Stream]], now: datetime) -> Batch:
    """The samples of all streams. One statement."""
    wanted = [
        (monitor_id, stream) for monitor_id, mine in streams.items() for stream in mine if stream.before > stream.after
    ]
    codes = {stream.region_id: stream.region for _, stream in wanted}
    reached: dict[int, dict[int, datetime]] = {}
    samples: dict[int, list[Sample]] = {monitor_id: [] for monitor_id in streams}
    if wanted:
        parameters = {
            "monitors": array(monitor_id for monitor_id, _ in wanted),
            "regions": array(stream.region_id for _, stream in wanted),
            "after": array(stream.after for _, stream in wanted),
            "before": array(stream.before for _, stream in wanted),
            "first": min(stream.after for _, stream in wanted),
            "last": now,
        }
        for slot in _slots(fetch(_RUNS, parameters), reached):
            samples[slot[0][0]].append(sample_of(slot, codes[slot[0][1]]))
    for mine in samples.values():
        mine.sort(key=lambda sample: sample.at_us)
    return Batch(streams=streams, samples=samples, reached=reached)


def confirmations(run_ids: Iterable[UUID], now: datetime) -> dict[UUID, Row]:
    """Ended confirmations by the id that was asked for; of two attempts the last. One statement."""
    asked = array(run_ids)
    parameters = {"runs": asked, "first": now - timedelta(hours=1), "last": now + timedelta(minutes=1)}
    return {row[0]: row[1:] for row in fetch(_CONFIRMATIONS, parameters)}


def sample_of(rows: Sequence[Row], region: str) -> Sample:
    """What a slot says, from its attempts in order: the last that says anything, or else that nothing is known."""
    telling = [row for row in rows if seen_in(row[5], row[6]) is not Seen.NOTHING]
    row = (telling or rows)[-1]
    # A site that answers is up however busy who asked was, but its times are not its own.
    values, timings = (_NO_VALUES, None) if row[9] else (tuple(row[11:]), row[10] and json.loads(row[10]))
    return Sample(region, to_us(row[2]), row[4], seen_in(row[5], row[6]), row[7] or "", values, row[8] or "", timings)


def _slots(rows: Sequence[Row], reached: dict[int, dict[int, datetime]]) -> list[list[Row]]:
    """Rows grouped by slot. A stream that was cut loses its last slot, of which more attempts may follow."""
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row[0], row[1]), []).append(row)
    slots: list[list[Row]] = []
    for stream, mine in groups.items():
        if len(mine) >= MAX_RUNS:
            cut = mine[-1][2]
            mine = [row for row in mine if row[2] < cut]
            reached.setdefault(stream[0], {})[stream[1]] = mine[-1][2]
        by_slot: dict[datetime, list[Row]] = {}
        for row in mine:
            by_slot.setdefault(row[2], []).append(row)
        slots += by_slot.values()
    return slots
