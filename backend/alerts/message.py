"""What is told, before any channel gives it a form. Pure."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from backend.texts import joins
from workers.measurement.idn import readable

# More than any channel shows; a channel that shows less cuts again.
MAX_SENTENCES, MAX_FACTS, MAX_LINKS = 10, 10, 5
MAX_CHARS = 1_000
# Control, format (zero width, change of direction), half characters, unassigned, line and paragraph separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})


def clean(text: str, limit: int = MAX_CHARS) -> str:
    """A text of others on one line: no control characters, no half characters, no changes of direction, and cut."""
    start = text[: 4 * limit]
    visible = "".join(" " if _is_unseen(start, place) else char for place, char in enumerate(start))
    joined = " ".join(visible.split())
    return joined if len(joined) <= limit else joined[: limit - 1].rstrip() + "…"


def _is_unseen(text: str, place: int) -> bool:
    return unicodedata.category(text[place]) in _UNSEEN and not joins(text, place)


def _clean_json(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): _clean_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_json(inner) for inner in value]
    return value


class Event(StrEnum):
    """What happened to what the message is about; a remark says what somebody did about it."""

    OPENED = "opened"
    WORSE = "worse"
    BETTER = "better"
    REMINDER = "reminder"
    REMARK = "remark"
    RECOVERED = "recovered"
    RESOLVED = "resolved"
    CHANNEL_DISABLED = "channel_disabled"
    WEEKLY = "weekly"
    TEST = "test"


BAD, OVER = frozenset({Event.OPENED, Event.WORSE}), frozenset({Event.RECOVERED, Event.RESOLVED})
GOOD_NEWS = OVER | {Event.BETTER}
# The part of an incident's page that mutes it.
MUTING = "#mute"
# What is said about an incident while it lasts.
GOING_ON = BAD | {Event.BETTER, Event.REMINDER}


class Severity(StrEnum):
    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A label and its value, such as "Regions" and "Singapore, Tokyo"."""

    label: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Somewhere to go on. `path` begins with / and is inside the service; channels put the base URL before it."""

    label: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One thing to tell. Plain text everywhere: each channel escapes for itself, so names of others may be in it.

    `title` says it all in one line ("shop.example slower in Singapore: LCP 3.94 s (was 2.05 s)"); `sentences` say since
    when, on what evidence and what is suspected; `context` is the small print (rule, confirmed by how many runs).
    `data` is what a program reads in a webhook: JSON values only.
    """

    event: Event
    severity: Severity
    title: str
    at: datetime
    sentences: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    context: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.at.utcoffset() is None:
            raise ValueError("at lacks a time zone")

    def to_json(self) -> dict[str, Any]:
        """As it is stored: every text cleaned and cut, since a text that cannot be stored must not cost the alert."""
        return {
            "event": self.event.value,
            "severity": self.severity.value,
            "title": clean(self.title),
            "at": self.at.isoformat(),
            "sentences": [clean(text) for text in self.sentences[:MAX_SENTENCES]],
            "facts": [[clean(fact.label), clean(fact.value)] for fact in self.facts[:MAX_FACTS]],
            "context": [clean(text) for text in self.context[:MAX_SENTENCES]],
            "links": [[clean(link.label), clean(link.path)] for link in self.links[:MAX_LINKS]],
            "data": _clean_json(dict(self.data)),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Message":
        """What `to_json` wrote."""
        return cls(
            event=Event(stored["event"]),
            severity=Severity(stored["severity"]),
            title=stored["title"],
            at=datetime.fromisoformat(stored["at"]),
            sentences=tuple(stored["sentences"]),
            facts=tuple(Fact(label=label, value=value) for label, value in stored["facts"]),
            context=tuple(stored["context"]),
            links=tuple(Link(label=label, path=path) for label, path in stored["links"]),
            data=stored["data"],
        )


def for_people(message: Message) -> Message:
    """The same with the names of hosts as people write them; programs are told them in the DNS's letters."""
    return replace(
        message,
        title=readable(message.title),
        sentences=tuple(map(readable, message.sentences)),
        facts=tuple(Fact(label=fact.label, value=readable(fact.value)) for fact in message.facts),
        context=tuple(map(readable, message.context)),
    )
