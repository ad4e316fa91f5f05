"""Forms about incidents."""

from typing import Any

from django import forms

from backend.alerts.models.incidents import MAX_TEXT_CHARS
from backend.web.forms.clock import ClockField

LENGTHS = [("hour", "for 1 hour"), ("recovered", "until it has recovered"), ("date", "until a date")]


class MuteForm(forms.Form):
    """How long nothing is told. The date is in the person's own time zone."""

    length = forms.ChoiceField(label="For how long", choices=LENGTHS, widget=forms.RadioSelect, initial="hour")
    until = ClockField(
        label="Date and time",
        required=False,
        later=True,
        help_text="Only for “until a date”; in your own time zone.",
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("length") == "date" and not data.get("until") and "until" not in self.errors:
            self.add_error("until", "Choose until when.")
        if data.get("length") in ("hour", "recovered") and data.get("until"):
            self.add_error("length", "A date and time is given: choose “until a date”, or leave it empty.")
        return data


class CommentForm(forms.Form):
    text = forms.CharField(
        label="Comment",
        max_length=MAX_TEXT_CHARS,
        widget=forms.Textarea(attrs={"rows": 2, "maxlength": MAX_TEXT_CHARS}),
    )
