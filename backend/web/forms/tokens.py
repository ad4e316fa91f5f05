"""Forms about the API's tokens."""

from datetime import timedelta

from django import forms

from backend.accounts.actions import NewToken
from backend.accounts.permissions import Role, Scope

_LIVES = {"30": "30 days", "90": "90 days", "365": "A year"}
_ROLES = [(role.value, role.label) for role in Role if role is not Role.OWNER]


class TokenForm(forms.Form):
    name = forms.CharField(
        label="Name",
        max_length=60,
        help_text="What will use it, such as deploys of the shop.",
        error_messages={"required": "Give the token a name: what will use it."},
    )
    scopes = forms.MultipleChoiceField(
        label="What it is for",
        choices=Scope.choices,
        initial=[Scope.READ, Scope.GATES],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose what the token is for."},
    )
    role = forms.ChoiceField(
        label="Role",
        choices=_ROLES,
        initial=Role.MEMBER,
        help_text="It may do at most what a person of this role may. Channels need an admin.",
    )
    days = forms.ChoiceField(label="Good for", choices=list(_LIVES.items()), initial="90")

    def wanted(self) -> NewToken:
        """What was chosen. Only after `is_valid`."""
        chosen = self.cleaned_data
        return NewToken(
            name=chosen["name"],
            role=Role(chosen["role"]),
            scopes=frozenset(Scope(scope) for scope in chosen["scopes"]),
            life=timedelta(days=int(chosen["days"])),
        )
