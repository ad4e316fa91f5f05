"""How each kind of channel is told. Nothing here knows the database's rows."""

from collections.abc import Mapping
from typing import Any

from backend.alerts.channels import email, slack, slack_app, webhook
from backend.alerts.channels.parcel import Item, Outcome, Parcel, Sent, Thread
from backend.alerts.models.channels import ChannelKind
from backend.outbound import Outbound

__all__ = ["Item", "Outcome", "Parcel", "Sent", "Thread", "send"]


def send(kind: ChannelKind, config: Mapping[str, Any], parcel: Parcel, outbound: Outbound) -> Sent:
    """Tells a channel. Never raises for what the other side does; needs no database."""
    match kind:
        case ChannelKind.SLACK:
            return slack.send(config, parcel, outbound)
        case ChannelKind.SLACK_APP:
            return slack_app.send(config, parcel, outbound)
        case ChannelKind.EMAIL:
            return email.send(config, parcel)
        case ChannelKind.WEBHOOK:
            return webhook.send(config, parcel, outbound)
