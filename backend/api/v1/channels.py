"""Channels: who is told of alerts, and what they answered."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from django.http import HttpResponse
from ninja import Router, Status
from pydantic import Field, StringConstraints, WithJsonSchema

from backend.accounts.permissions import Permission, Scope
from backend.alerts.actions import channels as actions
from backend.alerts.channels import Outcome
from backend.alerts.channels.config import MAX_ADDRESSES, MAX_AFTER_S, Destination
from backend.alerts.hours import DAYS
from backend.alerts.hours import Hours as StoredHours
from backend.alerts.models import Channel as ChannelModel
from backend.alerts.models import ChannelKind, DeliveryState
from backend.alerts.models.channels import MAX_NAME_CHARS
from backend.alerts.queries import channels as queries
from backend.api.v1.access import READ_ALERTS, ApiRequest, needs
from backend.api.v1.once import calls_out
from backend.api.v1.paging import Cursor, Limit, number_of, page_of, position_of
from backend.api.v1.problems import existing
from backend.api.v1.shapes import In, Out, Page, Url

router = Router(tags=["Channels"])

Name = Annotated[str, StringConstraints(max_length=MAX_NAME_CHARS)]
Addresses = Annotated[
    list[Annotated[str, StringConstraints(min_length=3, max_length=254)]], Field(min_length=1, max_length=MAX_ADDRESSES)
]
SlackText = Annotated[str, StringConstraints(max_length=300)]
After = Annotated[int, Field(ge=0, le=MAX_AFTER_S)]
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Clock = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$"), Field(examples=["08:00"])]
CHANGE_CHANNELS = needs(Scope.ALERTS, permission=Permission.MANAGE_CHANNELS)


class LastAnswer(Out):
    """What the other side said at the last try. `status` is null where nobody answered."""

    state: DeliveryState
    status: int | None
    answer: str
    attempts: int
    at: datetime


class Hours(Out):
    """The hours of the week in which a channel is told, by the clock of a time zone; what comes outside them is held.

    What ends no later than it begins ends on the next day: the same time twice is a whole day.
    """

    days: list[Day]
    begins: Clock
    ends: Clock
    time_zone: str
    critical_at_any_time: bool


class NewHours(In):
    """See `Hours`. `time_zone` is a name of the IANA, such as `Europe/Berlin`."""

    days: Annotated[list[Day], Field(min_length=1, max_length=len(DAYS))]
    begins: Clock
    ends: Clock
    time_zone: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    critical_at_any_time: bool = True


class Channel(Out):
    """A way to tell people or programs. Its address is kept encrypted and not given out; `target` is what may be shown.

    `disabled_reason` is what the other side said when the channel was switched off because it is gone. An incident
    reaches it `after_s` seconds after it was told first, if it still is open, not acknowledged and not muted by then.
    Without `hours` it is told at any time. With `weekly_report` it is told the report of each week, on Mondays.
    """

    id: UUID
    kind: ChannelKind
    name: str
    target: str
    enabled: bool
    disabled_reason: str
    secret_set_at: datetime
    after_s: int
    hours: Hours | None
    weekly_report: bool
    waiting: int
    last: LastAnswer | None


class SlackApp(In):
    """A Slack app: its bot's token, the ID of the channel it writes to and, for buttons, the secret that Slack signs
    with. Where it changes a channel, what is left out stays.
    """

    token: SlackText = ""
    conversation: Annotated[SlackText, Field(examples=["C0123ABCDEF"])] = ""
    signing_secret: SlackText = ""


class NewChannel(In):
    """`url` for `slack` and `webhook`, `slack_app` for that kind, `addresses` for `email`. Without a name it is named
    for where it leads.
    """

    kind: ChannelKind
    name: Name = ""
    url: Url | None = None
    slack_app: SlackApp | None = None
    addresses: Addresses | None = None
    after_s: After = 0
    hours: NewHours | None = None
    weekly_report: bool = False


class ChannelChange(In):
    """What is left out stays. A new destination switches on a channel that was off because the old one is gone. With
    `"hours": null` it is told at any time. What is held is told by the new delay and hours.
    """

    name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_CHARS)] | None = None
    url: Url | None = None
    slack_app: SlackApp | None = None
    addresses: Addresses | None = None
    enabled: bool | None = None
    after_s: After | None = None
    hours: NewHours | None = None
    weekly_report: bool | None = None


class NewSecret(Out):
    """The secret that a webhook's calls are signed with (Standard Webhooks). It is not given out again."""

    secret: str


class MadeChannel(Channel):
    """A new channel. `secret` signs the calls of a webhook and is not given out again; null for other kinds."""

    secret: str | None


class Tested(Out):
    """What came of a test: the other side's own answer. `status` is null where nobody answered."""

    # In the description by its words: the name is that of a run's outcome.
    outcome: Annotated[Outcome, WithJsonSchema({"type": "string", "enum": [word.value for word in Outcome]})]
    status: int | None
    answer: str


class Delivery(Out):
    """One message on its way to a channel. `id` is the `webhook-id` of its calls, without `msg_`.

    `held_until` is when the channel's delay or hours let it go; null where they do not hold it.
    """

    id: UUID
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


@router.get("/channels", auth=READ_ALERTS, response=Page[Channel])
def list_channels(request: ApiRequest, limit: Limit = 50, cursor: Cursor = "") -> Page[Channel]:
    """Channels by name."""
    position = position_of(request, cursor)
    rows = [row for row in queries.channels(request.caller.organisation) if position is None or row.name > position[0]]
    return page_of(request, rows, Page[Channel], limit=limit, shape=_shape, key=lambda row: [row.name])


