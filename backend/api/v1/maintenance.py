"""Maintenance: times in which nothing is told."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.http import HttpResponse
from ninja import Query, Router, Status
from pydantic import StringConstraints

from backend.alerts.actions import maintenance as actions
from backend.alerts.models import Maintenance as WindowModel
from backend.alerts.models.rules import MAX_REASON_CHARS
from backend.alerts.queries import rules as queries
from backend.api.v1.access import CHANGE_ALERTS, READ_ALERTS, ApiRequest
from backend.api.v1.paging import Cursor, Limit, number_of, page_of
from backend.api.v1.problems import existing
from backend.api.v1.shapes import In, Instant, Out, Page
from backend.api.v1.sites import site_asked, site_in_body

router = Router(tags=["Maintenance"])

Reason = Annotated[str, StringConstraints(max_length=MAX_REASON_CHARS)]
OfSite = Annotated[UUID | None, Query(None, description="Only of this site, and those of all sites.")]


class MaintenanceWindow(Out):
    """A time in which nothing is told of a site, or of all when `site` is null. It is judged and recorded as usual."""

    id: UUID
    site: UUID | None
    starts_at: datetime
    ends_at: datetime
    reason: str


class NewMaintenance(In):
    """At most 31 days, beginning at most a year from now."""

    site: UUID | None = None
    starts_at: Instant
    ends_at: Instant
    reason: Reason = ""


@router.get("/maintenance", auth=READ_ALERTS, response=Page[MaintenanceWindow])
def list_maintenance(
    request: ApiRequest, site: OfSite = None, limit: Limit = 50, cursor: Cursor = ""
) -> Page[MaintenanceWindow]:
    """Windows that go on, lie ahead or were lately, in the order they were planned."""
    last = number_of(request, cursor) or 0
    found = queries.maintenance_windows(request.caller.organisation, site_asked(request, site))
    rows = sorted((window for window in found if window.pk > last), key=lambda window: window.pk)
    return page_of(request, rows, Page[MaintenanceWindow], limit=limit, shape=_shape, key=lambda window: [window.pk])


@router.post("/maintenance", auth=CHANGE_ALERTS, response={201: MaintenanceWindow})
def plan_maintenance(request: ApiRequest, window: NewMaintenance) -> Status[MaintenanceWindow]:
    """Plans a window, or begins one now."""
    made = actions.plan_maintenance(
        actor=request.caller.actor,
        organisation=request.caller.organisation,
        site=None if window.site is None else site_in_body(request, window.site),
        starts_at=window.starts_at,
        ends_at=window.ends_at,
        reason=window.reason,
    )
    request.out["Location"] = f"/api/v1/maintenance/{made.public_id}"
    return Status(201, _shape(made))


@router.get("/maintenance/{uuid:window_id}", auth=READ_ALERTS, response=MaintenanceWindow)
def get_maintenance(request: ApiRequest, window_id: UUID) -> MaintenanceWindow:
    """One window."""
    return _shape(_owned(request, window_id))


@router.delete("/maintenance/{uuid:window_id}", auth=CHANGE_ALERTS, response={204: None})
def end_maintenance(request: ApiRequest, window_id: UUID) -> HttpResponse:
    """Ends a window now, or takes back one that has not begun. What still holds is told within seconds."""
    actions.end_maintenance(actor=request.caller.actor, window=_owned(request, window_id))
    return HttpResponse(status=204)


def _owned(request: ApiRequest, window_id: UUID) -> WindowModel:
    return existing(queries.maintenance_window(request.caller.organisation, window_id), "There is no such window.")


def _shape(window: WindowModel) -> MaintenanceWindow:
    return MaintenanceWindow(
        id=window.public_id,
        site=window.site.public_id if window.site else None,
        starts_at=window.starts_at,
        ends_at=window.ends_at,
        reason=window.reason,
    )
