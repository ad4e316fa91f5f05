"""What changes channels."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.alerts import channels
from backend.alerts.channels import Item, Outcome, Parcel, Sent
from backend.alerts.channels.config import ChannelError, Destination, check, check_timing, rotated
from backend.alerts.delivery import LEASE, UNREADABLE, drop_waiting
from backend.alerts.holding import let_go
from backend.alerts.hours import Hours
from backend.alerts.message import Event, Link, Message, Severity, clean
from backend.alerts.models import Channel, ChannelKind, Delivery, DeliveryState, Notice
from backend.alerts.models.channels import MAX_NAME_CHARS
from backend.alerts.notices import tell
from backend.alerts.threads import forget_threads
from backend.as_it_is import as_it_is
from backend.encryption import DecryptionError, Unreadable, opened
from backend.outbound import Outbound, client

MAX_CHANNELS = 50
# A person presses the button again when nothing seems to happen.
TEST_PACE = timedelta(seconds=3)
AS_BEFORE = Destination()
# What is to be set anew where a channel cannot be read any more.
_SECRETS = {
    ChannelKind.SLACK: "url",
    ChannelKind.SLACK_APP: "token",
    ChannelKind.EMAIL: "addresses",
    ChannelKind.WEBHOOK: "url",
}
# Of all channels together: each test may fill twenty mailboxes that nobody asked, or hold a thread of the service for
# as long as a call may take.
MAX_TESTS_AN_HOUR = 100


class ChannelLimitError(ChannelError):
    """The organisation has as many channels as it may."""


class TooSoonError(ChannelError):
    """No test is sent now, but may be in `seconds`."""

    def __init__(self, text: str, seconds: float) -> None:
        super().__init__("", text)
        self.seconds = seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A channel, and its signing secret where it has one: shown now and never again."""

    channel: Channel
    secret: str | None = None


@transaction.atomic
def create_channel(
    *,
    actor: User | None,
    organisation: Organisation,
    kind: ChannelKind,
    name: str,
    destination: Destination,
    after_s: int = 0,
    hours: Hours | None = None,
    weekly: bool = False,
) -> Made:
    """A new way to tell people. Raises ChannelError."""
    checked = check(kind, destination)
    check_timing(after_s, hours)
    hold(organisation)
    if Channel.objects.filter(organisation=organisation).count() >= MAX_CHANNELS:
        raise ChannelLimitError("name", f"There are {MAX_CHANNELS} channels; delete one before you add another.")
    channel = Channel(
        organisation=organisation,
        kind=kind,
        name=_free_name(organisation, name or checked.target),
        target=checked.target,
        after_s=after_s,
        hours=hours and hours.to_json(),
        weekly=weekly,
        created_by=actor,
    )
    channel.config = checked.config
    channel.save()
    record("create_channel", channel, actor=actor, organisation=organisation, kind=kind.value, name=channel.name)
    return Made(channel=channel, secret=checked.config.get("secret"))


@transaction.atomic
def change_channel(
    *,
    actor: User | None,
    channel: Channel,
    name: str = "",
    destination: Destination = AS_BEFORE,
    after_s: int | None = None,
    hours: Hours | Literal["any", "same"] = "same",
    weekly: bool | None = None,
) -> Channel:
    """A new name, destination, delay or hours, and whether it hears of each week; what is empty, None or "same" stays
    as it is. Raises ChannelError.

    A new destination switches a channel on again that was switched off because the old one was gone. What is held is
    told by the new delay and hours.
    """
    # Before the channel itself, in the order of tests and new channels: of two that want one name one is refused it.
    hold(channel.organisation)
    channel = as_it_is(channel, "organisation")
    changed = []
    if name.strip() and clean(name) != channel.name:
        channel.name = _free_name(channel.organisation, name, but=channel)
        changed.append("name")
    if destination:
        _set_destination(channel, destination)
        changed.append("destination")
    before, after = _timing(channel), _change_timing(channel, after_s, hours, weekly)
    detail: dict[str, Any] = {"name": channel.name}
    if before != after:
        changed += [name for name, value in after.items() if value != before[name]]
        detail |= {"before": before, "after": after}
        let_go(channel, timezone.now())
    if changed:
        channel.save()
        record("change_channel", channel, actor=actor, organisation=channel.organisation, changed=changed, **detail)
    return channel


