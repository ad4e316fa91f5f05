"""Forms about regions."""

from collections.abc import Iterable, Sequence

from django import forms

from backend.fleet.models import Region


class RegionForm(forms.Form):
    code = forms.CharField(
        label="Code",
        max_length=20,
        help_text="2 to 20 lower-case letters, digits and hyphens, such as eu-west. It cannot be changed later.",
    )
    name = forms.CharField(label="Name", max_length=60, help_text="Such as Frankfurt.")


def region_choices(usable: Iterable[Region], chosen: Sequence[str]) -> list[tuple[str, str]]:
    """What can be ticked: usable regions, and those of `chosen` that were removed since. Where they alone are chosen
    nothing is measured, and left out they would be none ticked: all regions."""
    choices = [(region.code, region.name) for region in usable]
    known = {code for code, _ in choices}
    return choices + [(code, f"{code}, removed") for code in chosen if code not in known]
