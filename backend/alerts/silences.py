"""When nothing is told: muted incidents and maintenance."""

from datetime import datetime

from django.db.models import Q

from backend.alerts.models import Incident, Maintenance, Silence


def silence_of(incident: Incident, now: datetime) -> Silence | None:
    """Why nothing of this incident is told now; None when it is told."""
    if incident.muted_until_recovery or (incident.muted_until is not None and incident.muted_until > now):
        return Silence.MUTED
    return Silence.MAINTENANCE if in_maintenance(incident, now) else None


def in_maintenance(incident: Incident, now: datetime) -> bool:
    """Whether a window of the incident's site, or of all the organisation's sites, covers an instant."""
    windows = Maintenance.objects.filter(organisation=incident.organisation_id, starts_at__lte=now, ends_at__gt=now)
    return windows.filter(Q(site=None) | Q(site=incident.site_id)).exists()
