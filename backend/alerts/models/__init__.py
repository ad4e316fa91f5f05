"""The tables of alerts, one family a module."""

from backend.alerts.models.blindness import Blindness
from backend.alerts.models.channels import Channel, ChannelKind, Conversation, Delivery, DeliveryState, Notice
from backend.alerts.models.incidents import (
    BY_ITSELF,
    Cause,
    EventKind,
    Incident,
    IncidentEvent,
    Member,
    Resolution,
    Silence,
)
from backend.alerts.models.outages import Outage
from backend.alerts.models.previews import RulePreview
from backend.alerts.models.rules import Maintenance, Rule, RuleKind
from backend.alerts.models.watches import Scrutiny, Trend, Watch

__all__ = [
    "BY_ITSELF",
    "Blindness",
    "Cause",
    "Channel",
    "ChannelKind",
    "Conversation",
    "Delivery",
    "DeliveryState",
    "EventKind",
    "Incident",
    "IncidentEvent",
    "Maintenance",
    "Member",
    "Notice",
    "Outage",
    "Resolution",
    "Rule",
    "RuleKind",
    "RulePreview",
    "Scrutiny",
    "Silence",
    "Trend",
    "Watch",
]
