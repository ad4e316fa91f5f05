"""Hears DevTools' events at little cost.

Playwright's public `on` looks up its listener's signature by inspection and copies the whole event, each time, for
objects of its own that no event of DevTools holds: a fifth of the processor time of our side of a page run. Beneath it
lies the same emitter without that.
"""

from collections.abc import Callable
from typing import Any

from playwright.async_api import CDPSession

Listener = Callable[[dict[str, Any]], None]


def hear(cdp: CDPSession, event: str, listener: Listener) -> None:
    """Calls `listener` with the parameters of each such event, until `unhear`."""
    _emitter(cdp).on(event, listener)


def unhear(cdp: CDPSession, event: str, listener: Listener) -> None:
    """Undoes `hear` of the same listener."""
    _emitter(cdp).remove_listener(event, listener)


def _emitter(cdp: CDPSession) -> Any:
    """The session's own where this Playwright has it, else the public one."""
    inner = getattr(cdp, "_impl_obj", None)
    return inner if hasattr(inner, "on") and hasattr(inner, "remove_listener") else cdp
