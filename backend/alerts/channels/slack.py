"""Slack's incoming webhooks, in Block Kit.

The blocks are slack_sdk's own models, which hold its limits. Its client is not used: it resolves the host by itself,
follows redirects and uses the environment's proxies, so it would go round the guard, and it logs the secret address.

Nothing of ours is Slack's markup: every text is `plain_text` and escaped besides, so that no name of a site or a rule
can mention a channel, hide a link, or look like another part of the message.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from slack_sdk.models.blocks import (
    ActionsBlock,
    Block,
    ButtonElement,
    ContextBlock,
    HeaderBlock,
    PlainTextObject,
    SectionBlock,
)

from backend.alerts.channels.parcel import Outcome, Parcel, Sent, answered, unanswered
from backend.alerts.message import GOOD_NEWS, Message, Severity
from backend.outbound import Answer, Outbound, OutboundError
from workers.measurement.idn import readable

# Slack's limits are 150 (header), 3000 (section), 2000 (field), 75 (button); the message must stay below 3000 in all.
HEADER_CHARS, SECTION_CHARS, FACT_CHARS, CONTEXT_CHARS, BUTTON_CHARS, URL_CHARS = 150, 800, 100, 150, 30, 150
TEXT_CHARS = 300
MAX_FACTS, MAX_CONTEXT, MAX_BUTTONS, MAX_LISTED = 6, 2, 4, 10
LINE_CHARS = 80

# The worst first.
_MARKS = {Severity.CRITICAL: "🔴", Severity.WARNING: "🟠", Severity.INFO: "🔵"}
_GREEN = "🟢"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
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


def payload(parcel: Parcel) -> dict[str, Any]:
    """The message as Slack takes it: at most 8 blocks and 3000 characters, with a text for notifications."""
    text = escape(_headline(parcel), TEXT_CHARS)
    plain = {"text": text, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}
    if parcel.plain:
        return plain
    blocks = _digest(parcel) if parcel.is_digest else _message(parcel)
    return {**plain, "blocks": [block.to_dict() for block in blocks]}


def escape(text: str, limit: int) -> str:
    """Slack's three special characters as entities, cut so that no entity is broken and the limit holds. Names of hosts
    are as people write them.
    """
    pieces = [_ENTITIES.get(char, char) for char in readable(text)]
    if sum(map(len, pieces)) <= limit:
        return "".join(pieces)
    kept, room = [], limit - 1
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept).rstrip() + "…"


def _headline(parcel: Parcel) -> str:
    return f"{_worst_mark(parcel)} {parcel.title}"


def _mark(message: Message) -> str:
    return _GREEN if message.event in GOOD_NEWS else _MARKS[message.severity]


def _worst_mark(parcel: Parcel) -> str:
    """Good news alone are green, whichever came first."""
    marks = {_mark(item.message) for item in parcel.items}
    return next((mark for mark in _MARKS.values() if mark in marks), _GREEN)


def _message(parcel: Parcel) -> list[Block]:
    """Header, what is known, figures, small print, buttons: at most five blocks."""
    message = parcel.first
    blocks: list[Block] = [HeaderBlock(text=_plain(_headline(parcel), HEADER_CHARS))]
    if message.sentences:
        blocks.append(SectionBlock(text=_plain("\n".join(message.sentences), SECTION_CHARS)))
    if message.facts:
        facts = message.facts[:MAX_FACTS]
        blocks.append(SectionBlock(fields=[_plain(f"{fact.label}: {fact.value}", FACT_CHARS) for fact in facts]))
    if message.context:
        blocks.append(ContextBlock(elements=[_plain(text, CONTEXT_CHARS) for text in message.context[:MAX_CONTEXT]]))
    return blocks + _buttons(parcel)


def _digest(parcel: Parcel) -> list[Block]:
    """One message for many: their titles, and where to see all."""
    shown = [item.message for item in parcel.items[:MAX_LISTED]]
    lines = [escape(f"{_mark(message)} {message.title}", LINE_CHARS) for message in shown]
    more = len(parcel.items) - len(shown)
    if more:
        lines.append(f"and {more} more")
    return [
        HeaderBlock(text=_plain(_headline(parcel), HEADER_CHARS)),
        SectionBlock(text=PlainTextObject(text="\n".join(lines), emoji=False)),
        ActionsBlock(elements=[_button("Open alerts", parcel.url("/alerts/"), 0)]),
    ]


def _buttons(parcel: Parcel) -> list[Block]:
    urls = [(link.label, parcel.url(link.path)) for link in parcel.first.links]
    fitting = [(label, url) for label, url in urls if len(url) <= URL_CHARS][:MAX_BUTTONS]
    return [ActionsBlock(elements=[_button(*link, place) for place, link in enumerate(fitting)])] if fitting else []


def _button(label: str, url: str, place: int) -> ButtonElement:
    return ButtonElement(text=_plain(label, BUTTON_CHARS), url=url, action_id=f"open-{place}")


def _plain(text: str, limit: int) -> PlainTextObject:
    return PlainTextObject(text=escape(text, limit) or "-", emoji=False)
