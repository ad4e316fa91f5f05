"""What doors call to change what is measured: sites and monitors together with their schedules and runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.fleet.models import Region
from backend.fleet.queries import unknown_among, usable_regions
from backend.runs.claim import PUBLISH_GRACE
from backend.runs.models import PendingRun, Schedule, Trigger
from backend.runs.outbox import publish_if_possible
from backend.runs.outgoing import MONITOR_SQL, PENDING_SQL
from backend.runs.schedules import Changes, reconcile
from backend.runs.sending import messages_of_pending
from backend.runs.sql import fetch
from backend.sites import actions as sites
from backend.sites import page_settings
from backend.sites.keeping import settings_of
from backend.sites.models import Monitor, Site
from backend.sites.monitor_settings import MonitorSettings
from workers.measurement.evidence import Depth
from workers.measurement.identity import run_id
from workers.measurement.messages import Kind
from workers.measurement.page_options import HostMapping
from workers.measurement.page_rules import page_faults

# A person who waits longer than this has gone.
MANUAL_WINDOW = timedelta(minutes=10)
# So many tests of one organisation may be under way; each costs a browser for up to two minutes.
MAX_URGENT = 30
# Pipelines wait behind people, so more of their runs may.
MAX_GATE_RUNS = 300
# Each takes some seconds and a dozen connections, and nobody waits for it.
MAX_DIAGNOSES = 20
# Nobody waits for these in person: they have lanes of their own, or none.
_UNHURRIED = {Trigger.GATE: "runs of gates", Trigger.DIAGNOSE: "diagnoses", Trigger.COST: "loads without hosts"}

_MESSAGES = f"""
SELECT {MONITOR_SQL}, {PENDING_SQL} FROM runs_pendingrun p
JOIN sites_monitor m ON m.id = p.monitor_id JOIN fleet_region r ON r.id = p.region_id WHERE p.run_id = ANY(%s)
"""


class RunsError(ValueError):
    """What was asked for cannot be measured now; the text is a sentence for people."""


class TooManyRunsError(RunsError):
    """As many are under way as may be; some end soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A test before saving: a draft site, and its runs that are under way."""

    site: Site
    run_ids: tuple[UUID, ...]


@transaction.atomic
def start_trial(*, actor: User | None, organisation: Organisation, url: str, regions: Sequence[str]) -> Trial:
    """Measures a URL once, by a deep probe and as a page, in regions by their codes. Raises TargetError, RunsError."""
    site = sites.create_draft(actor=actor, organisation=organisation, url=url)
    monitors = list(site.monitors.order_by("kind"))
    run_ids = _start(monitors, regions, Trigger.MANUAL, depth=Depth.DEEP)
    return Trial(site=site, run_ids=tuple(run_ids))


@transaction.atomic
def save_site(*, actor: User | None, site: Site, name: str) -> Site:
    """Turns a tested draft into a site that is measured from now on; its first runs stay as its history."""
    site = sites.activate(actor=actor, site=site, name=name)
    _reconcile(site)
    return site


@transaction.atomic
def register_site(*, actor: User | None, organisation: Organisation, name: str, url: str) -> Site:
    """A site that is measured from now on: a probe every minute, a page every 15. Raises TargetError, SiteNameError."""
    draft = sites.create_draft(actor=actor, organisation=organisation, url=url)
    return save_site(actor=actor, site=draft, name=name)


@transaction.atomic
def add_pair(*, actor: User | None, site: Site, settings: MonitorSettings) -> Monitor:
    """Two servers compared from now on. Raises InvalidMonitorError, SiteLimitError."""
    monitor = sites.add_pair(actor=actor, site=site, settings=settings)
    reconcile([monitor.pk], now=timezone.now())
    return monitor


@transaction.atomic
def delete_monitor(*, actor: User | None, monitor: Monitor) -> None:
    """Ends one monitor of a site that stays; what it measured vanishes as with `delete_site`."""
    Schedule.objects.filter(monitor=monitor).delete()
    PendingRun.objects.filter(monitor=monitor).delete()
    sites.delete_monitor(actor=actor, monitor=monitor)


@transaction.atomic
def change_monitor(*, actor: User | None, monitor: Monitor, settings: MonitorSettings) -> Monitor:
    """Stores new settings; the next slot follows them. Raises InvalidMonitorError."""
    monitor = sites.change_monitor(actor=actor, monitor=monitor, settings=settings)
    reconcile([monitor.pk], now=timezone.now())
    return monitor


@transaction.atomic
def pause_monitor(*, actor: User | None, monitor: Monitor) -> Monitor:
    """No slot is due until it is resumed, and none counts as missed."""
    monitor = sites.set_paused(actor=actor, monitor=monitor, paused=True)
    reconcile([monitor.pk], now=timezone.now())
    return monitor


@transaction.atomic
def resume_monitor(*, actor: User | None, monitor: Monitor) -> Monitor:
    """The next slot by the clock is due again."""
    monitor = sites.set_paused(actor=actor, monitor=monitor, paused=False)
    reconcile([monitor.pk], now=timezone.now())
    return monitor


@transaction.atomic
def delete_site(*, actor: User | None, site: Site) -> None:
    """Ends a site. Its measurements vanish from every page at once, and from the disk with their partition."""
    # Schedules first: a scheduler that is claiming them ends before we go on, and what it made is deleted here too.
    Schedule.objects.filter(monitor__site=site).delete()
    PendingRun.objects.filter(monitor__site=site).delete()
    sites.delete_site(actor=actor, site=site)


@transaction.atomic
def test_now(*, actor: User | None, monitor: Monitor, regions: Sequence[str]) -> list[UUID]:
    """Measures once, ahead of everything scheduled, in regions by their codes; the ids to follow. Raises RunsError.

    A probe looks deep: who asks wants to know why.
    """
    return _start([monitor], regions, Trigger.MANUAL, depth=Depth.DEEP)


@transaction.atomic
def test_all_now(*, actor: User | None, wanted: Iterable[tuple[Monitor, Sequence[str]]]) -> list[UUID]:
    """The same of several monitors, each in regions of its own: all of them, or none. Raises RunsError."""
    return [run for monitor, regions in wanted for run in test_now(actor=actor, monitor=monitor, regions=regions)]


@transaction.atomic
def request_runs(
    *,
    actor: User | None,
    monitor: Monitor,
    regions: Sequence[str],
    trigger: Trigger,
    url: str | None = None,
) -> list[UUID]:
    """Measures once in each region by its code, besides the schedule; the ids in the order of the regions.

    A confirmation goes the way of a person's test, a gate's run has a lane of its own, and a diagnosis, which is deep,
    waits with the schedule. Published when the transaction commits. `url`, in its canonical form, is measured in place
    of the monitor's own. Raises RunsError for a region that is not usable, or when too many such runs are under way.
    """
    if trigger in (Trigger.SCHEDULE, Trigger.MAPPED, Trigger.COST):
        raise ValueError(f"runs of the trigger {trigger} are not asked for here")
    depth = Depth.DEEP if trigger is Trigger.DIAGNOSE else Depth.LIGHT
    return _start([monitor], regions, trigger, url=url, depth=depth)


@transaction.atomic
def load_elsewhere(
    *, actor: User | None, monitor: Monitor, regions: Sequence[str], mapping: HostMapping
) -> dict[str, UUID]:
    """Loads a page once with a host at another address, ahead of everything scheduled; the runs by region.

    What the monitor keeps secret stays at home, and the runs enter no chart, baseline, rule or alert. Raises RunsError.
    """
    if monitor.kind != Kind.PAGE:
        raise RunsError("Only a page can be loaded with a host at another address.")
    options = page_settings.mapped(settings_of(monitor).page, mapping)
    fault = page_faults(options).get("host_map")
    if fault is not None:
        raise RunsError(fault)
    organisation, address = monitor.site.organisation, page_settings.mapping_text(mapping)
    run_ids = _start([monitor], regions, Trigger.MAPPED, mapping=address, depth=Depth.LIGHT)
    codes = list(dict.fromkeys(regions))
    detail = {"regions": codes, "host": mapping.host, "address": address.partition("=")[2]}
    record("load_elsewhere", monitor, actor=actor, organisation=organisation, **detail)
    return dict(zip(codes, run_ids, strict=True))


@transaction.atomic
def load_without(*, monitor: Monitor, region: str, hosts: Sequence[str]) -> UUID:
    """Loads a page once, in a single first view, without hosts or, where there are none, as it is; the run.

    In the lane of gates, behind people who test. The runs enter no chart, baseline, rule or alert. Raises RunsError.
    """
    (run_id,) = _start([monitor], [region], Trigger.COST, without=list(hosts), depth=Depth.LIGHT)
    return run_id


def reconcile_organisation(organisation: Organisation) -> Changes:
    """For doors that changed regions: all schedules of the organisation's monitors follow at once."""
    monitors = Monitor.objects.filter(site__organisation=organisation)
    return reconcile(monitors.values_list("pk", flat=True), now=timezone.now())


