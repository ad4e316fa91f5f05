"""Incidents, rules and windows for page tests."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from backend.alerts.message import Event, Message, Severity
from backend.alerts.models import Channel, Delivery, Incident, IncidentEvent, Maintenance, Member, Rule
from backend.alerts.notices import tell
from backend.alerts.parameters import KINDS
from backend.web.tests.world import World

TITLE = "Shop is slower in Eu: First byte 640 ms (was 320 ms)"


def make_rule(world: World, kind: str = "regression", **fields: Any) -> Rule:
    """A rule of the site with the usual settings."""
    usual: dict[str, Any] = {
        "organisation": world.member.organisation,
        "site": world.site,
        "kind": kind,
        "params": dict(KINDS[kind].defaults),
        "severity": KINDS[kind].severity,
    }
    return Rule.objects.create(**usual | fields)


def make_incident(
    world: World, *, rule: Rule | None = None, runs: tuple[UUID, UUID] | None = None, **fields: Any
) -> Incident:
    """An open incident of the site with one finding; `runs` are the last one without it and one that shows it."""
    now = timezone.now()
    count = Incident.objects.count()
    usual: dict[str, Any] = {
        "organisation": world.member.organisation,
        "site": world.site,
        "cause": "speed",
        "key": f"{world.site.public_id} speed {count}",
        "state": "regressed",
        "worst_state": "regressed",
        "severity": "warning",
        "title": TITLE,
        "opened_at": now - timedelta(minutes=18),
        "changed_at": now,
        "told": "regressed",
    }
    incident = Incident.objects.create(**usual | fields)
    Member.objects.create(
        incident=incident,
        rule=rule or make_rule(world),
        kind="regression",
        monitor=world.monitor("probe"),
        metric="ttfb_ms",
        state="regressed",
        regions=[world.region.code],
        since=incident.opened_at,
        ended_at=incident.resolved_at,
        before_run=runs[0] if runs else None,
        after_run=runs[1] if runs else None,
        facts={"level": 640, "baseline": 320, "sentences": ["Waiting for the server grew by 320 ms."]},
    )
    IncidentEvent.objects.create(incident=incident, kind="opened", at=incident.opened_at, text=incident.title)
    return incident


def make_over(world: World, **fields: Any) -> Incident:
    """An incident that has recovered."""
    now = timezone.now()
    over: dict[str, Any] = {
        "opened_at": now - timedelta(days=9),
        "resolved_at": now - timedelta(days=9) + timedelta(minutes=28),
        "resolution": "recovered",
        "title": "Shop was slow",
    }
    return make_incident(world, **over | fields)


def make_window(world: World, *, starts_in: timedelta = timedelta(hours=-1), **fields: Any) -> Maintenance:
    """Two hours of maintenance of the site."""
    starts_at = timezone.now() + starts_in
    usual: dict[str, Any] = {
        "organisation": world.member.organisation,
        "site": world.site,
        "starts_at": starts_at,
        "ends_at": starts_at + timedelta(hours=2),
        "reason": "new database",
    }
    return Maintenance.objects.create(**usual | fields)


def hold(channel: Channel, incident: Incident | None = None) -> None:
    """A message on its way to a channel, of an incident or of the channel itself, is held for eight hours."""
    message = Message(event=Event.OPENED, severity=Severity.WARNING, title="Shop is slow", at=timezone.now())
    about = incident.public_id if incident else channel.public_id
    tell(organisation=channel.organisation, about=about, message=message, channels=[channel])
    at = timezone.now() + timedelta(hours=8)
    Delivery.objects.update(next_try_at=at, held_until=at)
