"""The page loads that hosts and assets are read from."""

from backend.runs.queries import newest_measurements
from backend.sites.models import Monitor, Site
from workers.measurement.messages import Kind, PageMeasurement


def newest_pages(site: Site) -> list[PageMeasurement]:
    """The newest page load of the site in each region."""
    monitor = Monitor.objects.filter(site=site, kind=Kind.PAGE.value).select_related("site__organisation").first()
    found = [] if monitor is None else newest_measurements(monitor)
    return [one for one in found if isinstance(one, PageMeasurement)]