@transaction.atomic
def rotate_secret(*, actor: User | None, channel: Channel) -> str:
    """A new signing secret, shown now and never again; the old one signs beside it for a day. Raises ChannelError."""
    channel = as_it_is(channel, "organisation")
    if channel.kind != ChannelKind.WEBHOOK:
        raise ChannelError("kind", "Only webhooks are signed.")
    channel.config, channel.secret_set_at = rotated(_config(channel), timezone.now()), timezone.now()
    channel.save(update_fields=["config", "secret_set_at"])
    record("rotate_channel_secret", channel, actor=actor, organisation=channel.organisation, name=channel.name)
    return str(channel.config["secret"])


@transaction.atomic
def switch_channel(*, actor: User | None, channel: Channel, enabled: bool) -> Channel:
    """Switches a channel on or off. What still waits when it is switched off is not sent later."""
    channel = as_it_is(channel, "organisation")
    if channel.enabled == enabled:
        return channel
    channel.enabled, channel.disabled_reason = enabled, ""
    channel.save(update_fields=["enabled", "disabled_reason"])
    if not enabled:
        drop_waiting(channel, "", timezone.now())
    action = "enable_channel" if enabled else "disable_channel"
    record(action, channel, actor=actor, organisation=channel.organisation, name=channel.name)
    return channel


@transaction.atomic
def delete_channel(*, actor: User | None, channel: Channel) -> None:
    """Deletes a channel; what it was told stays in the log."""
    channel = as_it_is(channel, "organisation")
    drop_waiting(channel, "The channel was deleted.", timezone.now())
    record("delete_channel", channel, actor=actor, organisation=channel.organisation, name=channel.name)
    channel.delete()


def send_test(*, actor: User | None, channel: Channel, outbound: Outbound | None = None) -> Sent:
    """Sends a test message at once and gives the other side's own answer. Raises ChannelError, TooSoonError.

    It takes the way of every alert and stands in the delivery log, but is not tried again.
    """
    config = _config(channel)
    delivery, parcel = _prepare_test(actor, channel, timezone.now())
    sent = channels.send(ChannelKind(channel.kind), config, parcel, outbound or client())
    delivered = sent.outcome is Outcome.DELIVERED
    delivery.state = DeliveryState.DELIVERED if delivered else DeliveryState.FAILED
    delivery.status, delivery.answer = sent.status, sent.answer
    delivery.lease_until, delivery.ended_at = None, timezone.now()
    delivery.save(update_fields=["state", "status", "answer", "lease_until", "ended_at"])
    return sent


@transaction.atomic
def _prepare_test(actor: User | None, channel: Channel, now: datetime) -> tuple[Delivery, Parcel]:
    hold(channel.organisation)
    channel = as_it_is(channel, "organisation")
    _refuse_too_many_tests(channel.organisation, now)
    if channel.not_before > now:
        seconds = (channel.not_before - now).total_seconds()
        raise TooSoonError(
            f"This channel is to be left in peace for {seconds:.0f} more seconds. Try again then.", seconds
        )
    Channel.objects.filter(pk=channel.pk).update(not_before=now + TEST_PACE)
    message = _test_message(channel, now)
    notice = tell(organisation=channel.organisation, about=channel.public_id, message=message, channels=[])
    delivery = Delivery.objects.create(
        notice=notice, channel=channel, channel_name=channel.name, attempts=1, lease_until=now + LEASE
    )
    record("test_channel", channel, actor=actor, organisation=channel.organisation, name=channel.name)
    return delivery, _parcel(channel, delivery.public_id, notice.sequence, message)


