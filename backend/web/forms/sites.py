"""Forms about sites and monitors. They read text; the rules themselves are `sites.monitor_settings`."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

from django import forms

from backend.fleet.models import Region
from backend.sites.models import MAX_INTERVAL_S, MIN_INTERVAL_S, Site
from backend.sites.monitor_settings import TIMEOUT_RANGE_S, UNREADABLE, MonitorSettings
from backend.sites.targets import check_target
from backend.web.forms.faults import FaultsForm
from backend.web.forms.regions import region_choices
from backend.web.forms.several_sites import SitesField
from workers.measurement.connection import Header
from workers.measurement.profile import PROFILES
from workers.measurement.target import TargetError

# Longer texts are refused before anybody looks at them; the rules have limits of their own.
MAX_HEADERS_CHARS = 100_000


class TrialForm(forms.Form):
    """A URL, and where to test it from."""

    url = forms.CharField(
        label="Page address",
        max_length=10_000,
        widget=forms.TextInput(
            attrs={
                "placeholder": "https://www.example.com/",
                "inputmode": "url",
                "autocomplete": "url",
                "autofocus": True,
                "size": 34,
            }
        ),
        error_messages={"required": "Type the address of a page, such as https://www.example.com/."},
    )
    regions = forms.MultipleChoiceField(
        label="Test from",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one region to measure from."},
    )

    def __init__(self, *args: Any, regions: Sequence[Region], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = self.fields["regions"]
        assert isinstance(choices, forms.MultipleChoiceField)
        choices.choices = [(region.code, region.name) for region in regions]

    def clean_url(self) -> str:
        try:
            return check_target(self.cleaned_data["url"]).page_url
        except TargetError as error:
            raise forms.ValidationError(str(error)) from error


class NameForm(forms.Form):
    name = forms.CharField(label="Name", max_length=100)


class ReliesOnForm(forms.Form):
    relies_on = SitesField(
        label="Relies on",
        required=False,
        help_text="While one of these is down, nothing is told of this site by itself; what still holds afterwards is. "
        "Alerts of this site wait three minutes for that.",
    )

    def __init__(self, *args: Any, sites: Sequence[Site], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["relies_on"]
        assert isinstance(choice, SitesField)
        choice.offer(sites)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorChoices:
    """What the form needs beside the text: the settings now, the regions there are, and which user timings the last
    runs told."""

    settings: MonitorSettings
    regions: Sequence[Region]
    timings_told: Sequence[str] = ()


class MonitorForm(FaultsForm):
    """One monitor. Values of headers are written, never shown: a name that is there keeps its value until replaced."""

    url = forms.CharField(label="Address", max_length=10_000)
    interval_s = forms.IntegerField(
        label="Every … seconds",
        help_text="30 s to 86,400 s (a day); 60 is every minute.",
        widget=forms.NumberInput(attrs={"min": MIN_INTERVAL_S, "max": MAX_INTERVAL_S}),
    )
    timeout_s = forms.IntegerField(label="Time limit in seconds")
    profile = forms.ChoiceField(
        label="Network profile",
        choices=[(name, name) for name in PROFILES],
        help_text="“native” shapes nothing: the region's own network.",
    )
    regions = forms.MultipleChoiceField(
        label="Regions",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None ticked means all regions, also those added later.",
    )
    accepted_status = forms.CharField(
        label="Accepted status codes",
        required=False,
        max_length=200,
        help_text="Such as 200, 304. Empty means 200 to 399.",
    )
    body_text = forms.CharField(
        label="Text that must be there",
        required=False,
        max_length=10_000,
        help_text="Looked for in the body of the answer.",
    )
    ignore_certificate_errors = forms.BooleanField(
        label="Ignore certificate errors",
        required=False,
        help_text="Measures on although nobody vouches for the server. The error is still recorded.",
    )
    remove_headers = forms.MultipleChoiceField(
        label="Request headers that are set", required=False, widget=forms.CheckboxSelectMultiple
    )
    headers = forms.CharField(
        label="Add or replace request headers",
        required=False,
        max_length=MAX_HEADERS_CHARS,
        widget=forms.Textarea(
            attrs={"rows": 3, "placeholder": "Authorization: Bearer …", "spellcheck": "false", "data-secret": True}
        ),
        help_text="One “Name: value” a line. Values are stored encrypted and never shown again.",
    )
    forget_unreadable = forms.BooleanField(label="Forget what cannot be read", required=False)

    def __init__(self, data: Any = None, *, choices: MonitorChoices) -> None:
        kind = choices.settings.kind
        super().__init__(data, initial=_initial(choices.settings), prefix=kind.value)
        self._choices = choices
        self._offer("regions", region_choices(choices.regions, choices.settings.regions))
        self._offer("remove_headers", [(name, f"Remove {name}") for name in _names(choices.settings)])
        if not choices.settings.headers:
            del self.fields["remove_headers"]
        if not choices.settings.unreadable:
            del self.fields["forget_unreadable"]
        low, high = TIMEOUT_RANGE_S[kind]
        self.fields["timeout_s"].help_text = f"{low} s to {high} s."
        self.fields["timeout_s"].widget.attrs |= {"min": low, "max": high}

    def clean_accepted_status(self) -> tuple[int, ...]:
        words = self.cleaned_data["accepted_status"].replace(",", " ").split()
        if any(not word.isdecimal() or len(word) > 6 for word in words):
            raise forms.ValidationError("Write status codes separated by commas, such as 200, 304.")
        return tuple(int(word) for word in words)

    def clean_headers(self) -> tuple[Header, ...]:
        lines = [line for line in self.cleaned_data["headers"].splitlines() if line.strip()]
        if any(":" not in line for line in lines):
            raise forms.ValidationError("Write one “Name: value” a line.")
        pairs = (line.partition(":") for line in lines)
        return tuple(Header(name=name.strip(), value=value.strip()) for name, _, value in pairs)

    @property
    def lost(self) -> str:
        """What of the monitor cannot be read, in words; empty when all can."""
        return " and ".join(UNREADABLE[name] for name in self._choices.settings.unreadable)

    def settings(self) -> MonitorSettings:
        """What was written, unjudged. Only after `is_valid`."""
        data = self.cleaned_data
        headers = self._headers(data)
        return MonitorSettings(
            kind=self._choices.settings.kind,
            url=_completed(data["url"]),
            interval_s=data["interval_s"],
            timeout_s=data["timeout_s"],
            regions=tuple(data["regions"]),
            profile=data["profile"],
            headers=headers,
            accepted_status=data["accepted_status"],
            body_text=data["body_text"],
            ignore_certificate_errors=data["ignore_certificate_errors"],
            unreadable=self._still_unreadable(written={"headers"} if headers else set()),
        )

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = choices

    def _still_unreadable(self, written: Set[str]) -> tuple[str, ...]:
        """What stays as it is stored although nobody can read it: the key may come back."""
        gone = UNREADABLE if self.cleaned_data.get("forget_unreadable") else written
        return tuple(name for name in self._choices.settings.unreadable if name not in gone)

    def _headers(self, data: dict[str, Any]) -> tuple[Header, ...]:
        gone = {name.lower() for name in data.get("remove_headers", ())} | {new.name.lower() for new in data["headers"]}
        kept = tuple(header for header in self._choices.settings.headers if header.name.lower() not in gone)
        added: tuple[Header, ...] = data["headers"]
        return kept + added


def _initial(settings: MonitorSettings) -> dict[str, Any]:
    return {
        "url": settings.url,
        "interval_s": settings.interval_s,
        "timeout_s": settings.timeout_s,
        "profile": settings.profile,
        "regions": list(settings.regions),
        "accepted_status": ", ".join(map(str, settings.accepted_status)),
        "body_text": settings.body_text,
        "ignore_certificate_errors": settings.ignore_certificate_errors,
    }


def _names(settings: MonitorSettings) -> list[str]:
    return list(dict.fromkeys(header.name for header in settings.headers))


def _completed(url: str) -> str:
    url = url.strip()
    return url if "://" in url else f"https://{url}"
