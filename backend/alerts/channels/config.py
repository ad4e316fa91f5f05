"""What a channel must know to be used: checked when it is typed, kept encrypted, never shown again."""

import base64
import re
import secrets
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from backend.alerts.hours import DAYS, Hours
from backend.alerts.models.channels import ChannelKind
from backend.faults import FieldFaultError
from backend.instants import time_zones
from backend.sites.targets import check_called
from workers.measurement.target import TargetError

MAX_ADDRESSES = 20
# Nobody is to hear of something on the next day who was not to be woken.
MAX_AFTER_S = 24 * 3600
# Standard Webhooks asks for 24 to 64 bytes.
_SECRET_BYTES = 32
_SECRET_PREFIX = "whsec_"
# What Slack gives out, and what is wrong with anything else. Without a secret there are no buttons.
_OF_SLACK_APPS = {
    "token": (re.compile(r"xoxb-[A-Za-z0-9-]{10,200}"), "A bot's token begins with xoxb-: copy all of it from Slack."),
    "conversation": (re.compile(r"[CDG][A-Z0-9]{7,30}"), "The ID of a Slack channel is such as C0123ABCDEF."),
    "signing_secret": (re.compile(r"([0-9a-f]{32})?"), "A signing secret has 32 digits and letters from a to f."),
}
_ROTATED_TOKEN = re.compile(r"xoxe[.-]")
# How long the old secret signs, too, so that the other side can change over in peace.
ROTATION = timedelta(hours=24)


class ChannelError(FieldFaultError):
    """A channel cannot be so. The text is a sentence for people; `field` is what it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A configuration that may be stored, and what of it may be shown."""

    config: dict[str, Any]
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a channel is to lead, as somebody typed it: of each kind what belongs to it.

    `url` of Slack's webhooks and others, `addresses` of e-mail; of a Slack app its bot's `token`, the ID of the
    `conversation` it writes to and, for buttons, the secret that Slack signs what is pressed with.
    """

    url: str = ""
    addresses: str = ""
    token: str = ""
    conversation: str = ""
    signing_secret: str = ""

    def __bool__(self) -> bool:
        return any(value.strip() for value in astuple(self))


def check(kind: ChannelKind, destination: Destination, *, before: Mapping[str, Any] | None = None) -> Checked:
    """The configuration of a channel; of a Slack app, what is left empty is as `before`. Raises ChannelError."""
    match kind:
        case ChannelKind.SLACK:
            return _slack(destination.url)
        case ChannelKind.SLACK_APP:
            return _slack_app(destination, before or {})
        case ChannelKind.EMAIL:
            return _email(destination.addresses)
        case ChannelKind.WEBHOOK:
            return _webhook(destination.url)


def check_timing(after_s: int, hours: Hours | None) -> None:
    """When a channel may be told. Raises ChannelError."""
    if not 0 <= after_s <= MAX_AFTER_S:
        raise ChannelError("after_s", f"It can be told 0 to {MAX_AFTER_S // 60:,} minutes later.")
    if hours is None:
        return
    if not hours.days or not set(hours.days) <= set(DAYS):
        raise ChannelError("hours", "Choose at least one day of the week.")
    if hours.time_zone not in time_zones():
        raise ChannelError("hours", "There is no such time zone; an example is Europe/Berlin.")


def new_secret() -> str:
    """A secret to sign with, in the form that libraries of Standard Webhooks read."""
    return _SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def rotated(config: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The configuration with a new secret; the old one signs beside it for a day."""
    return {
        **config,
        "secret": new_secret(),
        "old_secret": config.get("secret"),
        "old_secret_until": (now + ROTATION).isoformat(),
    }


def signing_secrets(config: Mapping[str, Any], now: datetime) -> list[str]:
    """The secrets that sign at this moment, newest first."""
    old, until = config.get("old_secret"), config.get("old_secret_until")
    current = [config["secret"]]
    return [*current, old] if old and until and datetime.fromisoformat(until) > now else current


def secret_bytes(secret: str) -> bytes:
    """What is signed with: the part behind the prefix, decoded."""
    return base64.b64decode(secret.removeprefix(_SECRET_PREFIX))


def _slack(url: str) -> Checked:
    text = _checked_url(url)
    parts = urlsplit(text)
    if f"{parts.scheme}://{parts.netloc}" not in settings.SLACK_ORIGINS:
        raise ChannelError("url", f"A Slack webhook begins with {settings.SLACK_ORIGINS[0]}/.")
    if len(parts.path) < 2:
        raise ChannelError("url", "The address is not complete: copy all of it from Slack.")
    return Checked(config={"url": text}, target=parts.netloc)


def _slack_app(destination: Destination, before: Mapping[str, Any]) -> Checked:
    given = {
        "token": destination.token.strip(),
        "conversation": destination.conversation.strip(),
        "signing_secret": destination.signing_secret.strip(),
    }
    config = {name: text or before.get(name, "") for name, text in given.items()}
    if _ROTATED_TOKEN.match(config["token"]):
        raise ChannelError("token", "This token ends within hours: switch token rotation off in the app's settings.")
    for name, (pattern, sentence) in _OF_SLACK_APPS.items():
        if not pattern.fullmatch(config[name]):
            raise ChannelError(name, sentence)
    return Checked(config=config, target=config["conversation"])


def _webhook(url: str) -> Checked:
    text = _checked_url(url)
    return Checked(config={"url": text, "secret": new_secret()}, target=urlsplit(text).netloc)


def _checked_url(url: str) -> str:
    if not url.strip():
        raise ChannelError("url", "Paste the address that is to be called.")
    try:
        return check_called(url).url
    except TargetError as error:
        raise ChannelError("url", str(error)) from error


def _email(addresses: str) -> Checked:
    found = list(dict.fromkeys(part for part in addresses.replace(",", " ").replace(";", " ").split()))
    if not found:
        raise ChannelError("addresses", "Give at least one e-mail address.")
    if len(found) > MAX_ADDRESSES:
        raise ChannelError("addresses", f"At most {MAX_ADDRESSES} addresses; use a mailing list for more.")
    for address in found:
        try:
            validate_email(address)
        except ValidationError:
            raise ChannelError("addresses", f"{address[:60]!r} is not an e-mail address.") from None
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return Checked(config={"addresses": found}, target=f"{found[0][:200]}{more}")
