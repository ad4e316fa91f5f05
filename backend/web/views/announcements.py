"""Telling the visitors of a status page something."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from backend.accounts.permissions import Permission
from backend.faults import InvalidError
from backend.status.announcing import MAX_LISTED, announce, delete_announcement, update_announcement
from backend.status.models import Announcement, StatusPage
from backend.status.queries import announcement, announcements, public_announcement
from backend.web.access import MemberRequest, needs
from backend.web.confirm import Question, ask
from backend.web.forms.announcements import AnnouncementForm, UpdateForm
from backend.web.status_page import told
from backend.web.views.status_pages import owned_page, whole_address


@require_http_methods(["GET", "HEAD", "POST"])
@needs(Permission.EDIT_SITES)
def overview(request: MemberRequest, page_id: UUID) -> HttpResponse:
    """What was announced on a page, and something new."""
    page = owned_page(request, page_id)
    form = AnnouncementForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            made = announce(actor=request.user, page=page, title=form.cleaned_data["title"], said=form.said())
        except InvalidError as error:
            form.add_faults(error)
        else:
            messages.success(request, f"Visitors of {page.title} are told.")
            return redirect("web:announcement", page.public_id, made.public_id)
    context = {
        "section": "sites",
        "page": page,
        "address": whole_address(page),
        "form": form,
        "announcements": [(one, told(public_announcement(one))) for one in announcements(page, limit=MAX_LISTED)],
    }
    return render(request, "status/announcements.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@needs(Permission.EDIT_SITES)
def one(request: MemberRequest, page_id: UUID, announcement_id: UUID) -> HttpResponse:
    """All that was said about it, and how it goes on."""
    page = owned_page(request, page_id)
    found = _announcement(page, announcement_id)
    seen = public_announcement(found)
    form = UpdateForm(request.POST if request.method == "POST" else None, initial={"stage": seen.updates[0].stage})
    if request.method == "POST" and form.is_valid():
        try:
            update_announcement(actor=request.user, announcement=found, said=form.said())
        except InvalidError as error:
            form.add_faults(error)
        else:
            messages.success(request, f"Visitors of {page.title} are told.")
            return redirect("web:announcement", page_id, announcement_id)
    context = {
        "section": "sites",
        "page": page,
        "announcement": found,
        "told": told(seen),
        "form": form,
    }
    return render(request, "status/announcement.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@needs(Permission.EDIT_SITES)
def delete(request: MemberRequest, page_id: UUID, announcement_id: UUID) -> HttpResponse:
    """Asks first; then nothing of it is to be seen."""
    found = _announcement(owned_page(request, page_id), announcement_id)
    if request.method == "GET":
        question = Question(
            title=f"Delete {found.title}?",
            text="Visitors see nothing of it from then on. What is over is better resolved.",
            verb="Delete it",
            back=reverse("web:announcement", args=[page_id, announcement_id]),
            section="sites",
        )
        return ask(request, question)
    delete_announcement(actor=request.user, announcement=found)
    messages.success(request, f"{found.title} is deleted.")
    return redirect("web:announcements", page_id)


def _announcement(page: StatusPage, announcement_id: UUID) -> Announcement:
    found = announcement(page, announcement_id)
    if found is None:
        raise Http404
    return found
