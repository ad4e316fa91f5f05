"""Causes for which runs fail: where an outage has told why, a deep probe's word for the same is no second alert.

What is found once the outage is over counts again: it is not what visitors were shut out by.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from backend.alerts.judgement.findings import DeepLook, Looks
from backend.alerts.models import Cause, Channel, Delivery, DeliveryState, Member, Rule
from backend.instants import to_us
from backend.runs.models import Run
from workers.measurement.failure import FailureKind
from workers.measurement.finding import FindingId

_CAUSES: Mapping[str, frozenset[str]] = {
    FailureKind.CERTIFICATE_EXPIRED: frozenset({FindingId.TLS_CERT_EXPIRED}),
    FailureKind.CERTIFICATE_NOT_YET_VALID: frozenset({FindingId.TLS_CERT_NOT_YET_VALID}),
    FailureKind.CERTIFICATE_WRONG_HOST: frozenset({FindingId.TLS_CERT_NAME_MISMATCH}),
    FailureKind.CERTIFICATE_SELF_SIGNED: frozenset({FindingId.TLS_CERT_SELF_SIGNED}),
    FailureKind.CERTIFICATE_UNTRUSTED: frozenset({FindingId.TLS_CERT_UNTRUSTED, FindingId.TLS_CHAIN_INCOMPLETE}),
}
# A deep probe may be refused before the first slot of the monitor is.
_BEFORE_US = 300_000_000
_ALL = frozenset[str]().union(*_CAUSES.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """An outage that was told, from its first failed run to its end if there is one: which causes it names, and which
    channels heard of it."""

    since_us: int
    until_us: int | None
    causes: frozenset[str]
    channels: frozenset[int]

    def says(self, look: DeepLook) -> frozenset[str]:
        """What of a deep run's findings it has told."""
        is_within = self.since_us - _BEFORE_US <= look.at_us and (self.until_us is None or look.at_us <= self.until_us)
        return self.causes & look.found.keys() if is_within else frozenset()


def may_be_said(looks: Looks) -> bool:
    """Whether any of these found what runs may fail for."""
    return any(_ALL & look.found.keys() for mine in looks.values() for look in mine)


def unsaid(looks: Looks, outages: Collection[Outage]) -> Looks:
    """The same, where deep runs say nothing of what outages said."""
    return {code: [_without(look, outages) for look in mine] for code, mine in looks.items()}


def heard_by(rule: Rule, outages: Iterable[Outage]) -> list[Outage]:
    """Those that all channels of a rule heard of; none where it tells nobody. Two statements at most."""
    told = list(outages)
    if not told or not rule.notify:
        return []
    mine = rule.channels.all() or Channel.objects.filter(organisation=rule.organisation_id)
    channels = {channel.pk for channel in mine if channel.enabled}
    return [outage for outage in told if channels <= outage.channels]


def outages_told(sites: Collection[int], since: datetime) -> dict[int, list[Outage]]:
    """By site, those that went on since. Three statements, none without sites."""
    if not sites:
        return {}
    members = _members(sites, since)
    causes = causes_of_failed([member.after_run for member in members if member.after_run is not None])
    heard = _heard({member.incident.public_id for member in members})
    found: dict[int, list[Outage]] = {}
    for member in members:
        incident = member.incident
        if incident.site_id is None or member.after_run not in causes or not heard.get(incident.public_id):
            continue
        outage = Outage(
            since_us=to_us(incident.opened_at),
            until_us=None if incident.resolved_at is None else to_us(incident.resolved_at),
            causes=causes[member.after_run],
            channels=frozenset(heard[incident.public_id]),
        )
        found.setdefault(incident.site_id, []).append(outage)
    return found


def _without(look: DeepLook, outages: Collection[Outage]) -> DeepLook:
    said = frozenset[str]().union(*(outage.says(look) for outage in outages))
    if not said:
        return look
    found = {id: one for id, one in look.found.items() if id not in said}
    return replace(look, found=found, not_judged=look.not_judged | said)


def _members(sites: Collection[int], since: datetime) -> list[Member]:
    of_now = Q(incident__resolved_at=None) | Q(incident__resolved_at__gt=since)
    members = Member.objects.filter(of_now, incident__site__in=sites, incident__cause=Cause.AVAILABILITY)
    return list(members.select_related("incident").order_by("pk"))


def causes_of_failed(runs: Sequence[UUID]) -> dict[UUID | None, frozenset[str]]:
    """Of runs that failed for what deep probes may find as well: what that is. One statement."""
    failed = Run.objects.filter(run_id__in=runs, failure_kind__in=list(_CAUSES))
    return {run_id: _CAUSES[kind] for run_id, kind in failed.values_list("run_id", "failure_kind") if kind is not None}


def _heard(incidents: Collection[UUID]) -> dict[UUID, set[int]]:
    sent = Delivery.objects.filter(notice__about__in=incidents).exclude(state=DeliveryState.DROPPED)
    heard: dict[UUID, set[int]] = {}
    for about, channel in sent.values_list("notice__about", "channel").distinct():
        heard.setdefault(about, set()).add(channel)
    return heard
