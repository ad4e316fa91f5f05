"""Taking experiments further, a step at a time: `step` is a loop of the judge's process, and several processes may run
it.

A step holds its experiment's row, reads what has ended, and asks for the load that comes next. All of it is one
transaction, so that a process that dies has done a step whole or not at all. Where none is due, loads are forgotten.
"""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from backend.alerts.turns import Apart
from backend.experiments.advance import advance, end
from backend.experiments.models import Experiment, ExperimentRun, ExperimentStatus
from backend.kept import retention_start

log = logging.getLogger(__name__)

IDLE_S, BUSY_S = 2.0, 0.5
# An experiment whose step fails is left alone for so long; at its deadline it ends all the same.
_AFTER_FAULT = timedelta(seconds=10)
_AT_ONCE = 20
# Runs stay until their week's partition is dropped (`runs/partitions`), and loads tell what they were made for.
_AFTER_RUNS = timedelta(weeks=2)


def step(now: datetime | None = None) -> float:
    """Takes every experiment that is due a step further; the seconds to wait for the next."""
    count = 0
    while count < _AT_ONCE and _take_one(now or timezone.now()):
        count += 1
    if count:
        return BUSY_S
    forget(retention_start(now or timezone.now()) - _AFTER_RUNS)
    return IDLE_S


def forget(before: datetime) -> None:
    """Deletes the loads of the oldest experiment that has any, where it ended before an instant; its verdict stays, as
    rollups do of other runs. Costs one row's reading where there is nothing to delete.
    """
    oldest = ExperimentRun.objects.select_related("experiment").order_by("pk").first()
    if oldest is None or oldest.experiment.ended_at is None:
        return
    if oldest.experiment.ended_at < before:
        ExperimentRun.objects.filter(experiment=oldest.experiment_id).delete()


def _take_one(now: datetime) -> bool:
    with transaction.atomic():
        held = Experiment.objects.select_for_update(skip_locked=True, of=("self",))
        due = held.filter(status=ExperimentStatus.RUNNING, due_at__lte=now).select_related(
            "monitor__site__organisation", "region", "organisation"
        )
        experiment = due.order_by("due_at").first()
        if experiment is None:
            return False
        with (
            Apart(log, "a step of experiment %s failed; it is tried again", experiment.public_id),
            transaction.atomic(),
        ):
            advance(experiment, now)
            return True
        _after_fault(Experiment.objects.get(pk=experiment.pk), now)
    return True


def _after_fault(experiment: Experiment, now: datetime) -> None:
    if now >= experiment.deadline:
        reason = "A fault of the service kept the loads from being judged; its log says more."
        end(experiment, ExperimentStatus.FAILED, now=now, reason=reason)
    else:
        experiment.due_at = now + _AFTER_FAULT
        experiment.save(update_fields=["due_at"])
