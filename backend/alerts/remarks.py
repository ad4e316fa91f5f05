"""What people do about an incident on its page or by the API, in the thread of Slack where it was told: one line, and
no alert.

A line is never worth holding up what comes behind it: it is left out where something else waits to be told of the
incident, or the channel's hours keep quiet, and tried once.
"""

from datetime import datetime

from django.db.models import Exists, OuterRef

from backend.alerts.message import Event, Message, Severity
from backend.alerts.models import (
    Channel,
    ChannelKind,
    Conversation,
    Delivery,
    DeliveryState,
    EventKind,
    Incident,
    IncidentEvent,
    Notice,
)
from backend.alerts.notices import tell

# Of one incident: whoever talks that much looks at its page.
MOST = 30
_KINDS = frozenset(
    {EventKind.ACKNOWLEDGED, EventKind.UNACKNOWLEDGED, EventKind.MUTED, EventKind.UNMUTED, EventKind.COMMENT}
)


def remark(incident: Incident, event: IncidentEvent) -> None:
    """Writes down what is to be said of an entry that somebody here has made, of a locked incident. What was done in
    Slack itself has its answer there. Three statements, and more where there is a thread."""
    if event.kind not in _KINDS or event.actor is None:
        return
    channels = _channels(incident, event.at)
    said = Notice.objects.filter(about=incident.public_id, message__event=Event.REMARK)
    if channels and said.count() < MOST:
        message = Message(event=Event.REMARK, severity=Severity(incident.severity), title=_words(event), at=event.at)
        tell(organisation=incident.organisation, about=incident.public_id, message=message, channels=channels)


def _words(event: IncidentEvent) -> str:
    line = f"{EventKind(event.kind).label} by {event.actor}"
    return f"{line}: {event.text}" if event.text else line


def _channels(incident: Incident, at: datetime) -> list[Channel]:
    about = incident.public_id
    waits = Delivery.objects.filter(channel=OuterRef("pk"), notice__about=about, state=DeliveryState.WAITING)
    alerts = waits.exclude(notice__message__event=Event.REMARK)
    threads = Conversation.objects.filter(channel=OuterRef("pk"), about=about)
    found = Channel.objects.filter(
        Exists(threads),
        ~Exists(alerts),
        organisation=incident.organisation_id,
        kind=ChannelKind.SLACK_APP,
        enabled=True,
    )
    return [channel for channel in found if _may_be_told(channel, incident, at)]


def _may_be_told(channel: Channel, incident: Incident, at: datetime) -> bool:
    hours = channel.its_hours
    if hours is None or (hours.critical_at_any_time and incident.severity == Severity.CRITICAL):
        return True
    return hours.next_at(at) <= at
