"""Forms about channels. They read text; what can work is decided by `alerts.channels.config`."""

from typing import Any

from django import forms

from backend.alerts.models import ChannelKind
from backend.alerts.models.channels import MAX_NAME_CHARS

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


class ChannelForm(forms.Form):
    """A channel of one kind. With `old` it changes one: what is left empty stays."""

    name = forms.CharField(label="Name", max_length=MAX_NAME_CHARS, required=False)
    url = forms.CharField(label="Address", max_length=MAX_URL_CHARS)
    addresses = forms.CharField(
        label="Addresses",
        max_length=MAX_ADDRESSES_CHARS,
        help_text="One or more, separated by commas.",
        widget=forms.TextInput(attrs={"placeholder": "ops@example.com, on-call@example.com", "autocomplete": "off"}),
    )

    def __init__(self, data: Any = None, *, kind: ChannelKind, old_name: str | None = None) -> None:
        super().__init__(data, prefix=kind.value, initial={"name": old_name})
        del self.fields["addresses" if kind is not ChannelKind.EMAIL else "url"]
        destination = self.fields["addresses" if kind is ChannelKind.EMAIL else "url"]
        if kind is not ChannelKind.EMAIL:
            destination.help_text = _URL_HELP[kind]
            destination.widget.attrs |= {
                "placeholder": _PLACEHOLDERS[kind],
                "autocomplete": "off",
                "spellcheck": "false",
                "inputmode": "url",
                "data-secret": True,
            }
        if old_name is None:
            self.fields["name"].help_text = "Such as #alerts. Left empty, it is named for where it leads."
        else:
            destination.required = False
            destination.label = f"New {destination.label.lower()}" if destination.label else ""
            destination.help_text = f"Left empty, it stays as it is. {destination.help_text}"

    def texts(self) -> dict[str, str]:
        """Name and destination as written. Only after `is_valid`."""
        return {name: str(value) for name, value in self.cleaned_data.items()}
