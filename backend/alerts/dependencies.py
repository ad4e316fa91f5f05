"""What the outage of something else explains: of a site that relies on one that is down nothing is told by itself.

Nobody is left without a word: whoever is to hear of it has heard of that outage, or has chosen not to. What still holds
when it is over is told then.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.db.models import Q

from backend.alerts.audiences import channels_of, who_hears
from backend.alerts.models import Cause, Incident, Member, RuleKind
from backend.alerts.silences import silence_of
from backend.alerts.states import State
from backend.alerts.stories import going_on
from backend.sites.models import Site

# Sites are measured one after the other, and an outage is sure after a run or two more: what a site relies on may have
# been down first, and be found out later.
WAIT = timedelta(minutes=3)
# And it is well again first.
AFTER = timedelta(minutes=5)
# Between two looks at whether it is explained still.
_AGAIN = timedelta(seconds=15)
_CAUSES = (Cause.AVAILABILITY, Cause.SPEED)


def explains(incident: Incident, members: Sequence[Member], *, now: datetime) -> bool:
    """Whether something that its site relies on is down, or may yet turn out to be."""
    if incident.site_id is None or incident.cause not in _CAUSES:
        return False
    relied_on = _relied_on({incident.site_id})
    if not relied_on:
        return False
    return _may_follow(incident, members, now) or _is_down(relied_on, incident, members, now)


def put_off(incident: Incident, now: datetime) -> None:
    """It is asked again in a moment."""
    incident.ask_again_at = now + _AGAIN


def is_put_off(now: datetime) -> Q:
    """Of incidents those that were put off, and the moment is not over; no moment ends later, unless the clock was
    set back."""
    return Q(ask_again_at__gt=now, ask_again_at__lte=now + _AGAIN)


def _relied_on(sites: Collection[int]) -> set[int]:
    return set(Site.objects.filter(relied_on_by__in=sites).values_list("pk", flat=True))


def _may_follow(incident: Incident, members: Sequence[Member], now: datetime) -> bool:
    """Whether what nobody has heard of has just begun. What lies ahead is of before the clock was set back."""
    return not incident.told and abs(now - min(member.since for member in members)) < WAIT


def _is_down(relied_on: Collection[int], incident: Incident, members: Sequence[Member], now: datetime) -> bool:
    """Whether one of them is, or was a moment ago, where this is seen, and everybody knows who is to know of this; or
    what those in turn rely on that are. That some of its runs fail is no outage."""
    channels = {channel.pk for channel in channels_of(incident, members) if channel.enabled}
    holds = Q(ended_at=None) | Q(ended_at__gt=now - AFTER, ended_at__lt=now + AFTER)
    ahead, asked = set(relied_on), set[int]()
    while ahead:
        down = Member.objects.filter(holds, kind=RuleKind.AVAILABILITY, incident__site__in=ahead)
        outages = [one.incident for one in down.select_related("incident") if _covers(one, members)]
        if any(_is_known(outage, channels, incident.severity, now) for outage in outages):
            return True
        asked |= ahead
        ahead = _relied_on({outage.site_id for outage in outages if outage.site_id is not None}) - asked
    return False


def _covers(outage: Member, members: Sequence[Member]) -> bool:
    """What is down from some regions only explains nothing that is seen elsewhere."""
    where = {code for member in members for code in member.regions}
    return outage.state == State.FAILING or (bool(where) and where <= set(outage.regions))


def _is_known(outage: Incident, channels: set[int], severity: str, now: datetime) -> bool:
    """By these channels, in time for what is so severe, at once where it is owed to them as well, or by whoever muted
    it or planned it.
    """
    if silence_of(outage, now) is not None:
        return True
    owed = channels_of(outage, going_on(outage)) if outage.owed and outage.is_open else []
    return channels <= who_hears(outage, severity=severity) | {channel.pk for channel in owed}
