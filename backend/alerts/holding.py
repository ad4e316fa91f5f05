"""Whether a channel may be told now: its delay and its hours, asked whenever something is due for it.

An object, such as an incident, is told or held as a whole, so that the order of what is said about it stays. What the
judge writes down knows nothing of this: whatever is changed about a channel holds for what waits already.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet

from backend.alerts.message import BAD, OVER, Event, Severity
from backend.alerts.models import Channel, Delivery, DeliveryState, Incident
from backend.alerts.models.channels import HELD
from backend.alerts.silences import silence_of
from backend.runs.sql import fetch

# What is muted, in maintenance or quiet for the moment is looked at again, until it calls or is over.
LOOK_AGAIN = timedelta(minutes=1)
WAS_OVER = "It was over before it was to be told here."
WAS_ACKNOWLEDGED = "It was acknowledged before it was to be told here."
# Nothing was to be told, so nothing went wrong.
SPARED = frozenset({WAS_OVER, WAS_ACKNOWLEDGED})

# All that was said about some objects, and what became of it on its way to one channel.
_SAID = """
SELECT n.about, n.sequence, n.message->>'event', n.message->>'severity', (n.message->>'at')::timestamptz,
    d.id, d.state, d.attempts
FROM alerts_notice n LEFT JOIN alerts_delivery d ON d.notice_id = n.id AND d.channel_id = %(channel)s
WHERE n.about = ANY(%(abouts)s) ORDER BY n.about, n.sequence
"""


@dataclass(frozen=True, slots=True)
class Said:
    """One notice about an object; `delivery` is None where the channel was not among those who were told."""

    sequence: int
    event: Event
    severity: Severity
    at: datetime
    delivery: int | None
    state: str | None
    attempts: int | None

    @property
    def is_waiting(self) -> bool:
        return self.state == DeliveryState.WAITING

    @property
    def was_heard(self) -> bool:
        """Whether it arrived, or may have."""
        return bool(self.attempts) and self.state != DeliveryState.DROPPED


def may_be_told(channel: Channel, due: Sequence[Delivery], now: datetime) -> list[Delivery]:
    """Those that the channel may be told now, of the earliest that waits about each object.

    The others are put off, or noted as not told, with all that waits behind them. Under the channel's lock.
    """
    if not due or not (channel.after_s or channel.hours):
        return list(due)
    said = _said(channel, [delivery.notice.about for delivery in due])
    incidents = _incidents(said) if channel.after_s else {}
    later: dict[datetime, list[Said]] = defaultdict(list)
    never: dict[str, list[Said]] = defaultdict(list)
    free = []
    for delivery in due:
        about = delivery.notice.about
        turn = this_time(said[about], delivery.notice.sequence)
        verdict, rows = decide(channel, turn, incidents.get(about), now)
        if isinstance(verdict, str):
            never[verdict] += rows
        elif verdict > now:
            later[verdict] += rows
        else:
            free.append(delivery)
    for at, rows in later.items():
        _rows(rows).update(next_try_at=at, held_until=at)
    for why, rows in never.items():
        _rows(rows).update(state=DeliveryState.DROPPED, answer=why, ended_at=now, lease_until=None)
    return free


def let_go(channel: Channel, now: datetime) -> None:
    """What is held is asked about again at once: the channel is another. Under the channel's lock."""
    Delivery.objects.filter(HELD, channel=channel).update(next_try_at=now)


def this_time(said: Sequence[Said], sequence: int) -> list[Said]:
    """What was said since the object was over the last time, as of one of its notices. Pure."""
    over = max((one.sequence for one in said if one.event in OVER and one.sequence < sequence), default=0)
    return [one for one in said if one.sequence > over]


def decide(
    channel: Channel, turn: Sequence[Said], incident: Incident | None, now: datetime
) -> tuple[datetime | str, list[Said]]:
    """From when on the channel may be told what waits of an object, or why never; and which of it that is about."""
    waiting = [one for one in turn if one.is_waiting]
    bad_at = next((one.at for one in turn if one.event in BAD), None)
    at = now
    if channel.after_s and bad_at is not None and not any(one.was_heard for one in turn):
        over = max((one.sequence for one in waiting if one.event in OVER), default=0)
        if over:
            return WAS_OVER, [one for one in waiting if one.sequence <= over]
        at = max(now, bad_at + timedelta(seconds=channel.after_s))
        verdict = _calls(incident, now) if at == now else at
        if isinstance(verdict, str):
            return verdict, waiting
        at = verdict
    hours = channel.its_hours
    is_critical = any(one.severity is Severity.CRITICAL for one in turn)
    if hours is not None and not (is_critical and hours.critical_at_any_time):
        at = hours.next_at(at)
    return at, waiting


def _calls(incident: Incident | None, now: datetime) -> datetime | str:
    """Whether an incident still calls for somebody: now, to be seen later, or why not."""
    if incident is None or not incident.is_open:
        return WAS_OVER
    if incident.acknowledged_at is not None:
        return WAS_ACKNOWLEDGED
    is_quiet = incident.quiet_since is not None or silence_of(incident, now) is not None
    return now + LOOK_AGAIN if is_quiet else now


def _said(channel: Channel, abouts: list[UUID]) -> Mapping[UUID, list[Said]]:
    found: dict[UUID, list[Said]] = defaultdict(list)
    for about, sequence, event, severity, *rest in fetch(_SAID, {"channel": channel.pk, "abouts": abouts}):
        found[about].append(Said(sequence, Event(event), Severity(severity), *rest))
    return found


def _incidents(abouts: Iterable[UUID]) -> dict[UUID, Incident]:
    return {incident.public_id: incident for incident in Incident.objects.filter(public_id__in=list(abouts))}


def _rows(said: Iterable[Said]) -> "QuerySet[Delivery]":
    return Delivery.objects.filter(pk__in=[one.delivery for one in said])
