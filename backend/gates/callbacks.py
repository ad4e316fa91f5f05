"""Calling who asked to be told when a gate has ended: the address is theirs, so every call goes through the guard.

`step` is a loop of the judge's process beside that of the gates, since whoever is called may be silent for as long as a
call may take: no gate waits for that, and nobody else who is to be called.
"""

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from backend.alerts.delivery import FAULT
from backend.encryption import DecryptionError
from backend.gates.models import Gate
from backend.gates.outcome import conclusion, exit_code
from backend.outbound import OutboundError, client

log = logging.getLogger(__name__)

IDLE_S, BUSY_S = 1.0, 0.0
# Longer than any call may take: who dies while calling leaves the gate to another after this.
_LEASE = timedelta(seconds=60)
BACKOFF_S = (10.0, 60.0, 300.0, 1_800.0)
_AT_ONCE = 16


class _Call(NamedTuple):
    """One call: all that is needed for it, so that it asks the database nothing. Without a `url` none is made."""

    gate: Gate
    url: str | None
    body: bytes


class _Told(NamedTuple):
    """What came of a call, in words, and whether it is not to be made again."""

    words: str
    is_over: bool


def step(now: datetime | None = None) -> float:
    """Makes the calls that are due; the seconds to wait for the next."""
    return BUSY_S if call_back(now or timezone.now()) else IDLE_S


def call_back(now: datetime) -> int:
    """Makes the calls that are due, a bounded number at once; how many."""
    calls = _claim(now)
    if calls:
        with ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="callback") as pool:
            for call, told in zip(calls, pool.map(_made, calls), strict=True):
                _note(call.gate, told, now)
    return len(calls)


@transaction.atomic
def _claim(now: datetime) -> list[_Call]:
    due = Gate.objects.select_for_update(skip_locked=True, of=("self",)).filter(callback_due_at__lte=now)
    gates = list(due.select_related("site", "deploy").order_by("callback_due_at")[:_AT_ONCE])
    for gate in gates:
        gate.callback_due_at = now + _LEASE
        gate.callback_tries += 1
        gate.save(update_fields=["callback_due_at", "callback_tries"])
    return [_Call(gate, _url(gate), json.dumps(message(gate)).encode()) for gate in gates]


def _url(gate: Gate) -> str | None:
    """None where no key opens it any more."""
    try:
        return str(gate.callback["url"])
    except DecryptionError:
        return None


def _made(call: _Call) -> _Told:
    """Never raises: what nobody foresaw costs this gate a try, and the others nothing."""
    try:
        return _answered(call)
    except Exception:
        log.exception("who asked for gate %s could not be called", call.gate.public_id)
        return _Told(FAULT, is_over=False)


def _answered(call: _Call) -> _Told:
    """Any answer of 2xx will do."""
    if call.url is None:
        return _Told("The address cannot be read any more.", is_over=True)
    try:
        answer = client().post(call.url, call.body, {"Content-Type": "application/json"})
    except OutboundError as error:
        return _Told(str(error), is_over=False)
    return _Told(f"answered {answer.status}", is_over=200 <= answer.status < 300)


def _note(gate: Gate, told: _Told, now: datetime) -> None:
    """It is tried again until it is over, five times in all. A gate may have been deleted with its site meanwhile."""
    tried = gate.callback_tries
    is_over = told.is_over or tried > len(BACKOFF_S)
    due_at = None if is_over else now + timedelta(seconds=BACKOFF_S[tried - 1])
    Gate.objects.filter(pk=gate.pk).update(callback_answer=told.words[:200], callback_due_at=due_at)
    log.info("called back for gate %s, try %d: %s", gate.public_id, tried, told.words)


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
