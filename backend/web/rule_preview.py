"""What a rule would have told in the last two weeks, for the page on which it is written."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from django.core.cache import cache
from django.utils import timezone

from backend.accounts.models import Organisation
from backend.alerts.actions.rules import RuleSettings
from backend.sites.models import Monitor, Site
from backend.web import units
from backend.web.phrases import number_of

if TYPE_CHECKING:
    from backend.alerts.previewed import Kept, Preview

# Less than this is said to be so.
_WHOLE = timedelta(days=13)
# A rule that tells more often than this in two weeks is one that people learn to ignore.
LOUD = 14
# Trying a rule reads up to 60,000 runs: the same rule is not tried again for a while, nor two rules at once.
KEPT_S, LONGEST_S = 300, 30
SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """The sentence, and when the latest alerts would have been."""

    title: str
    text: str = ""
    moments: tuple[datetime, ...] = ()


def tried(
    organisation: Organisation, settings: RuleSettings, *, site: Site | None, monitor: Monitor | None = None
) -> Tried:
    """Tries settings that are valid. Raises InvalidRuleError for others."""
    key = _key(organisation, settings, site, monitor)
    found: Preview | None = cache.get(key)
    if found is None:
        busy = f"rule-preview-{organisation.pk}"
        if not cache.add(busy, 1, LONGEST_S):
            return Tried(title="Another rule is being tried", text="Ask again in a moment.")
        try:
            found = _try(organisation, settings, site, monitor)
            cache.set(key, found, KEPT_S)
        finally:
            cache.delete(busy)
    return sentence(found, timezone.now())


def sentence(found: "Preview", now: datetime) -> Tried:
    """What came of it, in words."""
    if found.alerts is None:
        return Tried(title="Nothing is known of this yet", text=found.reason)
    if not found.runs:
        return Tried(title="There is nothing to try it on yet", text="No run of the last 14 days concerns it.")
    latest = found.moments[-SHOWN:][::-1]
    runs = "1 run" if found.runs == 1 else f"{units.count(found.runs)} runs"
    text = found.reason or f"Tried on {runs}; nothing was stored."
    return Tried(
        title=f"Would have sent {_alerts(found)} in the last {_days(found, now)}",
        text=text + (" The latest:" if latest else ""),
        moments=latest,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a list says of a rule: `at` is when it was worked out."""

    text: str
    is_loud: bool = False
    at: datetime | None = None


def cell_of(kept: "Kept | None", now: datetime) -> Cell:
    """Of the last two weeks, in a word or two."""
    if kept is None:
        return Cell(text="being worked out")
    found = kept.preview
    if found.alerts is None or not found.runs:
        return Cell(text="nothing to try it on yet", at=kept.at)
    since = "" if now - found.since > _WHOLE else f" in the last {_days(found, now)}"
    text = f"{_alerts(found)}{since}" if found.alerts else f"no alert{since}"
    return Cell(text=text, is_loud=found.alerts > LOUD, at=kept.at)


def _alerts(found: "Preview") -> str:
    return number_of(found.alerts or 0, "alert")


def _days(found: "Preview", now: datetime) -> str:
    """Hours, where there is less than a day and a half."""
    hours = max(1, round((now - found.since).total_seconds() / 3_600))
    if hours < 36:
        return "hour" if hours == 1 else f"{hours} hours"
    return f"{round(hours / 24)} days"


def _try(organisation: Organisation, settings: RuleSettings, site: Site | None, monitor: Monitor | None) -> "Preview":
    # It brings numpy along, which a web process carries only once somebody tries a rule.
    from backend.alerts.preview import preview  # noqa: PLC0415

    return preview(
        organisation,
        kind=settings.kind,
        params=settings.params,
        delay_s=settings.delay_s,
        site=site,
        monitor=monitor,
    )


def _key(organisation: Organisation, settings: RuleSettings, site: Site | None, monitor: Monitor | None) -> str:
    parts = [
        organisation.pk,
        site and site.pk,
        monitor and monitor.pk,
        settings.kind,
        dict(settings.params),
        settings.delay_s,
    ]
    return f"rule-preview-{sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()}"
