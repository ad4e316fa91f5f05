"""What changes sites and monitors. Only the tables of this app: schedules and runs follow in `runs.actions`."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.as_it_is import as_it_is
from backend.faults import FieldFaultError
from backend.sites import page_settings
from backend.sites.deploys import DeployMarker
from backend.sites.deploys import validate as validate_deploy
from backend.sites.keeping import account, with_kept
from backend.sites.manners import asks_otherwise
from backend.sites.models import Deploy, Monitor, MonitorVersion, Site, SiteStatus
from backend.sites.monitor_settings import MonitorSettings, defaults, stored_settings, validate
from backend.sites.targets import canonical_url, check_pair_target, check_target
from backend.texts import is_one_line
from workers.measurement.messages import Kind
from workers.measurement.pair import PairTarget

DRAFT_LIFE = timedelta(days=1)
MAX_NAME_CHARS = 100
# What one page can still show. Tests that were not saved count, too: they are gone after a day.
MAX_SITES = 1_000
# Each asks two servers four times at every slot.
MAX_PAIRS = 20


class SiteLimitError(ValueError):
    """There are as many sites, or pairs of a site, as there may be; the text is a sentence for people."""


class SiteNameError(FieldFaultError):
    """A site cannot be called so."""


@transaction.atomic
def create_draft(*, actor: User | None, organisation: Organisation, url: str) -> Site:
    """A site that is only tested so far, named for its host, with a probe and a page monitor.

    Raises TargetError, SiteLimitError.
    """
    target = check_target(url)
    hold(organisation)
    if Site.objects.filter(organisation=organisation).count() >= MAX_SITES:
        raise SiteLimitError(f"There are {MAX_SITES} sites; delete one before you add another.")
    site = Site.objects.create(
        organisation=organisation, name=target.host[:MAX_NAME_CHARS], url=target.page_url, created_by=actor
    )
    monitors = Monitor.objects.bulk_create(_new_monitor(site, kind) for kind in (Kind.PROBE, Kind.PAGE))
    _keep_versions(monitors)
    record("create_draft", site, actor=actor, organisation=organisation, url=site.url)
    return site


@transaction.atomic
def activate(*, actor: User | None, site: Site, name: str) -> Site:
    """Turns a draft into a site that is measured for good. An empty name keeps the old one. Raises SiteNameError."""
    site = as_it_is(site, "organisation")
    site.name = _checked_name(name) or site.name
    site.status = SiteStatus.ACTIVE
    site.save(update_fields=["name", "status"])
    record("activate_site", site, actor=actor, organisation=site.organisation, name=site.name)
    return site


@transaction.atomic
def rename(*, actor: User | None, site: Site, name: str) -> Site:
    """Gives a site another name; an empty one keeps the old. Raises SiteNameError."""
    site = as_it_is(site, "organisation")
    before, site.name = site.name, _checked_name(name) or site.name
    site.save(update_fields=["name"])
    record("rename_site", site, actor=actor, organisation=site.organisation, before=before, after=site.name)
    return site


@transaction.atomic
def add_pair(*, actor: User | None, site: Site, settings: MonitorSettings) -> Monitor:
    """A monitor that asks two servers for the same. Raises InvalidMonitorError, SiteLimitError."""
    settings = _canonical(settings)
    # Locked, so that two who add at once do not both find room.
    site = as_it_is(site, "organisation")
    if site.monitors.filter(kind=Kind.PAIR.value).count() >= MAX_PAIRS:
        raise SiteLimitError(f"This site has {MAX_PAIRS} pairs; delete one before you add another.")
    monitor = Monitor(site=site, kind=settings.kind.value)
    _apply(monitor, settings)
    monitor.save()
    _keep_versions([monitor])
    record("add_monitor", monitor, actor=actor, organisation=site.organisation, kind=monitor.kind, url=monitor.url)
    return monitor


@transaction.atomic
def delete_monitor(*, actor: User | None, monitor: Monitor) -> None:
    """Deletes a monitor of a site that stays."""
    organisation = monitor.site.organisation
    record("delete_monitor", monitor, actor=actor, organisation=organisation, kind=monitor.kind, url=monitor.url)
    monitor.delete()


@transaction.atomic
def change_monitor(*, actor: User | None, monitor: Monitor, settings: MonitorSettings) -> Monitor:
    """Stores new settings and counts the version up, unless they are the old ones.

    Secrets that are KEPT stay, as long as they go where they went. Raises InvalidMonitorError.
    """
    monitor = as_it_is(monitor, "site__organisation")
    before = stored_settings(monitor)
    after = _canonical(with_kept(settings, before))
    changed = _changed_fields(before, after)
    if not changed:
        return monitor
    _apply(monitor, after)
    monitor.config_version += 1
    monitor.manner_version += int(asks_otherwise(before, after))
    monitor.due_since = timezone.now()
    monitor.save()
    _keep_versions([monitor])
    moved = account(replace(settings, url=after.url), before)
    detail = _named(monitor) | {"changed": changed} | ({"moved": moved} if moved else {})
    record("change_monitor", monitor, actor=actor, organisation=monitor.site.organisation, **detail)
    return monitor


def _checked_name(name: str) -> str:
    """It goes into lines of alerts, terminals and status pages, whose order or end it must not change."""
    if not is_one_line(name.strip()):
        raise SiteNameError("name", "The name must be one line without control characters.")
    return name.strip()[:MAX_NAME_CHARS]


def _named(monitor: Monitor) -> dict[str, object]:
    """Which one it is to a reader of the audit log, who may come when the site is gone."""
    return {"name": monitor.site.name, "kind": monitor.kind}


@transaction.atomic
def set_paused(*, actor: User | None, monitor: Monitor, paused: bool) -> Monitor:
    """Pauses or resumes; what is under way ends as usual."""
    due_since = monitor.due_since if paused else timezone.now()
    changed = Monitor.objects.filter(pk=monitor.pk).exclude(paused=paused).update(paused=paused, due_since=due_since)
    if changed:
        action = "pause_monitor" if paused else "resume_monitor"
        record(action, monitor, actor=actor, organisation=monitor.site.organisation, **_named(monitor))
        monitor.due_since = due_since
    monitor.paused = paused
    return monitor


@transaction.atomic
def delete_site(*, actor: User | None, site: Site) -> None:
    """Deletes a site and its monitors."""
    record("delete_site", site, actor=actor, organisation=site.organisation, name=site.name, url=site.url)
    site.delete()


@transaction.atomic
def record_deploy(
    *,
    actor: User | None,
    organisation: Organisation,
    site: Site | None,
    marker: DeployMarker,
    token_name: str = "",
) -> Deploy:
    """Remembers a release of a site, or of all when `site` is None; one that is known already is given unchanged.

    Raises InvalidDeployError.
    """
    now = timezone.now()
    validate_deploy(marker, now=now)
    said = {
        "version": marker.version,
        "url": marker.url,
        "note": marker.note,
        "at": marker.at or now,
        "created_by": actor,
        "token_name": token_name[:100],
    }
    known = {"organisation": organisation, "site": site, "external_id": marker.external_id}
    if marker.external_id:
        deploy, is_new = Deploy.objects.get_or_create(**known, defaults=said)
    else:
        deploy, is_new = Deploy.objects.create(**known, **said), True
    if is_new:
        detail = {"name": "all sites" if site is None else site.name, "version": marker.version}
        record("record_deploy", deploy, actor=actor, organisation=organisation, **detail)
    return deploy


@transaction.atomic
def delete_old_drafts(*, now: datetime) -> int:
    """Removes tests that nobody saved within a day; how many there were."""
    old = Site.objects.filter(status=SiteStatus.DRAFT, created_at__lt=now - DRAFT_LIFE)
    # Locked before they are deleted by their keys: one that is being saved at this moment is no draft any more.
    drafts = list(old.select_for_update(skip_locked=True).values_list("pk", flat=True))
    Site.objects.filter(pk__in=drafts).delete()
    return len(drafts)


def _new_monitor(site: Site, kind: Kind) -> Monitor:
    monitor = Monitor(site=site, kind=kind.value)
    _apply(monitor, defaults(kind, canonical_url(site.url, kind)))
    return monitor


def _keep_versions(monitors: Iterable[Monitor]) -> None:
    """Of a version that is new, for its runs to be known by."""
    MonitorVersion.objects.bulk_create(
        MonitorVersion(
            monitor=one,
            config_version=one.config_version,
            url=one.url,
            pair=one.pair,
            profile=one.profile,
            manner_version=one.manner_version,
        )
        for one in monitors
    )


def _canonical(settings: MonitorSettings) -> MonitorSettings:
    """The settings with addresses in one form. Raises InvalidMonitorError."""
    validate(settings)
    other = None if settings.other is None else check_pair_target(settings.other)
    return replace(settings, url=canonical_url(settings.url, settings.kind), other=other)


def _apply(monitor: Monitor, settings: MonitorSettings) -> None:
    monitor.url = settings.url
    monitor.interval_s = settings.interval_s
    monitor.timeout_s = settings.timeout_s
    monitor.regions = list(settings.regions)
    monitor.profile = settings.profile
    if "headers" not in settings.unreadable:
        monitor.headers = [[header.name, header.value] for header in settings.headers]
    monitor.accepted_status = list(settings.accepted_status)
    monitor.body_text = settings.body_text
    monitor.ignore_certificate_errors = settings.ignore_certificate_errors
    monitor.pair = _stored(settings.other)
    monitor.user_timings = list(settings.user_timings)
    if "page" not in settings.unreadable:
        monitor.page = page_settings.stored(settings.page)


def _stored(other: PairTarget | None) -> dict[str, str | None] | None:
    return None if other is None else {"url": other.url, "address": other.address}


def _changed_fields(before: MonitorSettings, after: MonitorSettings) -> list[str]:
    """Names only: the values of headers are secrets. What could not be read is changed when it is not kept."""
    gone = set(before.unreadable) - set(after.unreadable)
    names = [name for name in MonitorSettings.__slots__ if name != "unreadable"]
    return [name for name in names if name in gone or getattr(before, name) != getattr(after, name)]
