"""Status pages as they shall be: each is known by its place in the address, which stays."""

from collections.abc import Sequence

from backend.declared.carrying import Carrying
from backend.declared.changes import Act, What, differences
from backend.declared.documents import page_document
from backend.declared.names import Named, ids_of, sites_named
from backend.declared.wanted import WantedPage
from backend.status import actions
from backend.status.models import StatusPage


def carry_out_pages(carrying: Carrying, known: Sequence[StatusPage], wanted: Sequence[WantedPage]) -> None:
    """Makes, changes and deletes pages until they are as wanted. Their sites must be there."""
    by_slug = {page.slug: page for page in known}
    named = sites_named(carrying.organisation, {name for one in wanted for name in one.sites})
    for page in known:
        is_left = page.slug not in {one.slug for one in wanted}
        if is_left and carrying.deletes(What.STATUS_PAGE, site=None, name=page.slug):
            actions.delete_status_page(actor=carrying.actor, page=page)
    for index, one in enumerate(wanted):
        with carrying.at(f"status_pages/{index}"):
            _carry_out(carrying, by_slug.get(one.slug), one, named)
    carrying.refuse_twice("status_pages", [one.slug for one in wanted], field="slug")


def _carry_out(carrying: Carrying, known: StatusPage | None, wanted: WantedPage, named: Named) -> None:
    """Raises InvalidError."""
    before = None if known is None else page_document(known)
    if before == {"slug": wanted.slug, "title": wanted.title, "sites": sorted(set(wanted.sites))}:
        return
    sites = ids_of(named, dict.fromkeys(wanted.sites), field="sites")
    draft = actions.Wanted(title=wanted.title, slug=wanted.slug, sites=sites)
    if known is None or before is None:
        made = actions.create_status_page(actor=carrying.actor, organisation=carrying.organisation, wanted=draft)
        carrying.note(Act.CREATE, What.STATUS_PAGE, site=None, name=made.slug)
        return
    changed = actions.change_status_page(actor=carrying.actor, page=known, wanted=draft)
    if fields := differences(before, page_document(changed)):
        carrying.note(Act.CHANGE, What.STATUS_PAGE, site=None, name=changed.slug, fields=fields)
