"""What there is in the words of the file: plain values, durations with their unit, and no secret. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from backend.alerts.models import Channel, ChannelKind, Maintenance, Rule
from backend.alerts.parameters import KINDS
from backend.compare.pairings import PairingDraft
from backend.sites.keeping import masked
from backend.sites.monitor_settings import MonitorSettings, defaults
from backend.sites.page_settings import stored
from backend.status.models import StatusPage
from workers.measurement.messages import Kind
from workers.measurement.script_text import KEPT

_SAME = ("url", "interval_s", "timeout_s", "profile", "body_text", "ignore_certificate_errors")
_LISTS = ("regions", "accepted_status", "user_timings")


def channel_document(channel: Channel) -> dict[str, Any]:
    """All of a channel but its secrets. One that was switched off because the other side is gone is meant to be on."""
    document = {
        "name": channel.name,
        "kind": channel.kind,
        "after_s": channel.after_s,
        "hours": channel.hours,
        "weekly_report": channel.weekly,
        "enabled": channel.enabled or bool(channel.disabled_reason),
    }
    is_app = channel.kind == ChannelKind.SLACK_APP
    return document | ({"slack_app": {"conversation": channel.target}} if is_app else {})


def usual_channel() -> dict[str, Any]:
    """The same of a new one, but its name, its kind and where it leads."""
    return {"after_s": 0, "hours": None, "weekly_report": False, "enabled": True}


def monitor_document(settings: MonitorSettings, *, paused: bool) -> dict[str, Any]:
    """All of a probe or page, and of a page's options those that are not as usual."""
    settings = masked(settings)
    document = {name: getattr(settings, name) for name in _SAME}
    document |= {name: list(getattr(settings, name)) for name in _LISTS}
    document["headers"] = [{"name": header.name} for header in settings.headers]
    document["paused"] = paused
    return document | {name: _told(value) for name, value in stored(settings.page).items()}


def usual_monitor(kind: Kind, url: str) -> dict[str, Any]:
    """The same of one that nobody has changed."""
    return monitor_document(defaults(kind, url), paused=False)


def pair_document(draft: PairingDraft, *, paused: bool) -> dict[str, Any]:
    return {
        "cdn_url": draft.cdn_url,
        "origin": draft.origin,
        "interval_s": draft.interval_s,
        "regions": list(draft.regions),
        "ignore_certificate_errors": draft.ignore_certificate_errors,
        "paused": paused,
    }


def usual_pair() -> dict[str, Any]:
    """The same of a new one, which has no addresses yet."""
    return pair_document(PairingDraft(cdn_url="", origin=""), paused=False)


def rule_document(rule: Rule) -> dict[str, Any]:
    """All of a rule but its place. Its channels must have been fetched."""
    return {
        "kind": rule.kind,
        "name": rule.name,
        "params": dict(rule.params),
        "severity": rule.severity,
        "channels": sorted(channel.name for channel in rule.channels.all()),
        "notify": rule.notify,
        "enabled": rule.enabled,
        "delay_s": rule.delay_s,
        "remind_every_s": rule.remind_every_s,
    }


def usual_rule(kind: str) -> dict[str, Any]:
    """The same of a new one of the kind, but its parameters, which say what it is about."""
    plain = {"name": "", "channels": [], "notify": True, "enabled": True, "delay_s": 0, "remind_every_s": None}
    return {"severity": KINDS[kind].severity} | plain


def window_document(window: Maintenance) -> dict[str, Any]:
    """All of a time of maintenance but its place."""
    return {"starts_at": _instant(window.starts_at), "ends_at": _instant(window.ends_at), "reason": window.reason}


def usual_window() -> dict[str, Any]:
    """The same of a new one, but its times, which say what it is about."""
    return {"reason": ""}


def page_document(page: StatusPage) -> dict[str, Any]:
    """All of a status page. Its sites must have been fetched."""
    return {"slug": page.slug, "title": page.title, "sites": sorted({site.name for site in page.sites.all()})}


def without_usual(document: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """What of a document has to be said."""
    return {name: value for name, value in document.items() if name not in usual or value != usual[name]}


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _told(value: Any) -> Any:
    """A stored value without what stands for a secret, and without what is not set."""
    if isinstance(value, list):
        return [_told(one) for one in value]
    if isinstance(value, dict):
        return {name: one for name, one in value.items() if one is not None and one != KEPT}
    return value
