"""How a gate ends: its words are put together, and whoever asked to be called is."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime

from backend.gates.documents import rule_found
from backend.gates.models import Gate, RunState, Status, Verdict
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
    found = [(rule, rule_found(rule.found) if rule.found else None) for rule in rules]
    gate.summary = summary(gate, found, _failures_of(gate))
    gate.summary = gate.summary[:_MAX_CHARS]
    gate.callback_due_at = now if gate.calls_back else None
    gate.save(update_fields=_FIELDS)


def _failures_of(gate: Gate) -> Mapping[int, Counter[str]]:
    """By monitor what its runs that count failed with, and how often."""
    counted: dict[int, Counter[str]] = defaultdict(Counter)
    for run in gate.runs.filter(state=RunState.FAILED, discarded=False).order_by("place"):
        counted[run.monitor_id][run.reason] += 1
    return counted
