"""One run: its page, the details of one row, its screenshot."""

from uuid import UUID

from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from backend.accounts.permissions import Permission
from backend.runs.agents import screenshot_name
from backend.runs.queries import RunDetail, run_detail, site_of_pending
from backend.web import run_page
from backend.web.access import MemberRequest, needs
from backend.web.ladder import ladders_of
from backend.web.views.trial import live_url
from workers.measurement.messages import ProbeMeasurement

# A run that has ended never changes.
KEEP = "private, max-age=3600, immutable"


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, run_id: UUID) -> HttpResponse:
    """The verdict, the numbers, the waterfall; of a run that has not ended, the page that shows how far it is."""
    detail = run_detail(request.organisation, run_id)
    if detail is None:
        return _follow(request, run_id)
    measurement = detail.measurement
    evidence = measurement.evidence if isinstance(measurement, ProbeMeasurement) else None
    context = {
        "section": "sites",
        "detail": detail,
        "heading": f"{detail.site.name} from {detail.region.name}",
        "about": run_page.about(detail),
        "warnings": run_page.warnings_of(detail),
        "verdict": run_page.verdict_of(detail),
        "cards": run_page.cards_for(detail),
        "picture": None if measurement is None else run_page.picture_of(measurement, request.GET.dict()),
        "panel": run_page.panel_of(detail),
        "ladders": [] if evidence is None else ladders_of(evidence),
        "details_url": reverse("web:run_details", args=[run_id, 0]).removesuffix("0"),
    }
    return render(request, "runs/run.html", context)


@require_safe
@needs(Permission.READ)
def details(request: MemberRequest, run_id: UUID, number: int) -> HttpResponse:
    """What the page's side panel says of one row: a piece of HTML for the script."""
    measurement = _detail(request, run_id).measurement
    found = None if measurement is None else run_page.details_of(measurement, request.GET.get("unit", ""), number)
    if found is None:
        raise Http404
    response = render(request, "runs/_details.html", {"details": found})
    response.headers["Cache-Control"] = KEEP
    return response


@require_safe
@needs(Permission.READ)
def screenshot(request: MemberRequest, run_id: UUID) -> HttpResponseBase:
    """The picture that the region sent. It is hostile: an image, never anything a browser would run."""
    run = _detail(request, run_id).run
    try:
        picture = default_storage.open(screenshot_name(run.run_id, run.scheduled_for))
    except FileNotFoundError as error:
        raise Http404 from error
    content_type = _image_type(picture.read(12))
    picture.seek(0)
    response = FileResponse(picture, content_type=content_type)
    response.headers["Cache-Control"] = KEEP
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


def _image_type(head: bytes) -> str:
    """By its first bytes; what is no picture is only ever bytes to a browser, which is told not to guess."""
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else "application/octet-stream"


def _follow(request: MemberRequest, run_id: UUID) -> HttpResponse:
    site = site_of_pending(request.organisation, run_id)
    if site is None:
        raise Http404
    return redirect(live_url("web:trial", site, [run_id]))


def _detail(request: MemberRequest, run_id: UUID) -> RunDetail:
    detail = run_detail(request.organisation, run_id)
    if detail is None:
        raise Http404
    return detail
