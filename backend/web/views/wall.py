"""The wall, and the making of its link. Whoever has the link sees the wall and nothing else of the service."""

from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.status.queries import wall_sites
from backend.status.walls import organisation_of, show_wall, take_wall_down
from backend.web import wall
from backend.web.access import MemberRequest, needs


@login_not_required
@require_safe
def page(request: HttpRequest, wall_link: str) -> HttpResponse:
    """All sites as tiles, the worst first; where the link leads nowhere, why that may be."""
    organisation = organisation_of(wall_link)
    if organisation is None:
        response = render(request, "errors/no_wall.html", status=HTTPStatus.NOT_FOUND)
    else:
        now = timezone.now()
        seen = wall.shown(organisation.name, wall_sites(organisation, now=now), now)
        response = render(request, "status/wall.html", {"wall": seen})
    # It is for one screen, and as of now.
    response.headers["X-Robots-Tag"] = "noindex"
    response.headers["Cache-Control"] = "no-store"
    return response


@require_POST
@needs(Permission.EDIT_SITES)
def show(request: MemberRequest) -> HttpResponse:
    """Makes the link, or lets it hold for longer."""
    show_wall(actor=request.user, organisation=request.organisation)
    return redirect("web:status_pages")


@require_POST
@needs(Permission.EDIT_SITES)
def take_down(request: MemberRequest) -> HttpResponse:
    """Takes the link back."""
    take_wall_down(actor=request.user, organisation=request.organisation)
    messages.success(request, "The wall's link leads nowhere any more.")
    return redirect("web:status_pages")
