from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workers.measurement.captures_page import DevToolsEvent
from workers.measurement.compute.devtools.console import CONSOLE_EVENTS, MAX_TEXT_CHARS, console_of
from workers.measurement.page_view import MAX_CONSOLE_MESSAGES, ConsoleLevel, ConsoleMessage

ZERO_S = 1_700_000_000.0


def told(event: DevToolsEvent, secrets: frozenset[str] = frozenset()) -> list[ConsoleMessage]:
    return list(console_of([event], zero_wall_s=ZERO_S, secrets=secrets))


def called(kind: str, *args: dict[str, Any]) -> DevToolsEvent:
    stack = {"callFrames": [{"url": "https://shop.example/app.js", "lineNumber": 11}]}
    params = {"type": kind, "args": list(args), "timestamp": ZERO_S * 1e3 + 250.5, "stackTrace": stack}
    return DevToolsEvent("Runtime.consoleAPICalled", params)


def text(value: str) -> dict[str, Any]:
    return {"type": "string", "value": value}


def test_an_error_of_the_page_has_its_place_and_time() -> None:
    assert told(called("error", text("no price"), {"type": "number", "value": 7})) == [
        ConsoleMessage(
            at_us=250_500, level=ConsoleLevel.ERROR, text="no price 7", url="https://shop.example/app.js", line=12
        )
    ]


def test_placeholders_are_filled_and_styles_are_not_shown() -> None:
    [message] = told(called("warning", text("%ccareful%c with %s, %d%%"), text("color:red"), text(""), text("x")))
    assert (message.level, message.text) == (ConsoleLevel.WARNING, "careful with x, %d%%")


@pytest.mark.parametrize("kind", ["log", "info", "debug", "table"])
def test_what_is_neither_error_nor_warning_is_left_out(kind: str) -> None:
    assert told(called(kind, text("hello"))) == []


def test_an_exception_nobody_caught_is_told_without_its_stack() -> None:
    details = {
        "text": "Uncaught",
        "exception": {"description": "TypeError: x is null\n    at f (a.js:3)"},
        "url": "https://shop.example/a.js",
        "lineNumber": 2,
    }
    event = DevToolsEvent("Runtime.exceptionThrown", {"timestamp": ZERO_S * 1e3, "exceptionDetails": details})
    [message] = told(event)
    assert (message.text, message.line, message.at_us) == ("Uncaught TypeError: x is null", 3, 0)


def test_what_the_browser_says_of_the_page_is_told_too() -> None:
    entry = {"level": "error", "text": "Failed to load resource: 404", "url": "https://a/b", "timestamp": ZERO_S * 1e3}
    [message] = told(DevToolsEvent("Log.entryAdded", {"entry": entry}))
    assert (message.text, message.url, message.line) == ("Failed to load resource: 404", "https://a/b", None)


def test_secrets_are_masked_and_control_characters_replaced() -> None:
    [message] = told(called("error", text("token s3cr3t\x00\x1b[31m\nred")), frozenset({"s3cr3t"}))
    assert message.text == "token (redacted)\ufffd\ufffd[31m"


def test_a_secret_that_holds_another_is_masked_whole() -> None:
    secrets = ["token", *(f"{number}token-{number}" for number in range(20))]
    for secret in secrets:
        [message] = told(called("error", text(f"got {secret}.")), secrets=frozenset(secrets))
        assert message.text == "got (redacted)."


def test_many_and_long_messages_are_bounded() -> None:
    events = [called("error", text("x" * 10_000))] * 100
    messages = console_of(events, zero_wall_s=None, secrets=frozenset())
    assert len(messages) == MAX_CONSOLE_MESSAGES
    assert {(len(message.text), message.at_us) for message in messages} == {(MAX_TEXT_CHARS, None)}


PARAMS = ("type", "args", "entry", "level", "text", "url", "lineNumber", "timestamp", "exceptionDetails", "exception",
          "description", "stackTrace", "callFrames", "value")  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(PARAMS), inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(CONSOLE_EVENTS), st.dictionaries(st.sampled_from(PARAMS), JSON))
@example("Runtime.exceptionThrown", {"timestamp": 1.8e305})
def test_no_event_is_a_fault_of_ours(method: str, params: dict[str, Any]) -> None:
    for message in told(DevToolsEvent(method, params)):
        assert len(message.text) <= MAX_TEXT_CHARS
