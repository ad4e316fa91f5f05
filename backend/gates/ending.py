"""How a gate ends: its words are put together, and whoever asked to be called is."""

from datetime import datetime

from backend.gates.documents import rule_found
from backend.gates.models import Gate, Status, Verdict
from backend.gates.wording import summary

_MAX_CHARS = 1_000
_FIELDS = (
    "verdict",
    "status",
    "started_at",
    "ended_at",
    "summary",
    "reason",
    "warnings",
    "look",
    "given_up",
    "callback_due_at",
)


def end(gate: Gate, verdict: str, *, now: datetime, status: Status = Status.DONE) -> None:
    """Gives a locked gate its verdict for good."""
    gate.verdict, gate.status, gate.ended_at = Verdict(verdict), status, now
    gate.reason = gate.reason[:_MAX_CHARS]
    rules = list(gate.rules.order_by("position"))
    gate.summary = summary(gate, [(rule, rule_found(rule.found) if rule.found else None) for rule in rules])
    gate.summary = gate.summary[:_MAX_CHARS]
    gate.callback_due_at = now if gate.calls_back else None
    gate.save(update_fields=_FIELDS)
