"""Sending what was written down: claim with a lease, send outside any transaction, record the answer.

Several processes may do it at once. A channel's row lock makes claiming one at a time for each channel, which keeps its
pace, its digests and the order of what is said about one object: nothing is sent before what was said earlier is told
or given up. A crash between sending and recording sends once more, with the same id, after the lease has ended.

What a channel's delay or hours do not let it be told yet (`holding`) is held: its next try is when they do, or when
more is said about the same object, since that may change whether it is told. What was held leaves as one digest with
the last word about each object; programs get each word.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from django.conf import settings
from django.db import transaction
from django.db.models import F, Min
from django.utils import timezone

from backend.alerts import channels
from backend.alerts.channels import Item, Outcome, Parcel, Sent
from backend.alerts.holding import may_be_told
from backend.alerts.message import OVER, Event, Message, Severity
from backend.alerts.models import Channel, ChannelKind, Delivery, DeliveryState, Notice
from backend.alerts.models.channels import MAX_ANSWER_CHARS
from backend.alerts.notices import SWITCHED_OFF, tell
from backend.alerts.threads import forget_older, remember, threads_of
from backend.alerts.turns import AWAY, Apart
from backend.encryption import DecryptionError, opened
from backend.outbound import Outbound, client
from backend.runs.sql import fetch

log = logging.getLogger(__name__)

IDLE_S, BUSY_S = 1.0, 0.0
# Longer than any call may take, and a conversation with a mail server (`timed_mail`).
LEASE = timedelta(seconds=60)
# One message a second and channel: what Slack allows.
PACE = timedelta(seconds=1)
# More than this many in a minute become one message for people; programs get each.
DIGEST_ABOVE, DIGEST_WINDOW = 5, timedelta(minutes=1)
DIGESTED = frozenset({ChannelKind.SLACK, ChannelKind.SLACK_APP, ChannelKind.EMAIL})
# Eight tries over a good ten hours: a night's outage of the other side loses nothing.
BACKOFF_S = (10.0, 60.0, 300.0, 900.0, 3_600.0, 10_800.0, 21_600.0)
MAX_ATTEMPTS = len(BACKOFF_S) + 1
MAX_CHANNELS, MAX_PARCEL = 16, 100
UNREADABLE = "The service cannot read this channel's secret any more: set it anew, or restore FIRSTBYTE_FERNET_KEYS."
# What was told more than a year ago is of no use to anybody.
KEPT, FORGET_AT_ONCE = timedelta(days=400), 500
FAULT = "The service itself failed; its log says why."
GAVE_UP = "Given up after {} tries. The last answer: {}"

# What waits for an earlier word about the same object, which is being told or was not taken, makes no channel ready: it
# would keep others from their turn.
_READY = """
SELECT c.id FROM alerts_channel c
WHERE c.enabled AND c.not_before <= %(now)s AND EXISTS (
    SELECT FROM alerts_delivery d JOIN alerts_notice n ON n.id = d.notice_id
    WHERE d.channel_id = c.id AND d.state = 'waiting' AND d.next_try_at <= %(now)s
        AND (d.lease_until IS NULL OR d.lease_until <= %(now)s) AND NOT EXISTS (
            SELECT FROM alerts_notice earlier JOIN alerts_delivery e ON e.notice_id = earlier.id
            WHERE earlier.about = n.about AND earlier.sequence < n.sequence
                AND e.channel_id = c.id AND e.state = 'waiting' AND (
                    e.lease_until > %(now)s
                    OR e.next_try_at > %(now)s AND e.next_try_at IS DISTINCT FROM e.held_until
                )
        )
)
ORDER BY c.not_before LIMIT %(limit)s FOR NO KEY UPDATE OF c SKIP LOCKED
"""
# The earliest that waits about each object, if it is due: whatever came later waits for it. One that is held is due as
# soon as any of them.
_HEADS = """
SELECT id FROM (
    SELECT DISTINCT ON (n.about) d.id, d.next_try_at, d.held_until, d.lease_until, n.id AS notice,
        min(d.next_try_at) OVER (PARTITION BY n.about) AS first_due_at
    FROM alerts_delivery d JOIN alerts_notice n ON n.id = d.notice_id
    WHERE d.channel_id = %(channel)s AND d.state = 'waiting' ORDER BY n.about, n.sequence
) head
WHERE (next_try_at <= %(now)s OR next_try_at = held_until AND first_due_at <= %(now)s)
    AND (lease_until IS NULL OR lease_until <= %(now)s)
