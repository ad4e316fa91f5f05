"""A message in Slack's Block Kit.

The blocks are slack_sdk's own models, which hold its limits.

Nothing of ours is Slack's markup: every text is `plain_text` and escaped besides, so that no name of a site or a rule
can mention a channel, hide a link, or look like another part of the message.
"""

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

from backend.alerts.channels.parcel import Parcel
from backend.alerts.channels.slack_buttons import LABELS, Deed, value_of
from backend.alerts.message import GOING_ON, GOOD_NEWS, MUTING, Event, Message, Severity
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


def payload(parcel: Parcel, *, pressable: bool = False) -> dict[str, Any]:
    """The message as Slack takes it: at most 8 blocks and 3000 characters, with a text for notifications.

    `pressable`: somebody hears of buttons that are pressed.
    """
    text = escape(_headline(parcel), TEXT_CHARS)
    plain = {"text": text, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}
    if parcel.first.event is Event.REMARK:
        return {**plain, "text": escape(parcel.title, SECTION_CHARS)}
    if parcel.plain:
        return plain
    blocks = _digest(parcel) if parcel.is_digest else _message(parcel, pressable)
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


def _message(parcel: Parcel, pressable: bool) -> list[Block]:
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
    buttons = [*(_presses(parcel) if pressable else []), *_links(parcel, but_mute=pressable)]
    return [*blocks, ActionsBlock(elements=buttons)] if buttons else blocks


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


def _presses(parcel: Parcel) -> list[ButtonElement]:
    """What can be done about an incident that goes on."""
    if parcel.first.event not in GOING_ON:
        return []
    value = value_of(parcel.channel, parcel.items[0].about)
    return [ButtonElement(text=_plain(LABELS[deed], BUTTON_CHARS), value=value, action_id=deed.value) for deed in Deed]


def _links(parcel: Parcel, *, but_mute: bool) -> list[ButtonElement]:
    """Where to go on; the page's own way to mute is left out where there is a button that does."""
    links = [link for link in parcel.first.links if not (but_mute and link.path.endswith(MUTING))]
    urls = [(link.label, parcel.url(link.path)) for link in links]
    fitting = [(label, url) for label, url in urls if len(url) <= URL_CHARS][:MAX_BUTTONS]
    return [_button(*link, place) for place, link in enumerate(fitting)]


def _button(label: str, url: str, place: int) -> ButtonElement:
    return ButtonElement(text=_plain(label, BUTTON_CHARS), url=url, action_id=f"open-{place}")


def _plain(text: str, limit: int) -> PlainTextObject:
    return PlainTextObject(text=escape(text, limit) or "-", emoji=False)
