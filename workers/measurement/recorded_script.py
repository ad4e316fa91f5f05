"""A script recorded with Chrome DevTools (its "Recorder" panel exports JSON) as the steps of a page run. Pure.

The format has several ways to name an element and to wait; what has a meaning here is taken over, what cannot change
a page's state is passed over, and what would be lost without a word is an error.
"""

import json
from collections.abc import Iterator
from typing import Any

from workers.measurement.page_options import MAX_STEPS, Click, Key, Press, Step, TypeText, Visit, WaitFor
from workers.measurement.page_rules import MAX_TEXT_CHARS

MAX_FILE_BYTES = 1024 * 1024
Json = dict[str, Any]
# Ways to find an element that are no CSS; a recording offers them beside it.
_OTHER_WAYS = ("aria/", "xpath/", "text/", "pierce/")
# Nothing of a page's state follows from these: an element is brought into sight before it is clicked, and the screen
# and the network are the run's own.
_PASSED_OVER = ("setViewport", "scroll", "close", "emulateNetworkConditions")
# Keys that do nothing alone; those of the first kind change what others do while they are held.
_MODIFIERS = ("Shift", "Control", "Alt", "Meta")
_IDLE_KEYS = (*_MODIFIERS, "CapsLock")


class ScriptError(ValueError):
    """A recording that cannot be carried out here; the message is a sentence for people."""


def parse_recording(text: str | bytes) -> tuple[Step, ...]:
    """The steps of an exported recording. Raises ScriptError, which repeats nothing that was typed."""
    recorded = _steps_of(text)
    held: set[object] = set()
    found = [step for number, each in enumerate(recorded, 1) for step in _steps(number, each, held)]
    if not found:
        raise ScriptError("The recording has no step that does anything.")
    if len(found) > MAX_STEPS:
        raise ScriptError(f"The recording has {len(found)} steps; at most {MAX_STEPS} can be done.")
    return tuple(found)


def _steps_of(text: str | bytes) -> list[Json]:
    if len(text) > MAX_FILE_BYTES:
        raise ScriptError(f"The recording is larger than {MAX_FILE_BYTES // 2**20} MB.")
    try:
        recording = json.loads(text)
    except (ValueError, RecursionError):
        raise ScriptError("This is no JSON; export the recording from DevTools as JSON.") from None
    steps = recording.get("steps") if isinstance(recording, dict) else None
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise ScriptError('This is no recording of Chrome DevTools: it lacks a list of "steps".')
    return steps


def _steps(number: int, recorded: Json, held: set[object]) -> Iterator[Step]:
    """`held` are the modifiers that are down."""
    kind = recorded.get("type")
    if kind == "navigate":
        yield Visit(url=_text(number, recorded, "url"))
    elif kind == "click":
        if recorded.get("button", "primary") != "primary":
            raise ScriptError(f"Step {number}: only the primary button of the mouse can be clicked here.")
        yield Click(selector=_selector(number, recorded))
    elif kind == "change":
        # A recording does not say what is a password, so everything typed is treated as one.
        yield TypeText(selector=_selector(number, recorded), text=_text(number, recorded, "value"), secret=True)
    elif kind == "waitForElement":
        yield _waiting(number, recorded)
    elif kind in ("keyDown", "keyUp"):
        _refuse_other_tabs(number, recorded)
        yield from _key(number, recorded.get("key"), held, is_down=kind == "keyDown")
    elif kind not in _PASSED_OVER:
        raise ScriptError(f"Step {number}: {str(kind)[:40]!r} cannot be done here.")


def _key(number: int, key: object, held: set[object], *, is_down: bool) -> Iterator[Press]:
    """A press is done as the key goes down. Tab with a modifier only moves the focus back, and is passed over."""
    if key in _IDLE_KEYS:
        (held.add if is_down and key in _MODIFIERS else held.discard)(key)
    elif key not in list(Key):
        raise ScriptError(f"Step {number}: of keys only {', '.join(Key)} can be pressed here; record a click instead.")
    elif held and key != Key.TAB:
        raise ScriptError(f"Step {number}: keys that are pressed together cannot be repeated; record a click instead.")
    elif is_down and not held:
        yield Press(key=Key(str(key)))


def _waiting(number: int, recorded: Json) -> WaitFor:
    operator, count = recorded.get("operator", ">="), recorded.get("count", 1)
    if recorded.get("visible") is False or (operator in ("<=", "==") and count == 0):
        raise ScriptError(f"Step {number}: waiting for an element to go away cannot be done here.")
    if operator != ">=" or count != 1 or recorded.get("attributes") or recorded.get("properties"):
        raise ScriptError(f"Step {number}: only waiting until an element is visible can be done here.")
    return WaitFor(selector=_selector(number, recorded))


def _text(number: int, recorded: Json, name: str) -> str:
    value = recorded.get(name)
    if not isinstance(value, str) or len(value) > MAX_TEXT_CHARS:
        raise ScriptError(f'Step {number}: "{name}" must be a text of at most {MAX_TEXT_CHARS} characters.')
    return value


def _selector(number: int, recorded: Json) -> str:
    """The first way to find the element that is one CSS selector. A list of several leads through shadow roots."""
    _refuse_other_tabs(number, recorded)
    if isinstance(recorded.get("frame"), list) and recorded["frame"]:
        raise ScriptError(f"Step {number}: elements inside frames cannot be reached.")
    ways = recorded.get("selectors")
    for way in ways if isinstance(ways, list) else ():
        parts = way if isinstance(way, list) else [way]
        if len(parts) == 1 and _is_css(parts[0]):
            return str(parts[0])
    raise ScriptError(f"Step {number}: it has no CSS selector; choose CSS among the recorder's selector types.")


def _refuse_other_tabs(number: int, recorded: Json) -> None:
    if recorded.get("target", "main") != "main":
        raise ScriptError(f"Step {number}: elements of other tabs cannot be reached.")


def _is_css(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= MAX_TEXT_CHARS and not text.startswith(_OTHER_WAYS)
