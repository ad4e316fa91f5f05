"""What a rule would have told in the last two weeks, for the page on which it is written."""

import json
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from django.core.cache import cache
from django.utils import timezone

from backend.accounts.models import Organisation
from backend.alerts.actions.rules import RuleSettings
from backend.sites.models import Monitor, Site
from backend.web import units

if TYPE_CHECKING:
    from backend.alerts.preview import Preview

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
        return Tried(title="This rule cannot be tried on the past", text=found.reason)
    if not found.runs:
        return Tried(title="There is nothing to try it on yet", text="No run of the last 14 days concerns it.")
    days = max(1, round((now - found.since).total_seconds() / 86_400))
    count = f"{units.count(found.alerts)} alert{'' if found.alerts == 1 else 's'}"
    latest = found.moments[-SHOWN:][::-1]
    return Tried(
        title=f"Would have sent {count} in the last {days} day{'s' if days > 1 else ''}",
        text=f"Tried on {units.count(found.runs)} runs; nothing was stored." + (" The latest:" if latest else ""),
        moments=latest,
    )


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
