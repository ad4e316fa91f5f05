"""What sites rely on, by their names, once all of them are there."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from backend.accounts.models import Organisation
from backend.declared.carrying import Carrying
from backend.declared.changes import Act, What, differences
from backend.declared.wanted import WantedSite
from backend.faults import InvalidError
from backend.sites.dependencies import rely_on
from backend.sites.models import Site, SiteStatus


def carry_out_dependencies(carrying: Carrying, wanted: Sequence[WantedSite]) -> None:
    """What is left out stays. What goes goes first, so that no circle is found that will not be."""
    said = {index: site.relies_on for index, site in enumerate(wanted) if site.relies_on is not None}
    if not said:
        return
    named = _named(carrying.organisation, {site.name for site in wanted}.union(*said.values()))
    before = {index: names_of(named[wanted[index].name][0]) for index in said if named[wanted[index].name]}
    for index, names in said.items():
        if index in before and set(before[index]) - set(names):
            kept = [name for name in before[index] if name in names]
            with carrying.at(f"sites/{index}"):
                rely_on(actor=carrying.actor, site=named[wanted[index].name][0], others=_ids(named, kept))
    for index, names in said.items():
        if index in before:
            _carry_out(carrying, index, wanted[index].name, before[index], sorted(set(names)), named)


def names_of(site: Site) -> list[str]:
    """The names of what a site relies on, in order."""
    return sorted(other.name for other in site.relies_on.all())


def _carry_out(
    carrying: Carrying, index: int, name: str, before: list[str], after: list[str], named: Mapping[str, list[Site]]
) -> None:
    if before == after:
        return
    with carrying.at(f"sites/{index}"):
        rely_on(actor=carrying.actor, site=named[name][0], others=_ids(named, after))
        fields = differences({"relies_on": before}, {"relies_on": after})
        carrying.note(Act.CHANGE, What.SITE, site=name, fields=fields)


def _named(organisation: Organisation, names: Iterable[str]) -> Mapping[str, list[Site]]:
    found: dict[str, list[Site]] = defaultdict(list)
    sites = Site.objects.filter(organisation=organisation, status=SiteStatus.ACTIVE, name__in=names)
    for site in sites.select_related("organisation").prefetch_related("relies_on").order_by("pk"):
        found[site.name].append(site)
    return found


def _ids(named: Mapping[str, list[Site]], names: Iterable[str]) -> list[UUID]:
    """Raises InvalidError for a name that is no site's, or several sites'."""
    for name in names:
        if len(named[name]) != 1:
            number = len(named[name]) or "No"
            raise InvalidError({"relies_on": f"{number} site{'s are' if named[name] else ' is'} called {name[:80]}."})
    return [named[name][0].public_id for name in names]
