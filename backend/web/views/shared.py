"""A run for guests: its page without an account, by a link that a member made, and the making of that link.

Guests see what exports show: no values of parameters, and of the service nothing but the run.
"""

from dataclasses import replace
from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.gates.queries import url_asked
from backend.runs.agents import has_picture
from backend.runs.archives import har_of
from backend.runs.diagnoses import diagnosis_in
from backend.runs.queries import RunDetail, run_detail
from backend.runs.sharing import SHARED_FOR, SharingError, share_run, shared_detail, stop_sharing
from backend.web import run_page, times
from backend.web.access import MemberRequest, needs
from backend.web.views.runs import Addresses, asked_for, row_details, run_drawing, run_picture, seen
from workers.measurement.masking import masked
from workers.measurement.redaction import Redaction
from workers.measurement.routes import PictureKind


@require_POST
@needs(Permission.EDIT_SITES)
def share(request: MemberRequest, run_id: UUID) -> HttpResponse:
    """Makes the run's link, which its page then shows."""
    try:
        share_run(actor=request.user, detail=_owned(request, run_id))
    except SharingError as error:
        messages.error(request, str(error))
    return redirect("web:run", run_id)


@require_POST
@needs(Permission.EDIT_SITES)
def stop(request: MemberRequest, run_id: UUID) -> HttpResponse:
    """Takes the run's link back."""
    stop_sharing(actor=request.user, detail=_owned(request, run_id))
    messages.success(request, "The link leads nowhere any more.")
    return redirect("web:run", run_id)


@login_not_required
@require_safe
def page(request: HttpRequest, link: str) -> HttpResponse:
    """The run's page, as guests see it; where the link leads nowhere, why that may be."""
    detail = shared_detail(link)
    if detail is None:
        return render(request, "errors/unshared.html", {"days": SHARED_FOR.days}, status=HTTPStatus.NOT_FOUND)
    diagnosis = diagnosis_in(detail)
    shown = _for_guests(detail)
    context = {
        "when": times.handed_on(detail.run.scheduled_for),
        "about": run_page.about(shown, names_agent=False),
        "asked": masked(asked_for(detail)),
        "har_url": reverse("web:shared_har", args=[link]),
        "verdict": masked(run_page.verdict_of(detail)),
        "panel": run_page.panel_of(shown, masked(diagnosis)),
    }
    response = render(request, "runs/shared.html", seen(shown, request, _addresses(link, detail)) | context)
    # It is for whom it was sent to.
    response.headers["X-Robots-Tag"] = "noindex"
    return response


@login_not_required
@require_safe
def details(request: HttpRequest, link: str, number: int) -> HttpResponse:
    """What the side panel says of one row."""
    return row_details(request, _for_guests(_shared(link)).measurement, number)


@login_not_required
@require_safe
def export(request: HttpRequest, link: str) -> HttpResponse:
    """The waterfall as a picture of its own."""
    return run_drawing(request, _for_guests(_shared(link)))


@login_not_required
@require_safe
def har(request: HttpRequest, link: str) -> HttpResponse:
    """The same as a HAR at the standard level."""
    detail = _shared(link)
    if detail.measurement is None:
        raise Http404
    content = har_of(detail.run, url_asked(detail), detail.measurement, Redaction.STANDARD)
    response = HttpResponse(content, content_type="application/json")
    response.headers["Content-Disposition"] = f'attachment; filename="{detail.run.run_id}.har"'
    return response


@login_not_required
@require_safe
def picture(request: HttpRequest, link: str, kind: PictureKind) -> HttpResponseBase:
    """What the region photographed."""
    return run_picture(_shared(link).run, kind)


def _owned(request: MemberRequest, run_id: UUID) -> RunDetail:
    detail = run_detail(request.organisation, run_id, with_result=False)
    if detail is None:
        raise Http404
    return detail


def _shared(link: str) -> RunDetail:
    detail = shared_detail(link)
    if detail is None:
        raise Http404
    return detail


def _for_guests(detail: RunDetail) -> RunDetail:
    """The run without what no export shows, and without the way to others."""
    return replace(detail, result=masked(detail.result), older=None, newer=None)


def _addresses(link: str, detail: RunDetail) -> Addresses:
    film = reverse("web:shared_film", args=[link]) if has_picture(detail.run, PictureKind.FILM) else ""
    return Addresses(
        waterfall=reverse("web:shared_waterfall", args=[link]),
        details=reverse("web:shared_details", args=[link, 0]).removesuffix("0"),
        film=film,
        screenshot=reverse("web:shared_screenshot", args=[link]) if detail.run.has_screenshot else "",
    )