ORDER BY notice LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipment:
    """Deliveries that leave together, and all that sending them needs: no database is touched on the way.

    `secret_set_at` tells this `config` from a later one.
    """

    channel_pk: int
    kind: ChannelKind
    config: Any
    secret_set_at: datetime
    deliveries: tuple[Delivery, ...]
    lease_until: datetime
    parcel: Parcel


class Delivering:
    """`step` sends what is due. What was sent and could not be written down, since the database was gone, it keeps, and
    writes down first of all when it is called again: nobody is told twice for that, unless the process ends.
    """

    def __init__(self) -> None:
        self._sent: list[tuple[Shipment, Sent]] = []

    def step(
        self,
        now: datetime | None = None,
        *,
        outbound: Outbound | None = None,
        clock: Callable[[], datetime] = timezone.now,
    ) -> float:
        """At most one message a channel; the seconds to wait until the next step. Raises django.db.Error when the
        database is gone.
        """
        self._write_down(now or clock())
        shipments = claim(now or clock())
        if not shipments:
            forget((now or clock()) - KEPT)
            return IDLE_S
        through = outbound or client()
        with ThreadPoolExecutor(max_workers=MAX_CHANNELS, thread_name_prefix="deliver") as pool:
            under_way = {pool.submit(_send, shipment, through): shipment for shipment in shipments}
            for future in as_completed(under_way):
                self._sent.append((under_way[future], future.result()))
                # Others are still being told, and what came of that is waited for whatever becomes of this.
                with suppress(*AWAY):
                    self._write_down(now or clock())
        self._write_down(now or clock())
        return BUSY_S

    def _write_down(self, now: datetime) -> None:
        while self._sent:
            shipment, sent = self._sent[0]
            with Apart(log, "what channel %s answered cannot be written down", shipment.channel_pk):
                record(shipment, sent, now)
            del self._sent[0]


def forget(before: datetime) -> int:
    """Deletes notices that are older, a bounded number at a time; how many. Costs one row's reading when none is."""
    oldest = Notice.objects.order_by("pk").values_list("created_at", flat=True).first()
    if oldest is None or oldest >= before:
        return 0
    forget_older(before, FORGET_AT_ONCE)
    old = Notice.objects.filter(created_at__lt=before).order_by("pk").values_list("pk", flat=True)[:FORGET_AT_ONCE]
    Notice.objects.filter(pk__in=list(old)).delete()
    return len(old)


@transaction.atomic
def claim(now: datetime) -> list[Shipment]:
    """Takes what is due and leases it, so that nobody else sends it meanwhile."""
    ready = [pk for (pk,) in fetch(_READY, {"now": now, "limit": MAX_CHANNELS})]
    rows = Channel.objects.select_related("organisation").filter(pk__in=ready).order_by("pk")
    taken = (_taken(channel, now) for channel in rows)
    return [shipment for shipment in taken if shipment is not None]


def record(shipment: Shipment, sent: Sent, now: datetime) -> None:
    """Writes down what came of it, unless the lease had ended and somebody else has it."""
    with transaction.atomic():
        channel = Channel.objects.select_for_update(no_key=True).filter(pk=shipment.channel_pk).first()
        ours = Delivery.objects.select_for_update().filter(
            pk__in=[delivery.pk for delivery in shipment.deliveries],
            state=DeliveryState.WAITING,
            lease_until=shipment.lease_until,
        )
        deliveries = list(ours.order_by("pk"))
        if not deliveries:
            return
        if channel is not None and channel.secret_set_at != shipment.secret_set_at:
            sent = _of_an_earlier_destination(sent)
        for delivery in deliveries:
            _note(delivery, shipment, sent, now)
        Delivery.objects.bulk_update(
            deliveries, ["state", "next_try_at", "lease_until", "status", "answer", "ended_at"]
        )
        if channel is not None:
            if sent.begun is not None:
                remember(channel, shipment.parcel.items[0].about, sent.begun, now)
            _follow_up(channel, sent, now, was_failing=deliveries[0].attempts > 1)
    if sent.outcome is not Outcome.DELIVERED:
        log.warning("channel %s: %s (%s)", shipment.channel_pk, sent.outcome.value, sent.status or "no answer")


@transaction.atomic
def disable(channel: Channel, reason: str, now: datetime) -> None:
    """Switches a channel off because the other side will take nothing any more, and tells the other channels."""
    channel.enabled, channel.disabled_reason = False, reason[:MAX_ANSWER_CHARS]
    channel.save(update_fields=["enabled", "disabled_reason"])
    drop_waiting(channel, reason, now)
    others = Channel.objects.filter(organisation=channel.organisation_id, enabled=True)
    message = Message(
        event=Event.CHANNEL_DISABLED,
        severity=Severity.WARNING,
        title=f"The channel {channel.name} was switched off",
        at=now,
        sentences=(f"It answered: {reason or 'gone'}", "Alerts no longer reach it until somebody mends it."),
        data={"channel": str(channel.public_id), "kind": channel.kind},
    )
    tell(organisation=channel.organisation, about=channel.public_id, message=message, channels=others)


