"""Monitors and regions to measure with, made in bulk and without secrets worth keeping."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from django.utils import timezone

from backend.accounts.models import Organisation
from backend.fleet.credentials import TOKEN_KIND, digest
from backend.fleet.models import Agent, Region
from backend.runs.models import PendingRun, Run, Schedule
from backend.runs.slots import newest_slot, offset_us
from backend.sites.models import Monitor, Site, SiteStatus
from workers.measurement.identity import run_id

NOW = datetime.now(UTC).replace(microsecond=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """An organisation with regions, a token for each, and a site."""

    organisation: Organisation
    regions: tuple[Region, ...]
    site: Site

    @property
    def region(self) -> Region:
        return self.regions[0]

    def delete(self) -> None:
        self.organisation.delete()
        for region in self.regions:
            region.delete()


def token_of(code: str) -> str:
    """The token of a region that was made here."""
    return f"{TOKEN_KIND}of-{code}"


def make_region(code: str, organisation: Organisation | None = None, *, joined_at: datetime | None = NOW) -> Region:
    return Region.objects.create(
        code=code,
        name=code.title(),
        organisation=organisation,
        token_hash=digest(token_of(code)),
        token_prefix=TOKEN_KIND,
        broker_user=code,
        broker_password_hash="0" * 64,
        joined_at=joined_at,
    )


def make_fleet(*codes: str) -> Fleet:
    organisation = Organisation.objects.create(name="Acme", slug=f"acme-{uuid4().hex[:8]}")
    site = Site.objects.create(
        organisation=organisation, name="Shop", url="https://shop.example/", status=SiteStatus.ACTIVE
    )
    return Fleet(organisation=organisation, regions=tuple(make_region(code) for code in codes or ("eu",)), site=site)


def make_monitors(fleet: Fleet, count: int = 1, *, interval_s: int = 60, kind: str = "probe") -> list[Monitor]:
    """Monitors, each of a site of its own, since a site has one of each kind."""
    sites = Site.objects.bulk_create(
        Site(organisation=fleet.organisation, name=f"Site {n}", url="https://shop.example/", status=SiteStatus.ACTIVE)
        for n in range(count)
    )
    return Monitor.objects.bulk_create(
        Monitor(site=site, kind=kind, url=site.url, interval_s=interval_s, timeout_s=10) for site in sites
    )


def schedule(fleet: Fleet, monitors: list[Monitor], *, behind: timedelta = timedelta(0), now: datetime = NOW) -> None:
    """Schedules of all monitors in all regions, due at their newest slot before `now - behind`."""
    rows = []
    for monitor in monitors:
        for position, region in enumerate(fleet.regions):
            offset = offset_us(monitor.public_id, monitor.interval_s, position=position, regions=len(fleet.regions))
            rows.append(
                Schedule(
                    monitor=monitor,
                    region=region,
                    kind=monitor.kind,
                    interval_s=monitor.interval_s,
                    offset_us=offset,
                    next_at=newest_slot(now - behind, monitor.interval_s, offset),
                )
            )
    Schedule.objects.bulk_create(rows)


def make_pending(fleet: Fleet, monitor: Monitor, **fields: object) -> PendingRun:
    """A pending run that was published ten seconds ago, unless the fields say otherwise."""
    usual: dict[str, object] = {
        "monitor": monitor,
        "region": fleet.region,
        "scheduled_for": NOW - timedelta(seconds=10),
        "attempt": 1,
        "kind": monitor.kind,
        "trigger": "schedule",
        "created_at": NOW - timedelta(seconds=10),
        "publish_after": NOW - timedelta(seconds=7),
        "published_at": NOW - timedelta(seconds=10),
        "lease_until": NOW + timedelta(seconds=30),
        "expires_at": NOW + timedelta(seconds=50),
    }
    pending = PendingRun(**usual | fields)
    pending.run_id = run_id(
        monitor_id=monitor.public_id,
        region=pending.region.code,
        scheduled_for=pending.scheduled_for,
        attempt=pending.attempt,
    )
    pending.save(force_insert=True)
    return pending


def give_up(pending: PendingRun) -> Run:
    """The pending run's slot as the sweeper gives it up."""
    PendingRun.objects.filter(pk=pending.pk).delete()
    return Run.objects.create(
        run_id=pending.run_id,
        scheduled_for=pending.scheduled_for,
        monitor_id=pending.monitor_id,
        region_id=pending.region_id,
        attempt=pending.attempt,
        kind=pending.kind,
        trigger=pending.trigger,
        outcome="missed",
        missed_reason="agent_lost",
        received_at=NOW,
    )


def make_agent(region: Region, *, seen_at: datetime | None = None) -> Agent:
    """An agent that was heard of then, or just now: NOW is when the tests began, which may be long ago."""
    seen_at = seen_at or timezone.now()
    return Agent.objects.create(
        region=region, name=f"agent-of-{region.code}", version="1", last_seen_at=seen_at, clock_skew_us=0
    )
