"""Where in Slack an object was told of first, so that what comes next is said there."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from backend.alerts.channels import Thread
from backend.alerts.models import Channel, ChannelKind, Conversation


def threads_of(channel: Channel, abouts: Iterable[UUID]) -> Mapping[UUID, Thread]:
    """By object, where the channel has them. One statement, or none."""
    if channel.kind != ChannelKind.SLACK_APP:
        return {}
    found = Conversation.objects.filter(channel=channel, about__in=list(abouts))
    return {row.about: Thread(conversation=row.place, ts=row.ts) for row in found}


def remember(channel: Channel, about: UUID, thread: Thread, now: datetime) -> None:
    """The newest takes an earlier one's place, which is not there any more."""
    where = {"place": thread.conversation, "ts": thread.ts, "begun_at": now}
    Conversation.objects.update_or_create(channel=channel, about=about, defaults=where)


def forget_older(before: datetime, limit: int) -> None:
    """Deletes what began earlier, a bounded number at a time."""
    old = Conversation.objects.filter(begun_at__lt=before).order_by("begun_at").values_list("pk", flat=True)[:limit]
    Conversation.objects.filter(pk__in=list(old)).delete()


def forget_threads(channel: Channel) -> None:
    """The channel leads elsewhere."""
    Conversation.objects.filter(channel=channel).delete()
