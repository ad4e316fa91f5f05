"""The tables of alerts, one family a module."""

from backend.alerts.models.channels import Channel, ChannelKind, Delivery, DeliveryState, Notice

__all__ = ["Channel", "ChannelKind", "Delivery", "DeliveryState", "Notice"]
