"""What somebody pressed in Slack: the buttons under a message, and Slack's signature of the call that tells of it.

Pure. Nothing of a call may be believed before its signature was verified, but for whose secret that needs.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from slack_sdk.signature import Clock, SignatureVerifier

from backend.alerts.message import clean

MAX_NAME_CHARS = 60
_VALUE = re.compile(r"([0-9a-f-]{36}):([0-9a-f-]{36})")


class Deed(StrEnum):
    """What a button does; its `action_id` in Slack."""

    ACKNOWLEDGE = "acknowledge"
    MUTE = "mute-an-hour"


LABELS = {Deed.ACKNOWLEDGE: "Acknowledge", Deed.MUTE: "Mute for an hour"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """`who` is how Slack calls the person, `answer_url` where an answer is taken, `ts` the message's thread."""

    deed: Deed
    channel: UUID
    incident: UUID
    who: str
    answer_url: str
    ts: str


def value_of(channel: UUID, incident: UUID) -> str:
    """What a button carries."""
    return f"{channel}:{incident}"


def read_press(body: bytes) -> Press | None:
    """What was pressed; None for all that is none of `Deed`, such as a button that opens a page."""
    try:
        told = json.loads(parse_qs(body.decode(), max_num_fields=8)["payload"][0])
        action = told["actions"][0]
        deed, (channel, incident) = Deed(action["action_id"]), _objects(action["value"])
        return Press(
            deed=deed,
            channel=channel,
            incident=incident,
            who=_name(told["user"]),
            answer_url=str(told.get("response_url", "")),
            ts=_thread(told),
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def is_signed(body: bytes, headers: Mapping[str, str], secret: str, *, now_s: float) -> bool:
    """Whether Slack's signature is of this body, by this secret, and at most five minutes old."""
    stamp, signature = headers.get("X-Slack-Request-Timestamp", ""), headers.get("X-Slack-Signature", "")
    if not (secret and stamp.isascii() and stamp.isdecimal() and len(stamp) <= 12 and signature.isascii()):
        return False
    try:
        return SignatureVerifier(secret, _At(now_s)).is_valid(body, stamp, signature)
    except UnicodeDecodeError:
        return False


class _At(Clock):
    def __init__(self, now_s: float) -> None:
        self._now_s = now_s

    def now(self) -> float:
        return self._now_s


def _objects(value: str) -> tuple[UUID, UUID]:
    found = _VALUE.fullmatch(value)
    if found is None:
        raise ValueError(value)
    return UUID(found[1]), UUID(found[2])


def _name(user: Mapping[str, Any]) -> str:
    name = clean(str(user.get("username") or user.get("name") or user["id"]), MAX_NAME_CHARS)
    return name or "somebody"


def _thread(told: Mapping[str, Any]) -> str:
    message = told["message"]
    return str(message.get("thread_ts") or message["ts"])
