"""Pages for what went wrong: what, why, what to do, and the request's id."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without a valid CSRF token: mostly a page that stayed open over a sign-out."""
    return render(request, "403_csrf.html", {"reason": reason}, status=403)


def server_error(request: HttpRequest) -> HttpResponse:
    """Our own fault, or the database is away. It asks neither it nor the session: they may be what is broken."""
    status = 503 if isinstance(sys.exception(), OperationalError | InterfaceError) else 500
    context = {"request_id": getattr(request, "request_id", None)}
    headers = {"Retry-After": "10"} if status == 503 else {}
    return HttpResponse(render_to_string(f"{status}.html", context), status=status, headers=headers)
