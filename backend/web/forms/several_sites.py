"""A choice of several sites."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms

from backend.sites.models import Site


class SitesField(forms.MultipleChoiceField):
    """Gives public ids. Which sites there are, the form says (`offer`)."""

    widget = forms.CheckboxSelectMultiple

    def offer(self, sites: Sequence[Site]) -> None:
        """One may choose among these."""
        self.choices = [(str(site.public_id), site.name) for site in sites]

    def clean(self, value: Any) -> list[UUID]:
        return [UUID(site) for site in super().clean(value)]
