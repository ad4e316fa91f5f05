"""What is read about sites. Every question starts from the organisation."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, Q

from backend.accounts.models import Organisation
from backend.lists import older
from backend.sites.models import Deploy, Host, Monitor, MonitorVersion, Site, SiteStatus
from workers.measurement.messages import Kind

MAX_DEPLOYS = 500


def site(organisation: Organisation, public_id: UUID) -> Site | None:
    """A site, active or draft, with its probe and page monitors; pairs are asked for apart. Two statements."""
    found = Site.objects.filter(organisation=organisation, public_id=public_id)
    return found.select_related("organisation").prefetch_related(plain_monitors()).first()


def sites_with_ids(organisation: Organisation, public_ids: Collection[UUID]) -> list[Site]:
    """The active ones of these, in their order. One statement."""
    active = Site.objects.filter(organisation=organisation, status=SiteStatus.ACTIVE, public_id__in=public_ids)
    found = {one.public_id: one for one in active}
    return [found[public_id] for public_id in dict.fromkeys(public_ids) if public_id in found]


def monitors_of(sites: Collection[Site], kind: str) -> list[Monitor]:
    """Those of a kind other than pairs, with what is secret in them, in the order of the sites. One statement."""
    found = Monitor.objects.filter(site__in=sites, kind=kind).defer(None).select_related("site__organisation")
    by_site = {one.site_id: one for one in found}
    return [by_site[site.pk] for site in sites if site.pk in by_site]


def active_sites(organisation: Organisation) -> list[Site]:
    """All of them, by name. One statement."""
    return list(Site.objects.filter(organisation=organisation, status=SiteStatus.ACTIVE).order_by("name", "pk"))


def plain_monitors() -> "Prefetch[Any]":
    """For `prefetch_related` of sites: the monitors without pairs, which compare and say nothing of the site alone."""
    return Prefetch("monitors", queryset=Monitor.objects.exclude(kind=Kind.PAIR.value).order_by("pk"))


def monitor(organisation: Organisation, public_id: UUID) -> Monitor | None:
    """A monitor with its site. One statement."""
    found = Monitor.objects.filter(site__organisation=organisation, public_id=public_id)
    return found.select_related("site__organisation").first()


def followed_by(monitors: Collection[int]) -> dict[int, Sequence[str]]:
    """The user timings that these follow, by monitor; those that follow none are left out. One statement, unless there
    are no monitors."""
    following = Monitor.objects.filter(pk__in=monitors).exclude(user_timings=[])
    return dict(following.values_list("pk", "user_timings")) if monitors else {}


def followed_in(organisation: Organisation, site: Site | None = None) -> list[str]:
    """The user timings that pages of a site, or of all sites, follow. One statement."""
    pages = Monitor.objects.filter(site__organisation=organisation, site__status=SiteStatus.ACTIVE)
    if site is not None:
        pages = pages.filter(site=site)
    named = pages.exclude(user_timings=[]).values_list("user_timings", flat=True)
    return sorted({timing for timings in named for timing in timings})


def versions_alike(monitors: Collection[Monitor]) -> dict[int, frozenset[int]]:
    """By monitor, those of its versions that measured what it measures now, the present one too. One statement."""
    known = {one.pk: one for one in monitors}
    alike = {one.pk: {one.config_version} for one in monitors}
    for version in MonitorVersion.objects.filter(monitor__in=list(known)):
        if _is_as_now(version, known[version.monitor_id]):
            alike[version.monitor_id].add(version.config_version)
    return {pk: frozenset(versions) for pk, versions in alike.items()}


def _is_as_now(version: MonitorVersion, monitor: Monitor) -> bool:
    names = ("url", "pair", "profile", "manner_version")
    return all(getattr(version, name) == getattr(monitor, name) for name in names)


def hosts(site: Site) -> list[Host]:
    """The hosts that a site's pages speak to, by name. One statement."""
    return list(Host.objects.filter(site=site).select_related("chosen_by").order_by("name"))


def host(organisation: Organisation, site_id: UUID, name: str) -> Host | None:
    """A host with its site. One statement, and none for a name that no host has: with what cannot be printed, as the
    NUL that PostgreSQL has no place for."""
    if not name.isprintable():
        return None
    found = Host.objects.filter(site__organisation=organisation, site__public_id=site_id, name=name)
    return found.select_related("site__organisation").first()


def deploys_between(site: Site, since: datetime, until: datetime) -> list[Deploy]:
    """The deploys of a site and of all sites, `since` included, oldest first; at most the newest 500. One statement."""
    concerned = Q(site=site) | Q(site=None)
    found = Deploy.objects.filter(concerned, organisation=site.organisation_id, at__gte=since, at__lt=until)
    return list(reversed(found.order_by("-at", "-pk")[:MAX_DEPLOYS]))


def deploy(organisation: Organisation, public_id: UUID) -> Deploy | None:
    """A deploy with its site. One statement."""
    return Deploy.objects.filter(organisation=organisation, public_id=public_id).select_related("site").first()


def deploys(
    organisation: Organisation,
    *,
    site: Site | None = None,
    before: tuple[datetime, int] | None = None,
    limit: int = 50,
) -> list[Deploy]:
    """Deploys with their sites, the newest first, of one site those of all sites included. One statement.

    `before` is the time and number of the last one seen.
    """
    found = Deploy.objects.filter(organisation=organisation)
    if site is not None:
        found = found.filter(Q(site=site) | Q(site=None))
    if before is not None:
        found = found.filter(older("at", before))
    return list(found.select_related("site").order_by("-at", "-pk")[: max(1, min(limit, MAX_DEPLOYS))])


def sites_called(organisation: Organisation, text: str) -> list[Site]:
    """The active sites that a person or pipeline means: by id, by name whatever the case, or by the URL or its host.

    None, or several when the text does not decide: at most two. Two statements.
    """
    active = Site.objects.filter(organisation=organisation, status=SiteStatus.ACTIVE)
    try:
        meant = Q(public_id=UUID(text))
    except ValueError:
        host = text.split("://")[-1].strip("/")
        addresses = [f"{scheme}://{host}/" for scheme in ("https", "http")]
        meant = Q(name__iexact=text) | Q(url__in=[text, *addresses])
    return list(
        active.filter(meant).select_related("organisation").prefetch_related(plain_monitors()).order_by("pk")[:2]
    )


def names_of(organisation: Organisation, public_ids: Collection[str]) -> dict[str, str]:
    """The names of the sites with these ids, and of those of the monitors with these ids. Two statements at most."""
    sites_found = Site.objects.filter(organisation=organisation, public_id__in=public_ids)
    monitors_found = Monitor.objects.filter(site__organisation=organisation, public_id__in=public_ids)
    pairs = [*sites_found.values_list("public_id", "name"), *monitors_found.values_list("public_id", "site__name")]
    return {str(public_id): name for public_id, name in pairs}
