"""What changes status pages."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, transaction
from django.urls import reverse

from backend.accounts.audit import record
from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.as_it_is import as_it_is
from backend.faults import InvalidError
from backend.sites.models import Site, SiteStatus
from backend.status.models import MAX_SLUG_CHARS, MAX_TITLE_CHARS, MIN_SLUG_CHARS, StatusPage
from backend.texts import is_one_line

MAX_PAGES, MAX_SITES = 50, 100
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_TAKEN = "Another status page has this address already; choose another."


class InvalidStatusPageError(InvalidError):
    """A page cannot be so. `faults` holds a sentence for each field at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a page shall be: `sites` are public ids of the organisation's sites that are measured."""

    title: str
    slug: str
    sites: Sequence[UUID]


@transaction.atomic
def create_status_page(*, actor: User | None, organisation: Organisation, wanted: Wanted) -> StatusPage:
    """Shows sites to everybody who has the address. Raises InvalidStatusPageError."""
    sites = _checked(organisation, wanted)
    hold(organisation)
    if StatusPage.objects.filter(organisation=organisation).count() >= MAX_PAGES:
        raise InvalidStatusPageError({"title": f"At most {MAX_PAGES} status pages can be kept; delete one first."})
    page = StatusPage(organisation=organisation, title=wanted.title.strip(), slug=wanted.slug, created_by=actor)
    _save(page)
    page.sites.set(sites)
    record("create_status_page", page, actor=actor, organisation=organisation, **_told(page, sites))
    return page


@transaction.atomic
def change_status_page(*, actor: User | None, page: StatusPage, wanted: Wanted) -> StatusPage:
    """What it is called, where it is, what it shows. Raises InvalidStatusPageError."""
    page = as_it_is(page, "organisation")
    sites = _checked(page.organisation, wanted)
    page.title, page.slug = wanted.title.strip(), wanted.slug
    _save(page)
    page.sites.set(sites)
    record("change_status_page", page, actor=actor, organisation=page.organisation, **_told(page, sites))
    return page


@transaction.atomic
def delete_status_page(*, actor: User | None, page: StatusPage) -> None:
    """Its address leads nowhere from now on, and its badges neither."""
    page = as_it_is(page, "organisation")
    record("delete_status_page", page, actor=actor, organisation=page.organisation, name=page.title)
    page.delete()


def address_of(page: StatusPage) -> str:
    """The path that guests open."""
    return reverse("web:status", args=[page.slug])


def _save(page: StatusPage) -> None:
    try:
        with transaction.atomic():
            page.save()
    except IntegrityError as error:
        raise InvalidStatusPageError({"slug": _TAKEN}) from error


def _told(page: StatusPage, sites: Sequence[Site]) -> dict[str, object]:
    return {"name": page.title, "address": page.slug, "sites": [site.name for site in sites]}


def _checked(organisation: Organisation, wanted: Wanted) -> list[Site]:
    found = Site.objects.filter(organisation=organisation, status=SiteStatus.ACTIVE, public_id__in=wanted.sites)
    sites = list(found.order_by("name", "pk"))
    faults = dict(_faults(wanted, sites))
    if faults:
        raise InvalidStatusPageError(faults)
    return sites


def _faults(wanted: Wanted, sites: Sequence[Site]) -> Mapping[str, str]:
    faults: dict[str, str] = {}
    title = wanted.title.strip()
    if not title or len(title) > MAX_TITLE_CHARS or not is_one_line(title):
        faults["title"] = f"The title is one line of 1 to {MAX_TITLE_CHARS} characters."
    if not MIN_SLUG_CHARS <= len(wanted.slug) <= MAX_SLUG_CHARS or not _SLUG.fullmatch(wanted.slug):
        faults["slug"] = (
            f"The address is {MIN_SLUG_CHARS} to {MAX_SLUG_CHARS} of a to z, 0 to 9 and single hyphens between them."
        )
    if len(sites) < len(set(wanted.sites)):
        faults["sites"] = "There is no such site, or it is not measured."
    elif not 1 <= len(sites) <= MAX_SITES:
        faults["sites"] = f"Choose 1 to {MAX_SITES} sites."
    return faults
