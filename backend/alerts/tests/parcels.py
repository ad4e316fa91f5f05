"""What channels are given to send."""

from typing import Any
from uuid import UUID, uuid4

from backend.alerts.channels import Item, Parcel
from backend.alerts.message import Message
from backend.alerts.tests.test_notices import NOW, message

CHANNEL = UUID("0b1f6a52-3c0e-4f7e-9a54-6d5d0a2b7c44")
ABOUT = UUID("8c2e7c1e-6b7a-4a8e-9c61-0d6f5e3a2b11")
HOSTILE = "<!channel> & <https://evil.example|Open> *bold* ```x``` \u202e <script>alert(1)</script>"


def parcel(*messages: Message, **changes: Any) -> Parcel:
    items = tuple(
        Item(about=ABOUT if place == 0 else uuid4(), sequence=1, message=one)
        for place, one in enumerate(messages or (message(),))
    )
    fields: dict[str, Any] = {"organisation": "Acme", "base_url": "https://fb.example", "sent_at": NOW}
    fields |= {"id": uuid4(), "channel": CHANNEL}
    return Parcel(items=items, **(fields | changes))


def texts(value: Any) -> list[str]:
    """Every text of a JSON value."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in texts(inner)]
    return [value] if isinstance(value, str) else []


def stored(one: Message) -> Message:
    """As it comes out of the database."""
    return Message.from_json(one.to_json())
