"""Runs whose lease or window has ended: `verdicts` says what becomes of them, here it is done, in bulk."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Max

from backend.fleet.models import Agent
from backend.runs import broker
from backend.runs.broker import Head
from backend.runs.outbox import LEASE_GRACE
from backend.runs.outgoing import LANE_SQL
from backend.runs.sending import into_missed
from backend.runs.sql import array, execute, fetch
from backend.runs.verdicts import Act, Outlook, Overdue, verdict
from workers.measurement.identity import run_id
from workers.measurement.messages import MissedReason

BATCH = 2_000

_OVERDUE = f"""
SELECT p.run_id, p.scheduled_for, p.attempt, p.created_at, p.expires_at, p.published_at, p.lease_until,
    p.agent <> '' OR p.stage <> 'queued', p.region_id, r.code, p.kind, {LANE_SQL}, m.public_id
FROM runs_pendingrun p JOIN fleet_region r ON r.id = p.region_id JOIN sites_monitor m ON m.id = p.monitor_id
WHERE (p.lease_until <= %(now)s OR p.expires_at <= %(now)s) AND (p.expires_at, p.run_id) > (%(after)s, %(after_run)s)
ORDER BY p.expires_at, p.run_id LIMIT %(limit)s
"""
# The lease is compared again, since a heartbeat may have come meanwhile. A row that is locked is being ended by its
# result at this moment.
_STILL = """
WITH v AS (
    SELECT p.run_id, v.word FROM runs_pendingrun p
    JOIN unnest(%(runs)s::uuid[], %(leases)s::timestamptz[], %(words)s::text[]) AS v (run_id, lease, word)
        ON v.run_id = p.run_id AND p.lease_until IS NOT DISTINCT FROM v.lease
    FOR UPDATE OF p SKIP LOCKED
)
"""
_GIVE_UP = (
    _STILL
    + """, gone AS (
    DELETE FROM runs_pendingrun p USING v WHERE p.run_id = v.run_id RETURNING p.*, v.word
)"""
    + into_missed("word")
)
_RETRY = (
    _STILL
    + """
UPDATE runs_pendingrun p SET run_id = v.word::uuid, attempt = p.attempt + 1, first_run_id = p.run_id,
    published_at = NULL, lease_until = NULL, publish_after = %(now)s,
    agent = '', stage = 'queued', requests = NULL, phases = NULL, has_screenshot = false, has_film = false
FROM v WHERE p.run_id = v.run_id
"""
)
_WAIT_ON = _STILL + "UPDATE runs_pendingrun p SET lease_until = %(until)s FROM v WHERE p.run_id = v.run_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """How many runs were given up, given to another agent, and left in their queue."""

    missed: int = 0
    retried: int = 0
    waiting: int = 0

    def __add__(self, other: "Swept") -> "Swept":
        return Swept(
            missed=self.missed + other.missed,
            retried=self.retried + other.retried,
            waiting=self.waiting + other.waiting,
        )


def sweep(now: datetime) -> Swept:
    """Decides every overdue run."""
    total = Swept()
    for batch in _overdue(now):
        total += _sweep_batch(batch, now)
    return total


def _overdue(now: datetime) -> Iterator[list[Overdue]]:
    after, after_run = datetime.min.replace(tzinfo=now.tzinfo), UUID(int=0)
    while True:
        rows = fetch(_OVERDUE, {"now": now, "after": after, "after_run": after_run, "limit": BATCH})
        runs = [Overdue(**dict(zip(Overdue.__slots__, row, strict=True))) for row in rows]
        if runs:
            yield runs
            after, after_run = runs[-1].expires_at, runs[-1].run_id
        if len(runs) < BATCH:
            return


def _sweep_batch(overdue: Sequence[Overdue], now: datetime) -> Swept:
    heads = _heads(sorted({run.queue for run in overdue}))
    seen = _agents_seen({run.region_pk for run in overdue})
    given_up: list[tuple[Overdue, str]] = []
    acts: dict[Act, list[Overdue]] = defaultdict(list)
    for run in overdue:
        outlook = Outlook(head=heads.get(run.queue), agent_seen_at=seen.get(run.region_pk), now=now)
        decided = verdict(run, outlook)
        if isinstance(decided, MissedReason):
            given_up.append((run, decided.value))
        else:
            acts[decided].append(run)
    return Swept(
        missed=_carry_out(_GIVE_UP, given_up, now=now),
        retried=_carry_out(_RETRY, [(run, str(_next_id(run))) for run in acts[Act.RETRY]], now=now),
        waiting=_carry_out(_WAIT_ON, [(run, "") for run in acts[Act.WAIT_ON]], until=now + LEASE_GRACE),
    )


def _heads(queues: Sequence[str]) -> dict[str, Head]:
    try:
        return broker.heads(queues)
    except broker.BrokerError:
        return {}


def _agents_seen(regions: set[int]) -> dict[int, datetime]:
    newest = Agent.objects.filter(region__in=regions).values("region").annotate(seen=Max("last_seen_at"))
    return {row["region"]: row["seen"] for row in newest}


def _next_id(run: Overdue) -> UUID:
    return run_id(
        monitor_id=run.monitor_id, region=run.region, scheduled_for=run.scheduled_for, attempt=run.attempt + 1
    )


def _carry_out(statement: str, decided: Sequence[tuple[Overdue, str]], **parameters: datetime) -> int:
    """One of the statements above for runs, each with the word that it needs."""
    if not decided:
        return 0
    rows = {
        "runs": array(run.run_id for run, _ in decided),
        "leases": array(run.lease_until for run, _ in decided),
        "words": [word for _, word in decided],
    }
    return execute(statement, rows | parameters)
