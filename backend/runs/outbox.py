"""Publishing pending runs: at once by whoever wrote them, or by any scheduler when that process did not get to it."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from backend.runs import broker
from backend.runs.claim import BATCH, PUBLISH_GRACE
from backend.runs.outgoing import MONITOR_SQL, PENDING_SQL, Outgoing
from backend.runs.sending import messages_of_pending
from backend.runs.sql import array, execute, fetch

log = logging.getLogger(__name__)

# What an agent needs beyond the run's own timeout: to take the message, to compute, and to send the result.
LEASE_GRACE = timedelta(seconds=30)
# A queue that is full is not asked again at once.
HELD_BACK = timedelta(seconds=5)

# A row that is locked is being ended by its result at this moment: it needs no lease, and waiting for it could lock up.
_MARK = """
WITH taken AS (
    SELECT p.run_id, v.timeout_s, v.config_version
    FROM unnest(%(runs)s::uuid[], %(timeouts)s::int[], %(versions)s::int[]) AS v (run_id, timeout_s, config_version)
    JOIN runs_pendingrun p USING (run_id) FOR UPDATE OF p SKIP LOCKED
)
UPDATE runs_pendingrun p
SET published_at = %(now)s, lease_until = %(now)s + make_interval(secs => taken.timeout_s) + %(grace)s,
    config_version = taken.config_version
FROM taken WHERE p.run_id = taken.run_id
"""
_HOLD_BACK = "UPDATE runs_pendingrun SET publish_after = %s WHERE run_id = ANY(%s) AND published_at IS NULL"
_WAITING = f"""
WITH p AS (
    UPDATE runs_pendingrun SET publish_after = %(later)s WHERE run_id IN (
        SELECT run_id FROM runs_pendingrun
        WHERE published_at IS NULL AND publish_after <= %(now)s AND expires_at > %(now)s
        ORDER BY publish_after LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    ) RETURNING *
)
SELECT {MONITOR_SQL}, {PENDING_SQL}
FROM p JOIN sites_monitor m ON m.id = p.monitor_id JOIN fleet_region r ON r.id = p.region_id
"""
_UNPUBLISH = """
UPDATE runs_pendingrun SET published_at = NULL, lease_until = NULL, publish_after = %s
WHERE published_at IS NOT NULL AND agent = '' AND stage = 'queued'
"""


def publish(messages: Sequence[Outgoing], *, now: datetime) -> int:
    """Publishes committed pending runs and starts their leases; how many the queues took.

    Raises BrokerError when Redis cannot be reached: the rows stay in the outbox, and a scheduler tries again.
    """
    if not messages:
        return 0
    taken = set(broker.push(messages, published_at=now))
    leased = [message for message in messages if message.run_id in taken]
    parameters = {
        "runs": array(message.run_id for message in leased),
        "timeouts": array(message.timeout_s for message in leased),
        "versions": array(message.config_version for message in leased),
        "now": now,
        "grace": LEASE_GRACE,
    }
    execute(_MARK, parameters)
    refused = [message.run_id for message in messages if message.run_id not in taken]
    if refused:
        log.warning("%d runs are held back: their queues are full", len(refused))
        execute(_HOLD_BACK, [now + HELD_BACK, refused])
    return len(taken)


def publish_if_possible(messages: Sequence[Outgoing], *, now: datetime) -> None:
    """For a web request that has committed urgent runs: a broker that is down is no error of the person who waits."""
    try:
        publish(messages, now=now)
    except broker.BrokerError as error:
        log.warning("%d urgent runs wait in the outbox, the broker cannot be reached: %s", len(messages), error)


def waiting(now: datetime, limit: int = BATCH) -> list[Outgoing]:
    """Messages of the outbox whose own process did not publish them; nobody else gets them for a while."""
    rows = fetch(_WAITING, {"now": now, "later": now + PUBLISH_GRACE, "limit": limit})
    return messages_of_pending(rows, now=now)


def publish_again_after_loss(now: datetime) -> int | None:
    """When Redis has lost everything, puts every run that no agent has named back into the outbox; how many.

    None when Redis knows us. Raises BrokerError. A crash in the middle does it once more: messages may come twice,
    results count once.
    """
    if not broker.has_forgotten():
        return None
    count = execute(_UNPUBLISH, [now])
    broker.remember()
    return count
