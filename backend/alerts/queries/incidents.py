"""What is read about incidents. Every question starts from the organisation."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from backend.accounts.models import Organisation
from backend.alerts.models import Delivery, DeliveryState, Incident, IncidentEvent, Maintenance, Member, Notice
from backend.alerts.models.channels import HELD
from backend.alerts.states import RANK, State
from backend.sites.models import Site

MAX_ROWS = 200
MAX_EVENTS = 500
MAX_DELIVERIES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentRow:
    """An incident in a list, with its members, the worst first. `in_maintenance` is as of the question."""

    incident: Incident
    members: tuple[Member, ...]
    in_maintenance: bool

    @property
    def place(self) -> int:
        """Its place in the order of lists: the larger, the newer."""
        return self.incident.pk

    @property
    def is_muted(self) -> bool:
        until = self.incident.muted_until
        return self.incident.is_open and (
            self.incident.muted_until_recovery or (until is not None and until > timezone.now())
        )

    @property
    def status(self) -> str:
        """One word: resolved, muted, flapping, acknowledged or open."""
        if not self.incident.is_open:
            return "resolved"
        if self.is_muted:
            return "muted"
        if self.incident.flapping:
            return "flapping"
        return "open" if self.incident.acknowledged_at is None else "acknowledged"

    @property
    def regions(self) -> tuple[str, ...]:
        """The codes of all regions that its members name."""
        return tuple(dict.fromkeys(code for member in self.members for code in member.regions))


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentDetail:
    """One incident with its time line, in the order in which it came about, and what channels answered, newest first.

    `before_run` is the last run without it and `after_run` one that shows it, both of one monitor and region. `told`
    and `on_the_way` are the events whose message a channel has, or none yet while one is being tried; `held` are those
    of the latter that wait for the delay or the hours of all their channels.
    """

    row: IncidentRow
    events: tuple[IncidentEvent, ...]
    told: frozenset[int]
    on_the_way: frozenset[int]
    held: frozenset[int]
    deliveries: tuple[Delivery, ...]
    before_run: UUID | None
    after_run: UUID | None

    @property
    def incident(self) -> Incident:
        return self.row.incident


def open_count(organisation: Organisation) -> int:
    """How many incidents are open. One statement."""
    return _of(organisation).filter(resolved_at=None).count()


def open_by_site(organisation: Organisation, site: Site | None = None) -> dict[int, list[Incident]]:
    """What is wrong now by site, the worst and then the newest first. One statement."""
    chosen = _of(organisation, site).filter(resolved_at=None, site__isnull=False).order_by("-opened_at", "-pk")
    found: dict[int, list[Incident]] = {}
    for incident in sorted(chosen[:MAX_ROWS], key=lambda one: -RANK[State(one.state)]):
        if incident.site_id is not None:
            found.setdefault(incident.site_id, []).append(incident)
    return found


def open_incidents(organisation: Organisation, site: Site | None = None) -> list[IncidentRow]:
    """What is wrong now, the worst and then the newest first. Three statements."""
    chosen = _of(organisation, site).filter(resolved_at=None).order_by("-opened_at", "-pk")[:MAX_ROWS]
    rows = _rows(organisation, chosen)
    return sorted(rows, key=lambda row: -RANK[State(row.incident.state)])


def incidents(
    organisation: Organisation,
    *,
    site: Site | None = None,
    is_open: bool | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[IncidentRow]:
    """The newest incidents; `before` is the place of the last one seen. Three statements."""
    chosen = _of(organisation, site)
    if is_open is not None:
        chosen = chosen.filter(resolved_at__isnull=is_open)
    if before is not None:
        chosen = chosen.filter(pk__lt=before)
    return _rows(organisation, chosen.order_by("-pk")[: max(1, min(limit, MAX_ROWS))])


def incident(organisation: Organisation, public_id: UUID) -> Incident | None:
    """An incident of the organisation, for those who act on it. One statement."""
    return _of(organisation).filter(public_id=public_id).first()


def incident_detail(organisation: Organisation, public_id: UUID) -> IncidentDetail | None:
    """An incident with all that happened. Five statements."""
    found = _rows(organisation, _of(organisation).filter(public_id=public_id))
    if not found:
        return None
    (row,) = found
    found_events = IncidentEvent.objects.filter(incident=row.incident).select_related("actor", "notice")
    sent = Delivery.objects.filter(notice=OuterRef("notice"))
    # Each is written under the incident's lock; the evidence of a later one may be older, by another monitor's runs.
    events = tuple(
        found_events.annotate(
            is_told=Exists(sent.filter(state__in=(DeliveryState.DELIVERED, DeliveryState.DIGESTED))),
            is_waiting=Exists(sent.filter(state=DeliveryState.WAITING)),
            is_tried=Exists(sent.filter(~HELD, state=DeliveryState.WAITING)),
        ).order_by("pk")[:MAX_EVENTS]
    )
    notices = Notice.objects.filter(about=row.incident.public_id)
    deliveries = Delivery.objects.filter(notice__in=notices).select_related("notice", "channel")
    shown = next((member for member in row.members if member.after_run), None)
    return IncidentDetail(
        row=row,
        events=events,
        told=frozenset(event.pk for event in events if event.is_told),
        on_the_way=frozenset(event.pk for event in events if event.is_waiting and not event.is_told),
        held=frozenset(event.pk for event in events if event.is_waiting and not event.is_told and not event.is_tried),
        deliveries=tuple(deliveries.order_by("-pk")[:MAX_DELIVERIES]),
        before_run=shown.before_run if shown else None,
        after_run=shown.after_run if shown else None,
    )


def last_incident_at(organisation: Organisation) -> datetime | None:
    """When the newest incident began; None when there never was one. One statement."""
    return _of(organisation).order_by("-opened_at").values_list("opened_at", flat=True).first()


def _of(organisation: Organisation, site: Site | None = None) -> "QuerySet[Incident]":
    found = Incident.objects.filter(organisation=organisation)
    found = found if site is None else found.filter(site=site)
    return found.select_related("site", "region", "organisation", "acknowledged_by")


def _rows(organisation: Organisation, chosen: Iterable[Incident]) -> list[IncidentRow]:
    found = list(chosen)
    members: dict[int, list[Member]] = defaultdict(list)
    for member in Member.objects.filter(incident__in=found).select_related("rule", "monitor"):
        members[member.incident_id].append(member)
    now = timezone.now()
    windows = Maintenance.objects.filter(organisation=organisation, starts_at__lte=now, ends_at__gt=now)
    quiet = set(windows.values_list("site", flat=True))
    return [
        IncidentRow(
            incident=incident,
            members=tuple(sorted(members[incident.pk], key=_order)),
            in_maintenance=None in quiet or (incident.site_id is not None and incident.site_id in quiet),
        )
        for incident in found
    ]


def _order(member: Member) -> tuple[bool, int, datetime, int]:
    return (member.ended_at is not None, -RANK[State(member.state)], member.since, member.pk)
