"""Channels as they shall be. Each is known by its name and keeps its kind; no secret of it is told."""

from collections.abc import Sequence
from dataclasses import asdict

from backend.accounts.models import Organisation
from backend.alerts.actions import channels as actions
from backend.alerts.actions.channels import AS_BEFORE
from backend.alerts.channels.config import ChannelError, Destination, check
from backend.alerts.message import clean
from backend.alerts.models import Channel, ChannelKind, Rule
from backend.alerts.models.channels import MAX_NAME_CHARS
from backend.declared.carrying import Carrying
from backend.declared.changes import Act, FieldChange, What, differences
from backend.declared.documents import channel_document, rule_document
from backend.declared.wanted import WantedChannel
from backend.encryption import Unreadable
from backend.faults import InvalidError

# What says where a channel of the kind leads; the first must be there.
_OF_KINDS = {
    ChannelKind.SLACK: ("url",),
    ChannelKind.SLACK_APP: ("token", "conversation", "signing_secret"),
    ChannelKind.EMAIL: ("addresses",),
    ChannelKind.WEBHOOK: ("url",),
}
_UNKNOWN = "There is no channel {} yet, so it must be said where it leads: give its {}."
_NO_NAME = f"The name must be one line of at most {MAX_NAME_CHARS} characters, with single spaces between its words."
_OTHER_KIND = "{} is of the kind {}, which it keeps. Give a channel of another kind a name of its own."


def known_channels(organisation: Organisation) -> list[Channel]:
    """All of them by name, with their secrets. One statement."""
    return list(Channel.objects.filter(organisation=organisation).defer(None).order_by("name"))


def carry_out_channels(carrying: Carrying, wanted: Sequence[WantedChannel]) -> None:
    """Makes, changes and deletes channels until they are as wanted."""
    known = {channel.name: channel for channel in known_channels(carrying.organisation)}
    for name in sorted(known.keys() - {one.name for one in wanted}):
        if carrying.deletes(What.CHANNEL, site=None, name=name):
            _delete(carrying, known[name])
    for index, one in enumerate(wanted):
        with carrying.at(f"channels/{index}"):
            try:
                _carry_out(carrying, known.get(one.name), one)
            except ChannelError as error:
                raise InvalidError({_place(error.field): str(error)}) from error
    carrying.refuse_twice("channels", [one.name for one in wanted])


def _carry_out(carrying: Carrying, known: Channel | None, wanted: WantedChannel) -> None:
    """Raises InvalidError, ChannelError."""
    if clean(wanted.name, MAX_NAME_CHARS) != wanted.name:
        raise InvalidError({"name": _NO_NAME})
    _refuse_others(wanted)
    if known is None:
        _make(carrying, wanted)
        return
    if known.kind != wanted.kind:
        raise InvalidError({"kind": _OTHER_KIND.format(known.name, known.kind)})
    before = channel_document(known)
    leads_elsewhere = _leads_elsewhere(known, wanted.destination)
    changed = actions.change_channel(
        actor=carrying.actor,
        channel=known,
        destination=wanted.destination if leads_elsewhere else AS_BEFORE,
        after_s=wanted.after_s,
        hours=wanted.hours or "any",
        weekly=wanted.weekly_report,
    )
    # What the other side's answer switched off is left so, until it leads elsewhere.
    if not changed.disabled_reason:
        changed = actions.switch_channel(actor=carrying.actor, channel=changed, enabled=wanted.enabled)
    fields = differences(before, channel_document(changed))
    field = _section(wanted.kind)
    if leads_elsewhere and field not in {one.name for one in fields}:
        fields = (*fields, FieldChange(name=field, is_secret=True))
    if fields:
        carrying.note(Act.CHANGE, What.CHANNEL, site=None, name=changed.name, fields=fields)


def _delete(carrying: Carrying, channel: Channel) -> None:
    """Also notes the rules that named it: one that named it alone tells all channels from then on."""
    named = Rule.objects.filter(channels=channel).select_related("site").prefetch_related("channels").order_by("pk")
    before = [(rule, rule_document(rule)["channels"]) for rule in named]
    actions.delete_channel(actor=carrying.actor, channel=channel)
    for rule, names in before:
        site = None if rule.site is None else rule.site.name
        fields = differences({"channels": names}, {"channels": [name for name in names if name != channel.name]})
        carrying.note(Act.CHANGE, What.RULE, site=site, name=rule.title, fields=fields)


def _make(carrying: Carrying, wanted: WantedChannel) -> None:
    """Raises InvalidError, ChannelError."""
    if not wanted.destination:
        field = _section(wanted.kind)
        raise InvalidError({field: _UNKNOWN.format(wanted.name, field)})
    made = actions.create_channel(
        actor=carrying.actor,
        organisation=carrying.organisation,
        kind=wanted.kind,
        name=wanted.name,
        destination=wanted.destination,
        after_s=wanted.after_s,
        hours=wanted.hours,
        weekly=wanted.weekly_report,
    )
    actions.switch_channel(actor=carrying.actor, channel=made.channel, enabled=wanted.enabled)
    carrying.note(Act.CREATE, What.CHANNEL, site=None, name=wanted.name)


def _refuse_others(wanted: WantedChannel) -> None:
    """What belongs to another kind is a mistake, and not passed over. Raises InvalidError."""
    for name, value in asdict(wanted.destination).items():
        if value and name not in _OF_KINDS[wanted.kind]:
            raise InvalidError({_place(name): f"A channel of the kind {wanted.kind} has none."})


def _leads_elsewhere(channel: Channel, destination: Destination) -> bool:
    """Whether something is given that is not stored so; what cannot be read is. Raises ChannelError."""
    if destination in (AS_BEFORE, Destination(conversation=channel.target)):
        return False
    if isinstance(channel.config, Unreadable):
        return True
    before, after = channel.config, check(ChannelKind(channel.kind), destination, before=channel.config).config
    # The secret that a webhook's calls are signed with is the channel's own.
    return any(_unordered(after[name]) != _unordered(before.get(name)) for name in after.keys() - {"secret"})


def _unordered(value: object) -> object:
    return sorted(value) if isinstance(value, list) else value or ""


def _section(kind: ChannelKind) -> str:
    """What a file says it in."""
    return _place(_OF_KINDS[kind][0]).partition(".")[0]


def _place(field: str) -> str:
    """Where a file says what the field of a destination holds."""
    return f"slack_app.{field}" if field in _OF_KINDS[ChannelKind.SLACK_APP] else field
