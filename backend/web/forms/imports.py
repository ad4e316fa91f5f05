"""The form that brings a file of another tool."""

from collections.abc import Iterable
from typing import Any

from django import forms

from backend.runs.uploads import MAX_FILE_BYTES, MAX_FILE_MIB
from backend.sites.models import Site

# What can be chosen besides a site.
BY_ADDRESS, NONE = "", "none"


class ImportForm(forms.Form):
    """A file, and perhaps the site that it is of."""

    file = forms.FileField(
        label="File",
        max_length=200,
        help_text=(
            "Choose it or drop it here: a HAR of any browser or tool, or WebPageTest's JSON, also packed with gzip."
            f" At most {MAX_FILE_MIB} MiB."
        ),
        widget=forms.FileInput(attrs={"accept": ".har,.json,.gz", "data-max-bytes": str(MAX_FILE_BYTES)}),
        error_messages={
            "required": (
                f"Choose a file of at most {MAX_FILE_MIB} MiB. Pack a larger one with gzip, or export it"
                " again without the contents of answers."
            ),
            "empty": "The file is empty.",
        },
    )
    site = forms.ChoiceField(
        label="Site",
        required=False,
        help_text="Whose page it is. It stays out of the site's charts and alerts.",
    )

    def __init__(self, data: Any = None, files: Any = None, *, sites: Iterable[Site], initial: Any = None) -> None:
        super().__init__(data, files, initial=initial)
        self._sites = {str(site.public_id): site for site in sites}
        chosen = self.fields["site"]
        assert isinstance(chosen, forms.ChoiceField)
        named = [(key, site.name) for key, site in self._sites.items()]
        chosen.choices = [(BY_ADDRESS, "the one with the page's address"), (NONE, "none"), *named]

    @property
    def site_named(self) -> Site | None:
        """The one that was chosen by its name. Only after `is_valid`."""
        return self._sites.get(self.cleaned_data["site"])

    @property
    def candidates(self) -> tuple[Site, ...]:
        """Those among which the page's address decides. Only after `is_valid`."""
        return tuple(self._sites.values()) if self.cleaned_data["site"] == BY_ADDRESS else ()