def drop_waiting(channel: Channel, reason: str, now: datetime) -> None:
    """Notes what still waited for a channel as not told: old news must not come in a flood when it is back.

    The reason takes the place of what the other side answered to an earlier try, its status included.
    """
    Delivery.objects.filter(channel=channel, state=DeliveryState.WAITING).update(
        state=DeliveryState.DROPPED,
        status=None,
        answer=(reason or SWITCHED_OFF)[:MAX_ANSWER_CHARS],
        ended_at=now,
        lease_until=None,
    )


def _taken(channel: Channel, now: datetime) -> Shipment | None:
    """A channel whose message cannot be read keeps no other from its turn; that costs its oldest one a try."""
    words = "what is due for channel %s cannot be sent; it is tried again in %s"
    with Apart(log, words, channel.pk, LEASE), transaction.atomic():
        return _claim_channel(channel, now)
    oldest = Delivery.objects.filter(pk__in=_heads(channel, now)[:1])
    oldest.update(attempts=F("attempts") + 1, next_try_at=now + LEASE, answer=FAULT)
    return None


def _heads(channel: Channel, now: datetime) -> list[int]:
    return [pk for (pk,) in fetch(_HEADS, {"channel": channel.pk, "now": now, "limit": MAX_PARCEL})]


def _claim_channel(channel: Channel, now: datetime) -> Shipment | None:
    heads = _heads(channel, now)
    found = Delivery.objects.select_for_update(of=("self",)).select_related("notice").filter(pk__in=heads)
    due = may_be_told(channel, _without_the_hopeless(list(found.order_by("notice_id")), now), now)
    chosen = _with_what_follows(channel, _together(channel, due, now))
    if not chosen:
        return None
    for delivery in chosen:
        delivery.attempts += 1
        delivery.lease_until = now + LEASE
    Delivery.objects.bulk_update(chosen, ["attempts", "lease_until"])
    Channel.objects.filter(pk=channel.pk).update(not_before=now + PACE)
    return Shipment(
        channel_pk=channel.pk,
        kind=ChannelKind(channel.kind),
        config=_config(channel),
        secret_set_at=channel.secret_set_at,
        deliveries=tuple(chosen),
        lease_until=now + LEASE,
        parcel=_parcel(channel, chosen, now),
    )


def _config(channel: Channel) -> Any:
    try:
        return opened(channel.config)
    except DecryptionError:
        return None


def _without_the_hopeless(due: list[Delivery], now: datetime) -> list[Delivery]:
    """What may still be tried. A process that died at every try never came to give up by itself."""
    hopeless = [delivery.pk for delivery in due if delivery.attempts >= MAX_ATTEMPTS]
    if hopeless:
        Delivery.objects.filter(pk__in=hopeless).update(state=DeliveryState.FAILED, ended_at=now, lease_until=None)
    return [delivery for delivery in due if delivery.attempts < MAX_ATTEMPTS]


def _together(channel: Channel, due: list[Delivery], now: datetime) -> list[Delivery]:
    """What leaves with the next message: one, or all that is due where there would be too many in a minute, or where
    it was held."""
    if channel.kind not in DIGESTED or len(due) == 0 or _leaves_alone(due[0]):
        return due[:1]
    due = [delivery for delivery in due if not _leaves_alone(delivery)]
    lately = Delivery.objects.filter(channel=channel, state=DeliveryState.DELIVERED, ended_at__gt=now - DIGEST_WINDOW)
    if len(due) + lately.count() <= DIGEST_ABOVE and not _were_held(due):
        return due[:1]
    if lately.count() >= DIGEST_ABOVE:
        oldest = lately.aggregate(at=Min("ended_at"))["at"]
        Channel.objects.filter(pk=channel.pk).update(not_before=oldest + DIGEST_WINDOW)
        return []
    return due


def _with_what_follows(channel: Channel, chosen: list[Delivery]) -> list[Delivery]:
    """Where people are told what was held: with all that waits behind it, whose last word they are told."""
    if channel.kind not in DIGESTED or not _were_held(chosen):
        return chosen
    waiting = Delivery.objects.select_for_update(of=("self",)).select_related("notice")
    about = [delivery.notice.about for delivery in chosen if delivery.held_until is not None]
    behind = waiting.filter(channel=channel, state=DeliveryState.WAITING, notice__about__in=about)
    found = [*chosen, *behind.exclude(pk__in=[delivery.pk for delivery in chosen])]
    return sorted(found, key=lambda delivery: delivery.notice_id)


