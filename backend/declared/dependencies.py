"""What sites rely on, by their names, once all of them are there."""

from collections.abc import Sequence

from backend.declared.carrying import Carrying
from backend.declared.changes import Act, What, differences
from backend.declared.names import Named, ids_of, sites_named
from backend.declared.wanted import WantedSite
from backend.sites.dependencies import rely_on
from backend.sites.models import Site


def carry_out_dependencies(carrying: Carrying, wanted: Sequence[WantedSite]) -> None:
    """What is left out stays. What goes goes first, so that no circle is found that will not be."""
    said = {index: site.relies_on for index, site in enumerate(wanted) if site.relies_on is not None}
    if not said:
        return
    named = sites_named(carrying.organisation, {site.name for site in wanted}.union(*said.values()))
    before = {index: names_of(named[wanted[index].name][0]) for index in said if named[wanted[index].name]}
    for index, names in said.items():
        if index in before and set(before[index]) - set(names):
            kept = [name for name in before[index] if name in names]
            with carrying.at(f"sites/{index}"):
                rely_on(
                    actor=carrying.actor,
                    site=named[wanted[index].name][0],
                    others=ids_of(named, kept, field="relies_on"),
                )
    for index, names in said.items():
        if index in before:
            _carry_out(carrying, index, wanted[index].name, before[index], sorted(set(names)), named)


def names_of(site: Site) -> list[str]:
    """The names of what a site relies on, in order."""
    return sorted(other.name for other in site.relies_on.all())


def _carry_out(carrying: Carrying, index: int, name: str, before: list[str], after: list[str], named: Named) -> None:
    if before == after:
        return
    with carrying.at(f"sites/{index}"):
        rely_on(actor=carrying.actor, site=named[name][0], others=ids_of(named, after, field="relies_on"))
        fields = differences({"relies_on": before}, {"relies_on": after})
        carrying.note(Act.CHANGE, What.SITE, site=name, fields=fields)
