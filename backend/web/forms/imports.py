"""The form that brings a file of another tool."""

from typing import Any

from django import forms

from backend.runs.uploads import MAX_FILE_BYTES
from backend.sites.models import Site


class ImportForm(forms.Form):
    """A file, and perhaps the site that it is of."""

    file = forms.FileField(
        label="File",
        max_length=200,
        help_text=(
            "Choose it or drop it here: a HAR of any browser or tool, or WebPageTest's JSON, also packed with gzip."
            f" At most {MAX_FILE_BYTES // 1_048_576} MiB."
        ),
        widget=forms.FileInput(attrs={"accept": ".har,.json,.gz", "data-max-bytes": str(MAX_FILE_BYTES)}),
        error_messages={
            "required": (
                f"Choose a file of at most {MAX_FILE_BYTES // 1_048_576} MiB. Pack a larger one with gzip, or export it"
                " again without the contents of answers."
            ),
            "empty": "The file is empty.",
        },
    )
    site = forms.ModelChoiceField(
        label="Site",
        queryset=Site.objects.none(),
        to_field_name="public_id",
        required=False,
        empty_label="none",
        help_text="Whose page it is. It stays out of the site's charts and alerts.",
    )

    def __init__(self, data: Any = None, files: Any = None, *, sites: Any, initial: Any = None) -> None:
        super().__init__(data, files, initial=initial)
        chosen = self.fields["site"]
        assert isinstance(chosen, forms.ModelChoiceField)
        chosen.queryset = sites
