"""Which pairings there are, and which there could be."""

from datetime import datetime
from uuid import UUID

from backend.accounts.models import Organisation
from backend.compare.models import Pairing, StoredVerdict
from backend.compare.pages import newest_pages
from backend.compare.pairings import judged_every
from backend.compare.proposals import ProposedPair, propose_pairs
from backend.sites import queries as sites
from backend.sites.models import Site


def pairings(site: Site) -> list[Pairing]:
    """All pairings of a site with their monitors and stored verdicts, the oldest first. Two statements."""
    found = Pairing.objects.filter(site=site).select_related("monitor", "site__organisation")
    return list(found.prefetch_related("verdicts").order_by("created_at", "pk"))


def pairings_after(organisation: Organisation, *, site_id: UUID | None, after: int | None, limit: int) -> list[Pairing]:
    """Pairings of an organisation, or of one of its sites, in the order they were made. Two statements."""
    found = Pairing.objects.filter(site__organisation=organisation)
    if site_id is not None:
        found = found.filter(site__public_id=site_id)
    if after is not None:
        found = found.filter(pk__gt=after)
    rows = found.select_related("monitor", "site").prefetch_related("verdicts__region")
    return list(rows.order_by("pk")[:limit])


def verdicts_now(organisation: Organisation, now: datetime) -> list[StoredVerdict]:
    """The verdicts that hold now, by region and over all, with their pairings: none of a pairing that rests, or that
    nobody has judged for twice as long as a verdict holds. One statement.
    """
    going_on = StoredVerdict.objects.filter(pairing__site__organisation=organisation, pairing__monitor__paused=False)
    found = going_on.select_related("pairing__site", "pairing__monitor", "region").order_by("pk")
    return [one for one in found if now - one.judged_at <= 2 * judged_every(one.pairing)]


def pairing(organisation: Organisation, public_id: UUID) -> Pairing | None:
    """A pairing with its site, monitor and stored verdicts. At most three statements."""
    found = Pairing.objects.filter(site__organisation=organisation, public_id=public_id)
    return found.select_related("monitor", "site__organisation").prefetch_related("verdicts__region").first()


def proposed_pairs(site: Site) -> tuple[ProposedPair, ...]:
    """Assets of the site's CDN hosts that are not compared yet. Five statements."""
    waterfalls = [page.waterfall for page in newest_pages(site)]
    roles = {host.name: host.role for host in sites.hosts(site)}
    known = set(Pairing.objects.filter(site=site).values_list("monitor__url", flat=True))
    return propose_pairs(waterfalls, roles, known)
