"""What there is, read at once for as many sites as are asked for."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from functools import cached_property

from django.db.models import Q

from backend.accounts.models import Organisation
from backend.alerts.models import Maintenance, Rule
from backend.compare.models import Pairing
from backend.sites.models import Host, Monitor, MonitorKind, Site, SiteStatus
from backend.status.models import StatusPage


class There:
    """Sites of these names, or all that are measured, with all that belongs to them, and the rules and windows for all
    sites; the organisation's own things once they are asked for. At most ten statements.
    """

    def __init__(self, organisation: Organisation, now: datetime, names: Collection[str] | None = None) -> None:
        self._organisation = organisation
        wanted = Q(organisation=organisation, status=SiteStatus.ACTIVE)
        if names is not None:
            wanted &= Q(name__in=set(names))
        sites = Site.objects.filter(wanted).select_related("organisation").prefetch_related("relies_on")
        self.sites = list(sites.order_by("name", "pk"))
        of_them = Q(site__in=[site.pk for site in self.sites])
        self._monitors: dict[int, list[Monitor]] = defaultdict(list)
        monitors = Monitor.objects.filter(of_them).exclude(kind=MonitorKind.PAIR).defer(None)
        for monitor in monitors.select_related("site__organisation").order_by("pk"):
            self._monitors[monitor.site_id].append(monitor)
        self._pairings: dict[int, list[Pairing]] = defaultdict(list)
        pairings = Pairing.objects.filter(of_them).select_related("monitor__site", "site__organisation")
        for pairing in pairings.order_by("name"):
            self._pairings[pairing.site_id].append(pairing)
        self._rules: dict[int | None, list[Rule]] = defaultdict(list)
        rules = Rule.objects.filter(of_them | Q(site=None), organisation=organisation)
        named = rules.select_related("organisation", "site", "monitor").prefetch_related("channels")
        for rule in named.order_by("pk"):
            self._rules[rule.site_id].append(rule)
        self._windows: dict[int | None, list[Maintenance]] = defaultdict(list)
        ahead = Maintenance.objects.filter(of_them | Q(site=None), organisation=organisation, ends_at__gt=now)
        for window in ahead.order_by("starts_at", "pk"):
            self._windows[window.site_id].append(window)

    def sites_called(self, name: str) -> list[Site]:
        return [site for site in self.sites if site.name == name]

    def monitors_of(self, site: Site) -> list[Monitor]:
        """Its probe and page."""
        return self._monitors[site.pk]

    def pairings_of(self, site: Site) -> list[Pairing]:
        return self._pairings[site.pk]

    def rules_of(self, site: Site | None) -> list[Rule]:
        """Those of a site, or for all sites."""
        return self._rules[site.pk if site else None]

    def hosts_of(self, site: Site) -> list[Host]:
        """Those of which somebody said what they are, as it was when they were asked for first."""
        return self._hosts[site.pk]

    @cached_property
    def _hosts(self) -> dict[int, list[Host]]:
        hosts: dict[int, list[Host]] = defaultdict(list)
        for host in Host.objects.filter(site__in=self.sites, chosen__isnull=False).order_by("name"):
            hosts[host.site_id].append(host)
        return hosts

    @cached_property
    def pages(self) -> list[StatusPage]:
        """The status pages of the organisation with their sites. Two statements."""
        found = StatusPage.objects.filter(organisation=self._organisation)
        return list(found.select_related("organisation").prefetch_related("sites").order_by("slug"))

    def windows_of(self, site: Site | None) -> list[Maintenance]:
        """The maintenance of a site, or of all sites, that is not over."""
        return self._windows[site.pk if site else None]
