"""Writing down what is to be told. Sending it is `delivery`'s work, after the commit."""

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from backend.accounts.models import Organisation
from backend.alerts.message import Message
from backend.alerts.models import Channel, Delivery, DeliveryState, Notice

SWITCHED_OFF = "The channel was switched off."


@transaction.atomic
def tell(*, organisation: Organisation, about: UUID, message: Message, channels: Iterable[Channel]) -> Notice:
    """Writes a notice and one delivery for each channel, in the transaction of what it tells of.

    Notices about one object reach a channel in the order they are written; the caller holds that object's row lock, so
    that there is one order. Channels that are switched off are noted as not told. Channels of other organisations are
    refused with ValueError.
    """
    chosen = list({channel.pk: channel for channel in channels}.values())
    if any(channel.organisation_id != organisation.pk for channel in chosen):
        raise ValueError("a channel belongs to another organisation")
    last = Notice.objects.filter(about=about).aggregate(last=Max("sequence"))["last"]
    notice = Notice.objects.create(
        organisation=organisation, about=about, sequence=(last or 0) + 1, message=message.to_json()
    )
    Delivery.objects.bulk_create(_delivery(notice, channel) for channel in chosen)
    return notice


def _delivery(notice: Notice, channel: Channel) -> Delivery:
    delivery = Delivery(notice=notice, channel=channel, channel_name=channel.name)
    if not channel.enabled:
        delivery.state, delivery.answer, delivery.ended_at = DeliveryState.DROPPED, SWITCHED_OFF, timezone.now()
    return delivery
