"""What is read about status pages: by their organisation, and what everybody sees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from django.db.models import F, Q

from backend.accounts.models import Organisation
from backend.alerts.models import Incident, Maintenance, Outage
from backend.alerts.queries.incidents import open_by_site
from backend.alerts.queries.uptime import going_on, outages_since, seen_of
from backend.alerts.states import State
from backend.analysis.spans import Spans
from backend.analysis.uptime import Seen
from backend.instants import from_us, to_us
from backend.runs.queries.latest import sites_heard_of
from backend.sites.models import Monitor, Site, SiteStatus
from backend.status.models import Announcement, AnnouncementStage, StatusPage
from workers.measurement.messages import Kind

# Bars of days begin at midnight.
KNOWN_FOR = timedelta(days=91)
# What is planned for later than this is no news yet.
_AHEAD = timedelta(days=14)
# What is over for longer is none any more.
LATELY = timedelta(days=14)
MAX_ANNOUNCEMENTS = 50


class Condition(StrEnum):
    """How a site is, for guests, in the order of what matters most."""

    DOWN = "down"
    PARTLY = "partly"
    UNKNOWN = "unknown"
    MAINTENANCE = "maintenance"
    UP = "up"


_CONDITIONS = {State.FAILING: Condition.DOWN, State.DEGRADED: Condition.PARTLY}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedOutage:
    """An outage by one monitor. Its `key` stays while the begin of what guests see may move: another monitor may have
    been down before, and be found so later."""

    key: int
    condition: Condition
    since_us: int
    until_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSite:
    """A site as guests see it; `since` is when what is wrong now began, `judged` what of two weeks is known by, in the
    order of keys."""

    public_id: UUID
    name: str
    condition: Condition
    since: datetime | None
    seen: Seen
    judged: tuple[JudgedOutage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WallSite:
    """A site on the wall; `condition` is None where all of it is paused. `alerts` are open, the worst first."""

    name: str
    condition: Condition | None
    since: datetime | None
    alerts: tuple[Incident, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Maintenance that goes on or is to come: of these sites of the page."""

    names: tuple[str, ...]
    starts_at: datetime
    ends_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicUpdate:
    """What people said about something they announced."""

    public_id: UUID
    stage: AnnouncementStage
    text: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicAnnouncement:
    """What people announced, and all they said about it, the newest first."""

    public_id: UUID
    title: str
    is_open: bool
    updates: tuple[PublicUpdate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPage:
    """All that guests are told, as of `at`. Sites are in the order of their names; announcements those that are open,
    then those that were so lately, the newest first."""

    title: str
    at: datetime
    sites: tuple[PublicSite, ...]
    planned: tuple[Planned, ...]
    announcements: tuple[PublicAnnouncement, ...] = ()

    @property
    def condition(self) -> Condition:
        """The worst of its sites'."""
        order = list(Condition)
        return min((site.condition for site in self.sites), key=order.index, default=Condition.UNKNOWN)


def status_pages(organisation: Organisation) -> Sequence[StatusPage]:
    """Its pages by title, each with its sites. Two statements."""
    return list(StatusPage.objects.filter(organisation=organisation).prefetch_related("sites").order_by("title", "pk"))


def status_page(organisation: Organisation, public_id: UUID) -> StatusPage | None:
    """One of its pages, with its sites. Two statements."""
    return StatusPage.objects.filter(organisation=organisation, public_id=public_id).prefetch_related("sites").first()


def public_page(slug: str, *, now: datetime) -> PublicPage | None:
    """What guests see at an address; None where there is no page. Fourteen statements."""
    page = StatusPage.objects.select_related("organisation").filter(slug=slug).first()
    if page is None:
        return None
    sites = list(page.sites.order_by("name", "pk"))
    seen = seen_of(page.organisation, sites, now - KNOWN_FOR, now)
    heard_of = sites_heard_of(page.organisation, sites, now=now)
    judged = outages_since(sites, now - LATELY)
    return PublicPage(
        title=page.title,
        at=now,
        sites=tuple(
            _public(site, seen[site.pk], heard_of.get(site.pk), judged.get(site.pk, ()), now) for site in sites
        ),
        planned=_planned(page.organisation, sites, now),
        announcements=tuple(
            public_announcement(one) for one in announcements(page, since=now - LATELY, limit=MAX_ANNOUNCEMENTS)
        ),
    )


def wall_sites(organisation: Organisation, *, now: datetime) -> tuple[WallSite, ...]:
    """All that is saved, by name, as status pages judge it, and what alerts say beside. Eight statements."""
    sites = list(Site.objects.filter(organisation=organisation, status=SiteStatus.ACTIVE).order_by("name", "pk"))
    heard_of, outages = sites_heard_of(organisation, sites, now=now), going_on(organisation)
    planned, alerts = _planned_now(organisation, now), open_by_site(organisation)
    watched = set(
        Monitor.objects.filter(site__in=sites, paused=False).exclude(kind=Kind.PAIR).values_list("site", flat=True)
    )
    return tuple(
        _on_wall(site, heard_of.get(site.pk), outages.get(site.pk, {}), planned, alerts.get(site.pk, ()))
        if site.pk in watched
        else WallSite(name=site.name, condition=None, since=None, alerts=())
        for site in sites
    )


def announcements(page: StatusPage, *, since: datetime | None = None, limit: int) -> Sequence[Announcement]:
    """What was announced on a page, what is open before what is over and the newest first, with its updates; with
    `since`, what is open or ended no earlier. Two statements."""
    found = page.announcements.prefetch_related("updates")
    found = found.order_by(F("ended_at").desc(nulls_first=True), "-created_at", "-pk")
    if since is not None:
        found = found.filter(Q(ended_at=None) | Q(ended_at__gte=since))
    return list(found[:limit])


def announcement(page: StatusPage, public_id: UUID) -> Announcement | None:
    """One of them, with its updates. Two statements."""
    return page.announcements.filter(public_id=public_id).prefetch_related("updates").first()


def public_announcement(one: Announcement) -> PublicAnnouncement:
    """As guests see it."""
    updates = [
        PublicUpdate(public_id=update.public_id, stage=AnnouncementStage(update.stage), text=update.text, at=update.at)
        for update in one.updates.all()
    ]
    return PublicAnnouncement(
        public_id=one.public_id, title=one.title, is_open=one.ended_at is None, updates=tuple(reversed(updates))
    )


def _public(site: Site, seen: Seen, was_reached: bool | None, outages: Sequence[Outage], now: datetime) -> PublicSite:
    planned, down, partly = (_going_on(spans, now) for spans in (seen.planned, seen.down, seen.partly))
    condition, since = _condition(was_reached, planned=planned, down=down, partly=partly)
    return PublicSite(
        public_id=site.public_id,
        name=site.name,
        condition=condition,
        since=since,
        seen=seen,
        judged=tuple(_judged(outage, now) for outage in outages),
    )


def _judged(outage: Outage, now: datetime) -> JudgedOutage:
    return JudgedOutage(
        key=outage.pk,
        condition=_CONDITIONS[State(outage.state)],
        since_us=to_us(outage.began_at),
        until_us=to_us(outage.ended_at or now),
    )


def _on_wall(
    site: Site,
    was_reached: bool | None,
    outages: Mapping[State, datetime],
    planned: Mapping[int | None, datetime],
    alerts: Sequence[Incident],
) -> WallSite:
    condition, since = _condition(
        was_reached,
        planned=planned.get(site.pk, planned.get(None)),
        down=outages.get(State.FAILING),
        partly=outages.get(State.DEGRADED),
    )
    return WallSite(name=site.name, condition=condition, since=since, alerts=tuple(alerts))


def _planned_now(organisation: Organisation, now: datetime) -> dict[int | None, datetime]:
    """Since when maintenance goes on, by site; of all sites under None."""
    windows = Maintenance.objects.filter(organisation=organisation, starts_at__lte=now, ends_at__gt=now)
    return dict(windows.order_by("-starts_at").values_list("site", "starts_at"))


def _condition(
    was_reached: bool | None, *, planned: datetime | None, down: datetime | None, partly: datetime | None
) -> tuple[Condition, datetime | None]:
    """By since when each of them goes on. What is planned explains what is down; of what nobody measures (None) nothing
    is known, whatever it was before. Where all runs fail and the judge is sure of no outage, it may as well be the
    agents' fault."""
    if planned:
        return Condition.MAINTENANCE, planned
    if was_reached is None:
        return Condition.UNKNOWN, None
    if down:
        return Condition.DOWN, down
    if partly:
        return Condition.PARTLY, partly
    return (Condition.UP if was_reached else Condition.UNKNOWN), None


def _going_on(spans: Spans, now: datetime) -> datetime | None:
    """When the stretch began that has not ended."""
    last = next((span for span in reversed(spans) if span[0] <= to_us(now)), None)
    return from_us(last[0]) if last is not None and last[1] >= to_us(now) else None


def _planned(organisation: Organisation, sites: Sequence[Site], now: datetime) -> tuple[Planned, ...]:
    names = {site.pk: site.name for site in sites}
    if not names:
        return ()
    mine = Q(site=None) | Q(site__in=names)
    windows = Maintenance.objects.filter(mine, organisation=organisation, ends_at__gt=now, starts_at__lt=now + _AHEAD)
    return tuple(
        Planned(
            names=tuple(names.values()) if window.site_id is None else (names[window.site_id],),
            starts_at=window.starts_at,
            ends_at=window.ends_at,
        )
        for window in windows.order_by("starts_at", "pk")
    )
