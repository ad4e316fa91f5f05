"""What a rule says of what was typed, where it was typed."""

from django import forms

from backend.faults import InvalidError


class FaultsForm(forms.Form):
    """A form whose rules are an action's."""

    def add_faults(self, error: InvalidError) -> None:
        """Puts each sentence at its field, and above all of them what the form has no field for."""
        for field, sentence in error.faults.items():
            self.add_error(field if field in self.fields else None, sentence)
