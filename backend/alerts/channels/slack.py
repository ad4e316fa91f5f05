"""Slack's incoming webhooks.

Slack's client is not used: it resolves the host by itself, follows redirects and uses the environment's proxies, so it
would go round the guard, and it logs the secret address.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from backend.alerts.channels.parcel import Outcome, Parcel, Sent, answered, unanswered
from backend.alerts.channels.slack_blocks import payload
from backend.outbound import Answer, Outbound, OutboundError

# Slack says what is wrong in one word. A page is from something else that stands in its place, and may be gone soon.
_SLACKS_WORD = re.compile(rb"\s*[a-z]+(_[a-z]+)+\s*")
_REVOKED = (b"invalid_token", b"token_revoked")


def send(config: Mapping[str, Any], parcel: Parcel, outbound: Outbound) -> Sent:
    """Posts the parcel. Never raises for what the other side does."""
    body = json.dumps(payload(parcel), separators=(",", ":")).encode()
    try:
        answer = outbound.post(config["url"], body, {"Content-Type": "application/json; charset=utf-8"})
    except OutboundError as error:
        return unanswered(error)
    if 200 <= answer.status < 300:
        return answered(answer, Outcome.DELIVERED, parcel.sent_at)
    outcome = Outcome.GONE if _is_gone(answer) else Outcome.RETRY
    if answer.status == 400 and parcel.plain:
        # The plain form was refused, too: no further try can be any simpler.
        outcome = Outcome.REFUSED
    return answered(answer, outcome, parcel.sent_at)


def _is_gone(answer: Answer) -> bool:
    """Whether Slack itself says that it will take nothing any more at this address."""
    if answer.status == 403:
        return answer.body.strip() in _REVOKED
    return answer.status in (404, 410) and _SLACKS_WORD.fullmatch(answer.body) is not None
