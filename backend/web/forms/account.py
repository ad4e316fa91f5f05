"""Forms about people."""

from collections.abc import Sequence

from django import forms

from backend.accounts.permissions import Role
from backend.instants import time_zones


class ProfileForm(forms.Form):
    name = forms.CharField(label="Name", max_length=100, required=False)
    time_zone = forms.ChoiceField(
        label="Time zone",
        choices=lambda: [(zone, zone) for zone in time_zones()],
        help_text="Times are shown in it; what is stored is UTC.",
    )


class MemberForm(forms.Form):
    email = forms.EmailField(label="E-mail address", max_length=254)
    role = forms.ChoiceField(choices=Role.choices, initial=Role.MEMBER)

    def offer(self, roles: Sequence[tuple[str, str]]) -> None:
        """Shows these alone: another one is refused for who asks, and not for what it is."""
        self.fields["role"].widget = forms.Select(choices=roles)


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)
