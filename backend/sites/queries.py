"""What is read about sites. Every question starts from the organisation."""

from uuid import UUID

from backend.accounts.models import Organisation
from backend.sites.models import Monitor, Site


def site(organisation: Organisation, public_id: UUID) -> Site | None:
    """A site, active or draft, with its monitors. Two statements."""
    found = Site.objects.filter(organisation=organisation, public_id=public_id)
    return found.select_related("organisation").prefetch_related("monitors").first()


def monitor(organisation: Organisation, public_id: UUID) -> Monitor | None:
    """A monitor with its site. One statement."""
    found = Monitor.objects.filter(site__organisation=organisation, public_id=public_id)
    return found.select_related("site__organisation").first()