def _reconcile(site: Site) -> None:
    reconcile(site.monitors.values_list("pk", flat=True), now=timezone.now())


def _start(
    monitors: Sequence[Monitor],
    codes: Sequence[str],
    trigger: Trigger,
    *,
    url: str | None = None,
    mapping: str | None = None,
    without: list[str] | None = None,
    depth: Depth,
) -> list[UUID]:
    """One run of each monitor, of one organisation, in each region; the ids by monitor, then by region."""
    now, organisation = timezone.now(), monitors[0].site.organisation
    places = _places(organisation, codes)
    _refuse_too_many(organisation, len(monitors) * len(places), trigger)
    pending = [
        _requested(monitor, region, now, trigger, url=url, mapping=mapping, without=without, depth=depth)
        for monitor in monitors
        for region in places
    ]
    PendingRun.objects.bulk_create(pending)
    run_ids = [run.run_id for run in pending]
    transaction.on_commit(lambda: _publish(run_ids, now))
    return run_ids


def _places(organisation: Organisation, codes: Sequence[str]) -> list[Region]:
    usable = usable_regions(organisation)
    if fault := unknown_among(codes, usable):
        raise RunsError(fault)
    if not codes:
        raise RunsError("Choose at least one region to measure from.")
    known = {region.code: region for region in usable}
    return [known[code] for code in dict.fromkeys(codes)]


