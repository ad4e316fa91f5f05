"""Which sites rely on which: a gateway, a sign-in, a payment."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db import transaction

from backend.accounts.audit import record
from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.as_it_is import as_it_is
from backend.faults import FieldFaultError
from backend.sites.models import Site, SiteStatus

MAX_RELIED_ON = 10


class DependencyError(FieldFaultError):
    """A site cannot rely on these; the text is a sentence for people."""


@transaction.atomic
def rely_on(*, actor: User | None, site: Site, others: Sequence[UUID]) -> Site:
    """From now on the site relies on these and no others, by their public ids. Raises DependencyError."""
    # Two that come to rely on each other at once would make a circle. Before the site itself, in the order of files.
    hold(site.organisation)
    site = as_it_is(site, "organisation")
    found = list(Site.objects.filter(organisation=site.organisation, status=SiteStatus.ACTIVE, public_id__in=others))
    if len(found) < len(set(others)):
        raise _error("There is no such site.")
    if len(found) > MAX_RELIED_ON:
        raise _error(f"A site can rely on at most {MAX_RELIED_ON} others.")
    if site.pk in _all_below([other.pk for other in found], _edges(site.organisation, without=site)):
        raise _error("It would rely on itself in the end: one of them relies on it, or is it.")
    site.relies_on.set(found)
    names = sorted(other.name for other in found)
    record("change_dependencies", site, actor=actor, organisation=site.organisation, name=site.name, relies_on=names)
    return site


def _edges(organisation: Organisation, *, without: Site) -> Mapping[int, Sequence[int]]:
    """What each other site relies on, by keys."""
    edges: dict[int, list[int]] = defaultdict(list)
    pairs = Site.relies_on.through.objects.filter(from_site__organisation=organisation).exclude(from_site=without)
    for site, other in pairs.values_list("from_site", "to_site"):
        edges[site].append(other)
    return edges


def _all_below(sites: Iterable[int], edges: Mapping[int, Sequence[int]]) -> set[int]:
    """These, and all that they rely on in the end."""
    seen: set[int] = set()
    ahead = list(sites)
    while ahead:
        site = ahead.pop()
        if site not in seen:
            seen.add(site)
            ahead += edges.get(site, ())
    return seen


def _error(sentence: str) -> DependencyError:
    return DependencyError("relies_on", sentence)
