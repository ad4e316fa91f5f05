"""What becomes of a run that is overdue: given up, given to another agent, or left alone. Pure.

A message that still stands in its queue is not lost. The queue's head tells: everything published before the head was
has been taken by some agent.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from uuid import UUID

from backend.instants import to_us
from backend.runs.broker import Head
from backend.runs.outgoing import queue_key
from workers.measurement.messages import MissedReason
from workers.measurement.routes import HEARTBEAT_INTERVAL_S, Lane

MAX_ATTEMPTS = 2
# Three heartbeats: one may be lost and one late before a run is taken from an agent that lives.
HELD_FOR = timedelta(seconds=3 * HEARTBEAT_INTERVAL_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """A pending run whose lease or window has ended. `heard_of` says that an agent has named it."""

    run_id: UUID
    scheduled_for: datetime
    attempt: int
    created_at: datetime
    expires_at: datetime
    published_at: datetime | None
    lease_until: datetime | None
    heard_of: bool
    region_pk: int
    region: str
    kind: str
    lane: str
    monitor_id: UUID

    @property
    def queue(self) -> str:
        return queue_key(self.region, self.kind, Lane(self.lane))


class Act(Enum):
    """What is done about an overdue run besides giving it up."""

    LEAVE = "leave"
    WAIT_ON = "wait on"
    RETRY = "retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is known of a run's region: its queue's head (None: the broker cannot be asked), its newest heartbeat."""

    head: Head | None
    agent_seen_at: datetime | None
    now: datetime


def verdict(run: Overdue, outlook: Outlook) -> Act | MissedReason:
    """What becomes of the run."""
    if run.published_at is None:
        return _unpublished(run, outlook)
    if not run.heard_of and outlook.head is None:
        return Act.LEAVE
    if not run.heard_of and _stands_in_queue(run.published_at, outlook.head):
        return Act.WAIT_ON if outlook.now < run.expires_at else _unserved(run, outlook)
    if run.lease_until is not None and run.lease_until > outlook.now:
        return Act.LEAVE
    is_open = outlook.now < run.expires_at and run.attempt < MAX_ATTEMPTS
    return Act.RETRY if is_open else MissedReason.AGENT_LOST


def _unpublished(run: Overdue, outlook: Outlook) -> Act | MissedReason:
    if outlook.now < run.expires_at:
        return Act.LEAVE
    # A queue with room did not get it: the service itself, or its broker, was down.
    is_full = outlook.head is not None and outlook.head.full
    return _unserved(run, outlook) if is_full else MissedReason.SERVICE_DOWN


def _unserved(run: Overdue, outlook: Outlook) -> MissedReason:
    """Agents that live had too much to do; agents that are gone had not."""
    alive_since = max(run.created_at, outlook.now - HELD_FOR)
    is_alive = outlook.agent_seen_at is not None and outlook.agent_seen_at >= alive_since
    return MissedReason.QUEUE_FULL if is_alive else MissedReason.NO_AGENT


def _stands_in_queue(published_at: datetime, head: Head | None) -> bool:
    return head is not None and head.published_us is not None and to_us(published_at) >= head.published_us
