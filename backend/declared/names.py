"""Sites by what a file calls them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from uuid import UUID

from backend.accounts.models import Organisation
from backend.faults import InvalidError
from backend.sites.models import Site, SiteStatus

Named = Mapping[str, list[Site]]


def sites_named(organisation: Organisation, names: Iterable[str]) -> Named:
    """Those that are measured, with what they rely on. Two statements."""
    found: dict[str, list[Site]] = defaultdict(list)
    sites = Site.objects.filter(organisation=organisation, status=SiteStatus.ACTIVE, name__in=names)
    for site in sites.select_related("organisation").prefetch_related("relies_on").order_by("pk"):
        found[site.name].append(site)
    return found


def ids_of(named: Named, names: Iterable[str], *, field: str) -> list[UUID]:
    """Raises InvalidError for the field, where a name is no site's, or several sites'."""
    for name in names:
        if len(named[name]) != 1:
            number = len(named[name]) or "No"
            raise InvalidError({field: f"{number} site{'s are' if named[name] else ' is'} called {name[:80]}."})
    return [named[name][0].public_id for name in names]
