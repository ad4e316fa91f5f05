"""The reference: the description as JSON, and as a page of our own. Both are for everybody, and need no network."""

from functools import cache
from hashlib import sha256

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import condition, require_safe

from backend.accounts.queries import membership_at
from backend.api.v1.openapi import TARGET
from backend.api.v1.problems import TYPES, type_by_slug
from backend.api.v1.reference import Reference, reference_of


@cache
def _described() -> bytes:
    return TARGET.read_bytes()


@cache
def _reference() -> Reference:
    return reference_of(_described())


def _etag(request: HttpRequest) -> str:
    return f'"{sha256(_described()).hexdigest()[:32]}"'


@login_not_required
@require_safe
@condition(etag_func=_etag)
def openapi_json(request: HttpRequest) -> HttpResponse:
    """OpenAPI 3.1, as it is committed."""
    return HttpResponse(_described(), content_type="application/json", headers={"Cache-Control": "no-cache"})


@login_not_required
@require_safe
def reference(request: HttpRequest) -> HttpResponse:
    """Every operation, every shape, every problem, on one page; with the usual frame for who is signed in."""
    request.membership = membership_at(request)  # type: ignore[attr-defined]  # as the pages have it
    described = _reference()
    summary, _, details = described.description.partition("\n\n")
    context = {
        "reference": described,
        "summary": summary,
        "details": details,
        "problems": TYPES,
        "section": "tokens",
    }
    return render(request, "api/reference.html", context)


@login_not_required
@require_safe
def problem_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Where the `type` of a problem leads: its place in the reference."""
    if type_by_slug(slug) is None:
        raise Http404
    return redirect(f"{reverse('api:docs')}#problem-{slug}")
