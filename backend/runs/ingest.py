"""Results in: each is stored once, whatever comes twice, late, broken or from the wrong place.

Deleting the pending run decides, in bulk, which results are the first of their run. Those go in with COPY, in the same
transaction. What has no pending run is looked at one by one: it is a duplicate, came late, or was never asked for.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import DataError, IntegrityError, transaction

from backend.fleet.models import Region
from backend.runs.late import Claim, claim_of, settle
from backend.runs.models import DeadLetter, PendingRun, Run
from backend.runs.reading import read_result
from backend.runs.rows import Arrival, Slot
from backend.runs.sql import array, fetch
from backend.runs.store import Content, Ended, content_of, store
from workers.measurement.messages import ReceiptStatus
from workers.measurement.wire import WireError

log = logging.getLogger(__name__)

# A page of a thousand requests with its headers is about a megabyte.
MAX_LINE_BYTES = 8 * 1024 * 1024
# Of a region: enough to look at. A broken agent, or a stolen token, must not fill the disk and the log of all.
LETTERS_A_DAY = 100

_END = """
DELETE FROM runs_pendingrun WHERE run_id = ANY(%(runs)s::uuid[]) AND region_id = %(region)s
RETURNING run_id, scheduled_for, monitor_id, region_id, attempt, kind, trigger, first_run_id, has_screenshot, has_film
"""


class Reading(NamedTuple):
    """A line that was understood: which run it is of, and what it brings."""

    line: bytes
    claim: Claim
    content: Content


def ingest(region: Region, lines: Sequence[bytes], *, now: datetime) -> list[ReceiptStatus]:
    """Stores the results of a region; one status for each line. What cannot be read or stored becomes a dead letter."""
    readings = [_read(line) for line in lines]
    good = [reading for reading in readings if isinstance(reading, Reading)]
    statuses = iter(_store_all(region, good, now))
    answers = []
    for line, reading in zip(lines, readings, strict=True):
        if isinstance(reading, Reading):
            answers.append(next(statuses))
        else:
            answers.append(_bury(region, line, str(reading), now))
    return answers


def _read(line: bytes) -> Reading | WireError:
    if len(line) > MAX_LINE_BYTES:
        return WireError(f"the line has {len(line)} bytes; at most {MAX_LINE_BYTES} are read")
    try:
        result = read_result(line)
        content = content_of(result, line)
    except WireError as error:
        return error
    except ValueError as error:
        return WireError(str(error))
    return Reading(line=line, claim=claim_of(result), content=content)


def _store_all(region: Region, readings: Sequence[Reading], now: datetime) -> list[ReceiptStatus]:
    """All in one transaction; when PostgreSQL refuses a value, one by one, so that one does not spoil the others."""
    try:
        return _store(region, readings, now)
    except (DataError, IntegrityError) as error:
        log.warning("a batch of %d from %s is stored one by one: %s", len(readings), region.code, error)
    return [_store_one(region, reading, now) for reading in readings]


def _store_one(region: Region, reading: Reading, now: datetime) -> ReceiptStatus:
    try:
        return _store(region, [reading], now)[0]
    except (DataError, IntegrityError) as error:
        if _is_stored(reading):
            PendingRun.objects.filter(run_id=reading.claim.run_id, region=region).delete()
            return ReceiptStatus.DUPLICATE
        return _bury(region, reading.line, f"the database refuses it: {error}", now)


def _is_stored(reading: Reading) -> bool:
    """A slot is pending again although it has been run only when the service's clock was set back."""
    return Run.objects.filter(run_id=reading.claim.run_id, scheduled_for=reading.claim.scheduled_for).exists()


@transaction.atomic
def _store(region: Region, readings: Sequence[Reading], now: datetime) -> list[ReceiptStatus]:
    pending = _end_pending(region, readings)
    first: dict[UUID, Reading] = {}
    for reading in readings:
        if reading.claim.run_id in pending:
            first.setdefault(reading.claim.run_id, reading)
    store([_ended(pending[run_id], reading, now) for run_id, reading in first.items()])
    return [
        ReceiptStatus.STORED
        if first.get(reading.claim.run_id) is reading
        else settle(region, reading.claim, reading.content, now=now)
        for reading in readings
    ]


class _Pending(NamedTuple):
    """A pending run that has ended just now: its slot, and which pictures came before the result."""

    slot: Slot
    has_screenshot: bool
    has_film: bool


def _end_pending(region: Region, readings: Sequence[Reading]) -> dict[UUID, _Pending]:
    """Deletes the pending runs of these results and gives them."""
    parameters = {"runs": array(reading.claim.run_id for reading in readings), "region": region.pk}
    return {row[0]: _Pending(Slot(*row[:-2]), *row[-2:]) for row in fetch(_END, parameters)}


def _ended(pending: _Pending, reading: Reading, now: datetime) -> Ended:
    if reading.claim.kind.value != pending.slot.kind:
        raise DataError(f"a {reading.claim.kind} result for a {pending.slot.kind} run")
    arrival = Arrival(received_at=now, has_screenshot=pending.has_screenshot, has_film=pending.has_film)
    return Ended(pending.slot, arrival, reading.content)


def _bury(region: Region, line: bytes, reason: str, now: datetime) -> ReceiptStatus:
    """Kept with its reason, unless its region has brought as much of that as is kept in a day."""
    lately = DeadLetter.objects.filter(received_at__gt=now - timedelta(days=1), region=region)
    if lately.count() >= LETTERS_A_DAY:
        return ReceiptStatus.UNREADABLE
    log.warning("a result of region %s cannot be read: %s", region.code, reason)
    DeadLetter.objects.create(
        region=region,
        received_at=now,
        reason=reason[:1000].replace("\0", "\N{REPLACEMENT CHARACTER}"),
        body=line[: DeadLetter.MAX_BODY_BYTES],
    )
    return ReceiptStatus.UNREADABLE
