"""What a rule would have told, as it is found and as it is kept. No arithmetic: a web process reads it."""

from dataclasses import dataclass
from datetime import datetime

from backend.alerts.models import Rule, RulePreview


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """`alerts` is how many incidents the rule would have opened since `since`, `moments` when the latest of them began.

    None for a rule that cannot be tried on the past. `runs` is how many runs it was tried on, `reason` what else there
    is to say.
    """

    alerts: int | None
    since: datetime
    runs: int = 0
    moments: tuple[datetime, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A preview, and when it was worked out."""

    preview: Preview
    at: datetime


def kept_of(rule: Rule) -> Kept | None:
    """What is stored of a rule as it stands; None when it is not worked out yet."""
    row: RulePreview | None = getattr(rule, "preview", None)
    if row is None or row.computed_at is None or row.since is None or row.version != rule.version:
        return None
    moments = tuple(datetime.fromisoformat(at) for at in row.moments)
    found = Preview(alerts=row.alerts, since=row.since, runs=row.runs, moments=moments, reason=row.reason)
    return Kept(preview=found, at=row.computed_at)
