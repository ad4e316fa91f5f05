"""Forms of what visitors of a status page are told."""

from django import forms

from backend.status.announcing import Said
from backend.status.models import MAX_ANNOUNCEMENT_CHARS, MAX_UPDATE_CHARS, AnnouncementStage
from backend.web.forms.faults import FaultsForm


class UpdateForm(FaultsForm):
    stage = forms.ChoiceField(
        label="How far you are", choices=AnnouncementStage.choices, initial=AnnouncementStage.INVESTIGATING
    )
    text = forms.CharField(
        label="What visitors read",
        widget=forms.Textarea(attrs={"rows": 4, "maxlength": MAX_UPDATE_CHARS}),
        help_text="Plain text. Everybody who has the address of the page sees it.",
        error_messages={"required": "Write what visitors are to know."},
    )

    def said(self) -> Said:
        """What is to be told. Only after `is_valid`."""
        return Said(stage=AnnouncementStage(self.cleaned_data["stage"]), text=self.cleaned_data["text"])


class AnnouncementForm(UpdateForm):
    title = forms.CharField(
        label="Title",
        max_length=MAX_ANNOUNCEMENT_CHARS,
        help_text="In a few words, such as Orders cannot be paid.",
        error_messages={"required": "Say in a few words what it is about."},
    )
    field_order = ("title", "stage", "text")
