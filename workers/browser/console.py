"""A page's errors and warnings as DevTools tells them, bounded; `compute/devtools/console.py` says what they mean."""

import functools
from collections.abc import Callable
from typing import Any

from playwright.async_api import CDPSession

from workers.browser.hearing import hear, unhear
from workers.measurement.captures_page import DevToolsEvent
from workers.measurement.compute.devtools.console import CONSOLE_EVENTS, MAX_RAW_CHARS, is_kept
from workers.measurement.page_view import MAX_CONSOLE_MESSAGES

_MAX_ITEMS = 30
_MAX_DEPTH = 8


class Console:
    """One page's console, from `start` to `finish`."""

    def __init__(self, cdp: CDPSession) -> None:
        self._cdp = cdp
        self._listeners: dict[str, Callable[[dict[str, Any]], None]] = {}
        self.events: list[DevToolsEvent] = []

    async def start(self) -> None:
        for name in CONSOLE_EVENTS:
            listener = functools.partial(self._take, name)
            self._listeners[name] = listener
            hear(self._cdp, name, listener)
        await self._cdp.send("Log.enable")

    def finish(self) -> None:
        for name, listener in self._listeners.items():
            unhear(self._cdp, name, listener)

    def _take(self, name: str, params: dict[str, Any]) -> None:
        event = DevToolsEvent(name, params)
        if len(self.events) < MAX_CONSOLE_MESSAGES and is_kept(event):
            self.events.append(DevToolsEvent(name, _slim(params)))


def _slim(value: Any, depth: int = 0) -> Any:
    """Without what would not be shown: a message may be a book, and bring an object with a thousand fields."""
    if isinstance(value, str):
        return value[:MAX_RAW_CHARS]
    if isinstance(value, dict):
        return {name: _slim(one, depth + 1) for name, one in value.items()} if depth < _MAX_DEPTH else {}
    if isinstance(value, list):
        return [_slim(one, depth + 1) for one in value[:_MAX_ITEMS]]
    return value
