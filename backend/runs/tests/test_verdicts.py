from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from backend.instants import to_us
from backend.runs.broker import MAX_QUEUE, Head
from backend.runs.tests.factories import NOW
from backend.runs.verdicts import Act, Outlook, Overdue, verdict
from workers.measurement.messages import MissedReason

SECOND = timedelta(seconds=1)
RUN = Overdue(
    run_id=uuid4(),
    scheduled_for=NOW - 60 * SECOND,
    attempt=1,
    created_at=NOW - 60 * SECOND,
    expires_at=NOW + 60 * SECOND,
    published_at=NOW - 60 * SECOND,
    lease_until=NOW - SECOND,
    heard_of=False,
    region_pk=1,
    region="eu",
    kind="probe",
    lane="schedule",
    monitor_id=uuid4(),
)
EMPTY = Head(length=0, published_us=None)
OLDER = Head(length=9, published_us=to_us(NOW - 90 * SECOND))
NEWER = Head(length=9, published_us=to_us(NOW - 30 * SECOND))
FULL = Head(length=MAX_QUEUE, published_us=to_us(NOW - 30 * SECOND))
ALIVE = Outlook(head=EMPTY, agent_seen_at=NOW - 5 * SECOND, now=NOW)
GONE = Outlook(head=EMPTY, agent_seen_at=NOW - 55 * SECOND, now=NOW)
CLOSED = replace(RUN, expires_at=NOW - SECOND)
UNPUBLISHED = replace(CLOSED, published_at=None, lease_until=None)


@pytest.mark.parametrize(
    ("run", "outlook", "expected"),
    [
        (RUN, ALIVE, Act.RETRY),
        (RUN, replace(ALIVE, head=NEWER), Act.RETRY),
        (replace(RUN, heard_of=True), ALIVE, Act.RETRY),
        (replace(RUN, heard_of=True), replace(ALIVE, head=None), Act.RETRY),
        (replace(RUN, attempt=2), ALIVE, MissedReason.AGENT_LOST),
        (CLOSED, ALIVE, MissedReason.AGENT_LOST),
        (replace(CLOSED, lease_until=NOW + SECOND), ALIVE, Act.LEAVE),
        (replace(CLOSED, lease_until=NOW + SECOND, heard_of=True), ALIVE, Act.LEAVE),
    ],
    ids=[
        "taken and not heard of again",
        "younger messages stand in the queue",
        "named by an agent that fell silent",
        "named, and the broker is down",
        "second attempt",
        "too late for another attempt",
        "still leased",
        "still held",
    ],
)
def test_a_run_that_was_taken_is_given_to_another_agent_once_while_there_is_time(
    run: Overdue, outlook: Outlook, expected: Act | MissedReason
) -> None:
    assert verdict(run, outlook) is expected


@pytest.mark.parametrize(
    ("run", "outlook", "expected"),
    [
        (RUN, replace(ALIVE, head=OLDER), Act.WAIT_ON),
        (RUN, replace(GONE, head=OLDER), Act.WAIT_ON),
        (RUN, replace(ALIVE, head=None), Act.LEAVE),
        (CLOSED, replace(ALIVE, head=OLDER), MissedReason.QUEUE_FULL),
        (CLOSED, replace(GONE, head=OLDER), MissedReason.NO_AGENT),
        (CLOSED, replace(ALIVE, head=OLDER, agent_seen_at=None), MissedReason.NO_AGENT),
    ],
    ids=[
        "agents are busy",
        "agents are gone but may come back",
        "the broker cannot be asked",
        "window closed, agents live",
        "window closed, agents gone",
        "window closed, never an agent",
    ],
)
def test_a_run_that_still_stands_in_its_queue_is_not_lost_until_its_window_closes(
    run: Overdue, outlook: Outlook, expected: Act | MissedReason
) -> None:
    assert verdict(run, outlook) is expected


@pytest.mark.parametrize(
    ("run", "outlook", "expected"),
    [
        (replace(UNPUBLISHED, expires_at=NOW + SECOND), ALIVE, Act.LEAVE),
        (UNPUBLISHED, replace(ALIVE, head=None), MissedReason.SERVICE_DOWN),
        (UNPUBLISHED, ALIVE, MissedReason.SERVICE_DOWN),
        (UNPUBLISHED, replace(ALIVE, head=FULL), MissedReason.QUEUE_FULL),
        (UNPUBLISHED, replace(GONE, head=FULL), MissedReason.NO_AGENT),
    ],
    ids=["still in time", "the broker is down", "the broker was down", "queue full", "queue full and nobody there"],
)
def test_a_run_that_was_never_published_is_missed_for_the_reason_that_kept_it(
    run: Overdue, outlook: Outlook, expected: Act | MissedReason
) -> None:
    assert verdict(run, outlook) is expected
