"""Outages whose cause deep probes found first: where a finding has told why runs fail, the outage is no second alert.

It opens as any other, and is owed: what still holds once the cause is mended is told then. The other way round, see
`said_by_outages`.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet

from backend.alerts.audiences import channels_of, who_hears
from backend.alerts.models import Cause, Incident, Member
from backend.alerts.said_by_outages import causes_of_failed

# Two deep probes know that a certificate is mended before the monitor's own slots do.
AFTER = timedelta(minutes=5)


def is_said(incident: Incident, members: Sequence[Member], *, now: datetime) -> bool:
    """Whether all channels of an outage were told already what it comes of, wherever it is seen. A fixed number of
    statements for each finding of its site, one for an outage of another kind."""
    if incident.cause != Cause.AVAILABILITY:
        return False
    causes = causes_of_failed(_runs(members))
    if any(member.after_run not in causes for member in members):
        return False
    channels = {channel.pk for channel in channels_of(incident, members) if channel.enabled}
    refusals = _refusals(incident, now)
    findings = [one for one in refusals if channels <= who_hears(one.incident, severity=incident.severity)]
    return all(any(_says(one, member, causes[member.after_run]) for one in findings) for member in members)


def _says(finding: Member, member: Member, causes: frozenset[str]) -> bool:
    return finding.facts.get("finding") in causes and set(member.regions) <= set(finding.regions)


def _refusals(incident: Incident, now: datetime) -> list[Member]:
    """What rules about findings told of the site, or was over a moment ago."""
    holds = Q(ended_at=None) | Q(ended_at__gt=now - AFTER, ended_at__lt=now + AFTER)
    return refused(Member.objects.filter(holds, incident__site=incident.site_id))


def refused(members: QuerySet[Member]) -> list[Member]:
    """The findings among them for which deep probes themselves were refused: what they got past shuts nobody out."""
    findings = list(members.filter(incident__cause=Cause.FINDING).select_related("incident").order_by("pk"))
    causes = causes_of_failed(_runs(findings))
    return [one for one in findings if one.facts.get("finding") in causes.get(one.after_run, ())]


def _runs(members: Iterable[Member]) -> list[UUID]:
    return [member.after_run for member in members if member.after_run is not None]
