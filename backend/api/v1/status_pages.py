"""Status pages: how sites are, for everybody who has the address."""

from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from ninja import Router, Status
from pydantic import StringConstraints

from backend.accounts.permissions import Permission, Scope
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.problems import existing
from backend.api.v1.shapes import In, Out
from backend.as_it_is import as_it_is
from backend.status import actions, queries
from backend.status.models import MAX_SLUG_CHARS, MAX_TITLE_CHARS
from backend.status.models import StatusPage as Row

router = Router(tags=["Status pages"])

READ, WRITE = needs(Scope.READ), needs(Scope.WRITE, permission=Permission.EDIT_SITES)
Title = Annotated[str, StringConstraints(max_length=MAX_TITLE_CHARS)]
Slug = Annotated[str, StringConstraints(max_length=MAX_SLUG_CHARS)]


class StatusPage(Out):
    """A page that shows the names, the uptime and the outages of these sites to everybody who opens `url`."""

    id: UUID
    title: str
    slug: str
    url: str
    sites: list[UUID]


class StatusPages(Out):
    items: list[StatusPage]


class NewStatusPage(In):
    """`slug` is the last part of its address, such as `acme`; each is one page's alone in the whole installation."""

    title: Title
    slug: Slug
    sites: list[UUID]


class StatusPageChange(In):
    """What is left out stays."""

    title: Title | None = None
    slug: Slug | None = None
    sites: list[UUID] | None = None


@router.get("/status-pages", auth=READ, response=StatusPages)
def list_status_pages(request: ApiRequest) -> StatusPages:
    """All of the organisation's, by title; there are at most 50."""
    return StatusPages(items=[_shape(page) for page in queries.status_pages(request.caller.organisation)])


@router.post("/status-pages", auth=WRITE, response={201: StatusPage})
def create_status_page(request: ApiRequest, page: NewStatusPage) -> Status[StatusPage]:
    """Shows sites to everybody who has the address."""
    caller, wanted = request.caller, actions.Wanted(**page.model_dump())
    made = actions.create_status_page(actor=caller.actor, organisation=caller.organisation, wanted=wanted)
    request.out["Location"] = f"/api/v1/status-pages/{made.public_id}"
    return Status(201, _shape(made))


@router.get("/status-pages/{uuid:page_id}", auth=READ, response=StatusPage)
def get_status_page(request: ApiRequest, page_id: UUID) -> StatusPage:
    """One page."""
    return _shape(owned_page(request, page_id))


@router.patch("/status-pages/{uuid:page_id}", auth=WRITE, response=StatusPage)
@transaction.atomic
def change_status_page(request: ApiRequest, page_id: UUID, change: StatusPageChange) -> StatusPage:
    """What it is called, where it is, what it shows."""
    page = as_it_is(owned_page(request, page_id))
    before = actions.Wanted(title=page.title, slug=page.slug, sites=[site.public_id for site in page.sites.all()])
    given: dict[str, Any] = {name: value for name, value in change.model_dump().items() if value is not None}
    wanted = replace(before, **given)
    return _shape(actions.change_status_page(actor=request.caller.actor, page=page, wanted=wanted))


@router.delete("/status-pages/{uuid:page_id}", auth=WRITE, response={204: None})
def delete_status_page(request: ApiRequest, page_id: UUID) -> HttpResponse:
    """Its address and its badges lead nowhere from then on."""
    actions.delete_status_page(actor=request.caller.actor, page=owned_page(request, page_id))
    return HttpResponse(status=204)


def owned_page(request: ApiRequest, page_id: UUID) -> Row:
    """The caller's page of that id. Raises ProblemError."""
    return existing(queries.status_page(request.caller.organisation, page_id), "There is no such status page.")


def _shape(page: Row) -> StatusPage:
    return StatusPage(
        id=page.public_id,
        title=page.title,
        slug=page.slug,
        url=f"{settings.BASE_URL}{actions.address_of(page)}",
        sites=[site.public_id for site in page.sites.all()],
    )
