"""Status pages as everybody sees them: without an account, and of the service nothing but names and uptime."""

import logging
from http import HTTPStatus
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from backend.status.models import MAX_SLUG_CHARS
from backend.status.queries import PublicPage, public_page
from backend.web import status_page
from backend.web.badge import badge as drawn
from backend.web.overview import Word
from backend.web.status_feed import feed_of
from backend.web.waterfall.text import printable

log = logging.getLogger(__name__)

# Whoever looks while a site is down is not alone: what one was told is told to others for so long.
KEPT_S = 20
# Grows when `PublicPage` has other fields: what another version kept is not read.
_SHAPE = 3
_FOR_OTHERS = f"public, max-age={KEPT_S}"


@login_not_required
@require_safe
def page(request: HttpRequest, address: str) -> HttpResponse:
    """The page; where the address leads nowhere, that."""
    found = _seen(address)
    if found is None:
        return render(request, "errors/no_status_page.html", status=HTTPStatus.NOT_FOUND)
    feed = reverse("web:status_feed", args=[address])
    return render(request, "status/public.html", {"page": status_page.shown(found), "feed": feed})


@login_not_required
@require_safe
def state(request: HttpRequest, address: str) -> HttpResponse:
    """The same for programs, and for pages of other servers."""
    response = JsonResponse(status_page.as_json(_page(address)))
    response.headers["Cache-Control"] = _FOR_OTHERS
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response


@login_not_required
@require_safe
def feed(request: HttpRequest, address: str) -> HttpResponse:
    """What happens, for readers of feeds."""
    whole = f"{settings.BASE_URL}{reverse('web:status', args=[address])}"
    response = HttpResponse(feed_of(_page(address), whole), content_type="application/atom+xml; charset=utf-8")
    response.headers["Cache-Control"] = _FOR_OTHERS
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response


@login_not_required
@require_safe
def badge(request: HttpRequest, address: str) -> HttpResponse:
    """How all of it is."""
    found = _page(address)
    return _badge(found.title, status_page.WORDS[found.condition])


@login_not_required
@require_safe
def site_badge(request: HttpRequest, address: str, site_id: UUID) -> HttpResponse:
    """How one of its sites is."""
    site = next((site for site in _page(address).sites if site.public_id == site_id), None)
    if site is None:
        raise Http404
    return _badge(site.name, status_page.WORDS[site.condition])


def _badge(name: str, word: Word) -> HttpResponse:
    response = HttpResponse(drawn(printable(name), word.text, word.level), content_type="image/svg+xml")
    response.headers["Cache-Control"] = _FOR_OTHERS
    # It is shown within pages of others; what else answers here is not.
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


def _page(address: str) -> PublicPage:
    found = _seen(address)
    if found is None:
        raise Http404
    return found


def _seen(address: str) -> PublicPage | None:
    """As of a moment ago; as of now where the cache is out of reach, since that is when people look."""
    if len(address) > MAX_SLUG_CHARS:
        return None
    key = f"status-page-{_SHAPE}-{address}"
    try:
        found: PublicPage | None = cache.get(key)
        if found is None:
            found = public_page(address, now=timezone.now())
            if found is not None:
                cache.set(key, found, KEPT_S)
    except RedisError:
        log.warning("Redis cannot be reached; status pages are read anew for everybody")
        found = public_page(address, now=timezone.now())
    return found