@router.post("/channels", auth=CHANGE_CHANNELS, response={201: MadeChannel})
def create_channel(request: ApiRequest, channel: NewChannel) -> Status[MadeChannel]:
    """A new channel. Send a test afterwards to see whether it arrives."""
    made = actions.create_channel(
        actor=request.caller.actor,
        organisation=request.caller.organisation,
        kind=channel.kind,
        name=channel.name,
        destination=destination_of(channel),
        after_s=channel.after_s,
        hours=hours_of(channel.hours),
        weekly=channel.weekly_report,
    )
    request.out["Location"] = f"/api/v1/channels/{made.channel.public_id}"
    shown = _shape(_row(request, made.channel.public_id))
    return Status(201, MadeChannel(**dict(shown), secret=made.secret))


@router.get("/channels/{uuid:channel_id}", auth=READ_ALERTS, response=Channel)
def get_channel(request: ApiRequest, channel_id: UUID) -> Channel:
    """One channel."""
    return _shape(_row(request, channel_id))


@router.patch("/channels/{uuid:channel_id}", auth=CHANGE_CHANNELS, response=Channel)
def change_channel(request: ApiRequest, channel_id: UUID, change: ChannelChange) -> Channel:
    """Another name, destination, delay or hours, or on and off. What waits when it is switched off is never sent."""
    channel, actor = _owned(request, channel_id), request.caller.actor
    actions.change_channel(
        actor=actor,
        channel=channel,
        name=change.name or "",
        destination=destination_of(change),
        after_s=change.after_s,
        hours=hours_of(change.hours) or ("any" if "hours" in change.model_fields_set else "same"),
        weekly=change.weekly_report,
    )
    if change.enabled is not None:
        actions.switch_channel(actor=actor, channel=channel, enabled=change.enabled)
    return _shape(_row(request, channel_id))


@router.delete("/channels/{uuid:channel_id}", auth=CHANGE_CHANNELS, response={204: None})
def delete_channel(request: ApiRequest, channel_id: UUID) -> HttpResponse:
    """Ends a channel. What it was told stays in the logs of the incidents."""
    actions.delete_channel(actor=request.caller.actor, channel=_owned(request, channel_id))
    return HttpResponse(status=204)


@router.post("/channels/{uuid:channel_id}/test", auth=CHANGE_CHANNELS, response=Tested)
@calls_out
def test_channel(request: ApiRequest, channel_id: UUID) -> Tested:
    """Sends a test message now, once, and gives the other side's answer."""
    sent = actions.send_test(actor=request.caller.actor, channel=_owned(request, channel_id))
    return Tested(outcome=sent.outcome, status=sent.status, answer=sent.answer)


@router.post("/channels/{uuid:channel_id}/secret", auth=CHANGE_CHANNELS, response=NewSecret)
def rotate_channel_secret(request: ApiRequest, channel_id: UUID) -> NewSecret:
    """A new signing secret for a webhook. For a day the old one signs beside it."""
    secret = actions.rotate_secret(actor=request.caller.actor, channel=_owned(request, channel_id))
    return NewSecret(secret=secret)


@router.get("/channels/{uuid:channel_id}/deliveries", auth=READ_ALERTS, response=Page[Delivery])
def list_deliveries(request: ApiRequest, channel_id: UUID, limit: Limit = 50, cursor: Cursor = "") -> Page[Delivery]:
    """What the channel was told, the newest first, and what it answered."""
    rows = queries.deliveries(
        request.caller.organisation,
        _owned(request, channel_id),
        limit + 1,
        before=number_of(request, cursor),
    )
    return page_of(request, rows, Page[Delivery], limit=limit, shape=delivery_shape, key=lambda row: [row.place])


def delivery_shape(row: queries.DeliveryRow) -> Delivery:
    return Delivery(
        id=row.public_id,
        title=row.title,
        event=row.event,
        state=row.state,
        attempts=row.attempts,
        status=row.status,
        answer=row.answer,
        created_at=row.created_at,
        ended_at=row.ended_at,
        next_try_at=row.next_try_at,
        held_until=row.held_until,
    )


def _shape(row: queries.ChannelRow) -> Channel:
    last = row.last and LastAnswer(
        state=row.last.state,
        status=row.last.status,
        answer=row.last.answer,
        attempts=row.last.attempts,
        at=row.last.at,
    )
    return Channel(
        id=row.public_id,
        kind=row.kind,
        name=row.name,
        target=row.target,
        enabled=row.enabled,
        disabled_reason=row.disabled_reason,
        secret_set_at=row.secret_set_at,
        after_s=row.after_s,
        hours=row.hours and Hours.model_validate(row.hours.to_json()),
        weekly_report=row.weekly,
        waiting=row.waiting,
        last=last,
    )


def destination_of(given: NewChannel | ChannelChange) -> Destination:
    app = given.slack_app or SlackApp()
    return Destination(url=given.url or "", addresses=" ".join(given.addresses or ()), **app.model_dump())


def hours_of(given: NewHours | None) -> StoredHours | None:
    """In the order of the week, each day once."""
    if given is None:
        return None
    days = [day for day in DAYS if day in given.days]
    return StoredHours.from_json({**given.model_dump(), "days": days})


def _row(request: ApiRequest, channel_id: UUID) -> queries.ChannelRow:
    return existing(queries.channel_row(request.caller.organisation, channel_id), "There is no such channel.")


def _owned(request: ApiRequest, channel_id: UUID) -> ChannelModel:
    return existing(queries.channel(request.caller.organisation, channel_id), "There is no such channel.")
