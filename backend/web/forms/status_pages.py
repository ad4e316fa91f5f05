"""The form of a status page."""

from collections.abc import Sequence
from typing import Any

from django import forms

from backend.sites.models import Site
from backend.status.actions import Wanted
from backend.status.models import MAX_SLUG_CHARS, MAX_TITLE_CHARS, StatusPage
from backend.web.forms.faults import FaultsForm
from backend.web.forms.several_sites import SitesField


class StatusPageForm(FaultsForm):
    title = forms.CharField(
        label="Title",
        max_length=MAX_TITLE_CHARS,
        help_text="What visitors know you by, such as Acme status.",
        error_messages={"required": "Give the page a title."},
    )
    slug = forms.CharField(
        label="Address",
        max_length=MAX_SLUG_CHARS,
        help_text="The last part of its address, such as acme: small letters, digits and hyphens.",
        error_messages={"required": "Choose an address, such as acme."},
    )
    sites = SitesField(
        label="Sites",
        help_text="Their names are shown as they stand here.",
        error_messages={"required": "Choose at least one site."},
    )

    def __init__(self, *args: Any, sites: Sequence[Site], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["sites"]
        assert isinstance(choice, SitesField)
        choice.offer(sites)

    def wanted(self) -> Wanted:
        """What was asked for. Only after `is_valid`."""
        chosen = self.cleaned_data
        return Wanted(title=chosen["title"], slug=chosen["slug"], sites=chosen["sites"])


def initial_of(page: StatusPage) -> dict[str, object]:
    """What the form of a page that is there begins with."""
    return {"title": page.title, "slug": page.slug, "sites": [str(site.public_id) for site in page.sites.all()]}
