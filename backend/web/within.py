"""Addresses of this house that a request names: nobody is led out of it by one."""

from urllib.parse import urlsplit

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def page_of_form(request: HttpRequest) -> str:
    """The path of the page that a request says it comes from; the first page where that is none of ours."""
    page = request.headers.get("Referer", "")
    if not _is_ours(request, page):
        return "/"
    parts = urlsplit(page)
    return parts._replace(scheme="", netloc="", fragment="").geturl() or "/"


def page_asked_for(request: HttpRequest, otherwise: str = "/") -> str:
    """Where a form asks to be led afterwards, if that is a path in this house: a word would be the name of a view."""
    target = request.POST.get("next", "")
    return target if target.startswith("/") and _is_ours(request, target) else otherwise


def _is_ours(request: HttpRequest, address: str) -> bool:
    return url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
