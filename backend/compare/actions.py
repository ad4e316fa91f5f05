"""What changes comparisons: which hosts there are and what they are."""

from collections.abc import Sequence
from datetime import datetime

from backend.compare.evidence import propose
from backend.compare.seen import host_name, hosts_seen
from backend.runs.queries import newest_measurements
from backend.sites.hosts import propose_roles
from backend.sites.models import Monitor, Site
from workers.measurement.messages import Kind, PageMeasurement


def look_at_hosts(*, site: Site, now: datetime) -> int:
    """Proposes roles for the hosts of the site's newest page loads; how many hosts there were."""
    monitor = Monitor.objects.filter(site=site, kind=Kind.PAGE.value).select_related("site__organisation").first()
    if monitor is None:
        return 0
    pages = [one for one in newest_measurements(monitor) if isinstance(one, PageMeasurement)]
    hosts = hosts_seen(page.waterfall for page in pages)
    if hosts:
        propose_roles(site=site, proposals=propose(_home(site, pages), hosts), now=now)
    return len(hosts)


def _home(site: Site, pages: Sequence[PageMeasurement]) -> str:
    """The host that the site's address leads to: example.com may send its visitors to www.example.com."""
    documents = [
        request.url for page in pages for request in page.waterfall.requests if request.number == page.document
    ]
    return next(filter(None, map(host_name, [*documents[:1], site.url])), "")
