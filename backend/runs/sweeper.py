"""The sweeper: everything that must happen now and then. Several may run; one works, the others stand by."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from django.db import Error, connection
from django.utils import timezone

from backend.fleet.models import Region
from backend.runs.broker import BrokerError, trim
from backend.runs.hoards import empty_hoards
from backend.runs.leases import sweep
from backend.runs.outgoing import queue_key
from backend.runs.partitions import ensure_partitions
from backend.runs.retention import forget, forget_pictures
from backend.runs.rollups import roll_up
from backend.runs.schedules import mend_set_back, reconcile_all
from backend.runs.sql import fetch
from backend.sites.actions import delete_old_drafts
from workers.measurement.messages import Kind
from workers.measurement.routes import Lane

log = logging.getLogger(__name__)

STEP_S = 2.0
MINUTE_S, HOUR_S = 60.0, 3_600.0
# Held by the connection, so it is free as soon as the process that had it is gone.
_LOCK = 7_205_002


@dataclass(slots=True, kw_only=True)
class _Duty:
    """Something to do every so often, and sooner while there is more; what it says is logged when it says anything."""

    work: Callable[[datetime], str]
    every_s: float
    while_more_s: float | None = None
    due_at: float = 0.0


class Sweeper:
    """`step` does what is due and gives the seconds to wait."""

    def __init__(self, clock: Callable[[], datetime] = timezone.now) -> None:
        self._clock = clock
        self._regions: object = None
        self._duties = (
            _Duty(work=_hoards, every_s=0),
            _Duty(work=_leases, every_s=0),
            _Duty(work=_queues, every_s=10),
            _Duty(work=self._schedules_of_new_regions, every_s=0),
            _Duty(work=_drafts, every_s=MINUTE_S),
            _Duty(work=_set_back, every_s=MINUTE_S),
            # A storage may be far away, and charge for every question.
            _Duty(work=_pictures, every_s=HOUR_S, while_more_s=STEP_S),
            _Duty(work=_partitions, every_s=HOUR_S),
            # Before retention takes the runs away.
            _Duty(work=_rollups, every_s=HOUR_S),
            _Duty(work=_retention, every_s=HOUR_S),
            _Duty(work=_schedules, every_s=HOUR_S),
        )

    def step(self) -> float:
        """Raises django.db.Error when the database is gone. A single duty that fails keeps no other from its turn."""
        ((is_ours,),) = fetch("SELECT pg_try_advisory_lock(%s)", [_LOCK])
        if is_ours:
            for duty in self._duties:
                if monotonic() >= duty.due_at:
                    self._do(duty)
        return STEP_S

    def _do(self, duty: _Duty) -> None:
        name = duty.work.__name__.strip("_").replace("_", " ")
        report = ""
        try:
            report = duty.work(self._clock())
        except Exception as error:
            if isinstance(error, Error) and not connection.is_usable():
                raise
            log.exception("sweeping %s failed; it is tried again at its next turn", name)
        else:
            if report:
                log.info("%s: %s", name, report)
        pause_s = duty.every_s if duty.while_more_s is None or not report else duty.while_more_s
        duty.due_at = monotonic() + pause_s

    def _schedules_of_new_regions(self, now: datetime) -> str:
        """A region that joined or went changes the schedules of monitors that measure from all regions."""
        joined = Region.objects.filter(joined_at__isnull=False).order_by("pk")
        regions = list(joined.values_list("pk", "organisation_id", "enabled"))
        if regions == self._regions:
            return ""
        first, self._regions = self._regions is None, regions
        return "" if first else _schedules(now)


def _leases(now: datetime) -> str:
    swept = sweep(now)
    return (
        f"{swept.missed} runs missed, {swept.retried} given to another agent" if swept.missed or swept.retried else ""
    )


def _hoards(now: datetime) -> str:
    try:
        empty_hoards(now)
    except BrokerError as error:
        return f"not looked for, the broker cannot be reached: {error}"
    return ""


def _queues(now: datetime) -> str:
    """After the leases: a run is judged while its message still stands in the queue."""
    codes = Region.objects.values_list("code", flat=True)
    queues = [queue_key(code, kind, lane) for code in codes for kind in Kind for lane in Lane]
    try:
        count = trim(queues, now=now)
    except BrokerError as error:
        return f"not trimmed, the broker cannot be reached: {error}"
    return f"{count} expired messages taken away" if count else ""


def _drafts(now: datetime) -> str:
    count = delete_old_drafts(now=now)
    return f"{count} tests that nobody saved are deleted" if count else ""


def _set_back(now: datetime) -> str:
    changes = mend_set_back(now=now)
    return f"{changes.changed} brought to the clock, which was set back" if changes.any else ""


def _pictures(now: datetime) -> str:
    count = forget_pictures(now)
    return f"{count} pictures deleted" if count else ""


def _partitions(now: datetime) -> str:
    made = ensure_partitions(now)
    return f"made {', '.join(made)}" if made else ""


def _rollups(now: datetime) -> str:
    count = roll_up(now)
    return f"{count} rolled up" if count else ""


def _retention(now: datetime) -> str:
    dropped = forget(now)
    return f"dropped {', '.join(dropped)}" if dropped else ""


def _schedules(now: datetime) -> str:
    changes = reconcile_all(now=now)
    return f"{changes.made} made, {changes.changed} changed, {changes.removed} removed" if changes.any else ""
