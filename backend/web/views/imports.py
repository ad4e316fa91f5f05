"""Page loads out of files of other tools: the list with its form, one of them as a run's page, its rows."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from backend.accounts.permissions import Permission, check
from backend.runs import queries
from backend.runs.queries import UploadDetail
from backend.runs.uploads import UploadedFile, UploadError, delete_upload, import_file
from backend.sites.models import Site, SiteStatus
from backend.web import import_page
from backend.web.access import MemberRequest, needs
from backend.web.confirm import Question, ask
from backend.web.forms.imports import ImportForm
from backend.web.page_facts import page_facts
from backend.web.pagination import position_before, position_of
from backend.web.views.runs import drawing, row_details
from backend.web.waterfall.board import board_of
from backend.web.waterfall.text import printable

SHOWN = 50


@require_http_methods(["GET", "HEAD", "POST"])
@needs(Permission.READ)
def overview(request: MemberRequest) -> HttpResponse:
    """The newest imports, and the form for another."""
    if request.method == "POST":
        check(request.membership.role, Permission.EDIT_SITES)
        return _bring(request)
    return _list(request, ImportForm(sites=_sites(request), initial={"site": request.GET.get("site", "")[:40]}))


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, import_id: UUID) -> HttpResponse:
    """One import, as the page of a run."""
    detail = _detail(request, import_id)
    measurement = detail.measurement
    context: dict[str, Any] = {
        "section": "sites",
        "upload": detail.upload,
        "heading": import_page.heading(detail.upload),
        "about": import_page.about(detail.upload),
        "warnings": import_page.warnings(detail.upload),
        "verdict": import_page.verdict(measurement),
        "cards": import_page.cards(measurement, request.GET.get("visit", "")),
        "panel": import_page.panel(measurement),
        "facts": None if measurement is None else page_facts(measurement, request.GET.get("visit", "")),
        "board": None if measurement is None else board_of(measurement, request.GET.dict()),
        "exports": reverse("web:import_waterfall", args=[import_id]),
        "details_url": reverse("web:import_details", args=[import_id, 0]).removesuffix("0"),
    }
    return render(request, "imports/page.html", context)


@require_safe
@needs(Permission.READ)
def details(request: MemberRequest, import_id: UUID, number: int) -> HttpResponse:
    """What the page's side panel says of one row: a piece of HTML for the script."""
    return row_details(request, _detail(request, import_id).measurement, number)


@require_safe
@needs(Permission.READ)
def export(request: MemberRequest, import_id: UUID) -> HttpResponse:
    """The waterfall that the rest of the address asks for, as a picture of its own."""
    detail = _detail(request, import_id)
    if detail.measurement is None:
        raise Http404
    return drawing(board_of(detail.measurement, request.GET.dict()), printable(import_page.caption(detail.upload)))


@require_http_methods(["GET", "POST"])
@needs(Permission.EDIT_SITES)
def delete(request: MemberRequest, import_id: UUID) -> HttpResponse:
    """Asks first; then the import is gone for good."""
    upload = queries.upload(request.organisation, import_id)
    if upload is None:
        raise Http404
    if request.method == "GET":
        question = Question(
            title="Delete this import?",
            text=f"{printable(upload.url)}, out of {printable(upload.file_name)}: what was read of it goes. The file "
            "itself was not kept; it can be imported again.",
            verb="Delete it",
            back=reverse("web:import", args=[upload.public_id]),
            section="sites",
        )
        return ask(request, question)
    delete_upload(actor=request.user, upload=upload)
    messages.success(request, "The import is deleted.")
    return redirect("web:imports")


def _bring(request: MemberRequest) -> HttpResponse:
    form = ImportForm(request.POST, request.FILES, sites=_sites(request))
    if not form.is_valid():
        return _list(request, form)
    file = form.cleaned_data["file"]
    try:
        made = import_file(
            actor=request.user,
            organisation=request.organisation,
            site=form.site_named,
            sites=form.candidates,
            file=UploadedFile(name=file.name, content=file.read()),
        )
    except UploadError as error:
        form.add_error("file", str(error))
        return _list(request, form)
    if len(made) == 1:
        return _led(request, reverse("web:import", args=[made[0].public_id]))
    messages.success(request, f"{len(made)} page loads are imported.")
    return _led(request, reverse("web:imports"))


def _led(request: MemberRequest, place: str) -> HttpResponse:
    """A script would follow a redirect by itself, and what the next page says to a person would be said to nobody."""
    if request.headers.get("X-Requested-With") != "XMLHttpRequest":
        return redirect(place)
    return HttpResponse(status=201, headers={"Location": place})


def _list(request: MemberRequest, form: ImportForm) -> HttpResponse:
    before = position_before(request)
    rows = queries.uploads(request.organisation, site=_site(request), before=before, limit=SHOWN + 1)
    shown = rows[:SHOWN]
    context = {
        "section": "sites",
        "form": form,
        "site": _site(request),
        "rows": shown,
        "older": position_of(shown[-1].created_at, shown[-1].pk) if len(rows) > SHOWN else "",
        "is_newest": before is None,
    }
    return render(request, "imports/list.html", context, status=200 if not form.is_bound or form.is_valid() else 422)


def _sites(request: MemberRequest) -> "QuerySet[Site]":
    return Site.objects.filter(organisation=request.organisation, status=SiteStatus.ACTIVE).order_by("name")


def _site(request: MemberRequest) -> Site | None:
    """The one that the address names, whatever it holds."""
    try:
        return _sites(request).filter(public_id=UUID(request.GET.get("site", ""))).first()
    except ValueError:
        return None


def _detail(request: MemberRequest, import_id: UUID) -> UploadDetail:
    detail = queries.upload_detail(request.organisation, import_id)
    if detail is None:
        raise Http404
    return detail
