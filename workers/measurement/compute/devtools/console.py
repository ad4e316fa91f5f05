"""What a page's console said, from DevTools' events: errors and warnings, bounded, on one line each. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workers.measurement.captures_page import DevToolsEvent
from workers.measurement.compute.numbers import number_of
from workers.measurement.compute.texts import plain, short_url
from workers.measurement.page_view import MAX_CONSOLE_MESSAGES, ConsoleLevel, ConsoleMessage
from workers.measurement.redaction import REDACTED

CONSOLE_EVENTS = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
MAX_TEXT_CHARS = 500
# What is read before it is made plain: a message may be a book.
MAX_RAW_CHARS = 4_000
_MAX_PARTS = 20
# DevTools' words for levels and for calls of the console.
_LEVELS = {
    "error": ConsoleLevel.ERROR,
    "assert": ConsoleLevel.ERROR,
    "warning": ConsoleLevel.WARNING,
}
# Placeholders of a first text for the arguments behind it, of which a style shows nothing.
_PLACE = re.compile(r"%[sdifoOc]")


def is_kept(event: DevToolsEvent) -> bool:
    """Whether an event is an error or a warning at all: what a page logs otherwise is its own affair."""
    return _level(event) is not None


def console_of(
    events: Sequence[DevToolsEvent], *, zero_wall_s: float | None, secrets: frozenset[str]
) -> tuple[ConsoleMessage, ...]:
    """The first messages, in the order in which they came; texts that are in `secrets` are masked.

    Instants are from `zero_wall_s` on the wall clock, None without it.
    """
    found = (_message(event, zero_wall_s, secrets) for event in events)
    return tuple(message for message in found if message is not None)[:MAX_CONSOLE_MESSAGES]


def _level(event: DevToolsEvent) -> ConsoleLevel | None:
    if event.method == "Runtime.exceptionThrown":
        return ConsoleLevel.ERROR
    if event.method == "Log.entryAdded":
        return _LEVELS.get(str(_mapping(event.params.get("entry")).get("level")))
    return _LEVELS.get(str(event.params.get("type")))


def _message(event: DevToolsEvent, zero_wall_s: float | None, secrets: frozenset[str]) -> ConsoleMessage | None:
    level = _level(event)
    if level is None:
        return None
    text, place = _told(event)
    entry = _mapping(event.params.get("entry")) or event.params
    url, line = place.get("url"), place.get("lineNumber")
    return ConsoleMessage(
        at_us=_instant_us(entry.get("timestamp"), zero_wall_s),
        level=level,
        text=plain(" ".join(masked(text, secrets).split()), MAX_TEXT_CHARS),
        url=masked(short_url(url), secrets) if url else None,
        # DevTools counts from 0, people from 1.
        line=line + 1 if url and isinstance(line, int) and not isinstance(line, bool) and line >= 0 else None,
    )


def _told(event: DevToolsEvent) -> tuple[str, Mapping[str, Any]]:
    """The text, and where it comes from."""
    if event.method == "Log.entryAdded":
        entry = _mapping(event.params.get("entry"))
        return str(entry.get("text", ""))[:MAX_RAW_CHARS], entry
    if event.method == "Runtime.exceptionThrown":
        details = _mapping(event.params.get("exceptionDetails"))
        return _exception(details), _top(details) or details
    arguments = event.params.get("args")
    parts = arguments[:_MAX_PARTS] if isinstance(arguments, list) else []
    return _joined([_shown(_mapping(part)) for part in parts]), _top(event.params)


def _exception(details: Mapping[str, Any]) -> str:
    """ "Uncaught TypeError: …" without the stack, which names the same place in many lines."""
    description = str(_mapping(details.get("exception")).get("description", ""))[:MAX_RAW_CHARS]
    said = str(details.get("text", ""))[:MAX_RAW_CHARS]
    return f"{said} {description.partition(chr(10))[0]}".strip() if description else said


def _joined(parts: Sequence[str]) -> str:
    """As a console shows it."""
    if not parts:
        return ""
    rest = list(parts[1:])

    def fill(place: re.Match[str]) -> str:
        if not rest:
            return place[0]
        part = rest.pop(0)
        return "" if place[0] == "%c" else part

    return " ".join([_PLACE.sub(fill, parts[0]), *rest])[:MAX_RAW_CHARS]


def _shown(part: Mapping[str, Any]) -> str:
    value = part.get("value")
    if value is None:
        value = part.get("description") or part.get("unserializableValue") or part.get("type", "")
    return str(value)[:MAX_RAW_CHARS].partition("\n")[0]


def _top(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The innermost call of a stack."""
    frames = _mapping(params.get("stackTrace")).get("callFrames")
    return _mapping(frames[0]) if isinstance(frames, list) and frames else {}


def masked(text: str, secrets: frozenset[str]) -> str:
    """A text that the page wrote, without what the owner gave us to send."""
    # The longest first: of one that holds another the rest would stay.
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    return text


def _instant_us(timestamp_ms: object, zero_wall_s: float | None) -> int | None:
    at_ms = number_of(timestamp_ms)
    return None if zero_wall_s is None or at_ms is None else max(0, round(at_ms * 1_000 - zero_wall_s * 1e6))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
