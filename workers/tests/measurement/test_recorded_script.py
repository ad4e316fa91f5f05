"""Recordings of Chrome DevTools as steps."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.page_options import MAX_STEPS, Click, Key, Press, TypeText, Visit, WaitFor
from workers.measurement.recorded_script import ScriptError, parse_recording

VIEWPORT = {"type": "setViewport", "width": 412, "height": 823, "deviceScaleFactor": 2.625, "isMobile": True}
VISIT = {"type": "navigate", "url": "https://shop.example/login", "assertedEvents": [{"type": "navigation"}]}


def recording(*steps: dict[str, Any]) -> str:
    return json.dumps({"title": "Log in", "steps": steps})


def test_a_login_that_was_recorded_becomes_steps() -> None:
    user = {"type": "change", "value": "me", "selectors": [["aria/User"], ["#user"], ["xpath///*[@id='user']"]]}
    button = {"type": "click", "selectors": [["aria/Go"], ["form > button"]], "offsetX": 3, "offsetY": 4}
    wait = {"type": "waitForElement", "selectors": ["#hello"]}
    keys = [{"type": kind, "key": key} for key in ("Shift", "CapsLock") for kind in ("keyDown", "keyUp")]
    assert parse_recording(recording(VIEWPORT, VISIT, user, *keys, button, wait)) == (
        Visit(url="https://shop.example/login"),
        TypeText(selector="#user", text="me", secret=True),
        Click(selector="form > button"),
        WaitFor(selector="#hello"),
    )


def key(name: str, kind: str = "keyDown") -> dict[str, Any]:
    return {"type": kind, "key": name, "target": "main"}


def test_a_form_that_was_sent_by_enter_is_sent_so_again() -> None:
    keys = [key("Tab"), key("Tab", "keyUp"), key("Enter"), key("Enter", "keyUp"), key("Escape")]
    assert parse_recording(recording(VISIT, *keys))[1:] == tuple(
        Press(key=each) for each in (Key.TAB, Key.ENTER, Key.ESCAPE)
    )


def test_keys_that_are_pressed_together_are_refused_but_for_moving_back() -> None:
    back = [key("Shift"), key("Tab"), key("Tab", "keyUp"), key("Shift", "keyUp")]
    assert parse_recording(recording(VISIT, *back, key("Enter")))[1:] == (Press(key=Key.ENTER),)
    with pytest.raises(ScriptError, match="Step 3: keys that are pressed together cannot be repeated"):
        parse_recording(recording(VISIT, key("Control"), key("Enter")))


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ({"type": ["click"]}, "Step 2: \"['click']\" cannot be done here."),
        ({"type": "customStep", "name": "x"}, "Step 2: 'customStep' cannot be done here."),
        ({"type": "waitForExpression", "expression": "1"}, "Step 2: 'waitForExpression' cannot be done here."),
        ({"type": "click", "selectors": [["aria/Go"]]}, "Step 2: it has no CSS selector; choose CSS among"),
        ({"type": "click", "selectors": [["x-app", "button"]]}, "Step 2: it has no CSS selector; choose CSS among"),
        ({"type": "click", "selectors": [["a"]], "frame": [0]}, "Step 2: elements inside frames cannot be reached."),
        ({"type": "change", "selectors": [["#a"]], "value": 3}, 'Step 2: "value" must be a text of at most'),
        ({"type": "keyDown", "key": "F5"}, "Step 2: of keys only Enter, Tab, Escape can be pressed here; record"),
        ({"type": "keyUp", "key": "a"}, "Step 2: of keys only Enter, Tab, Escape can be pressed here; record"),
        ({"type": "keyDown", "key": ["Enter"]}, "Step 2: of keys only Enter, Tab, Escape can be pressed here; record"),
        ({"type": "keyDown", "key": "Enter", "target": "https://x.example/"}, "Step 2: elements of other tabs"),
        ({"type": "hover", "selectors": [["#a"]]}, "Step 2: 'hover' cannot be done here."),
        ({"type": "doubleClick", "selectors": [["#a"]]}, "Step 2: 'doubleClick' cannot be done here."),
        ({"type": "click", "selectors": [["#a"]], "button": "secondary"}, "Step 2: only the primary button"),
        ({"type": "click", "selectors": [["#a"]], "target": "https://x.example/"}, "Step 2: elements of other tabs"),
        ({"type": "waitForElement", "selectors": ["#a"], "count": 2}, "Step 2: only waiting until an element is"),
        ({"type": "waitForElement", "selectors": ["#a"], "properties": {"a": 1}}, "Step 2: only waiting until"),
        ({"type": "waitForElement", "selectors": ["#a"], "visible": False}, "Step 2: waiting for an element to go"),
        ({"type": "waitForElement", "selectors": ["#a"], "operator": "==", "count": 0}, "Step 2: waiting for an"),
    ],
)
def test_what_would_be_lost_is_an_error(step: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse_recording(recording(VISIT, step))
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"steps": 3}', '{"steps": [1]}', "[" * 100_000, '{"steps": []}'])
def test_what_is_no_recording_is_told(text: str) -> None:
    with pytest.raises(ScriptError):
        parse_recording(text)


def test_a_recording_is_bounded() -> None:
    with pytest.raises(ScriptError, match=f"at most {MAX_STEPS}"):
        parse_recording(recording(*[VISIT] * (MAX_STEPS + 1)))
    with pytest.raises(ScriptError, match="larger than 1 MB"):
        parse_recording(b" " * 2_000_000)


def test_an_error_repeats_nothing_that_was_typed() -> None:
    typed = {"type": "change", "value": "s3cret" * 1000, "selectors": [["#password"]]}
    with pytest.raises(ScriptError) as caught:
        parse_recording(recording(typed))
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(TypeText(selector="#password", text="s3cret"))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(["navigate", "click", "change", "waitForElement", "setViewport", "keyDown", "odd"])
STEP = st.dictionaries(st.sampled_from(["selectors", "value", "url", "frame", "width", "height", "key"]), VALUES)


@given(st.lists(st.tuples(KINDS, STEP), max_size=6))
def test_any_recording_is_read_or_refused(steps: list[tuple[str, dict[str, Any]]]) -> None:
    text = recording(*({**step, "type": kind} for kind, step in steps))
    try:
        parse_recording(text)
    except ScriptError:
        return
