"""Forms about regions."""

from django import forms


class RegionForm(forms.Form):
    code = forms.CharField(
        label="Code",
        max_length=20,
        help_text="2 to 20 lower-case letters, digits and hyphens, such as eu-west. It cannot be changed later.",
    )
    name = forms.CharField(label="Name", max_length=60, help_text="Such as Frankfurt.")
