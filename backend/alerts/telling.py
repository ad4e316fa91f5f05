"""Who is told of an incident, and who was already."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from backend.alerts.message import BAD, OVER, Event, Severity
from backend.alerts.models import Channel, Delivery, DeliveryState, Incident, Member, Notice, Silence
from backend.alerts.models.channels import HELD
from backend.alerts.notices import tell
from backend.alerts.silences import silence_of
from backend.alerts.states import RANK, State
from backend.alerts.stories import going_on, more_severe, story_of
from backend.alerts.wording import message_of

# What is seen later than this is no news; what still holds is told when the judge has caught up.
STALE = timedelta(minutes=30)


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
    if silence:
        incident.owed = True
        return None, silence
    if channels is None:
        channels = _audience(incident, event, members)
    if not channels and (event is Event.REMINDER or not _notifies(members)):
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
    known = {channel.pk for channel in _who_knows(incident)}
    return [channel for channel in _channels(incident, members) if channel.enabled and channel.pk not in known]


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
        return _channels(incident, members)
    known = _who_knows(incident)
    if event is not Event.REMINDER:
        return known
    held = set(Delivery.objects.filter(HELD, notice__about=incident.public_id).values_list("channel", flat=True))
    return [channel for channel in known if channel.pk not in held]


def _who_knows(incident: Incident) -> list[Channel]:
    """The channels that heard something, or are about to, and not that it is over."""
    turns = Notice.objects.filter(about=incident.public_id, message__event__in=[*BAD, *OVER])
    sent = Delivery.objects.filter(notice__in=turns).exclude(state=DeliveryState.DROPPED)
    last = dict(sent.order_by("notice__sequence").values_list("channel", "notice__message__event"))
    return list(Channel.objects.filter(pk__in=[pk for pk, event in last.items() if event not in OVER]))


def _notifies(members: Sequence[Member]) -> bool:
    return any(member.rule is not None and member.rule.notify for member in members)


def _channels(incident: Incident, members: Sequence[Member]) -> list[Channel]:
    """Whom the members' rules tell: their own channels, or all of the organisation's."""
    rules = {member.rule_id: member.rule for member in members if member.rule and member.rule.notify}
    chosen: dict[int, Channel] = {}
    for rule in rules.values():
        own = list(rule.channels.all())
        for channel in own or Channel.objects.filter(organisation=incident.organisation_id):
            chosen[channel.pk] = channel
    return list(chosen.values())
