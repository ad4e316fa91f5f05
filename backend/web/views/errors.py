"""Pages for what went wrong: what, why, what to do, and the request's id."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without a valid CSRF token: mostly a page that stayed open over a sign-out."""
    return render(request, "403_csrf.html", {"reason": reason}, status=403)


def server_error(request: HttpRequest) -> HttpResponse:
    """Our own fault. It asks neither the session nor the database: they may be what is broken."""
    context = {"request_id": getattr(request, "request_id", None)}
    return HttpResponse(render_to_string("500.html", context), status=500)
