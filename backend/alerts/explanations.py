"""What else explains an incident, so that nothing is told of it by itself; it is owed meanwhile."""

from collections.abc import Sequence
from datetime import datetime

from backend.alerts.dependencies import explains
from backend.alerts.models import Incident, Member, Silence
from backend.alerts.said_by_findings import is_said


def explanation_of(incident: Incident, members: Sequence[Member], *, now: datetime) -> Silence | None:
    """Why bad news of these members are none to those who would be told; None where they are."""
    if explains(incident, members, now=now):
        return Silence.DEPENDENCY
    return Silence.FINDING if is_said(incident, members, now=now) else None
