"""What every answer carries: an id that is also in the log, and the headers of a strict page."""

import re
from collections.abc import Callable
from http import HTTPMethod, HTTPStatus
from uuid import uuid4
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.template.loader import render_to_string
from django.utils import timezone

from backend.accounts.audit import acting_from
from backend.accounts.client_address import client_address
from backend.accounts.models import User
from backend.safe_methods import SAFE_METHODS
from backend.web.within import page_of_form

GetResponse = Callable[[HttpRequest], HttpResponse]

# Chart.js works under it, without inline styles.
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


def security_headers(get_response: GetResponse) -> GetResponse:
    """Sets what a view has not set itself: a view that serves hostile content may be stricter."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", CSP)
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response

    return middleware


class LoginRequired(LoginRequiredMiddleware):
    """Asks for a login. Where a form was sent to shows nothing, so that its own page opens after the sign-in."""

    def handle_no_permission(
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase]
    ) -> HttpResponseRedirect:
        if request.method in (HTTPMethod.GET, HTTPMethod.HEAD):
            return super().handle_no_permission(request, view_func)
        return redirect_to_login(page_of_form(request))


def form_address(get_response: GetResponse) -> GetResponse:
    """Says what the address of a form is to who opens it by hand, where Django shows an empty page."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        is_page = request.method == HTTPMethod.GET and not request.path.startswith("/api/")
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and is_page:
            response.content = render_to_string("405.html", request=request).encode()
        return response

    return middleware


def time_zone(get_response: GetResponse) -> GetResponse:
    """Shows times as the reader's own clock does. After the sign-in is known."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with timezone.override(_zone_of(request)):
            return get_response(request)

    return middleware


def audited_address(get_response: GetResponse) -> GetResponse:
    """What a request changes is put down to where it came from, as far as the proxies that are trusted say."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with acting_from(None if request.method in SAFE_METHODS else client_address(request)):
            return get_response(request)

    return middleware


def _zone_of(request: HttpRequest) -> ZoneInfo | None:
    """None, which means UTC, for who is not signed in and for a zone that this machine does not know."""
    if not isinstance(request.user, User):
        return None
    try:
        return ZoneInfo(request.user.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        return None


def request_id(get_response: GetResponse) -> GetResponse:
    """Gives each request an id, the proxy's own where it is sane: it is on error pages and in the log."""

    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-Id", "")
        request.request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex  # type: ignore[attr-defined]  # an attribute of ours
        response = get_response(request)
        response.headers["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]  # set above
        return response

    return middleware
