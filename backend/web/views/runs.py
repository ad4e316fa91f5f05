"""One run: its page, the details of one row, its pictures."""

from base64 import b64encode
from dataclasses import dataclass
from uuid import UUID

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from backend.accounts.permissions import Permission
from backend.alerts.queries.earlier import previous_run
from backend.experiments.queries import experiment_of
from backend.gates.queries import asked_of_run
from backend.runs.agents import has_picture, open_picture
from backend.runs.diagnoses import diagnosis_in
from backend.runs.models import Run
from backend.runs.queries import RunDetail, run_detail, site_of_pending
from backend.runs.sharing import address_of, sharing_of
from backend.web import run_page, times
from backend.web.access import MemberRequest, needs
from backend.web.experiment_page import mark_of
from backend.web.ladder import ladders_of
from backend.web.page_facts import page_facts
from backend.web.views.trial import live_url
from backend.web.waterfall.board import Board, board_of, details_of, drawn_of
from backend.web.waterfall.svg import svg_of
from backend.web.waterfall.text import printable
from backend.web.waterfall.wanted import wanted_of
from workers.diagnosis.page.hosts import document_host
from workers.measurement.messages import Measurement, PageMeasurement, ProbeMeasurement
from workers.measurement.routes import PictureKind

# A run that has ended never changes.
KEEP = "private, max-age=3600, immutable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where the parts of a run's page are; empty for pictures that are not kept."""

    waterfall: str
    details: str
    film: str
    screenshot: str


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, run_id: UUID) -> HttpResponse:
    """The verdict, the numbers, the waterfall; of a run that has not ended, the page that shows how far it is."""
    detail = run_detail(request.organisation, run_id)
    if detail is None:
        return _follow(request, run_id)
    shared = sharing_of(detail)
    page_seen = detail.measurement if isinstance(detail.measurement, PageMeasurement) else None
    context = {
        "section": "sites",
        "without_url": _without_url(detail) if page_seen else None,
        "own_host": document_host(page_seen) if page_seen else None,
        "previous": previous_run(detail.run),
        "about": run_page.about(detail),
        "asked": asked_for(detail),
        "verdict": run_page.verdict_of(detail),
        "panel": run_page.panel_of(detail, diagnosis_in(detail)),
        "shared": shared,
        "shared_url": None if shared is None else address_of(shared),
    }
    return render(request, "runs/run.html", seen(detail, request, _addresses(detail.run)) | context)


def seen(detail: RunDetail, request: HttpRequest, addresses: Addresses) -> dict[str, object]:
    """What was seen, as the rest of the address asks for it: of a run's page all but what is said of it."""
    measurement, visit = detail.measurement, request.GET.get("visit", "")
    made_for = experiment_of(detail.run)
    evidence = measurement.evidence if isinstance(measurement, ProbeMeasurement) else None
    return {
        "detail": detail,
        "heading": f"{detail.site.name} from {detail.region.name}",
        "warnings": [*([] if made_for is None else [mark_of(made_for)]), *run_page.warnings_of(detail)],
        "experiment": None if made_for is None else made_for.experiment,
        "cards": run_page.cards_for(detail, visit),
        "board": None if measurement is None else board_of(measurement, request.GET.dict(), addresses.film),
        "facts": page_facts(measurement, visit) if isinstance(measurement, PageMeasurement) else None,
        "ladders": [] if evidence is None else ladders_of(evidence),
        "exports": addresses.waterfall,
        "details_url": addresses.details,
        "screenshot_url": addresses.screenshot,
    }


def asked_for(detail: RunDetail) -> str:
    """What a run that brought no complete measurement was to ask for. One statement."""
    return run_page.asked_for(detail, asked_of_run(detail.run))


@require_safe
@needs(Permission.READ)
def details(request: MemberRequest, run_id: UUID, number: int) -> HttpResponse:
    """What the page's side panel says of one row: a piece of HTML for the script."""
    return row_details(request, _detail(request, run_id).measurement, number)


