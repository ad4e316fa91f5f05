"""Pages for what went wrong: what, why, what to do, and the request's id."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without a valid CSRF token: mostly a page that stayed open over a logout."""
    return render(request, "403_csrf.html", {"reason": reason}, status=403)
