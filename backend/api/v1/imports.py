"""Imports: page loads out of files of other tools. They are looked at like runs, and counted and judged nowhere."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.http import HttpResponse
from ninja import Query, Router, Status
from pydantic import Field
from pydantic_core import to_json

from backend.accounts.permissions import Permission, Scope
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.bodies import takes_file
from backend.api.v1.deploys import OfSite, site_called
from backend.api.v1.door import matches
from backend.api.v1.limits import IMPORTS
from backend.api.v1.paging import Cursor, Limit, moment_of, page_of
from backend.api.v1.problems import INVALID, LIMIT_REACHED, NOT_FOUND, Fault, ProblemError
from backend.api.v1.runs import FOR_GOOD, HAR_CONTENT, Level
from backend.api.v1.shapes import Bytes, Ms, Out, Page, written
from backend.api.v1.waterfall_shapes import Waterfall, waterfall_of_import
from backend.runs import queries
from backend.runs.models import Upload
from backend.runs.queries import UploadDetail
from backend.runs.uploads import (
    MAX_FILE_BYTES,
    MAX_FILE_MIB,
    TooManyUploadsError,
    UploadedFile,
    UploadError,
    delete_upload,
    import_file,
)
from workers.measurement.document import milliseconds
from workers.measurement.har import About, har_document
from workers.measurement.messages import PageMeasurement
from workers.measurement.redaction import Redaction
from workers.version import VERSION

router = Router(tags=["Imports"])

READ = needs(Scope.READ)
BRING = needs(Scope.WRITE, permission=Permission.EDIT_SITES, policy=IMPORTS)
DELETE = needs(Scope.WRITE, permission=Permission.EDIT_SITES)
FILE = {
    "required": True,
    "description": (
        "A HAR 1.2 archive of any tool or WebPageTest's JSON, as it is or packed with gzip"
        f" (`Content-Encoding: gzip`); {MAX_FILE_MIB} MiB as sent at most."
    ),
    "content": {"application/json": {"schema": {"type": "object"}}},
}
FileName = Annotated[str, Query("", max_length=200, description="What the file is called.")]


class Import(Out):
    """One page load out of a file. `label` is the file's name for it, `tool` who wrote the file.

    `site` is what it was put to, null for none. `skipped` counts what could not be read in the whole file.
    """

    id: UUID
    url: str
    label: str
    site: UUID | None
    file: str
    format: str
    tool: str | None
    tool_version: str | None
    browser_version: str | None
    started_at: datetime
    created_at: datetime
    ttfb_ms: Ms | None
    fcp_ms: Ms | None
    lcp_ms: Ms | None
    load_ms: Ms | None
    requests: int
    bytes: Bytes | None
    skipped: int
    page: Annotated[str, Field(description="The path of its page in the dashboard.")]


class Imported(Out):
    """What a file brought: its page loads, and what was left out, with where it stood for the first ones."""

    imports: list[Import]
    skipped: int
    remarks: list[str]


@router.get("/imports", auth=READ, response=Page[Import])
def list_imports(request: ApiRequest, site: OfSite = "", limit: Limit = 50, cursor: Cursor = "") -> Page[Import]:
    """Imported page loads, the newest first."""
    rows = queries.uploads(
        request.caller.organisation,
        site=site_called(request, site, pointer="?site") if site else None,
        before=moment_of(request, cursor),
        limit=limit + 1,
    )
    return page_of(
        request,
        rows,
        Page[Import],
        limit=limit,
        shape=import_shape,
        key=lambda row: [row.created_at.isoformat(), row.pk],
    )


@router.post("/imports", auth=BRING, response={201: Imported}, openapi_extra={"requestBody": FILE})
@takes_file(MAX_FILE_BYTES)
def create_import(request: ApiRequest, site: OfSite = "", name: FileName = "") -> Status[Imported]:
    """Reads a file of another tool and keeps its page loads. None of them enters a baseline, rule, gate or chart."""
    caller = request.caller
    try:
        made = import_file(
            actor=caller.actor,
            organisation=caller.organisation,
            site=site_called(request, site, pointer="?site") if site else None,
            file=UploadedFile(name=name, content=request.body),
        )
    except TooManyUploadsError as error:
        raise ProblemError(LIMIT_REACHED, str(error)) from error
    except UploadError as error:
        raise ProblemError(INVALID, faults=[Fault("#", str(error))]) from error
    request.out["Location"] = f"/api/v1/imports/{made[0].public_id}"
    return Status(
        201,
        Imported(imports=[import_shape(row) for row in made], skipped=made[0].skipped, remarks=list(made[0].remarks)),
    )


@router.get("/imports/{uuid:import_id}", auth=READ, response=Import)
def get_import(request: ApiRequest, import_id: UUID) -> Import:
    """One imported page load."""
    return import_shape(_upload(request, import_id))


@router.delete("/imports/{uuid:import_id}", auth=DELETE, response={204: None})
def delete_import(request: ApiRequest, import_id: UUID) -> Status[None]:
    """Deletes it for good."""
    delete_upload(actor=request.caller.actor, upload=_upload(request, import_id))
    return Status(204, None)


@router.get("/imports/{uuid:import_id}/waterfall", auth=READ, response=Waterfall)
def get_import_waterfall(request: ApiRequest, import_id: UUID) -> HttpResponse:
    """Every request and connection on one clock, as for a run."""
    tag = f'"{import_id}-waterfall-{VERSION}"'
    detail = _detail(request, import_id, tag)
    if isinstance(detail, HttpResponse):
        return detail
    shape = waterfall_of_import(detail.upload, _measured(detail))
    return HttpResponse(written(shape), content_type="application/json")


@router.get(
    "/imports/{uuid:import_id}/har",
    auth=READ,
    openapi_extra={"responses": {200: {"description": "HAR 1.2, without secrets.", "content": HAR_CONTENT}}},
)
def get_import_har(request: ApiRequest, import_id: UUID, redaction: Level = Redaction.STANDARD) -> HttpResponse:
    """The same as an HTTP Archive, HAR 1.2."""
    detail = _detail(request, import_id, f'"{import_id}-har-{redaction}-{VERSION}"')
    if isinstance(detail, HttpResponse):
        return detail
    about = About(url=detail.upload.url, started_at=detail.upload.started_at, version=VERSION, redaction=redaction)
    response = HttpResponse(to_json(har_document(_measured(detail), about)), content_type="application/json")
    response.headers["Content-Disposition"] = f'attachment; filename="{import_id}.har"'
    return response


def import_shape(row: Upload) -> Import:
    return Import(
        id=row.public_id,
        url=row.url,
        label=row.label,
        site=None if row.site is None else row.site.public_id,
        file=row.file_name,
        format=row.format,
        tool=row.tool,
        tool_version=row.tool_version,
        browser_version=row.browser_version,
        started_at=row.started_at,
        created_at=row.created_at,
        ttfb_ms=milliseconds(row.ttfb_us),
        fcp_ms=milliseconds(row.fcp_us),
        lcp_ms=milliseconds(row.lcp_us),
        load_ms=milliseconds(row.load_us),
        requests=row.requests,
        bytes=row.bytes,
        skipped=row.skipped,
        page=f"/imports/{row.public_id}/",
    )


def _upload(request: ApiRequest, import_id: UUID) -> Upload:
    found = queries.upload(request.caller.organisation, import_id)
    if found is None:
        raise _gone()
    return found


def _detail(request: ApiRequest, import_id: UUID, tag: str) -> UploadDetail | HttpResponse:
    """With what it measured; nothing is read for who has it."""
    known = matches(request, tag)
    if known:
        _upload(request, import_id)
    found = None if known else queries.upload_detail(request.caller.organisation, import_id)
    if found is None and not known:
        raise _gone()
    request.out |= {"ETag": tag, "Cache-Control": FOR_GOOD}
    return HttpResponse(status=304) if found is None else found


def _measured(detail: UploadDetail) -> PageMeasurement:
    if detail.measurement is None:
        raise ProblemError(NOT_FOUND, "What was imported cannot be read any more.")
    return detail.measurement


def _gone() -> ProblemError:
    return ProblemError(NOT_FOUND, "There is no such import, or its time of retention has passed.")
