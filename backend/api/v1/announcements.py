"""Announcements: what people tell the visitors of a status page."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.http import HttpResponse
from ninja import Router, Status
from pydantic import StringConstraints

from backend.accounts.permissions import Permission, Scope
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.problems import existing
from backend.api.v1.shapes import In, Out
from backend.api.v1.status_pages import owned_page
from backend.status import announcing, queries
from backend.status.models import MAX_ANNOUNCEMENT_CHARS, MAX_UPDATE_CHARS, AnnouncementStage
from backend.status.models import Announcement as Row

router = Router(tags=["Status pages"])

READ, WRITE = needs(Scope.READ), needs(Scope.WRITE, permission=Permission.EDIT_SITES)
Title = Annotated[str, StringConstraints(max_length=MAX_ANNOUNCEMENT_CHARS)]
Text = Annotated[str, StringConstraints(max_length=MAX_UPDATE_CHARS)]


class Update(Out):
    """What was said about it, in lines of plain text."""

    stage: AnnouncementStage
    text: str
    at: datetime


class Announcement(Out):
    """What visitors are told. `ended_at` is null until it is resolved; `updates` begin with the newest."""

    id: UUID
    title: str
    created_at: datetime
    ended_at: datetime | None
    updates: list[Update]


class Announcements(Out):
    items: list[Announcement]


class NewUpdate(In):
    """How far you are, and what visitors read."""

    stage: AnnouncementStage
    text: Text


class NewAnnouncement(NewUpdate):
    title: Title


@router.get("/status-pages/{uuid:page_id}/announcements", auth=READ, response=Announcements)
def list_announcements(request: ApiRequest, page_id: UUID) -> Announcements:
    """What was announced on a page, what is open before what is over, the newest first; 200 that are over are kept."""
    found = queries.announcements(owned_page(request, page_id), limit=announcing.MAX_LISTED)
    return Announcements(items=[_shape(one) for one in found])


@router.post("/status-pages/{uuid:page_id}/announcements", auth=WRITE, response={201: Announcement})
def create_announcement(request: ApiRequest, page_id: UUID, announcement: NewAnnouncement) -> Status[Announcement]:
    """Tells the visitors of a page something."""
    page, actor = owned_page(request, page_id), request.caller.actor
    made = announcing.announce(actor=actor, page=page, title=announcement.title, said=_said(announcement))
    return Status(201, _shape(made))


@router.post(
    "/status-pages/{uuid:page_id}/announcements/{uuid:announcement_id}/updates",
    auth=WRITE,
    response={201: Announcement},
)
def create_update(request: ApiRequest, page_id: UUID, announcement_id: UUID, update: NewUpdate) -> Status[Announcement]:
    """Tells how it goes on; `resolved` ends it."""
    found = _owned(request, page_id, announcement_id)
    announcing.update_announcement(actor=request.caller.actor, announcement=found, said=_said(update))
    return Status(201, _shape(_owned(request, page_id, announcement_id)))


@router.delete("/status-pages/{uuid:page_id}/announcements/{uuid:announcement_id}", auth=WRITE, response={204: None})
def delete_announcement(request: ApiRequest, page_id: UUID, announcement_id: UUID) -> HttpResponse:
    """Visitors see nothing of it from then on."""
    announcing.delete_announcement(actor=request.caller.actor, announcement=_owned(request, page_id, announcement_id))
    return HttpResponse(status=204)


def _owned(request: ApiRequest, page_id: UUID, announcement_id: UUID) -> Row:
    found = queries.announcement(owned_page(request, page_id), announcement_id)
    return existing(found, "There is no such announcement.")


def _said(given: NewUpdate) -> announcing.Said:
    return announcing.Said(stage=given.stage, text=given.text)


def _shape(one: Row) -> Announcement:
    told = queries.public_announcement(one)
    return Announcement(
        id=one.public_id,
        title=one.title,
        created_at=one.created_at,
        ended_at=one.ended_at,
        updates=[Update(stage=update.stage, text=update.text, at=update.at) for update in told.updates],
    )
