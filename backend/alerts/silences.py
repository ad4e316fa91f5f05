"""When nothing is told: muted incidents and maintenance."""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from backend.alerts.models import Incident, Maintenance, Silence


def silence_of(incident: Incident, now: datetime) -> Silence | None:
    """Why nothing of this incident is told now; None when it is told."""
    if incident.muted_until_recovery or (incident.muted_until is not None and incident.muted_until > now):
        return Silence.MUTED
    return Silence.MAINTENANCE if in_maintenance(incident, now) else None


def loud(incidents: "QuerySet[Incident]", now: datetime) -> "QuerySet[Incident]":
    """Those that `silence_of` gives no reason for: whoever takes a few at a time must not take silent ones for ever."""
    windows = Maintenance.objects.filter(starts_at__lte=now, ends_at__gt=now, organisation=OuterRef("organisation"))
    covering = windows.filter(Q(site=None) | Q(site=OuterRef("site")))
    return incidents.filter(
        Q(muted_until=None) | Q(muted_until__lte=now), ~Exists(covering), muted_until_recovery=False
    )


def in_maintenance(incident: Incident, now: datetime) -> bool:
    """Whether a window of the incident's site, or of all the organisation's sites, covers an instant."""
    windows = Maintenance.objects.filter(organisation=incident.organisation_id, starts_at__lte=now, ends_at__gt=now)
    return windows.filter(Q(site=None) | Q(site=incident.site_id)).exists()
