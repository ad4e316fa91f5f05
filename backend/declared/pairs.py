"""Comparisons of a site as they shall be."""

from collections.abc import Sequence

from backend.compare import actions
from backend.compare.actions import draft_of
from backend.compare.models import Pairing
from backend.declared.carrying import Carrying
from backend.declared.changes import Act, What, differences
from backend.declared.documents import pair_document
from backend.declared.monitors import set_paused
from backend.declared.wanted import WantedPair
from backend.faults import InvalidError
from backend.sites.models import Site


def carry_out_pairs(
    carrying: Carrying, path: str, site: Site, known: Sequence[Pairing], wanted: Sequence[WantedPair]
) -> list[Pairing]:
    """Makes, changes and deletes pairings until they are as wanted; those that there are then."""
    by_name = {pairing.name: pairing for pairing in known}
    named = {one.draft.name for one in wanted}
    carrying.refuse_twice(path, [one.draft.name for one in wanted])
    left = [pairing for pairing in known if pairing.name not in named]
    there = [pairing for pairing in left if not _is_deleted(carrying, site, pairing)]
    for index, one in enumerate(wanted):
        with carrying.at(f"{path}/{index}"):
            there.append(_carry_out(carrying, site, by_name.get(one.draft.name), one))
    return there


def _is_deleted(carrying: Carrying, site: Site, pairing: Pairing) -> bool:
    is_deleted = carrying.deletes(What.PAIR, site=site.name, name=pairing.name)
    if is_deleted:
        actions.delete_pairing(actor=carrying.actor, pairing=pairing)
    return is_deleted


def _carry_out(carrying: Carrying, site: Site, known: Pairing | None, wanted: WantedPair) -> Pairing:
    """Raises InvalidError, SiteLimitError."""
    carrying.refuse_unknown_regions(wanted.draft.regions, kept=known.monitor.regions if known else ())
    if known is None:
        made = actions.create_pairing(actor=carrying.actor, site=site, draft=wanted.draft)
        if made.name != wanted.draft.name:
            raise InvalidError({"name": "Another pair of this site has this name."})
        set_paused(carrying, made.monitor, paused=wanted.paused)
        carrying.note(Act.CREATE, What.PAIR, site=site.name, name=made.name)
        return made
    before = pair_document(draft_of(known), paused=known.monitor.paused)
    if before == pair_document(wanted.draft, paused=wanted.paused):
        return known
    changed = actions.change_pairing(actor=carrying.actor, pairing=known, draft=wanted.draft)
    set_paused(carrying, changed.monitor, paused=wanted.paused)
    if fields := differences(before, pair_document(draft_of(changed), paused=wanted.paused)):
        carrying.note(Act.CHANGE, What.PAIR, site=site.name, name=changed.name, fields=fields)
    return changed
