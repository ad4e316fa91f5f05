"""Making and changing status pages."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.sites.actions import MAX_SITES
from backend.sites.lists import sites_after
from backend.sites.models import Site, SiteStatus
from backend.status import walls
from backend.status.actions import (
    InvalidStatusPageError,
    address_of,
    change_status_page,
    create_status_page,
    delete_status_page,
)
from backend.status.models import StatusPage
from backend.status.queries import status_page, status_pages
from backend.web.access import MemberRequest, needs
from backend.web.confirm import Question, ask
from backend.web.forms.status_pages import StatusPageForm, initial_of
from backend.web.meanwhile import CHANGED, stamp_of, was_changed


@require_safe
@needs(Permission.READ)
def overview(request: MemberRequest) -> HttpResponse:
    """All of the organisation's, with their addresses."""
    return _overview(request, StatusPageForm(sites=_sites(request)))


@require_POST
@needs(Permission.EDIT_SITES)
def add(request: MemberRequest) -> HttpResponse:
    """From here on everybody who has the address sees it."""
    form = StatusPageForm(request.POST, sites=_sites(request))
    if form.is_valid():
        try:
            made = create_status_page(actor=request.user, organisation=request.organisation, wanted=form.wanted())
        except InvalidStatusPageError as error:
            form.add_faults(error)
        else:
            messages.success(request, f"{made.title} can be seen by everybody who has its address.")
            return redirect("web:status_page", made.public_id)
    return _overview(request, form, status=400)


@require_http_methods(["GET", "POST"])
@needs(Permission.EDIT_SITES)
def change(request: MemberRequest, page_id: UUID) -> HttpResponse:
    """What it shows, where it is, and the badges to copy."""
    page = owned_page(request, page_id)
    given = request.POST if request.method == "POST" else None
    form = StatusPageForm(given, sites=_sites(request), initial=initial_of(page))
    stamp = stamp_of(initial_of(page))
    if was_changed(request, stamp):
        form.add_error(None, CHANGED)
    elif request.method == "POST" and form.is_valid():
        try:
            page = change_status_page(actor=request.user, page=page, wanted=form.wanted())
        except InvalidStatusPageError as error:
            form.add_faults(error)
        else:
            messages.success(request, f"{page.title} is saved.")
            return redirect("web:status_page", page.public_id)
    context = {"section": "sites", "page": page, "form": form, "address": whole_address(page), "stamp": stamp}
    return render(request, "status/change.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@needs(Permission.EDIT_SITES)
def delete(request: MemberRequest, page_id: UUID) -> HttpResponse:
    """Asks first; then its address leads nowhere."""
    page = owned_page(request, page_id)
    if request.method == "GET":
        question = Question(
            title=f"Delete {page.title}?",
            text="Its address, badges and feed lead nowhere from then on, and what was announced on it is gone. "
            "What was measured stays.",
            verb="Delete it",
            back=reverse("web:status_page", args=[page_id]),
            section="sites",
        )
        return ask(request, question)
    delete_status_page(actor=request.user, page=page)
    messages.success(request, f"{page.title} is deleted.")
    return redirect("web:status_pages")


def _overview(request: MemberRequest, form: StatusPageForm, status: int = 200) -> HttpResponse:
    pages = [(page, whole_address(page)) for page in status_pages(request.organisation)]
    wall = walls.wall_of(request.organisation)
    context = {
        "section": "sites",
        "pages": pages,
        "form": form,
        "wall": wall,
        "wall_address": None if wall is None else walls.address_of(wall),
        "wall_days": walls.SHOWN_FOR.days,
    }
    return render(request, "status/list.html", context, status=status)


def owned_page(request: MemberRequest, page_id: UUID) -> StatusPage:
    """The organisation's page of this id. Raises Http404."""
    page = status_page(request.organisation, page_id)
    if page is None:
        raise Http404
    return page


def _sites(request: MemberRequest) -> list[Site]:
    return sites_after(request.organisation, status=SiteStatus.ACTIVE, after=None, limit=MAX_SITES)


def whole_address(page: StatusPage) -> str:
    """Where guests find a page."""
    return f"{settings.BASE_URL}{address_of(page)}"
