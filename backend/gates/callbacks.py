"""Calling who asked to be told when a gate has ended: the address is theirs, so every call goes through the guard."""

import json
import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from backend.encryption import DecryptionError
from backend.gates.models import Gate
from backend.gates.outcome import conclusion, exit_code
from backend.outbound import OutboundError, client

log = logging.getLogger(__name__)

# Longer than any call may take: who dies while calling leaves the gate to another after this.
_LEASE = timedelta(seconds=60)
BACKOFF_S = (10.0, 60.0, 300.0, 1_800.0)
# Gates are waited for by pipelines; a slow listener must not hold them up for long.
_AT_ONCE = 2


def call_back(now: datetime) -> int:
    """Makes the calls that are due, at most two; how many."""
    gates = _claim(now)
    for gate in gates:
        _call(gate, now)
    return len(gates)


@transaction.atomic
def _claim(now: datetime) -> list[Gate]:
    due = Gate.objects.select_for_update(skip_locked=True, of=("self",)).filter(callback_due_at__lte=now)
    gates = list(due.select_related("site", "deploy").order_by("callback_due_at")[:_AT_ONCE])
    for gate in gates:
        gate.callback_due_at = now + _LEASE
        gate.callback_tries += 1
        gate.save(update_fields=["callback_due_at", "callback_tries"])
    return gates


def _call(gate: Gate, now: datetime) -> None:
    """Any answer of 2xx will do; else it is tried again, five times in all."""
    try:
        url = str(gate.callback["url"])
        answer = client().post(url, json.dumps(message(gate)).encode(), {"Content-Type": "application/json"})
        told, is_over = f"answered {answer.status}", 200 <= answer.status < 300
    except OutboundError as error:
        told, is_over = str(error), False
    except DecryptionError:
        told, is_over = "The address cannot be read any more.", True
    tried = gate.callback_tries
    is_over = is_over or tried > len(BACKOFF_S)
    gate.callback_answer = told[:200]
    gate.callback_due_at = None if is_over else now + timedelta(seconds=BACKOFF_S[tried - 1])
    gate.save(update_fields=["callback_answer", "callback_due_at"])
    log.info("called back for gate %s, try %d: %s", gate.public_id, tried, told)


def message(gate: Gate) -> dict[str, object]:
    """What is sent: enough to act on; the details are at the API, for who has a token."""
    return {
        "type": "gate.ended",
        "id": str(gate.public_id),
        "site": str(gate.site.public_id),
        "deploy": None if gate.deploy is None else gate.deploy.external_id or str(gate.deploy.public_id),
        "status": gate.status,
        "verdict": gate.verdict or None,
        "exit_code": exit_code(gate),
        "conclusion": conclusion(gate),
        "summary": gate.summary,
        "url": f"{settings.BASE_URL}/gates/{gate.public_id}/",
    }
