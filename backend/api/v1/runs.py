"""Runs: what was measured, as it was measured."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated
from uuid import UUID

from django.http import HttpResponse, StreamingHttpResponse
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from backend.accounts.permissions import Permission, Scope
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.door import matches
from backend.api.v1.monitors import refuse_unknown_monitor
from backend.api.v1.paging import Cursor, Limit, page_of, position_of
from backend.api.v1.problems import NOT_FOUND, ProblemError, existing
from backend.api.v1.run_shapes import Run, RunDetail, detail_of, pending_of, run_of
from backend.api.v1.shapes import Instant, Out, Page, RegionCode, written
from backend.api.v1.sites import site_asked
from backend.api.v1.waiting import Wait, wait_for
from backend.api.v1.waterfall_shapes import Waterfall, waterfall_of
from backend.gates.queries import asked_of_run, asked_of_runs, url_asked
from backend.runs import queries, sharing, tables
from backend.runs.agents import open_picture
from backend.runs.archives import har_of
from backend.runs.diagnoses import diagnosis_in
from backend.runs.models import Outcome, Trigger
from backend.runs.queries import RunDetail as Detail
from backend.runs.queries import RunFilter
from backend.sites.models import MonitorKind
from backend.spreadsheets import MEDIA_TYPE, csv_stream
from workers.measurement.finding import Diagnosis
from workers.measurement.messages import Measurement
from workers.measurement.redaction import Redaction
from workers.measurement.routes import PictureKind
from workers.version import VERSION

router = Router(tags=["Runs"])

READ = needs(Scope.READ, Scope.TEST, Scope.GATES)
SHARE = needs(Scope.WRITE, permission=Permission.EDIT_SITES)
# A run that was carried out never changes; in place of one that was missed a result may still come.
FOR_GOOD = "private, max-age=86400, immutable"
PICTURES: dict[str, object] = {"image/jpeg": {"schema": {}}, "image/webp": {"schema": {}}}
Level = Annotated[
    Redaction,
    Query(
        Redaction.STANDARD,
        description=(
            "`full`: all but the values of cookies and credentials, which are masked at every level. `standard`: also"
            " without the values of parameters, and of headers that are called like keys. `strict`, for strangers:"
            " hosts, times, sizes and types; numbers for paths, no parameters, no addresses of servers."
        ),
    ),
]
TABLE = {MEDIA_TYPE: {"schema": {"type": "string"}}}
HAR_CONTENT = {"application/json": {"schema": {"type": "object", "required": ["log"], "title": "HAR 1.2"}}}


class RunsWanted(Schema):
    """Which runs are listed."""

    site: UUID | None = None
    monitor: UUID | None = None
    kind: MonitorKind | None = None
    region: RegionCode | None = None
    outcome: Outcome | None = None
    trigger: Trigger | None = None
    since: Instant | None = Field(None, description="Slots from here on.")
    until: Instant | None = Field(None, description="Slots up to here.")

    @property
    def filter(self) -> RunFilter:
        return RunFilter(
            site_id=self.site,
            monitor_id=self.monitor,
            kind=self.kind,
            region=self.region,
            outcome=self.outcome,
            trigger=self.trigger,
            since=self.since,
            until=self.until,
        )


@router.get("/runs", auth=needs(Scope.READ), response=Page[Run])
def list_runs(request: ApiRequest, wanted: Query[RunsWanted], limit: Limit = 50, cursor: Cursor = "") -> HttpResponse:
    """Runs that have ended, the newest slot first."""
    site_asked(request, wanted.site)
    refuse_unknown_monitor(request, wanted.monitor)
    # Ninja would make dictionaries of it before it writes them.
    return HttpResponse(written(_listed(request, wanted.filter, limit, cursor)), content_type="application/json")


@router.get(
    "/runs.csv",
    auth=needs(Scope.READ),
    openapi_extra={"responses": {200: {"description": "The table, RFC 4180.", "content": TABLE}}},
)
def export_runs(request: ApiRequest, wanted: Query[RunsWanted]) -> StreamingHttpResponse:
    """Runs that have ended as one table (CSV), without pages: all that are kept, unless the filters say less.

    A row has phases and metrics in milliseconds, instants in UTC, and an empty cell for what is not known. Texts that a
    spreadsheet would take for a formula begin with an apostrophe. A transfer that breaks off is not the whole table.
    """
    site_asked(request, wanted.site)
    refuse_unknown_monitor(request, wanted.monitor)
    blocks = tables.run_blocks(request.caller.organisation, wanted.filter, asked_of=asked_of_runs, now=timezone.now())
    return csv_stream("runs", tables.COLUMNS, blocks)


def _listed(request: ApiRequest, wanted: RunFilter, limit: int, cursor: str) -> Page[Run]:
    position = position_of(request, cursor)
    rows = queries.listed_runs(
        request.caller.organisation,
        wanted,
        before=None if position is None else (datetime.fromisoformat(position[0]), UUID(position[1])),
        limit=limit + 1,
        now=timezone.now(),
    )
    runs = [row.run for row in rows]
    found, asked = queries.findings_of_runs(runs), asked_of_runs(runs)
    return page_of(
        request,
        rows,
        Page[Run],
        limit=limit,
        shape=lambda row: run_of(row, asked.get(row.run.run_id), found.get(row.run.run_id, ())),
        key=_position,
    )


@router.get("/runs/{uuid:run_id}", auth=READ, response=RunDetail)
def get_run(request: ApiRequest, run_id: UUID, wait: Wait = 0) -> RunDetail | HttpResponse:
    """One run, also while it is under way; `wait` for its end. The id of a lost first attempt finds the second."""
    home = request.caller.organisation
    pending = wait_for(lambda: queries.pending_run(home, run_id), lambda found: found is None, wait_s=wait)
    if pending is not None:
        return pending_of(pending, queries.asked_of_pending(pending))
    detail = _ended(request, run_id)
    whole = replace(detail, result=queries.result_of(detail.run))
    return detail_of(detail, asked_of_run(detail.run), diagnosis_in(whole) or Diagnosis())


@router.get("/runs/{uuid:run_id}/waterfall", auth=READ, response=Waterfall)
def get_waterfall(request: ApiRequest, run_id: UUID) -> HttpResponse:
    """Every request and connection of a run on one clock: of a page its rows, of a probe or a pair its hops."""
    return _document(request, run_id, "waterfall", _waterfall)


@router.get(
    "/runs/{uuid:run_id}/har",
    auth=READ,
    openapi_extra={"responses": {200: {"description": "HAR 1.2, without secrets.", "content": HAR_CONTENT}}},
)
def get_har(request: ApiRequest, run_id: UUID, redaction: Level = Redaction.STANDARD) -> HttpResponse:
    """The same as an HTTP Archive, HAR 1.2; of a page with a repeat view, both."""
    response = _document(request, run_id, f"har-{redaction}", partial(_har, redaction))
    response.headers["Content-Disposition"] = f'attachment; filename="{run_id}.har"'
    return response


class SharedLink(Out):
    """Whoever has `url` sees the run without an account until `expires_at`, with what a standard HAR leaves out left
    out."""

    url: str
    expires_at: datetime


@router.post("/runs/{uuid:run_id}/share", auth=SHARE, response=SharedLink)
def share_run(request: ApiRequest, run_id: UUID) -> SharedLink:
    """Makes a link by which guests see a run for 30 days. One that it has already stays, and holds 30 days from now."""
    shared = sharing.share_run(actor=request.caller.actor, detail=_owned(request, run_id))
    return SharedLink(url=sharing.address_of(shared), expires_at=shared.expires_at)


@router.delete("/runs/{uuid:run_id}/share", auth=SHARE, response={204: None})
def stop_sharing_run(request: ApiRequest, run_id: UUID) -> HttpResponse:
    """Takes the link back: it leads nowhere from now on."""
    sharing.stop_sharing(actor=request.caller.actor, detail=_owned(request, run_id))
    return HttpResponse(status=204)


@router.get(
    "/runs/{uuid:run_id}/screenshot",
    auth=READ,
    openapi_extra={"responses": {200: {"description": "The picture.", "content": PICTURES}}},
)
def get_screenshot(request: ApiRequest, run_id: UUID) -> HttpResponse:
    """The page as it looked, JPEG or WebP."""
    return _picture(request, run_id, PictureKind.SCREENSHOT)


@router.get(
    "/runs/{uuid:run_id}/film",
    auth=READ,
    openapi_extra={"responses": {200: {"description": "The frames, side by side.", "content": PICTURES}}},
)
def get_film(request: ApiRequest, run_id: UUID) -> HttpResponse:
    """The filmstrip as one picture, JPEG or WebP: its frames from left to right, row by row."""
    return _picture(request, run_id, PictureKind.FILM)


def _picture(request: ApiRequest, run_id: UUID, kind: PictureKind) -> HttpResponse:
    picture = existing(open_picture(_ended(request, run_id).run, kind), "There is no such picture of this run.")
    file, media_type = picture
    with file:
        content = file.read()
    # It is hostile: an image, never anything that a browser would run.
    headers = {"Content-Security-Policy": "default-src 'none'; sandbox"}
    return HttpResponse(content, content_type=media_type, headers=headers)


def _position(listed: queries.ListedRun) -> list[str]:
    return [listed.run.scheduled_for.isoformat(), str(listed.run.run_id)]


def _ended(request: ApiRequest, run_id: UUID) -> Detail:
    """The run without what was measured, and the headers that let a client keep it."""
    detail = _owned(request, run_id)
    if detail.run.outcome != Outcome.MISSED:
        request.out["Cache-Control"] = FOR_GOOD
    return detail


def _owned(request: ApiRequest, run_id: UUID) -> Detail:
    found = queries.run_detail(request.caller.organisation, run_id, with_result=False)
    return existing(found, "There is no such run, or its time of retention has passed.")


def _document(
    request: ApiRequest, run_id: UUID, name: str, make: Callable[[Detail, Measurement | None], bytes]
) -> HttpResponse:
    """What is made of the stored result. It is not made for who has it."""
    detail = _ended(request, run_id)
    request.out["ETag"] = f'"{detail.run.run_id}-{name}-{VERSION}"'
    if matches(request, request.out["ETag"]):
        return HttpResponse(status=304)
    measurement = replace(detail, result=queries.result_of(detail.run)).measurement
    if measurement is None and detail.run.outcome == Outcome.MEASURED:
        raise ProblemError(NOT_FOUND, "What was measured in this run is not kept, or cannot be read by this version.")
    return HttpResponse(make(detail, measurement), content_type="application/json")


def _har(redaction: Redaction, detail: Detail, measurement: Measurement | None) -> bytes:
    return har_of(detail.run, url_asked(detail), measurement, redaction)


def _waterfall(detail: Detail, measurement: Measurement | None) -> bytes:
    return written(waterfall_of(detail, url_asked(detail), measurement))
