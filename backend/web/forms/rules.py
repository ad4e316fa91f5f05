"""Forms about rules and maintenance. They read text; the rules themselves are `alerts.parameters`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms

from backend.alerts.actions.rules import RuleSettings
from backend.alerts.message import Severity
from backend.alerts.metrics import METRICS, metric_of
from backend.alerts.models import Channel
from backend.alerts.models.rules import MAX_REASON_CHARS, MAX_RULE_NAME_CHARS
from backend.alerts.parameters import KINDS, InvalidRuleError
from backend.sites.models import Site
from backend.web.forms.clock import ClockField
from workers.diagnosis.catalogue import entry
from workers.measurement.finding import FindingId
from workers.measurement.finding import Severity as CauseSeverity

_REMINDERS = [
    ("", "never"),
    ("900", "every 15 min"),
    ("3600", "every hour"),
    ("14400", "every 4 h"),
    ("86400", "every day"),
]
_TELL = [("slowdown", "at once, as soon as it is sure"), ("regression", "only once it has lasted")]
_LABELS = {
    "confirm": "Ask another region before a failure counts, and again until it is over",
    "failed": "Failed runs",
    "of_last": "Of the last … runs",
    "regions": "In at least … regions",
    "metric": "Metric",
    "limit": "Limit",
    "critical_limit": "Critical limit",
    "warn_days": "Days before the end",
    "critical_days": "Critical from … days",
    "intervals": "Missing intervals",
    "metrics": "Metrics",
    "min_change_pct": "Smallest change in %",
    "tell": "Tell",
    "silent_s": "Seconds of silence",
    "min_severity": "From this severity on",
    "ids": "Only these causes",
    "found": "Deep probes, or page loads, that found it",
}
_LABELS_OF_KIND = {
    ("budget", "of_last"): "Median of the last … runs",
    ("budget", "regions"): "Over in at least … regions",
    ("finding", "of_last"): "Of the last … deep probes, or page loads",
    ("finding", "regions"): "Found in at least … regions",
}
_OPTIONAL = frozenset({"critical_limit"})
_SEVERITIES = [
    (CauseSeverity.CRITICAL.value, "critical: visitors fail"),
    (CauseSeverity.HIGH.value, "high: a round trip or 200 ms on every new visit"),
    (CauseSeverity.MEDIUM.value, "medium: on some visits, or 50 ms"),
    (CauseSeverity.LOW.value, "low"),
    (CauseSeverity.INFO.value, "info: could be better"),
]
_CAUSES = [(id.value, entry(id).title) for id in FindingId]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChoices:
    """What the form needs beside the text: the settings now, and the channels and sites there are.

    Without `sites` the rule keeps its place. `user_timings` are those that are followed there.
    """

    settings: RuleSettings
    channels: Sequence[Channel]
    sites: Sequence[Site] | None = None
    user_timings: Sequence[str] = ()


class RuleForm(forms.Form):
    """One rule of one kind: where, what, how loud, and who is told."""

    def __init__(self, data: Any = None, *, choices: RuleChoices) -> None:
        super().__init__(data)
        self._choices = choices
        settings = choices.settings
        if choices.sites is not None and not KINDS[settings.kind].of_organisation:
            self.fields["site"] = forms.ChoiceField(label="Site", required=False, choices=_sites(choices.sites))
        params = {**KINDS[settings.kind].defaults, **settings.params}
        for name, value in params.items():
            label = _LABELS_OF_KIND.get((settings.kind, name))
            self.fields[f"param_{name}"] = _field(name, value, label, choices.user_timings)
        self.fields |= _common(settings, choices.channels)

    def settings(self) -> RuleSettings:
        """What was written, unjudged. Only after `is_valid`."""
        data, before = self.cleaned_data, self._choices.settings
        chosen = set(data["channels"])
        return RuleSettings(
            kind=before.kind,
            params={name: data[f"param_{name}"] for name in KINDS[before.kind].defaults},
            name=data["name"],
            severity=data["severity"],
            channels=[channel for channel in self._choices.channels if str(channel.public_id) in chosen],
            notify=data["notify"],
            enabled=before.enabled,
            delay_s=data["delay_min"] * 60,
            remind_every_s=int(data["remind"]) if data["remind"] else None,
        )

    def chosen_site(self) -> Site | None:
        """The site that was chosen; None for all. Only after `is_valid`."""
        wanted = self.cleaned_data.get("site", "")
        return next((site for site in self._choices.sites or () if str(site.public_id) == wanted), None)

    def add_faults(self, error: InvalidRuleError) -> None:
        """Puts each sentence at its field."""
        names = {"delay_s": "delay_min", "remind_every_s": "remind"}
        for field, sentence in error.faults.items():
            name = names.get(field, field.replace("params.", "param_"))
            self.add_error(name if name in self.fields else None, self._in_words(sentence))

    def _in_words(self, sentence: str) -> str:
        """With the labels of fields for the names of parameters, which are those of the API."""
        for field, shown in self.fields.items():
            name = field.removeprefix("param_")
            told = f"“{shown.label}”"
            sentence = sentence.replace(name, told) if "_" in name else re.sub(rf"^{name}\b", told, sentence)
        return sentence


class KindForm(forms.Form):
    """The first step of a new rule."""

    kind = forms.ChoiceField(
        label="What would wake you?", choices=[(name, f"{kind.label}: {kind.question}") for name, kind in KINDS.items()]
    )


class MaintenanceForm(forms.Form):
    """A time in which nothing is told, in the person's own time zone."""

    site = forms.ChoiceField(label="Site", required=False)
    starts_at = ClockField(label="From")
    ends_at = ClockField(label="To", later=True)
    reason = forms.CharField(label="Reason", max_length=MAX_REASON_CHARS, required=False)

    def __init__(self, data: Any = None, *, sites: Sequence[Site]) -> None:
        super().__init__(data)
        self._sites = sites
        field = self.fields["site"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = _sites(sites)

    def chosen_site(self) -> Site | None:
        """The site that was chosen; None for all. Only after `is_valid`."""
        wanted = self.cleaned_data["site"]
        return next((site for site in self._sites if str(site.public_id) == wanted), None)


def _sites(sites: Sequence[Site]) -> list[tuple[str, str]]:
    return [("", "all sites"), *((str(site.public_id), site.name) for site in sites)]


def _metrics(user_timings: Sequence[str], chosen: object) -> list[tuple[str, str]]:
    """With what a rule goes by already, though nobody follows it any more."""
    mine = [chosen] if isinstance(chosen, str) else chosen if isinstance(chosen, list) else []
    metrics = map(metric_of, dict.fromkeys((*METRICS, *user_timings, *mine)))
    return [(metric.name, f"{metric.label} ({metric.unit})" if metric.unit else metric.label) for metric in metrics]


def _field(name: str, value: object, own_label: str | None, user_timings: Sequence[str]) -> forms.Field:
    """A field for a parameter, by what it holds."""
    label, is_required = own_label or _LABELS.get(name, name), name not in _OPTIONAL
    if name == "tell":
        return forms.ChoiceField(label=label, choices=_TELL, initial=value)
    if name == "metric":
        return forms.ChoiceField(label=label, choices=_metrics(user_timings, value), initial=value)
    if name == "metrics":
        return forms.MultipleChoiceField(
            label=label, choices=_metrics(user_timings, value), initial=value, widget=forms.CheckboxSelectMultiple
        )
    if name == "min_severity":
        return forms.ChoiceField(label=label, choices=_SEVERITIES, initial=value)
    if name == "ids":
        return forms.MultipleChoiceField(
            label=label,
            choices=_CAUSES,
            initial=value,
            required=False,
            widget=forms.SelectMultiple(attrs={"size": 8}),
            help_text="None chosen means all.",
        )
    if isinstance(value, bool):
        return forms.BooleanField(label=label, initial=value, required=False)
    if name in ("limit", "critical_limit", "min_change_pct"):
        help_text = "" if is_required else "Left empty, there is none."
        return forms.FloatField(label=label, initial=value, required=is_required, help_text=help_text)
    return forms.IntegerField(label=label, initial=value, required=is_required)


def _common(settings: RuleSettings, channels: Sequence[Channel]) -> dict[str, forms.Field]:
    severity = settings.severity or KINDS[settings.kind].severity
    return {
        "severity": forms.ChoiceField(
            label="Severity", choices=[(one.value, one.value) for one in Severity], initial=severity
        ),
        "notify": forms.BooleanField(
            label="Tell channels",
            required=False,
            initial=settings.notify,
            help_text="Unticked, it opens incidents on the page and tells nobody.",
        ),
        "channels": forms.MultipleChoiceField(
            label="Channels",
            required=False,
            choices=[(str(channel.public_id), channel.name) for channel in channels],
            initial=[str(channel.public_id) for channel in settings.channels],
            widget=forms.CheckboxSelectMultiple,
            help_text="None ticked means all channels, also those added later.",
        ),
        "delay_min": forms.IntegerField(
            label="Tell after … minutes",
            min_value=0,
            max_value=1_440,
            initial=settings.delay_s // 60,
            help_text="How long it has to last before anybody is told. 0 tells as soon as it is sure.",
        ),
        "remind": forms.ChoiceField(
            label="Remind",
            required=False,
            choices=_REMINDERS,
            initial=str(settings.remind_every_s or ""),
            help_text="While nobody has acknowledged it.",
        ),
        "name": forms.CharField(label="Name", max_length=MAX_RULE_NAME_CHARS, required=False, initial=settings.name),
    }