def _refuse_too_many_tests(organisation: Organisation, now: datetime) -> None:
    hour = timedelta(hours=1)
    lately = Notice.objects.filter(organisation=organisation, created_at__gt=now - hour)
    tests = lately.filter(message__event=Event.TEST.value).order_by("created_at")
    begun = list(tests.values_list("created_at", flat=True))
    if len(begun) >= MAX_TESTS_AN_HOUR:
        seconds = (begun[-MAX_TESTS_AN_HOUR] + hour - now).total_seconds()
        raise TooSoonError(
            f"{MAX_TESTS_AN_HOUR} tests were sent within an hour. Try again in {seconds:,.0f} seconds.", seconds
        )


def _parcel(channel: Channel, public_id: UUID, sequence: int, message: Message) -> Parcel:
    return Parcel(
        id=public_id,
        channel=channel.public_id,
        items=(Item(about=channel.public_id, sequence=sequence, message=Message.from_json(message.to_json())),),
        organisation=channel.organisation.name,
        base_url=settings.BASE_URL,
        sent_at=message.at,
    )


def _test_message(channel: Channel, now: datetime) -> Message:
    return Message(
        event=Event.TEST,
        severity=Severity.INFO,
        title=f"Test: alerts of {channel.organisation.name} will arrive here",
        at=now,
        sentences=("Nothing is wrong. Somebody pressed “Send test”.",),
        context=(f"Channel: {channel.name}",),
        links=(Link(label="Open alerts", path="/alerts/"),),
        data={"channel": str(channel.public_id)},
    )


def _set_destination(channel: Channel, destination: Destination) -> None:
    before = {} if isinstance(channel.config, Unreadable) else channel.config
    checked = check(ChannelKind(channel.kind), destination, before=before)
    # A webhook's secret belongs to the channel, not to the address: only rotation changes it.
    is_kept = channel.kind == ChannelKind.WEBHOOK
    kept = {name: value for name, value in before.items() if name != "url"} if is_kept else {}
    channel.config = {**checked.config, **kept}
    channel.target, channel.secret_set_at = checked.target, timezone.now()
    # A signing secret leads nowhere.
    if {**before, "signing_secret": ""} != {**checked.config, "signing_secret": ""}:
        forget_threads(channel)
    if channel.disabled_reason:
        channel.enabled, channel.disabled_reason = True, ""


def _timing(channel: Channel) -> dict[str, Any]:
    """When it is told, in the words of the audit log."""
    hours = channel.its_hours
    return {
        "after_s": channel.after_s,
        "hours": str(hours or "at any time"),
        "critical_at_any_time": hours is None or hours.critical_at_any_time,
        "weekly_report": channel.weekly,
    }


def _change_timing(
    channel: Channel, after_s: int | None, hours: Hours | Literal["any", "same"], weekly: bool | None
) -> dict[str, Any]:
    check_timing(channel.after_s if after_s is None else after_s, hours if isinstance(hours, Hours) else None)
    channel.after_s = channel.after_s if after_s is None else after_s
    channel.weekly = channel.weekly if weekly is None else weekly
    if hours != "same":
        channel.hours = hours.to_json() if isinstance(hours, Hours) else None
    return _timing(channel)


def _config(channel: Channel) -> Any:
    """Where the channel leads. Raises ChannelError when no key opens it."""
    try:
        return opened(channel.config)
    except DecryptionError as error:
        raise ChannelError(_SECRETS[ChannelKind(channel.kind)], UNREADABLE) from error


def _free_name(organisation: Organisation, name: str, *, but: Channel | None = None) -> str:
    wanted = clean(name, MAX_NAME_CHARS)
    taken = Channel.objects.filter(organisation=organisation, name=wanted)
    if (taken.exclude(pk=but.pk) if but else taken).exists():
        raise ChannelError("name", f"There is a channel named {wanted} already.")
    return wanted
