"""What changes comparisons: the hosts that are seen, and the pairings that are measured."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import User
from backend.as_it_is import as_it_is
from backend.compare.evidence import propose
from backend.compare.judging import report_end
from backend.compare.models import MAX_NAME_CHARS, OriginLoad, Pairing, StoredVerdict
from backend.compare.pages import newest_pages
from backend.compare.pairings import PairingDraft, settings_for, translated
from backend.compare.seen import host_name, hosts_seen
from backend.fleet.models import Region
from backend.runs import actions as runs
from backend.runs.models import PendingRun
from backend.sites.hosts import choose_role, propose_roles
from backend.sites.keeping import settings_of
from backend.sites.models import Host, HostRole, Monitor, MonitorKind, Site
from backend.sites.monitor_settings import InvalidMonitorError, MonitorSettings
from backend.sites.targets import check_dial_address, check_target
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import HostMapping
from workers.measurement.target import TargetError

# Of each region; only the newest is shown.
_KEPT_LOADS = 5


def look_at_hosts(*, site: Site, now: datetime) -> int:
    """Proposes roles for the hosts of the site's newest page loads; how many hosts there were."""
    pages = newest_pages(site)
    hosts = hosts_seen(page.waterfall for page in pages)
    if hosts:
        propose_roles(site=site, proposals=propose(_home(site, pages), hosts), now=now)
    return len(hosts)


@transaction.atomic
def create_pairing(*, actor: User | None, site: Site, draft: PairingDraft) -> Pairing:
    """Compares two servers from now on. Raises InvalidPairingError, SiteLimitError."""
    settings = settings_for(draft)
    name = _free_name(site, draft.name.strip() or check_target(draft.cdn_url).path)
    monitor = _add(actor, site, settings)
    pairing = Pairing.objects.create(
        site=site,
        monitor=monitor,
        name=name,
        origin=draft.origin.strip(),
        compared_from=timezone.now(),
        created_by=actor,
    )
    _learn_roles(actor, pairing)
    detail = {"name": name, "cdn_url": monitor.url, "origin": pairing.origin}
    record("create_pairing", pairing, actor=actor, organisation=site.organisation, **detail)
    return pairing


@transaction.atomic
def change_pairing(*, actor: User | None, pairing: Pairing, draft: PairingDraft) -> Pairing:
    """Stores what was said. With another address on a leg it is another comparison, whose pairs are counted anew.

    Raises InvalidPairingError.
    """
    pairing = as_they_are(pairing)
    settings = settings_for(draft, settings_of(pairing.monitor))
    before = (pairing.monitor.url, pairing.monitor.pair)
    name = draft.name.strip() or pairing.name
    pairing.name = name if name == pairing.name else _free_name(pairing.site, name)
    pairing.monitor = _change(actor, pairing.monitor, settings)
    pairing.origin = draft.origin.strip()
    if before != (pairing.monitor.url, pairing.monitor.pair):
        pairing.compared_from = timezone.now()
        StoredVerdict.objects.filter(pairing=pairing).delete()
        report_end(pairing, now=pairing.compared_from)
        _learn_roles(actor, pairing)
    pairing.save(update_fields=["name", "origin", "compared_from"])
    record("change_pairing", pairing, actor=actor, organisation=pairing.site.organisation, name=pairing.name)
    return pairing


