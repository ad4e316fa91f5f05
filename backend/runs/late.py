"""Results whose run is not pending: sent twice, late, or never asked for."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction

from backend.fleet.models import Region
from backend.runs.agents import pictures_kept
from backend.runs.models import Outcome, PendingRun, Run, Trigger
from backend.runs.reading import MissedRead, ResultRead
from backend.runs.rows import Arrival, Slot
from backend.runs.store import Content, Ended, store
from backend.sites.models import Monitor
from workers.measurement.identity import run_id
from workers.measurement.messages import Kind, ReceiptStatus


class Claim(NamedTuple):
    """Which run a result says it belongs to."""

    run_id: UUID
    monitor_id: UUID
    region: str
    scheduled_for: datetime
    attempt: int
    kind: Kind
    is_missed: bool

    @property
    def holds(self) -> bool:
        """The id of a run follows from monitor, region, slot and attempt: no other run has this one."""
        return self.attempt >= 1 and self.run_id == run_id(
            monitor_id=self.monitor_id, region=self.region, scheduled_for=self.scheduled_for, attempt=self.attempt
        )


def claim_of(result: ResultRead) -> Claim:
    return Claim(
        result.run_id,
        result.monitor_id,
        result.region,
        result.scheduled_for,
        result.attempt,
        result.kind,
        isinstance(result.outcome, MissedRead),
    )


def settle(region: Region, claim: Claim, content: Content, *, now: datetime) -> ReceiptStatus:
    """Stores a result that came after its slot was given up, or after another attempt was begun, and marks it late.

    Refuses what this region was never asked for.
    """
    if claim.region != region.code or not claim.holds:
        return ReceiptStatus.REFUSED
    monitor = Monitor.objects.filter(public_id=claim.monitor_id, kind=claim.kind).first()
    if monitor is None:
        return ReceiptStatus.REFUSED
    stored = list(Run.objects.filter(monitor_id=monitor.pk, region_id=region.pk, scheduled_for=claim.scheduled_for))
    mine = next((run for run in stored if run.attempt == claim.attempt), None)
    if mine is not None and (mine.outcome != Outcome.MISSED or claim.is_missed):
        return ReceiptStatus.DUPLICATE
    trigger = mine.trigger if mine else _trigger_of_later(stored, monitor, region, claim)
    if trigger is None:
        return ReceiptStatus.REFUSED
    slot = Slot(
        run_id=claim.run_id,
        scheduled_for=claim.scheduled_for,
        monitor_pk=monitor.pk,
        region_pk=region.pk,
        attempt=claim.attempt,
        kind=claim.kind.value,
        trigger=Trigger(trigger).value,
        first_run_id=mine.first_run_id if mine else None,
    )
    pictures = (
        {"has_screenshot": mine.has_screenshot, "has_film": mine.has_film}
        if mine
        else pictures_kept(claim.run_id, claim.scheduled_for)
    )
    return _replace(Ended(slot, Arrival(received_at=now, late=True, **pictures), content))


def _trigger_of_later(stored: list[Run], monitor: Monitor, region: Region, claim: Claim) -> str | None:
    """What triggered a later attempt of the same slot, pending or ended; None when there is none."""
    pending = PendingRun.objects.filter(
        monitor=monitor, region=region, scheduled_for=claim.scheduled_for, attempt__gt=claim.attempt
    )
    triggers = [run.trigger for run in stored if run.attempt > claim.attempt]
    return next(iter([*triggers, *pending.values_list("trigger", flat=True)]), None)


def _replace(ended: Ended) -> ReceiptStatus:
    """In the place of the missed row, if there is one. Whoever stored the same meanwhile was first."""
    slot = ended.slot
    given_up = Run.objects.filter(
        monitor_id=slot.monitor_pk,
        region_id=slot.region_pk,
        scheduled_for=slot.scheduled_for,
        attempt=slot.attempt,
        outcome=Outcome.MISSED,
    )
    try:
        with transaction.atomic():
            given_up.delete()
            store([ended])
    except IntegrityError:
        return ReceiptStatus.DUPLICATE
    return ReceiptStatus.STORED
