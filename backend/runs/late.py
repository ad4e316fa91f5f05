"""Results whose run is not pending: sent twice, late, or never asked for."""

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from backend.fleet.models import Region
from backend.runs.models import Outcome, PendingRun, Run, Trigger
from backend.runs.reading import ResultRead
from backend.runs.rows import Arrival, Slot
from backend.runs.store import Ended, store
from backend.sites.models import Monitor
from workers.measurement.identity import run_id
from workers.measurement.messages import ReceiptStatus


def settle(region: Region, result: ResultRead, line: bytes, *, now: datetime) -> ReceiptStatus:
    """Stores a result that came after its slot was given up, or after another attempt was begun, and marks it late.

    Refuses what this region was never asked for: the id of a run follows from monitor, region, slot and attempt.
    """
    if result["region"] != region.code or result["run_id"] != _expected_id(result) or result["attempt"] < 1:
        return ReceiptStatus.REFUSED
    monitor = Monitor.objects.filter(public_id=result["monitor_id"], kind=result["kind"]).first()
    if monitor is None:
        return ReceiptStatus.REFUSED
    stored = list(Run.objects.filter(monitor_id=monitor.pk, region_id=region.pk, scheduled_for=result["scheduled_for"]))
    mine = next((run for run in stored if run.attempt == result["attempt"]), None)
    if mine is not None and (mine.outcome != Outcome.MISSED or result["outcome"]["outcome"] == "missed"):
        return ReceiptStatus.DUPLICATE
    later = _later_trigger(stored, monitor, region, result)
    if mine is None and later is None:
        return ReceiptStatus.REFUSED
    slot = Slot(
        run_id=result["run_id"],
        scheduled_for=result["scheduled_for"],
        monitor_pk=monitor.pk,
        region_pk=region.pk,
        attempt=result["attempt"],
        kind=result["kind"],
        trigger=mine.trigger if mine else later or Trigger.SCHEDULE,
        first_run_id=mine.first_run_id if mine else None,
    )
    return _replace(Ended(slot=slot, result=result, line=line, arrival=Arrival(received_at=now, late=True)))


def _later_trigger(stored: list[Run], monitor: Monitor, region: Region, result: ResultRead) -> str | None:
    """What triggered a later attempt of the same slot, pending or ended; None when there is none."""
    pending = PendingRun.objects.filter(
        monitor=monitor, region=region, scheduled_for=result["scheduled_for"], attempt__gt=result["attempt"]
    )
    triggers = [run.trigger for run in stored if run.attempt > result["attempt"]]
    return next(iter([*triggers, *pending.values_list("trigger", flat=True)]), None)


def _replace(ended: Ended) -> ReceiptStatus:
    """In the place of the missed row, if there is one. Whoever stored the same meanwhile was first."""
    slot = ended.slot
    try:
        with transaction.atomic():
            given_up = Run.objects.filter(
                monitor_id=slot.monitor_pk,
                region_id=slot.region_pk,
                scheduled_for=slot.scheduled_for,
                attempt=slot.attempt,
                outcome=Outcome.MISSED,
            )
            given_up.delete()
            store([ended])
    except IntegrityError:
        return ReceiptStatus.DUPLICATE
    return ReceiptStatus.STORED


def _expected_id(result: ResultRead) -> UUID:
    return run_id(
        monitor_id=result["monitor_id"],
        region=result["region"],
        scheduled_for=result["scheduled_for"],
        attempt=result["attempt"],
    )
