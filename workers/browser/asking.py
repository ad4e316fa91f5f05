"""Asks a page for something, in the words of DevTools."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

# Sends a DevTools command and gives its answer; None when the page does not answer.
Ask = Callable[[str, dict[str, Any]], Awaitable[Mapping[str, Any] | None]]

# The JavaScript world of what we run beside a page's own scripts.
WORLD = "firstbyte"


async def evaluate(ask: Ask, frame: str, expression: str) -> object:
    """What it comes to beside the page's own scripts, who may have changed what the language's words mean to them. None
    when the page does not answer.
    """
    world = await ask("Page.createIsolatedWorld", {"frameId": frame, "worldName": WORLD})
    if world is None:
        return None
    context = {"contextId": world.get("executionContextId"), "returnByValue": True}
    answer = await ask("Runtime.evaluate", {"expression": expression} | context)
    return None if answer is None else answer.get("result", {}).get("value")
