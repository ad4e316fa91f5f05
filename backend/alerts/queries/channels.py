"""What is read about channels and what was sent to them. Never a secret, but for who verifies a signature."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Count, OuterRef, Q, Subquery

from backend.accounts.models import Organisation
from backend.alerts.hours import Hours
from backend.alerts.message import Message
from backend.alerts.models import Channel, ChannelKind, Delivery, DeliveryState
from backend.encryption import DecryptionError, opened

MAX_LOGGED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LastAnswer:
    """What a channel said the last time it was told something."""

    state: DeliveryState
    status: int | None
    answer: str
    attempts: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRow:
    """A channel in a list; `waiting` are the messages that it has not been told yet."""

    public_id: UUID
    kind: ChannelKind
    name: str
    target: str
    enabled: bool
    disabled_reason: str
    secret_set_at: datetime
    after_s: int
    hours: Hours | None
    weekly: bool
    waiting: int
    last: LastAnswer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackApp:
    """A channel of that kind, with the secret that its calls are signed with: empty where it has none."""

    channel: Channel
    signing_secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """One line of a delivery log. `place` is its place in the order: the larger, the newer.

    `channel_id` is None once the channel is deleted, whose name stays. `held_until` is None where the channel's delay
    or hours hold nothing.
    """

    place: int
    public_id: UUID
    channel: str
    channel_id: UUID | None
    title: str
    event: str
    state: DeliveryState
    attempts: int
    status: int | None
    answer: str
    created_at: datetime
    ended_at: datetime | None
    next_try_at: datetime | None
    held_until: datetime | None


def channel(organisation: Organisation, public_id: UUID) -> Channel | None:
    """A channel to act on. One statement."""
    return Channel.objects.filter(organisation=organisation, public_id=public_id).select_related("organisation").first()


def slack_app(public_id: UUID) -> SlackApp | None:
    """The app that a call of Slack's says it is for, of any organisation. One statement."""
    found = Channel.objects.defer(None).filter(public_id=public_id, kind=ChannelKind.SLACK_APP).first()
    if found is None:
        return None
    try:
        config = opened(found.config)
    except DecryptionError:
        return None
    return SlackApp(channel=found, signing_secret=config["signing_secret"])


def channels(organisation: Organisation) -> list[ChannelRow]:
    """All channels by name. One statement."""
    return _rows(Q(organisation=organisation))


def _rows(wanted: Q) -> list[ChannelRow]:
    tried = Delivery.objects.filter(channel=OuterRef("pk"), attempts__gt=0).order_by("-pk")
    waiting = Delivery.objects.filter(channel=OuterRef("pk"), state=DeliveryState.WAITING).order_by().values("channel")
    rows = (
        Channel.objects.filter(wanted)
        .annotate(
            waiting=Subquery(waiting.annotate(count=Count("pk")).values("count")),
            last_state=Subquery(tried.values("state")[:1]),
            last_status=Subquery(tried.values("status")[:1]),
            last_answer=Subquery(tried.values("answer")[:1]),
            last_attempts=Subquery(tried.values("attempts")[:1]),
            last_at=Subquery(tried.values("created_at")[:1]),
        )
        .order_by("name")
    )
    return [_row(one) for one in rows]


def channel_row(organisation: Organisation, public_id: UUID) -> ChannelRow | None:
    """One channel as it stands in the list. One statement."""
    return next(iter(_rows(Q(organisation=organisation, public_id=public_id))), None)


def deliveries(
    organisation: Organisation, channel: Channel, limit: int = MAX_LOGGED, *, before: int | None = None
) -> list[DeliveryRow]:
    """The log of a channel, newest first; `before` is the place of a line that was read already. One statement."""
    wanted = Q(notice__organisation=organisation, channel=channel)
    if before is not None:
        wanted &= Q(pk__lt=before)
    rows = Delivery.objects.filter(wanted).select_related("notice", "channel").order_by("-pk")
    return [line_of(one) for one in rows[:limit]]


def line_of(delivery: Delivery) -> DeliveryRow:
    """A delivery with its notice and channel as a line of the log."""
    message = Message.from_json(delivery.notice.message)
    state = DeliveryState(delivery.state)
    next_try_at = delivery.next_try_at if state is DeliveryState.WAITING else None
    return DeliveryRow(
        place=delivery.pk,
        public_id=delivery.public_id,
        channel=delivery.channel_name,
        channel_id=None if delivery.channel is None else delivery.channel.public_id,
        title=message.title,
        event=message.event.value,
        state=state,
        attempts=delivery.attempts,
        status=delivery.status,
        answer=delivery.answer,
        created_at=delivery.created_at,
        ended_at=delivery.ended_at,
        next_try_at=next_try_at,
        held_until=next_try_at if delivery.is_held else None,
    )


def _row(one: "Channel") -> ChannelRow:
    # The annotations of `channels`.
    found = vars(one)
    last = None
    if found["last_state"] is not None:
        last = LastAnswer(
            state=DeliveryState(found["last_state"]),
            status=found["last_status"],
            answer=found["last_answer"],
            attempts=found["last_attempts"],
            at=found["last_at"],
        )
    return ChannelRow(
        public_id=one.public_id,
        kind=ChannelKind(one.kind),
        name=one.name,
        target=one.target,
        enabled=one.enabled,
        disabled_reason=one.disabled_reason,
        secret_set_at=one.secret_set_at,
        after_s=one.after_s,
        hours=one.its_hours,
        weekly=one.weekly,
        waiting=found["waiting"] or 0,
        last=last,
    )