def _leaves_alone(delivery: Delivery) -> bool:
    """It is no alert: a report is long, and a remark belongs to its thread."""
    return delivery.notice.message["event"] in (Event.WEEKLY, Event.REMARK)


def _were_held(deliveries: Sequence[Delivery]) -> bool:
    return any(delivery.held_until is not None for delivery in deliveries)


def _parcel(channel: Channel, deliveries: Sequence[Delivery], now: datetime) -> Parcel:
    last = {delivery.notice.about: delivery.notice for delivery in deliveries}
    items = (
        Item(about=notice.about, sequence=notice.sequence, message=Message.from_json(notice.message))
        for notice in last.values()
    )
    first, *others = (delivery.public_id for delivery in deliveries)
    return Parcel(
        # What more has joined since the last try makes another message of it: a receiver who knows the id may drop it.
        id=uuid5(first, " ".join(map(str, others))) if others else first,
        channel=channel.public_id,
        # What is over stands behind what goes on.
        items=tuple(sorted(items, key=lambda item: item.message.event in OVER)),
        were_held=_were_held(deliveries),
        organisation=channel.organisation.name,
        base_url=settings.BASE_URL,
        sent_at=now,
        plain=deliveries[0].status == 400,
        threads=threads_of(channel, last),
    )


def _send(shipment: Shipment, outbound: Outbound) -> Sent:
    """Never raises: what a channel does not foresee costs this message a try, and the others nothing."""
    if shipment.config is None:
        return Sent(outcome=Outcome.RETRY, answer=UNREADABLE)
    try:
        return channels.send(shipment.kind, shipment.config, shipment.parcel, outbound)
    except Exception:
        log.exception("channel %s could not be told", shipment.channel_pk)
        return Sent(outcome=Outcome.RETRY, answer=FAULT)


def _of_an_earlier_destination(sent: Sent) -> Sent:
    """What an answer still means once the channel leads elsewhere: people were told, or are to be told there."""
    outcome = Outcome.DELIVERED if sent.outcome is Outcome.DELIVERED else Outcome.RETRY
    return replace(sent, outcome=outcome, retry_after_s=None, begun=None)


def _note(delivery: Delivery, shipment: Shipment, sent: Sent, now: datetime) -> None:
    delivery.lease_until, delivery.status, delivery.answer = None, sent.status, sent.answer
    if sent.outcome is Outcome.DELIVERED:
        is_first = delivery.pk == shipment.deliveries[0].pk
        delivery.state = DeliveryState.DELIVERED if is_first else DeliveryState.DIGESTED
    elif sent.outcome is not Outcome.RETRY:
        delivery.state = DeliveryState.FAILED
    elif delivery.attempts >= MAX_ATTEMPTS:
        delivery.state = DeliveryState.FAILED
        delivery.answer = GAVE_UP.format(delivery.attempts, sent.answer)[:MAX_ANSWER_CHARS]
    else:
        # What left together is tried again together.
        delivery.next_try_at = now + wait_of(shipment.parcel.id, delivery.attempts, sent.retry_after_s)
    if delivery.state != DeliveryState.WAITING:
        delivery.ended_at = now


def wait_of(parcel: UUID, attempts: int, retry_after_s: float | None) -> timedelta:
    """How long until the next try: longer each time, spread by a tenth, and never sooner than the other side asks."""
    spread = 1 + (parcel.int % 1_000) / 10_000
    return timedelta(seconds=max(BACKOFF_S[attempts - 1] * spread, retry_after_s or 0.0))


def _follow_up(channel: Channel, sent: Sent, now: datetime, *, was_failing: bool) -> None:
    """What an answer means for the whole channel."""
    if sent.outcome is Outcome.GONE:
        disable(channel, sent.answer or f"status {sent.status}", now)
    elif sent.retry_after_s is not None:
        Channel.objects.filter(pk=channel.pk).update(not_before=now + timedelta(seconds=sent.retry_after_s))
    elif sent.outcome is Outcome.DELIVERED and was_failing:
        # The channel is back: what waited for its own next try need not wait any longer.
        waiting = Delivery.objects.filter(channel=channel, state=DeliveryState.WAITING, attempts__gt=0)
        waiting.filter(next_try_at__gt=now, lease_until=None).update(next_try_at=now)
