"""Incidents: what is wrong, since when, who knows, and what is done about it."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from ninja import Query, Router, Status
from pydantic import Field, StringConstraints

from backend.alerts.actions import incidents as actions
from backend.alerts.message import Severity
from backend.alerts.models import Cause, EventKind, Resolution, RuleKind, Silence
from backend.alerts.models import Incident as IncidentModel
from backend.alerts.models import Member as MemberModel
from backend.alerts.models.incidents import MAX_TEXT_CHARS, IncidentEvent
from backend.alerts.queries import incidents as queries
from backend.alerts.queries.channels import line_of
from backend.alerts.states import State
from backend.api.v1.access import CHANGE_ALERTS, READ_ALERTS, ApiRequest
from backend.api.v1.channels import Delivery, delivery_shape
from backend.api.v1.paging import Cursor, Limit, number_of, page_of
from backend.api.v1.problems import existing
from backend.api.v1.shapes import In, Instant, Out, Page
from backend.api.v1.sites import site_asked

router = Router(tags=["Incidents"])

Reason = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT_CHARS)]
OfSite = Annotated[UUID | None, Query(None, description="Only of this site.")]


class Which(StrEnum):
    """Which incidents a list has."""

    OPEN = "open"
    RESOLVED = "resolved"
    ALL = "all"


class IncidentStatus(StrEnum):
    """How an incident stands for people; `state` says how bad it is."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    MUTED = "muted"
    FLAPPING = "flapping"
    RESOLVED = "resolved"


class Finding(Out):
    """What one rule says of one monitor. `before_run` is the last run without it, `after_run` one that shows it."""

    rule: UUID | None
    kind: RuleKind
    monitor: UUID | None
    metric: str | None
    state: State
    regions: list[str]
    since: datetime
    ended_at: datetime | None
    before_run: UUID | None
    after_run: UUID | None


class Incident(Out):
    """The life of one alert. `site` is null for a silent region."""

    id: UUID
    site: UUID | None
    region: str | None
    cause: Cause
    status: IncidentStatus
    state: State
    worst_state: State
    severity: Severity
    title: str
    opened_at: datetime
    resolved_at: datetime | None
    resolution: Resolution | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    muted_until: datetime | None
    muted_until_recovery: bool
    in_maintenance: bool
    findings: list[Finding]


class TimeLineEntry(Out):
    """Something that happened to an incident. `told`: a channel has it. `silenced` says why nobody was told of it."""

    kind: EventKind
    at: datetime
    text: str
    by: str | None
    told: bool
    silenced: Silence | None


class IncidentDetail(Incident):
    """An incident with its time line, the oldest first, and what channels answered, the newest first."""

    timeline: list[TimeLineEntry]
    deliveries: list[Delivery]


class Mute(In):
    """`until` is when telling begins again; null is when it has recovered."""

    until: Instant | None = Field(None, description="At most 90 days ahead.")


class NewComment(In):
    text: Reason


@router.get("/incidents", auth=READ_ALERTS, response=Page[Incident])
def list_incidents(
    request: ApiRequest, status: Which = Which.OPEN, site: OfSite = None, limit: Limit = 50, cursor: Cursor = ""
) -> Page[Incident]:
    """Incidents, the newest first."""
    rows = queries.incidents(
        request.caller.organisation,
        site=site_asked(request, site),
        is_open=None if status is Which.ALL else status is Which.OPEN,
        before=number_of(request, cursor),
        limit=limit + 1,
    )
    return page_of(request, rows, Page[Incident], limit=limit, shape=_shape, key=lambda row: [row.place])


@router.get("/incidents/{uuid:incident_id}", auth=READ_ALERTS, response=IncidentDetail)
def get_incident(request: ApiRequest, incident_id: UUID) -> IncidentDetail:
    """One incident with all that happened."""
    return _detail(request, incident_id)


@router.post("/incidents/{uuid:incident_id}/acknowledge", auth=CHANGE_ALERTS, response=IncidentDetail)
def acknowledge_incident(request: ApiRequest, incident_id: UUID) -> IncidentDetail:
    """Somebody cares: no reminders from now on."""
    return _act(request, incident_id, actions.acknowledge)


@router.post("/incidents/{uuid:incident_id}/unacknowledge", auth=CHANGE_ALERTS, response=IncidentDetail)
def unacknowledge_incident(request: ApiRequest, incident_id: UUID) -> IncidentDetail:
    """Takes the acknowledgement back."""
    return _act(request, incident_id, actions.unacknowledge)


