"""Deploys: releases that pipelines tell of, so that an alert says whether its change began with one."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from ninja import Query, Router, Status
from pydantic import Field, StringConstraints

from backend.accounts.permissions import Permission, Scope
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.paging import Cursor, Limit, moment_of, page_of
from backend.api.v1.problems import INVALID, Fault, ProblemError, existing, invalid
from backend.api.v1.shapes import In, Instant, Out, Page
from backend.sites import queries
from backend.sites.actions import record_deploy
from backend.sites.deploys import MAX_CHARS, DeployMarker, InvalidDeployError
from backend.sites.models import Deploy as DeployRow
from backend.sites.models import Site

router = Router(tags=["Deploys"])

READ = needs(Scope.READ, Scope.GATES)
TELL = needs(Scope.GATES, permission=Permission.EDIT_SITES)

Line = Annotated[str, StringConstraints(max_length=100)]
SiteName = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_CHARS["url"]), Field(description="Its id, name or URL.")
]
OfSite = Annotated[str, Query("", max_length=MAX_CHARS["url"], description="Only of this site: its id, name or URL.")]


class DeployOfPipeline(In):
    """What a pipeline says of a release. `id` is its own name for it: telling the same one again adds nothing."""

    id: Line = ""
    version: Line = ""
    url: Annotated[str, StringConstraints(max_length=MAX_CHARS["url"])] = ""
    note: Annotated[str, StringConstraints(max_length=MAX_CHARS["note"])] = ""
    at: Instant | None = Field(None, description="When it was in force; now, when it is left out.")

    def marker(self) -> DeployMarker:
        return DeployMarker(external_id=self.id, version=self.version, url=self.url, note=self.note, at=self.at)


class NewDeploy(DeployOfPipeline):
    """A release of one site, or of all sites of the organisation when `site` is null."""

    site: SiteName | None = None


class Deploy(Out):
    """A release. `external_id` is the pipeline's own name for it; `site` is null when it concerns all sites."""

    id: UUID
    external_id: str
    site: UUID | None
    version: str
    url: str
    note: str
    at: datetime
    created_at: datetime


@router.get("/deploys", auth=READ, response=Page[Deploy])
def list_deploys(request: ApiRequest, site: OfSite = "", limit: Limit = 50, cursor: Cursor = "") -> Page[Deploy]:
    """Deploys, the newest first; of one site also those that concern all."""
    before = moment_of(request, cursor)
    of_site = site_called(request, site, pointer="?site") if site else None
    rows = queries.deploys(request.caller.organisation, site=of_site, before=before, limit=limit + 1)
    return page_of(
        request, rows, Page[Deploy], limit=limit, shape=deploy_shape, key=lambda row: [row.at.isoformat(), row.pk]
    )


@router.post("/deploys", auth=TELL, response={201: Deploy})
def create_deploy(request: ApiRequest, deploy: NewDeploy) -> Status[Deploy]:
    """Tells of a release: an alert says whether its change began with one. A gate tells of its own."""
    caller = request.caller
    site = None if deploy.site is None else site_called(request, deploy.site, pointer="#/site")
    try:
        made = record_deploy(
            actor=caller.actor,
            organisation=caller.organisation,
            site=site,
            marker=deploy.marker(),
            token_name=caller.token.name if caller.token else "",
        )
    except InvalidDeployError as error:
        raise ProblemError(INVALID, faults=faults_of(error.faults, {"external_id": "id"})) from error
    request.out["Location"] = f"/api/v1/deploys/{made.public_id}"
    return Status(201, deploy_shape(made))


@router.get("/deploys/{uuid:deploy_id}", auth=READ, response=Deploy)
def get_deploy(request: ApiRequest, deploy_id: UUID) -> Deploy:
    """One deploy."""
    return deploy_shape(existing(queries.deploy(request.caller.organisation, deploy_id), "There is no such deploy."))


def deploy_shape(row: DeployRow) -> Deploy:
    return Deploy(
        id=row.public_id,
        external_id=row.external_id,
        site=None if row.site is None else row.site.public_id,
        version=row.version,
        url=row.url,
        note=row.note,
        at=row.at,
        created_at=row.created_at,
    )


def site_called(request: ApiRequest, text: str, *, pointer: str) -> Site:
    """The one active site that is meant. Raises ProblemError."""
    found = queries.sites_called(request.caller.organisation, text)
    if not found:
        raise invalid(pointer, "There is no site with this id, name or URL that is measured.")
    if len(found) > 1:
        raise invalid(pointer, "Several sites are called so: give the id of one.")
    return found[0]


def faults_of(faults: dict[str, str], names: dict[str, str]) -> list[Fault]:
    """Faults by field as pointers; `names` are those that the API calls otherwise."""
    return [
        Fault("#/" + "/".join(names.get(part, part) for part in path.split("/")), text) for path, text in faults.items()
    ]