def _refuse_too_many(organisation: Organisation, wanted: int, trigger: Trigger) -> None:
    if trigger in (Trigger.MANUAL, Trigger.MAPPED):
        # Judges and gates ask for those of several organisations in one transaction, in no order, and one at a time.
        hold(organisation)
    same_lane = Q(trigger=trigger) if trigger in _UNHURRIED else Q(urgent=True)
    limit = {Trigger.GATE: MAX_GATE_RUNS, Trigger.DIAGNOSE: MAX_DIAGNOSES}.get(trigger, MAX_URGENT)
    under_way = PendingRun.objects.filter(same_lane, monitor__site__organisation=organisation).count()
    if under_way + wanted > limit:
        runs = _UNHURRIED.get(trigger, "tests")
        raise TooManyRunsError(f"{under_way} {runs} are under way; at most {limit} can be. Wait until some have ended.")


def _requested(
    monitor: Monitor,
    region: Region,
    slot: datetime,
    trigger: Trigger,
    *,
    url: str | None,
    mapping: str | None,
    without: list[str] | None,
    depth: Depth,
) -> PendingRun:
    return PendingRun(
        run_id=run_id(monitor_id=monitor.public_id, region=region.code, scheduled_for=slot, attempt=1),
        monitor=monitor,
        region=region,
        scheduled_for=slot,
        kind=monitor.kind,
        trigger=trigger,
        urgent=trigger not in _UNHURRIED,
        created_at=slot,
        expires_at=slot + MANUAL_WINDOW,
        publish_after=slot + PUBLISH_GRACE,
        url=url,
        mapping=mapping,
        without=without,
        config_version=monitor.config_version,
        depth=depth if monitor.kind == Kind.PROBE else Depth.LIGHT,
    )


def _publish(run_ids: Sequence[UUID], now: datetime) -> None:
    publish_if_possible(messages_of_pending(fetch(_MESSAGES, [list(run_ids)]), now=now), now=now)