@transaction.atomic
def load_from_origin(*, actor: User | None, pairing: Pairing, regions: Sequence[str], address: str) -> list[UUID]:
    """Loads the site's page once with the CDN's host at an address ("IP", "IP:port"); the ids to follow.

    Without an address it is the one that the origin is compared at. Raises RunsError.
    """
    monitor = Monitor.objects.filter(site=pairing.site, kind=MonitorKind.PAGE).select_related("site").first()
    if monitor is None:
        raise runs.RunsError("This site loads no page.")
    host, address = host_name(pairing.monitor.url) or "", address or pairing.other.address or ""
    try:
        dial = check_dial_address(address)
    except TargetError as error:
        raise runs.RunsError(str(error)) from error
    mapping = HostMapping(host=host, address=dial.address, port=dial.port)
    started = runs.load_elsewhere(actor=actor, monitor=monitor, regions=regions, mapping=mapping)
    for region in Region.objects.filter(pk__in=_places(started.values())):
        run_id = started[region.code]
        OriginLoad.objects.create(pairing=pairing, region=region, run_id=run_id)
        kept = OriginLoad.objects.filter(pairing=pairing, region=region).order_by("-asked_at", "-pk")
        OriginLoad.objects.filter(pk__in=list(kept.values_list("pk", flat=True)[_KEPT_LOADS:])).delete()
    return list(started.values())


def _places(run_ids: Iterable[UUID]) -> list[int]:
    return list(PendingRun.objects.filter(run_id__in=list(run_ids)).values_list("region_id", flat=True))


@transaction.atomic
def delete_pairing(*, actor: User | None, pairing: Pairing) -> None:
    """Ends a comparison, and what it measured vanishes."""
    record("delete_pairing", pairing, actor=actor, organisation=pairing.site.organisation, name=pairing.name)
    report_end(pairing, now=timezone.now())
    runs.delete_monitor(actor=actor, monitor=pairing.monitor)


def as_they_are(pairing: Pairing) -> Pairing:
    """A pairing and its monitor as `as_it_is` gives a row: who changes the monitor's settings has them from here."""
    pairing = as_it_is(pairing, "site__organisation")
    pairing.monitor = as_it_is(pairing.monitor, "site__organisation")
    return pairing


def draft_of(pairing: Pairing) -> PairingDraft:
    """The pairing as it would be said anew."""
    monitor = pairing.monitor
    return PairingDraft(
        cdn_url=monitor.url,
        origin=pairing.origin,
        name=pairing.name,
        interval_s=monitor.interval_s,
        regions=tuple(monitor.regions),
        ignore_certificate_errors=monitor.ignore_certificate_errors,
    )


def _add(actor: User | None, site: Site, settings: MonitorSettings) -> Monitor:
    try:
        return runs.add_pair(actor=actor, site=site, settings=settings)
    except InvalidMonitorError as error:
        raise translated(error) from error


def _change(actor: User | None, monitor: Monitor, settings: MonitorSettings) -> Monitor:
    try:
        return runs.change_monitor(actor=actor, monitor=monitor, settings=settings)
    except InvalidMonitorError as error:
        raise translated(error) from error


def _free_name(site: Site, wanted: str) -> str:
    """The name, with a number after it when another pairing of the site has it. Until the transaction ends nobody else
    finds the same one free.
    """
    site = as_it_is(site)
    taken = set(Pairing.objects.filter(site=site).values_list("name", flat=True))
    wanted = wanted[: MAX_NAME_CHARS - 4]
    return next(name for name in (wanted, *(f"{wanted} {n}" for n in range(2, 100))) if name not in taken)


def _learn_roles(actor: User | None, pairing: Pairing) -> None:
    """Who names a CDN and an origin has said what these hosts are, unless he said otherwise before."""
    said = {host_name(pairing.monitor.url): HostRole.CDN}
    other = pairing.other
    if other.address is None:
        said.setdefault(host_name(other.url), HostRole.ORIGIN)
    hosts = Host.objects.filter(site=pairing.site, name__in=filter(None, said), chosen=None)
    for host in hosts.select_related("site__organisation"):
        if host.role is not said[host.name]:
            choose_role(actor=actor, host=host, role=said[host.name])


def _home(site: Site, pages: Sequence[PageMeasurement]) -> str:
    """The host that the site's address leads to: example.com may send its visitors to www.example.com."""
    documents = [
        request.url for page in pages for request in page.waterfall.requests if request.number == page.document
    ]
    return next(filter(None, map(host_name, [*documents[:1], site.url])), "")