@router.post("/incidents/{uuid:incident_id}/mute", auth=CHANGE_ALERTS, response=IncidentDetail)
def mute_incident(request: ApiRequest, incident_id: UUID, mute: Mute) -> IncidentDetail:
    """Nothing is told for a while; it is judged and recorded all the same."""
    return _act(request, incident_id, actions.mute, until=mute.until)


@router.post("/incidents/{uuid:incident_id}/unmute", auth=CHANGE_ALERTS, response=IncidentDetail)
def unmute_incident(request: ApiRequest, incident_id: UUID) -> IncidentDetail:
    """What still holds is told within seconds."""
    return _act(request, incident_id, actions.unmute)


@router.post("/incidents/{uuid:incident_id}/resolve", auth=CHANGE_ALERTS, response=IncidentDetail)
def resolve_incident(request: ApiRequest, incident_id: UUID) -> IncidentDetail:
    """Closes it. What goes on all the same is not told again before it has recovered once."""
    return _act(request, incident_id, actions.resolve)


@router.post("/incidents/{uuid:incident_id}/accept", auth=CHANGE_ALERTS, response=IncidentDetail)
def accept_incident(request: ApiRequest, incident_id: UUID) -> IncidentDetail:
    """The present speed is the new normal: closes a regression, and learns anew what is normal."""
    return _act(request, incident_id, actions.accept)


@router.post("/incidents/{uuid:incident_id}/comments", auth=CHANGE_ALERTS, response={201: TimeLineEntry})
def comment_on_incident(request: ApiRequest, incident_id: UUID, comment: NewComment) -> Status[TimeLineEntry]:
    """A sentence in the time line."""
    incident = _owned(request, incident_id)
    said = actions.comment(actor=request.caller.actor, incident=incident, text=comment.text)
    return Status(201, _entry(said, told=False))


def _act(request: ApiRequest, incident_id: UUID, act: Callable[..., IncidentModel], **more: Any) -> IncidentDetail:
    act(actor=request.caller.actor, incident=_owned(request, incident_id), **more)
    return _detail(request, incident_id)


def _owned(request: ApiRequest, incident_id: UUID) -> IncidentModel:
    return existing(queries.incident(request.caller.organisation, incident_id), "There is no such incident.")


def _detail(request: ApiRequest, incident_id: UUID) -> IncidentDetail:
    detail = existing(queries.incident_detail(request.caller.organisation, incident_id), "There is no such incident.")
    return IncidentDetail(
        **dict(_shape(detail.row)),
        timeline=[_entry(event, told=event.pk in detail.told) for event in detail.events],
        deliveries=[delivery_shape(line_of(delivery)) for delivery in detail.deliveries],
    )


def _shape(row: queries.IncidentRow) -> Incident:
    incident = row.incident
    return Incident(
        id=incident.public_id,
        site=incident.site.public_id if incident.site else None,
        region=incident.region.code if incident.region else None,
        cause=Cause(incident.cause),
        status=IncidentStatus(row.status),
        state=State(incident.state),
        worst_state=State(incident.worst_state),
        severity=Severity(incident.severity),
        title=incident.title,
        opened_at=incident.opened_at,
        resolved_at=incident.resolved_at,
        resolution=Resolution(incident.resolution) if incident.resolution else None,
        acknowledged_at=incident.acknowledged_at,
        acknowledged_by=incident.acknowledged_by.email if incident.acknowledged_by else None,
        muted_until=incident.muted_until,
        muted_until_recovery=incident.muted_until_recovery,
        in_maintenance=row.in_maintenance,
        findings=[_finding(member) for member in row.members],
    )


def _finding(member: MemberModel) -> Finding:
    return Finding(
        rule=member.rule.public_id if member.rule else None,
        kind=RuleKind(member.kind),
        monitor=member.monitor.public_id if member.monitor else None,
        metric=member.metric or None,
        state=State(member.state),
        regions=list(member.regions),
        since=member.since,
        ended_at=member.ended_at,
        before_run=member.before_run,
        after_run=member.after_run,
    )


def _entry(event: IncidentEvent, *, told: bool) -> TimeLineEntry:
    return TimeLineEntry(
        kind=EventKind(event.kind),
        at=event.at,
        text=event.text,
        by=event.actor.email if event.actor else None,
        told=told,
        silenced=Silence(event.silenced) if event.silenced else None,
    )
