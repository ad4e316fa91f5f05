"""Forms about pairings. They read text; the rules themselves are `compare.pairings`."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from backend.compare.pairings import PairingDraft
from backend.fleet.models import Region
from backend.sites.models import MAX_INTERVAL_S, MIN_INTERVAL_S
from backend.sites.monitor_settings import DEFAULT_INTERVAL_S
from backend.web.cdn.words import first_verdict_in
from backend.web.forms.faults import FaultsForm
from backend.web.forms.regions import region_choices
from workers.diagnosis.pair.verdict import MIN_PAIRS
from workers.measurement.messages import Kind

# Longer texts are refused before anybody looks at them; the rules have limits of their own.
_MAX_CHARS = 10_000


class PairingForm(FaultsForm):
    """One asset, and where the origin has it."""

    cdn_url = forms.CharField(
        label="Asset at the CDN",
        max_length=_MAX_CHARS,
        widget=forms.TextInput(attrs={"placeholder": "https://cdn.example.com/app.js", "inputmode": "url"}),
        help_text="A static file that visitors load, such as a script, a style sheet or a picture.",
    )
    origin = forms.CharField(
        label="Origin",
        max_length=_MAX_CHARS,
        widget=forms.TextInput(attrs={"placeholder": "www.example.com"}),
        help_text="Best its IP address: then the CDN's own name is asked for there, and nothing else changes. Or a "
        "host, a URL that ends in / to stand before the asset's path, or the asset's whole URL there.",
    )
    name = forms.CharField(label="Name", max_length=100, required=False, help_text="Empty: the path of the asset.")
    interval_s = forms.IntegerField(
        label="Every … seconds",
        initial=DEFAULT_INTERVAL_S[Kind.PAIR],
        widget=forms.NumberInput(attrs={"min": MIN_INTERVAL_S, "max": MAX_INTERVAL_S}),
    )
    regions = forms.MultipleChoiceField(
        label="Regions",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None ticked means all regions, also those added later.",
    )
    ignore_certificate_errors = forms.BooleanField(
        label="Ignore certificate errors",
        required=False,
        help_text="For an origin whose certificate is not for the CDN's name.",
    )

    drop_headers = forms.BooleanField(label="Remove request headers", required=False)

    def __init__(
        self,
        data: Any = None,
        *,
        regions: Sequence[Region],
        initial: Mapping[str, Any] | None = None,
        headers: Sequence[str] = (),
        chosen: Sequence[str] = (),
    ) -> None:
        """`headers` are the names of those that both sides are sent now; `chosen` are the regions of now."""
        super().__init__(data, initial=dict(initial or {}))
        if headers:
            self.fields["drop_headers"].help_text = (
                f"{', '.join(headers)}: set by the API, for the present two addresses. With others they can be written"
                " anew there."
            )
        else:
            del self.fields["drop_headers"]
        self.fields["interval_s"].help_text = (
            f"{MIN_INTERVAL_S} s to {MAX_INTERVAL_S:,} s. A verdict takes {MIN_PAIRS} pairs. One pair every "
            f"{self._interval_s} s: {first_verdict_in(0, self._interval_s)}."
        )
        field = self.fields["regions"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = region_choices(regions, chosen)

    @property
    def _interval_s(self) -> int:
        """What stands in the field, unless it is no interval."""
        kept = self.get_initial_for_field(self.fields["interval_s"], "interval_s")
        try:
            written = int(self.data["interval_s"] if self.is_bound else kept)
        except (KeyError, ValueError):
            written = 0
        return written if MIN_INTERVAL_S <= written <= MAX_INTERVAL_S else DEFAULT_INTERVAL_S[Kind.PAIR]

    def draft(self) -> PairingDraft:
        """What was written, unjudged. Only after `is_valid`."""
        data = self.cleaned_data
        return PairingDraft(
            cdn_url=data["cdn_url"],
            origin=data["origin"],
            name=data["name"],
            interval_s=data["interval_s"],
            regions=tuple(data["regions"]),
            ignore_certificate_errors=data["ignore_certificate_errors"],
            drop_headers=data.get("drop_headers", False),
        )
