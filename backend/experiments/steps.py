"""Taking experiments further, a step at a time: `step` is a loop of the judge's process, and several processes may run
it.

A step holds its experiment's row, reads what has ended, and asks for the load that comes next. All of it is one
transaction, so that a process that dies has done a step whole or not at all.
"""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from backend.alerts.turns import Apart
from backend.experiments.advance import advance, end
from backend.experiments.models import Experiment, ExperimentStatus

log = logging.getLogger(__name__)

IDLE_S, BUSY_S = 2.0, 0.5
# An experiment whose step fails is left alone for so long; at its deadline it ends all the same.
_AFTER_FAULT = timedelta(seconds=10)
_AT_ONCE = 20


def step(now: datetime | None = None) -> float:
    """Takes every experiment that is due a step further; the seconds to wait for the next."""
    count = 0
    while count < _AT_ONCE and _take_one(now or timezone.now()):
        count += 1
    return BUSY_S if count else IDLE_S


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
