"""Forms about channels. They read text; what can work is decided by `alerts.channels.config`."""

from dataclasses import asdict, fields
from datetime import time
from typing import Any, TypedDict

from django import forms
from django.utils import timezone

from backend.alerts.channels.config import MAX_AFTER_S, Destination
from backend.alerts.hours import DAYS, Hours
from backend.alerts.models import Channel, ChannelKind
from backend.alerts.models.channels import MAX_NAME_CHARS
from backend.instants import time_zones

# Longer texts are refused before anybody looks at them; the rules have limits of their own.
MAX_URL_CHARS, MAX_ADDRESSES_CHARS = 10_000, 10_000

_URL_HELP = {
    ChannelKind.SLACK: "In Slack: the channel's settings, Integrations, Add an app, Incoming Webhooks. "
    "It is stored encrypted and never shown again.",
    ChannelKind.WEBHOOK: "Called with a signed JSON document by the Standard Webhooks specification.",
}
_PLACEHOLDERS = {
    ChannelKind.SLACK: "https://hooks.slack.com/services/…",
    ChannelKind.WEBHOOK: "https://example.com/hooks/firstbyte",
}


# What each kind needs to know of where it leads.
_FIELDS = {
    ChannelKind.SLACK: ("url",),
    ChannelKind.SLACK_APP: ("token", "conversation", "signing_secret"),
    ChannelKind.EMAIL: ("addresses",),
    ChannelKind.WEBHOOK: ("url",),
}
_SECRETS = ("url", "token", "signing_secret")


class Chosen(TypedDict):
    name: str
    destination: Destination
    weekly: bool


class _Clock(forms.TimeInput):
    input_type = "time"

    def __init__(self) -> None:
        super().__init__(format="%H:%M")


class ChannelForm(forms.Form):
    """A channel of one kind."""

    name = forms.CharField(label="Name", max_length=MAX_NAME_CHARS, required=False)
    url = forms.CharField(label="Address", max_length=MAX_URL_CHARS)
    addresses = forms.CharField(
        label="Addresses",
        max_length=MAX_ADDRESSES_CHARS,
        help_text="One or more, separated by commas.",
        widget=forms.TextInput(attrs={"placeholder": "ops@example.com, on-call@example.com", "autocomplete": "off"}),
    )
    token = forms.CharField(
        label="Bot token",
        max_length=MAX_URL_CHARS,
        help_text="Of the app, under OAuth & Permissions once it is installed. It is stored encrypted and never shown "
        "again.",
        widget=forms.TextInput(attrs={"placeholder": "xoxb-…"}),
    )
    conversation = forms.CharField(
        label="Channel ID",
        max_length=MAX_URL_CHARS,
        help_text="In Slack: the channel's name, About, at the bottom. Into a private one the app must be invited.",
        widget=forms.TextInput(attrs={"placeholder": "C0123ABCDEF", "autocomplete": "off", "spellcheck": "false"}),
    )
    signing_secret = forms.CharField(
        label="Signing secret",
        max_length=MAX_URL_CHARS,
        required=False,
        help_text="Of the app, under Basic Information. With it messages have buttons: whoever is in that channel can "
        "acknowledge an incident, or mute it for an hour. Slack calls this service for that, so it must be reachable "
        "from the Internet.",
    )
    weekly = forms.BooleanField(
        label="Report of each week, on Mondays",
        required=False,
        help_text="Which sites were down, became slower or faster, and what costs most.",
    )

    def __init__(self, data: Any = None, *, kind: ChannelKind, old_name: str | None = None) -> None:
        super().__init__(data, prefix=kind.value, initial={"name": old_name})
        wanted = _FIELDS[kind]
        for name in {name for names in _FIELDS.values() for name in names} - set(wanted):
            del self.fields[name]
        if kind in _URL_HELP:
            self.fields["url"].help_text = _URL_HELP[kind]
            self.fields["url"].widget.attrs |= {"placeholder": _PLACEHOLDERS[kind], "inputmode": "url"}
        for name in set(wanted) & set(_SECRETS):
            self.fields[name].widget.attrs |= {"autocomplete": "off", "spellcheck": "false", "data-secret": True}
        if old_name is None:
            self.fields["name"].help_text = "Such as #alerts. Left empty, it is named for where it leads."
            return
        for name in wanted:
            field = self.fields[name]
            field.required = False
            label = str(field.label)
            field.label = f"New {label[0].lower()}{label[1:]}"
            field.help_text = f"Left empty, it stays as it is. {field.help_text}"

    def chosen(self) -> Chosen:
        """Name and destination as written, and whether it hears of each week. Only after `is_valid`."""
        typed = {name: str(self.cleaned_data.get(name, "")) for names in _FIELDS.values() for name in names}
        name, weekly = str(self.cleaned_data.get("name", "")), self.cleaned_data["weekly"]
        return Chosen(name=name, destination=Destination(**typed), weekly=weekly)


class ChannelChangeForm(ChannelForm):
    """Another name or destination, where what is left empty stays; and when the channel is told."""

    after_min = forms.IntegerField(
        label="Told after … minutes",
        required=False,
        min_value=0,
        max_value=MAX_AFTER_S // 60,
        help_text="0 is at once. Else an incident reaches this channel only if it still is open, not acknowledged and "
        "not muted so long after it was told first.",
    )
    days = forms.MultipleChoiceField(
        label="Hours: on these days",
        required=False,
        choices=[(day, day.capitalize()) for day in DAYS],
        widget=forms.CheckboxSelectMultiple,
        help_text="None ticked is at any time. What comes outside its hours is held, and told when they begin.",
    )
    begins = forms.TimeField(label="From", required=False, widget=_Clock())
    ends = forms.TimeField(
        label="To",
        required=False,
        widget=_Clock(),
        help_text="No later than the beginning, it is on the next day.",
    )
    time_zone = forms.ChoiceField(
        label="By the clock of", required=False, choices=lambda: [(zone, zone) for zone in time_zones()]
    )
    critical_at_any_time = forms.BooleanField(label="Critical is told at any time", required=False)

    def __init__(self, data: Any = None, *, channel: Channel) -> None:
        super().__init__(data, kind=ChannelKind(channel.kind), old_name=channel.name)
        hours = channel.its_hours or Hours(
            days=(), begins=time(8), ends=time(18), time_zone=timezone.get_current_timezone_name()
        )
        self.initial = {**self.initial, "weekly": channel.weekly, "after_min": channel.after_s // 60, **asdict(hours)}

    def timing(self) -> tuple[int | None, Hours | None]:
        """After how many seconds it is told, None for as before, and at which hours. Only after `is_valid`."""
        data = self.cleaned_data
        is_left = data["after_min"] is None or "after_min" not in self.changed_data
        after_s = None if is_left else data["after_min"] * 60
        if not data["days"]:
            return after_s, None
        return after_s, Hours(**{field.name: data[field.name] for field in fields(Hours)})

    def clean_days(self) -> tuple[str, ...]:
        return tuple(day for day in DAYS if day in self.cleaned_data["days"])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        for name in ("begins", "ends"):
            if data.get("days") and data.get(name) is None and name not in self.errors:
                self.add_error(name, "Choose a time of the day.")
        return data
