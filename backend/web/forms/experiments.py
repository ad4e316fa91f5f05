"""The form that asks what hosts cost a page. It reads text; the rules themselves are `experiments.actions`."""

from collections.abc import Sequence
from typing import Any

from django import forms

from backend.fleet.models import Region
from backend.web.forms.faults import FaultsForm
from backend.web.forms.regions import region_choices
from workers.diagnosis.without.turns import MAX_PAIRS, PAIRS
from workers.diagnosis.without.verdict import MIN_PAIRS

# Longer texts are refused before anybody looks at them; the rules have limits of their own.
_MAX_CHARS = 10_000


class ExperimentForm(FaultsForm):
    """Hosts, from where, and how often."""

    hosts = forms.CharField(
        label="Hosts",
        max_length=_MAX_CHARS,
        widget=forms.TextInput(attrs={"placeholder": "tags.example.net", "spellcheck": "false"}),
        help_text="Several with commas between them are left out together.",
    )
    region = forms.ChoiceField(label="Region")
    pairs = forms.IntegerField(
        label="Pairs of loads",
        initial=PAIRS,
        widget=forms.NumberInput(attrs={"min": MIN_PAIRS, "max": MAX_PAIRS}),
        help_text=f"{MIN_PAIRS} at least; more of them show smaller differences. A pair takes 10 to 30 seconds.",
    )

    def __init__(self, data: Any = None, *, regions: Sequence[Region], initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        choices = self.fields["region"]
        assert isinstance(choices, forms.ChoiceField)
        choices.choices = region_choices(regions, ())

    def clean_hosts(self) -> list[str]:
        """One by one."""
        return [name.strip() for name in self.cleaned_data["hosts"].split(",") if name.strip()]
