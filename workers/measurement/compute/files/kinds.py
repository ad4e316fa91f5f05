"""What a file of measurements is, by the names in its first object: who wrote it, and which command reads it."""

import re
from collections.abc import Collection
from dataclasses import dataclass

# A text that breaks off is one token too: else each quotation mark in it would be tried as the beginning of another.
_TOKEN = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)(?:"(\s*:)?|\\?\Z)|[\[\]{}]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileKind:
    """`what` is told to people; `command` reads it, None where none does."""

    what: str
    names: frozenset[str]
    command: str | None = None

    def reader(self, otherwise: str) -> str:
        """Who reads it, or what to do where nobody does."""
        return otherwise if self.command is None else f"{self.command} reads it"


def _kind(what: str, *names: str, command: str | None = None) -> FileKind:
    return FileKind(what, frozenset(names), command)


_INNER = 2
_REPORT = "a Lighthouse report, which tells no phases"
_EVENTS = "a log of DevTools' events"
_IMPORT, _CDP = "firstbyte import", "firstbyte cdp"
_KINDS = (
    _kind("an HTTP Archive (HAR)", "log", command=_IMPORT),
    _kind("a network log of Chrome", "constants", command="firstbyte netlog"),
    _kind("WebPageTest's JSON", "data.testUrl", command=_IMPORT),
    _kind(_EVENTS, "method", "params", command=_CDP),
    _kind(_EVENTS, "name", "params", command=_CDP),
    # As ChromeDriver and sitespeed.io save them.
    _kind(_EVENTS, "level", "message", command=_CDP),
    _kind(_EVENTS, "message", "webview", command=_CDP),
    _kind(_REPORT, "lighthouseVersion"),
    _kind(_REPORT, "lighthouseResult"),
    _kind("a trace of Chrome, which tells no phases", "traceEvents"),
    _kind("a trace of Chrome, which tells no phases", "ph", "ts", "cat"),
    _kind("a result of browsertime, which tells no phases: those are in its .har beside it", "info", "browserScripts"),
    _kind("a session of Charles, which it can save as a HAR too", "status", "scheme", "host", "path"),
    _kind("a collection of Postman, which was not measured", "info", "item"),
)


def kind_of(names: Collection[str]) -> FileKind | None:
    """Of a file whose first object has these names; None for one that nobody here knows."""
    return next((kind for kind in _KINDS if kind.names.issubset(names)), None)


def names_in(text: str) -> frozenset[str]:
    """The names in the first object of a text, which may break off anywhere, and in the objects there as "a.b"."""
    found: set[str] = set()
    depth, outer = 0, ""
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in ("{", "["):
            depth += mark == "{" or depth > 0
        elif mark in ("}", "]"):
            depth -= depth > 0
            if depth == 0 and found:
                break
        elif depth == 1 and token[2]:
            found.add(outer := token[1])
        elif depth == _INNER and token[2]:
            found.add(f"{outer}.{token[1]}")
    return frozenset(found)
