"""What there is, as a file would say it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from backend.accounts.models import Organisation
from backend.alerts.models import Maintenance, Rule
from backend.compare.actions import draft_of
from backend.compare.models import Pairing
from backend.declared.channels import known_channels
from backend.declared.dependencies import names_of
from backend.declared.documents import (
    channel_document,
    monitor_document,
    page_document,
    pair_document,
    rule_document,
    usual_channel,
    usual_monitor,
    usual_pair,
    usual_rule,
    usual_window,
    window_document,
    without_usual,
)
from backend.declared.there import There
from backend.sites.models import Monitor, Site
from backend.sites.monitor_settings import stored_settings
from backend.sites.targets import canonical_url
from workers.measurement.messages import Kind

_AMBIGUOUS = "{} sites are called {}: give all but one another name, since a file knows them by it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A declaration of all that is measured, without secrets; `remarks` say what could not be told."""

    sites: tuple[Mapping[str, Any], ...]
    rules: tuple[Mapping[str, Any], ...]
    maintenance: tuple[Mapping[str, Any], ...]
    status_pages: tuple[Mapping[str, Any], ...]
    channels: tuple[Mapping[str, Any], ...]
    remarks: tuple[str, ...]


def export(organisation: Organisation) -> Exported:
    """All sites with what is not as usual of them. Carried out, it changes nothing. At most eleven statements."""
    there = There(organisation, timezone.now())
    names = Counter(site.name for site in there.sites)
    remarks = [_AMBIGUOUS.format(number, name) for name, number in names.items() if number > 1]
    return Exported(
        sites=tuple(_site(there, site, remarks) for site in there.sites),
        rules=tuple(_rule(rule, {}) for rule in there.rules_of(None)),
        maintenance=tuple(_window(window) for window in there.windows_of(None)),
        status_pages=tuple(page_document(page) for page in there.pages),
        channels=tuple(
            without_usual(channel_document(channel), usual_channel()) for channel in known_channels(organisation)
        ),
        remarks=tuple(remarks),
    )


def _site(there: There, site: Site, remarks: list[str]) -> dict[str, Any]:
    told: dict[str, Any] = {"name": site.name, "url": site.url}
    for monitor in there.monitors_of(site):
        settings = stored_settings(monitor)
        if settings.unreadable:
            remarks.append(f"The {monitor.kind} of {site.name} is left out: what it keeps secret cannot be read.")
            continue
        usual = usual_monitor(settings.kind, canonical_url(site.url, settings.kind))
        told[monitor.kind] = without_usual(monitor_document(settings, paused=monitor.paused), usual)
    pairings = there.pairings_of(site)
    pairs = {pairing.monitor_id: pairing.name for pairing in pairings}
    told |= {
        "relies_on": names_of(site),
        "pairs": [_pair(pairing) for pairing in pairings],
        "rules": [_rule(rule, pairs) for rule in there.rules_of(site)],
    }
    # A list that is written is all that there shall be: an empty one would speak against what people plan by hand.
    seldom = {
        "hosts": [{"name": host.name, "role": host.chosen} for host in there.hosts_of(site)],
        "maintenance": [_window(window) for window in there.windows_of(site)],
    }
    return told | {name: found for name, found in seldom.items() if found}


def _pair(pairing: Pairing) -> dict[str, Any]:
    document = pair_document(draft_of(pairing), paused=pairing.monitor.paused)
    return {"name": pairing.name} | without_usual(document, usual_pair())


def _rule(rule: Rule, pairs: Mapping[int, str]) -> dict[str, Any]:
    document = without_usual(rule_document(rule), usual_rule(rule.kind))
    return document | _place(rule.monitor, pairs)


def _window(window: Maintenance) -> dict[str, Any]:
    return without_usual(window_document(window), usual_window())


def _place(monitor: Monitor | None, pairs: Mapping[int, str]) -> dict[str, str]:
    if monitor is None:
        return {}
    return {"pair": pairs[monitor.pk]} if monitor.kind == Kind.PAIR else {"monitor": monitor.kind}
