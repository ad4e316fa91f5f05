"""Who is told of an incident, and who was already."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from backend.alerts.audiences import channels_of, notifies, who_knows
from backend.alerts.dependencies import put_off
from backend.alerts.explanations import explanation_of
from backend.alerts.message import BAD, OVER, Event, Severity
from backend.alerts.models import Channel, Delivery, Incident, Member, Notice, Silence
from backend.alerts.models.channels import HELD
from backend.alerts.notices import tell
from backend.alerts.silences import silence_of
from backend.alerts.states import RANK, State
from backend.alerts.stories import going_on, more_severe, story_of
from backend.alerts.wording import message_of

# What is seen later than this is no news; what still holds is told when the judge has caught up.
STALE = timedelta(minutes=30)
# What of an incident something else explains. That it is over is good news all the same.
_EXPLAINED = BAD | {Event.REMINDER}


def tell_if_loud(
    incident: Incident,
    event: Event,
    members: Sequence[Member],
    *,
    now: datetime,
    seen_at: datetime,
    text: str = "",
    channels: Sequence[Channel] | None = None,
) -> tuple[Notice | None, Silence | None]:
    """Tells, or says why not and remembers that it is owed. `members` are those it is told of, worst first.

    Bad news go to the channels of the members' rules, good news to those who had the bad; or to `channels` alone.
    """
    silence = silence_of(incident, now) or (Silence.STALE if now - seen_at > STALE else None)
    if silence is None and event in _EXPLAINED and (silence := explanation_of(incident, members, now=now)):
        put_off(incident, now)
    if silence:
        incident.owed = True
        return None, silence
    if channels is None:
        channels = _audience(incident, event, members)
    if not channels and (event is Event.REMINDER or not notifies(members)):
        incident.told = "" if event in OVER else incident.told
        return None, Silence.RULE
    message = message_of(event, story_of(incident, members), at=now, note=text, flapping=incident.flapping)
    notice = tell(organisation=incident.organisation, about=incident.public_id, message=message, channels=channels)
    is_over = event in OVER
    incident.told, incident.told_at, incident.owed = "" if is_over else incident.state, now, False
    incident.remind_at = None if is_over else next_reminder(going_on(incident), now)
    return notice, None


def newcomers(incident: Incident, members: Sequence[Member]) -> list[Channel]:
    """Channels of the members' rules that know nothing of the incident: another rule's were told, or nobody's."""
    known = {channel.pk for channel in who_knows(incident)}
    return [channel for channel in channels_of(incident, members) if channel.enabled and channel.pk not in known]


def was_told_as_bad(incident: Incident) -> bool:
    """Whether channels have heard of the incident, since it was said to be over last, when it was as bad or worse."""
    rank, severity = RANK[State(incident.state)], Severity(incident.severity)
    was = False
    turns = Notice.objects.filter(about=incident.public_id, message__event__in=[*BAD, *OVER]).order_by("sequence")
    for event, said, state in turns.values_list("message__event", "message__severity", "message__data__state"):
        if event in OVER:
            was = False
        elif more_severe([Severity(said), severity]) == said:
            was = was or RANK[State(state)] >= rank
    return was


def next_reminder(members: Sequence[Member], now: datetime) -> datetime | None:
    """When the members' rules ask to be told again, if any does; one that tells nobody asks for nothing."""
    rules = [member.rule for member in members if member.rule is not None and member.rule.notify]
    every = [rule.remind_every_s for rule in rules if rule.remind_every_s]
    return now + timedelta(seconds=min(every)) if every else None


def _audience(incident: Incident, event: Event, members: Sequence[Member]) -> list[Channel]:
    """Whose channels hear of an event. Where what it reminds of is held, there is nothing to be reminded of yet."""
    if event in BAD:
        return channels_of(incident, members)
    known = who_knows(incident)
    if event is not Event.REMINDER:
        return known
    held = set(Delivery.objects.filter(HELD, notice__about=incident.public_id).values_list("channel", flat=True))
    return [channel for channel in known if channel.pk not in held]
