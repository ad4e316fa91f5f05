"""Sites and monitors in pages, for who reads all of them. Every question starts from the organisation."""

from uuid import UUID

from django.db.models import Q

from backend.accounts.models import Organisation
from backend.sites.models import Monitor, Site


def sites_after(organisation: Organisation, *, status: str, after: tuple[str, int] | None, limit: int) -> list[Site]:
    """Sites by name with their monitors; `after` is name and number of the last one seen. Two statements."""
    found = Site.objects.filter(organisation=organisation, status=status)
    if after is not None:
        name, pk = after
        found = found.filter(Q(name__gt=name) | Q(name=name, pk__gt=pk))
    return list(found.prefetch_related("monitors").order_by("name", "pk")[:limit])


def monitors_after(
    organisation: Organisation, *, site_id: UUID | None, kind: str | None, after: int | None, limit: int
) -> list[Monitor]:
    """Monitors in the order they were made, with their sites; `after` is the last one seen. One statement."""
    found = Monitor.objects.filter(site__organisation=organisation, pk__gt=after or 0)
    if site_id is not None:
        found = found.filter(site__public_id=site_id)
    if kind is not None:
        found = found.filter(kind=kind)
    return list(found.select_related("site__organisation").order_by("pk")[:limit])
