"""What people do about incidents."""

import json
from collections import defaultdict
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import User
from backend.alerts.incidents import close, lock
from backend.alerts.message import Event
from backend.alerts.models import EventKind, Incident, IncidentEvent, Resolution, RuleKind, Trend
from backend.alerts.models.incidents import MAX_TEXT_CHARS
from backend.alerts.remarks import remark
from backend.alerts.stories import going_on, last_of
from backend.alerts.telling import tell_if_loud
from backend.alerts.wording import clock
from backend.faults import FieldFaultError

MAX_MUTE = timedelta(days=90)


class IncidentError(FieldFaultError):
    """Not with this incident; the text is a sentence for people, `field` what it is about."""


@transaction.atomic
def acknowledge(*, actor: User | None, incident: Incident, by: str = "") -> Incident:
    """Somebody cares: no reminders from now on. `by` says who it was that is no user here. Raises IncidentError."""
    incident = _lock_open(incident)
    if incident.acknowledged_at is None:
        incident.acknowledged_at, incident.acknowledged_by = timezone.now(), actor
        incident.save(update_fields=["acknowledged_at", "acknowledged_by"])
        _note(incident, EventKind.ACKNOWLEDGED, by, actor=actor)
    return incident


@transaction.atomic
def unacknowledge(*, actor: User | None, incident: Incident) -> Incident:
    """Nobody cares yet, after all: channels that are told later, and were spared for it, are owed it. Raises
    IncidentError.
    """
    incident = _lock_open(incident)
    if incident.acknowledged_at is not None:
        incident.acknowledged_at = incident.acknowledged_by = None
        incident.owed = True
        incident.save(update_fields=["acknowledged_at", "acknowledged_by", "owed"])
        _note(incident, EventKind.UNACKNOWLEDGED, actor=actor)
    return incident


@transaction.atomic
def mute(*, actor: User | None, incident: Incident, until: datetime | None, by: str = "") -> Incident:
    """Nothing is told until then, or until it has recovered when no time is given. `by` says who it was that is no user
    here. Raises IncidentError.
    """
    now = timezone.now()
    if until is not None and not now < until <= now + MAX_MUTE:
        raise IncidentError("until", f"Choose a time from now to {MAX_MUTE.days} days ahead.")
    incident = _lock_open(incident)
    incident.muted_until, incident.muted_until_recovery = until, until is None
    incident.save(update_fields=["muted_until", "muted_until_recovery"])
    text = "until it has recovered" if until is None else f"until {clock(until)}"
    _note(incident, EventKind.MUTED, f"{text}, {by}" if by else text, actor=actor)
    return incident


@transaction.atomic
def unmute(*, actor: User | None, incident: Incident) -> Incident:
    """What still holds is told within seconds."""
    incident = lock(incident.pk)
    if incident.muted_until is not None or incident.muted_until_recovery:
        incident.muted_until, incident.muted_until_recovery = None, False
        incident.save(update_fields=["muted_until", "muted_until_recovery"])
        _note(incident, EventKind.UNMUTED, actor=actor)
    return incident


@transaction.atomic
def resolve(*, actor: User | None, incident: Incident) -> Incident:
    """Closes it, told to whom it was told. What goes on all the same is not told again before it has recovered once.

    Raises IncidentError.
    """
    return _close(_lock_open(incident), Resolution.RESOLVED, EventKind.RESOLVED, actor)


@transaction.atomic
def accept(*, actor: User | None, incident: Incident) -> Incident:
    """The present speed is the new normal: closes the incident, and normal is learned anew. Raises IncidentError."""
    metrics: dict[int, set[str]] = defaultdict(set)
    for member in going_on(incident):
        if member.kind == RuleKind.REGRESSION and member.monitor_id is not None:
            metrics[member.monitor_id].add(member.metric)
    if not metrics:
        raise IncidentError("incident", "Only a site that became slower can have a new normal.")
    # Before the incident, as the judge does.
    for trend in Trend.objects.select_for_update().filter(monitor__in=metrics).order_by("pk"):
        memory = json.loads(trend.memory)
        memory["accept"] = sorted(metrics[trend.pk] | set(memory.get("accept", ())))
        trend.memory, trend.due_at = json.dumps(memory, separators=(",", ":")), timezone.now()
        trend.save(update_fields=["memory", "due_at"])
    return _close(_lock_open(incident), Resolution.ACCEPTED, EventKind.ACCEPTED, actor)


@transaction.atomic
def comment(*, actor: User | None, incident: Incident, text: str) -> IncidentEvent:
    """A sentence in the time line. Raises IncidentError."""
    text = text.strip()
    if not text:
        raise IncidentError("text", "Write something.")
    if len(text) > MAX_TEXT_CHARS or "\0" in text:
        raise IncidentError("text", f"A comment has at most {MAX_TEXT_CHARS} characters, and no NUL.")
    return _note(lock(incident.pk), EventKind.COMMENT, text, actor=actor)


def _close(incident: Incident, resolution: Resolution, kind: EventKind, actor: User | None) -> Incident:
    now = timezone.now()
    members = going_on(incident) or last_of(incident)
    incident.muted_until_recovery = False
    notice, silence = None, None
    if incident.told and members:
        notice, silence = tell_if_loud(incident, Event.RESOLVED, members, now=now, seen_at=now)
    else:
        incident.owed = False
    close(incident, resolution, at=now)
    event = _note(incident, kind, actor=actor)
    event.notice, event.silenced = notice, silence or ""
    event.save(update_fields=["notice", "silenced"])
    return incident


def _lock_open(incident: Incident) -> Incident:
    locked = lock(incident.pk)
    if not locked.is_open:
        raise IncidentError("incident", "It is over already.")
    return locked


def _note(incident: Incident, kind: EventKind, text: str = "", *, actor: User | None) -> IncidentEvent:
    """The entry in the time line, the one in the audit log, which says for itself what it was about, and what is said
    of it in Slack."""
    detail = {"name": incident.title} | ({"site": incident.site.name} if incident.site is not None else {})
    if text and kind is not EventKind.COMMENT:
        detail["text"] = text
    record(f"{kind.value}_incident", incident, actor=actor, organisation=incident.organisation, **detail)
    event = IncidentEvent.objects.create(incident=incident, kind=kind, at=timezone.now(), text=text, actor=actor)
    remark(incident, event)
    return event
