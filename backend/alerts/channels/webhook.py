"""Signed webhooks by the Standard Webhooks specification (standardwebhooks.com)."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from backend.alerts.channels.config import secret_bytes, signing_secrets
from backend.alerts.channels.parcel import Outcome, Parcel, Sent, answered, unanswered
from backend.alerts.message import Event
from backend.outbound import Outbound, OutboundError

_TYPES = {Event.TEST: "channel.test", Event.CHANNEL_DISABLED: "channel.disabled", Event.WEEKLY: "report.weekly"}


def send(config: Mapping[str, Any], parcel: Parcel, outbound: Outbound) -> Sent:
    """Posts the parcel, signed by each secret that is in force. Never raises for what the other side does.

    2xx is taken as received and 410 as a wish to hear no more; everything else is tried again.
    """
    body = json.dumps(payload(parcel), separators=(",", ":")).encode()
    try:
        answer = outbound.post(config["url"], body, headers(parcel, body, signing_secrets(config, parcel.sent_at)))
    except OutboundError as error:
        return unanswered(error)
    if 200 <= answer.status < 300:
        return answered(answer, Outcome.DELIVERED, parcel.sent_at)
    return answered(answer, Outcome.GONE if answer.status == 410 else Outcome.RETRY, parcel.sent_at)


def payload(parcel: Parcel) -> dict[str, Any]:
    """What a program reads. `type` and `timestamp` are the specification's; the rest is ours."""
    item, message = parcel.items[0], parcel.first
    return {
        "type": _TYPES.get(message.event, f"incident.{message.event.value}"),
        "timestamp": message.at.isoformat().replace("+00:00", "Z"),
        "data": {
            "id": str(item.about),
            "sequence": item.sequence,
            "organisation": parcel.organisation,
            "severity": message.severity.value,
            "title": message.title,
            "sentences": list(message.sentences),
            "facts": [{"label": fact.label, "value": fact.value} for fact in message.facts],
            "context": list(message.context),
            "links": [{"label": link.label, "url": parcel.url(link.path)} for link in message.links],
            "details": dict(message.data),
        },
    }


def headers(parcel: Parcel, body: bytes, secrets: Iterable[str]) -> dict[str, str]:
    """Content type and the three headers of the specification; one signature for each secret."""
    name, seconds = f"msg_{parcel.id.hex}", _seconds(parcel.sent_at)
    signatures = " ".join(f"v1,{signature(secret, name, seconds, body)}" for secret in secrets)
    return {
        "Content-Type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": seconds,
        "webhook-signature": signatures,
    }


def signature(secret: str, name: str, seconds: str, body: bytes) -> str:
    """HMAC-SHA256 of `id.timestamp.body`, so that neither can be changed or sent again later."""
    signed = f"{name}.{seconds}.".encode() + body
    return base64.b64encode(hmac.new(secret_bytes(secret), signed, hashlib.sha256).digest()).decode()


def _seconds(at: datetime) -> str:
    return str(int(at.timestamp()))
