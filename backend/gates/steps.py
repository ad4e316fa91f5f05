"""Taking gates further, a step at a time: `step` is a loop of the judge's process, and several processes may run it.

A step holds its gate's row, reads what has ended, judges when a look is complete, and asks for what is measured next.
All of it is one transaction, so that a process that dies has done a step whole or not at all.
"""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from backend.alerts.turns import Apart
from backend.gates.advance import advance
from backend.gates.ending import end
from backend.gates.models import OPEN, Gate, Status, Verdict

log = logging.getLogger(__name__)

IDLE_S, BUSY_S = 1.0, 0.5
# A gate whose step fails is left alone for so long; at its deadline it ends all the same.
_AFTER_FAULT = timedelta(seconds=10)
_GATES_AT_ONCE = 50


def step(now: datetime | None = None) -> float:
    """Takes every gate that is due a step further; the seconds to wait for the next."""
    count = 0
    while count < _GATES_AT_ONCE and _take_one(now or timezone.now()):
        count += 1
    return BUSY_S if count else IDLE_S


def _take_one(now: datetime) -> bool:
    with transaction.atomic():
        due = Gate.objects.select_for_update(skip_locked=True, of=("self",)).filter(status__in=OPEN, due_at__lte=now)
        gate = due.select_related("site", "organisation", "deploy").order_by("due_at").first()
        if gate is None:
            return False
        with Apart(log, "a step of gate %s failed; it is tried again", gate.public_id), transaction.atomic():
            advance(gate, now)
            return True
        _after_fault(Gate.objects.get(pk=gate.pk), now)
    return True


def _after_fault(gate: Gate, now: datetime) -> None:
    if now >= gate.deadline:
        gate.reason = "A fault of the service kept this gate from being judged; its log says more."
        end(gate, Verdict.ERROR, now=now, status=Status.TIMEOUT)
    else:
        gate.due_at = now + _AFTER_FAULT
        gate.save(update_fields=["due_at"])
