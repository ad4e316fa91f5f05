"""Sites: what an organisation has registered."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.db.models import prefetch_related_objects
from django.http import HttpResponse
from ninja import Router, Status
from pydantic import Field, StringConstraints

from backend.accounts.permissions import Permission, Scope
from backend.alerts.actions import sites as alerts
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.paging import Cursor, Limit, page_of, position_of
from backend.api.v1.problems import existing, invalid
from backend.api.v1.shapes import In, Out, Page, Url
from backend.runs import actions
from backend.sites import actions as site_actions
from backend.sites import queries
from backend.sites.dependencies import rely_on
from backend.sites.lists import sites_after
from backend.sites.models import MonitorKind, SiteStatus
from backend.sites.models import Site as SiteRow

router = Router(tags=["Sites"])

Name = Annotated[str, StringConstraints(max_length=site_actions.MAX_NAME_CHARS)]
READ, WRITE = needs(Scope.READ), needs(Scope.WRITE, permission=Permission.EDIT_SITES)


class MonitorOfSite(Out):
    id: UUID
    kind: MonitorKind


class Site(Out):
    """A draft is what a test of an unregistered URL makes: it is removed after a day unless it is made active.
    `relies_on` are sites that it cannot do without: while one is down, nothing is told of this one by itself.
    """

    id: UUID
    name: str
    url: str
    status: SiteStatus
    created_at: datetime
    relies_on: list[UUID]
    monitors: list[MonitorOfSite]


class NewSite(In):
    """`https://` is put before a URL without a scheme; the name is the host's when it is left out."""

    url: Url
    name: Name = ""


class SiteChange(In):
    """What is left out stays. A draft becomes active, and not the other way round."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=site_actions.MAX_NAME_CHARS)] | None = None
    status: SiteStatus | None = Field(None, description="`active` makes a draft a site that is measured from now on.")
    relies_on: list[UUID] | None = Field(None, description="All of them; at most 10, and in no circle.")


@router.get("/sites", auth=READ, response=Page[Site])
def list_sites(
    request: ApiRequest, status: SiteStatus = SiteStatus.ACTIVE, limit: Limit = 50, cursor: Cursor = ""
) -> Page[Site]:
    """Sites by name: those that are measured, or drafts."""
    position = position_of(request, cursor)
    after = None if position is None else (str(position[0]), int(position[1]))
    rows = sites_after(request.caller.organisation, status=status, after=after, limit=limit + 1)
    prefetch_related_objects(rows, "relies_on")
    return page_of(request, rows, Page[Site], limit=limit, shape=shape_of, key=lambda row: [row.name, row.pk])


@router.post("/sites", auth=WRITE, response={201: Site})
def create_site(request: ApiRequest, site: NewSite) -> Status[Site]:
    """Registers a site, measured from now on: a probe every minute, a page load every 15, from all regions."""
    caller = request.caller
    made = actions.register_site(actor=caller.actor, organisation=caller.organisation, name=site.name, url=site.url)
    request.out["Location"] = f"/api/v1/sites/{made.public_id}"
    return Status(201, shape_of(made))


@router.get("/sites/{uuid:site_id}", auth=READ, response=Site)
def get_site(request: ApiRequest, site_id: UUID) -> Site:
    """One site, active or draft."""
    return shape_of(owned_site(request, site_id))


@router.patch("/sites/{uuid:site_id}", auth=WRITE, response=Site)
@transaction.atomic
def change_site(request: ApiRequest, site_id: UUID, change: SiteChange) -> Site:
    """Renames a site, makes a draft active, or says what it relies on."""
    site, actor = owned_site(request, site_id), request.caller.actor
    if change.status is SiteStatus.DRAFT and site.status != SiteStatus.DRAFT:
        raise invalid("#/status", "A site that is measured does not become a draft again; pause its monitors.")
    if change.relies_on is not None:
        site = rely_on(actor=actor, site=site, others=change.relies_on)
    if change.status is SiteStatus.ACTIVE and site.status == SiteStatus.DRAFT:
        site = actions.save_site(actor=actor, site=site, name=change.name or "")
    elif change.name is not None:
        site = site_actions.rename(actor=actor, site=site, name=change.name)
    return shape_of(site)


@router.delete("/sites/{uuid:site_id}", auth=WRITE, response={204: None})
def delete_site(request: ApiRequest, site_id: UUID) -> HttpResponse:
    """Ends a site with all that was measured of it."""
    alerts.delete_site(actor=request.caller.actor, site=owned_site(request, site_id))
    return HttpResponse(status=204)


def owned_site(request: ApiRequest, site_id: UUID) -> SiteRow:
    """The caller's own site. Raises ProblemError for any other."""
    return existing(queries.site(request.caller.organisation, site_id), "There is no such site.")


def site_in_body(request: ApiRequest, site_id: UUID) -> SiteRow:
    """The caller's own site that a body names as `site`. Raises ProblemError for any other."""
    site = queries.site(request.caller.organisation, site_id)
    if site is None:
        raise invalid("#/site", "There is no such site.")
    return site


def site_asked(request: ApiRequest, site_id: UUID | None) -> SiteRow | None:
    """The caller's own site that a list is asked of by `?site=`; None where it is of all. Raises ProblemError for any
    other: an empty list would say that there is nothing of it."""
    if site_id is None:
        return None
    site = queries.site(request.caller.organisation, site_id)
    if site is None:
        raise invalid("?site", "There is no such site.")
    return site


def shape_of(site: SiteRow) -> Site:
    monitors = sorted(site.monitors.all(), key=lambda monitor: monitor.pk)
    return Site(
        id=site.public_id,
        name=site.name,
        url=site.url,
        status=SiteStatus(site.status),
        created_at=site.created_at,
        relies_on=sorted(other.public_id for other in site.relies_on.all()),
        monitors=[MonitorOfSite(id=monitor.public_id, kind=MonitorKind(monitor.kind)) for monitor in monitors],
    )
