"""What the outage of something else explains: of a site that relies on one that is down nothing is told by itself.

Nobody is left without a word: whoever is to hear of it has heard of that outage, or has chosen not to. What still holds
when it is over is told then.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Q

from backend.alerts.audiences import channels_of, who_heard
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
    relied_on = list(Site.objects.filter(relied_on_by=incident.site_id).values_list("pk", flat=True))
    if not relied_on:
        return False
    may_follow = not incident.told and now - incident.opened_at < WAIT
    return may_follow or _is_down(relied_on, incident, members, now)


def put_off(incident: Incident, now: datetime) -> None:
    """It is asked again in a moment."""
    incident.ask_again_at = now + _AGAIN


def _is_down(relied_on: Sequence[int], incident: Incident, members: Sequence[Member], now: datetime) -> bool:
    """Whether one of them is, or was a moment ago, where this is seen, and everybody knows who is to know of this. That
    some of its runs fail is no outage."""
    holds = Q(ended_at=None) | Q(ended_at__gt=now - AFTER)
    down = Member.objects.filter(holds, kind=RuleKind.AVAILABILITY, incident__site__in=relied_on)
    outages = [one for one in down.select_related("incident") if _covers(one, members)]
    channels = {channel.pk for channel in channels_of(incident, members)} if outages else set()
    return any(_is_known(outage.incident, channels, now) for outage in outages)


def _covers(outage: Member, members: Sequence[Member]) -> bool:
    """What is down from some regions only explains nothing that is seen elsewhere."""
    where = {code for member in members for code in member.regions}
    return outage.state == State.FAILING or (bool(where) and where <= set(outage.regions))


def _is_known(outage: Incident, channels: set[int], now: datetime) -> bool:
    """By these channels, or by whoever muted it or planned it; or it is explained itself, by what they know of."""
    if channels <= who_heard(outage) or silence_of(outage, now) is not None:
        return True
    relied_on = list(Site.objects.filter(relied_on_by=outage.site_id).values_list("pk", flat=True))
    return bool(relied_on) and _is_down(relied_on, outage, going_on(outage), now)