def row_details(request: HttpRequest, measurement: Measurement | None, number: int) -> HttpResponse:
    """That piece, of the view and the kind of row that the rest of the address names. It never changes.

    What it leads to is of the same view.
    """
    visit = wanted_of(request.GET.dict()).visit
    drawn = None if measurement is None else drawn_of(measurement, visit)
    found = None if drawn is None else details_of(drawn, request.GET.get("unit", ""), number)
    if found is None:
        raise Http404
    there = f"?visit={visit}&" if visit else "?"
    response = render(request, "runs/_details.html", {"details": found, "address": there, "requests": there})
    response.headers["Cache-Control"] = KEEP
    return response


@require_safe
@needs(Permission.READ)
def export(request: MemberRequest, run_id: UUID) -> HttpResponse:
    """The waterfall that the rest of the address asks for, as a picture of its own."""
    return run_drawing(request, _detail(request, run_id))


def run_drawing(request: HttpRequest, detail: RunDetail) -> HttpResponse:
    """That picture of a run, with its film in it."""
    if detail.measurement is None:
        raise Http404
    title = f"{detail.site.name} from {detail.region.name}, {times.handed_on(detail.run.scheduled_for)}"
    return drawing(board_of(detail.measurement, request.GET.dict(), film_within(detail.run)), printable(title))


def film_within(run: Run) -> str:
    """The film itself as an address, for a file that stands alone; empty without one, or where it is no picture."""
    opened = open_picture(run, PictureKind.FILM)
    if opened is None:
        return ""
    file, media_type = opened
    with file:
        return f"data:{media_type};base64,{b64encode(file.read()).decode()}" if media_type.startswith("image/") else ""


def drawing(board: Board, title: str) -> HttpResponse:
    """An SVG to keep. What the measured site wrote is text in it, and nothing in it is run."""
    response = HttpResponse(svg_of(board, title), content_type="image/svg+xml; charset=utf-8")
    response.headers["Cache-Control"] = KEEP
    response.headers["Content-Disposition"] = 'attachment; filename="waterfall.svg"'
    response.headers["Content-Security-Policy"] = "default-src 'none'; img-src data:; sandbox"
    return response


@require_safe
@needs(Permission.READ)
def picture(request: MemberRequest, run_id: UUID, kind: PictureKind) -> HttpResponseBase:
    """What the region photographed."""
    return run_picture(_detail(request, run_id).run, kind)


def run_picture(run: Run, kind: PictureKind) -> HttpResponseBase:
    """The picture that the region sent. It is hostile: an image, never anything a browser would run."""
    opened = open_picture(run, kind)
    if opened is None:
        raise Http404
    file, media_type = opened
    response = FileResponse(file, content_type=media_type)
    response.headers["Cache-Control"] = KEEP
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


def film_url_of(run: Run) -> str:
    """Where the film of a run is; empty when none was sent, or it is no longer kept."""
    return reverse("web:run_film", args=[run.run_id]) if has_picture(run, PictureKind.FILM) else ""


def _addresses(run: Run) -> Addresses:
    return Addresses(
        waterfall=reverse("web:run_waterfall", args=[run.run_id]),
        details=reverse("web:run_details", args=[run.run_id, 0]).removesuffix("0"),
        film=film_url_of(run),
        screenshot=reverse("web:run_screenshot", args=[run.run_id]) if run.has_screenshot else "",
    )


def _without_url(detail: RunDetail) -> str:
    """Where a person asks what a host costs this page, before the host."""
    return f"{reverse('web:experiments', args=[detail.site.public_id])}?region={detail.region.code}"


def _follow(request: MemberRequest, run_id: UUID) -> HttpResponse:
    site = site_of_pending(request.organisation, run_id)
    if site is not None:
        return redirect(live_url("web:trial", site, [run_id]))
    # It may have ended since it was looked for.
    if run_detail(request.organisation, run_id, with_result=False) is None:
        raise Http404
    return redirect("web:run", run_id)


def _detail(request: MemberRequest, run_id: UUID) -> RunDetail:
    detail = run_detail(request.organisation, run_id)
    if detail is None:
        raise Http404
    return detail
