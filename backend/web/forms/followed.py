"""Which user timings of a page are followed: a line for each that may be."""

from collections.abc import Sequence
from typing import Any

from django import forms

from backend.sites.followed import MAX_FOLLOWED

# Where the page has the names that its last runs told, for the browser to offer.
TIMINGS_ID = "timings-told"
# Longer texts are refused before anybody looks at them.
_MAX_CHARS = 10_000


class _Lines(forms.MultiWidget):
    use_fieldset = True

    def __init__(self) -> None:
        attrs = {"list": TIMINGS_ID, "autocomplete": "off", "spellcheck": "false", "dir": "auto"}
        names = [f"User timing {number}" for number in range(1, MAX_FOLLOWED + 1)]
        super().__init__([forms.TextInput(attrs={**attrs, "aria-label": name}) for name in names])

    def decompress(self, value: Sequence[str] | None) -> list[str]:
        return [*(value or ()), *[""] * MAX_FOLLOWED][:MAX_FOLLOWED]


class FollowedField(forms.MultiValueField):
    """A line that is empty says nothing."""

    def __init__(self, **kwargs: Any) -> None:
        lines = [forms.CharField(required=False, max_length=_MAX_CHARS) for _ in range(MAX_FOLLOWED)]
        super().__init__(fields=lines, widget=_Lines(), required=False, require_all_fields=False, **kwargs)

    def compress(self, data_list: list[str]) -> tuple[str, ...]:
        return tuple(filter(None, data_list))
