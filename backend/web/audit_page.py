"""The audit log in words: who did what to what, and what is known of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.forms import Form

from backend.accounts.audit_log import Act
from backend.accounts.sign_ins import REFUSED
from backend.web.forms.cdn import PairingForm
from backend.web.forms.sites import MonitorForm
from backend.web.times import as_read, exact
from backend.web.waterfall.text import printable

# What acts are about, as the database names it and as pages do.
KINDS = {
    "site": "Sites",
    "monitor": "Monitors",
    "deploy": "Deploys",
    "gate": "Gates",
    "experiment": "Loads without hosts",
    "pairing": "CDN comparisons",
    "upload": "Imports",
    "sharedrun": "Shared runs",
    "statuspage": "Status pages",
    "announcement": "Announcements",
    "wall": "Walls",
    "rule": "Alert rules",
    "incident": "Incidents",
    "channel": "Channels",
    "maintenance": "Maintenance",
    "region": "Regions",
    "membership": "Members",
    "apitoken": "Tokens",
    "user": "Sign-ins and passwords",
    "organisation": "Organisation",
}
# Acts whose name says less than a person would.
_SAID = {
    "create_draft": "tested a new site",
    "activate_site": "saved a site",
    "choose_host_role": "said what a host is",
    "load_elsewhere": "loaded the page with a host elsewhere",
    "stop_sharing": "stopped sharing a run",
    "show_wall": "made a link to the wall",
    "take_wall_down": "stopped showing the wall",
    "change_dependencies": "changed what a site relies on",
    "start_experiment": "asked what hosts cost a page",
    "record_deploy": "told of a deploy",
    "announce": "told visitors",
    "update_announcement": "told visitors how it goes on",
    "create_pairing": "added a CDN comparison",
    "change_pairing": "changed a CDN comparison",
    "delete_pairing": "deleted a CDN comparison",
    "import_file": "imported a file",
    "change_role": "changed a role",
    "rotate_token": "gave a region a new token",
    "rotate_channel_secret": "gave a channel a new secret",
    "comment_incident": "commented on an incident",
    "plan_maintenance": "planned maintenance",
    "change_maintenance": "changed maintenance",
    "end_maintenance": "ended maintenance",
    "sign_in": "signed in",
    "sign_out": "signed out",
    "refuse_sign_in": "failed to sign in",
    "enable_second_factor": "switched on the second factor",
    "disable_second_factor": "switched off the second factor",
    "add_passkey": "added a passkey",
    "remove_passkey": "removed a passkey",
    "renew_recovery_codes": "made new recovery codes",
    "connect_single_sign_on": "connected single sign-on",
    "disconnect_single_sign_on": "disconnected single sign-on",
}
_PAST = {
    "create": "made",
    "add": "added",
    "change": "changed",
    "delete": "deleted",
    "remove": "removed",
    "rename": "renamed",
    "pause": "paused",
    "resume": "resumed",
    "enable": "switched on",
    "disable": "switched off",
    "test": "tested",
    "revoke": "revoked",
    "share": "shared",
    "cancel": "cancelled",
}
_VOWELS = "aeiou"
# By which of its details an act is told, and which are told in places of their own.
_NAMES = ("name", "email", "code", "file")
_ELSEWHERE = frozenset({"before", "after", "token", *_NAMES})
_MAX_VALUE_CHARS = 200
# What forms call a setting, where that is a name within a line too: “Every … seconds” is none.
_FORMS: tuple[tuple[type[Form], tuple[str, ...]], ...] = (
    (MonitorForm, ("url", "profile", "accepted_status", "body_text")),
    (PairingForm, ("cdn_url",)),
)
_LABELS = {
    name: label[:1].lower() + label[1:]
    for form, names in _FORMS
    for name in names
    if (label := str(form.base_fields[name].label))
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One act as the page tells it. Of a refusal nobody knows who it was, only whose account was asked for."""

    act: Act
    said: str
    is_of_actor: bool
    name: str
    details: tuple[str, ...]
    token: str


def lines_of(acts: Sequence[Act], names: Mapping[str, str]) -> list[Line]:
    """`names` are those of what acts were about, by its id, where they are known."""
    return [
        Line(
            act=act,
            said=said(act.action),
            is_of_actor=act.action != REFUSED,
            name=_name(act, names),
            details=tuple(_details(act.detail, names)),
            token=_value(act.detail.get("token", "")),
        )
        for act in acts
    ]


def ids_in(acts: Sequence[Act]) -> list[str]:
    """Of which sites and monitors the names are worth knowing."""
    about = [act.object_id for act in acts if act.object_type in ("site", "monitor")]
    return about + [str(act.detail["site"]) for act in acts if _is_id(act.detail.get("site"))]


def said(action: str) -> str:
    """`deleted a site` for delete_site."""
    if action in _SAID:
        return _SAID[action]
    verb, _, noun = action.partition("_")
    past = _PAST.get(verb, verb)
    return f"{past} {'an' if noun[:1] in _VOWELS else 'a'} {noun.replace('_', ' ')}"


def _name(act: Act, names: Mapping[str, str]) -> str:
    told = next((act.detail[key] for key in _NAMES if act.detail.get(key)), None)
    return _value(told if told is not None else names.get(act.object_id, ""))


def _details(detail: Mapping[str, object], names: Mapping[str, str]) -> Iterator[str]:
    """What else is known, without what the line tells already."""
    for key, value in detail.items():
        if key not in _ELSEWHERE and value not in ("", None, [], {}):
            told = _at(value) if key.endswith("_at") else names.get(str(value)) or _value(value)
            if key == "changed" and isinstance(value, list):
                told = ", ".join(_field(str(one)) for one in value)
            yield f"{_field(key)}: {told}"
    if "before" in detail and "after" in detail:
        yield from _changes(detail["before"], detail["after"])


def _field(name: str) -> str:
    """A setting as its form calls it, or nearly: `interval_s` is the interval."""
    if name in _LABELS:
        return _LABELS[name]
    return printable(name.removesuffix("_s").replace("_", " "), _MAX_VALUE_CHARS)


def _at(value: object) -> str:
    """A time as the log keeps it, on the reader's clock."""
    try:
        return exact(datetime.fromisoformat(str(value)))
    except ValueError:
        return _value(value)


def _changes(before: object, after: object) -> Iterator[str]:
    if not isinstance(before, dict) or not isinstance(after, dict):
        yield f"{_value(before)} → {_value(after)}"
        return
    for key, value in after.items():
        if before.get(key) != value:
            yield f"{key}: {_value(before.get(key))} → {_value(value)}"


def _is_id(value: object) -> bool:
    try:
        return bool(UUID(str(value)))
    except ValueError:
        return False


def _value(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_value(one) for one in value)
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
    return as_read(printable(text, _MAX_VALUE_CHARS))
