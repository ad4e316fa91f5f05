"""What is pressed in Slack: who signed it, what it does, and what becomes of anything else."""

import hashlib
import hmac
import json
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backend.alerts.channels.slack_buttons import Deed, Press, is_signed, read_press, value_of
from backend.alerts.tests.slack_workspace import SIGNING_SECRET

CHANNEL, INCIDENT = UUID(int=1), UUID(int=2)
AT_S = 1_796_000_000.0


def called(**changes: Any) -> dict[str, Any]:
    action = {"action_id": "acknowledge", "value": value_of(CHANNEL, INCIDENT), "type": "button"}
    payload = {
        "type": "block_actions",
        "user": {"id": "U012AB3CD", "username": "ada", "name": "ada"},
        "message": {"ts": "1764500000.000001"},
        "response_url": "https://hooks.slack.com/actions/T0/1/abc",
        "actions": [action],
    }
    return payload | changes


def body_of(payload: Any) -> bytes:
    return urlencode({"payload": json.dumps(payload)}).encode()


def signature_of(body: bytes, stamp: str, secret: str = SIGNING_SECRET) -> str:
    """By Slack's description of it, apart from the library's."""
    return "v0=" + hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()


def headers_of(body: bytes, stamp: str = "1796000000", **changes: str) -> dict[str, str]:
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature_of(body, stamp)} | changes


def test_a_press_names_what_who_and_where() -> None:
    assert read_press(body_of(called())) == Press(
        deed=Deed.ACKNOWLEDGE,
        channel=CHANNEL,
        incident=INCIDENT,
        who="ada",
        answer_url="https://hooks.slack.com/actions/T0/1/abc",
        ts="1764500000.000001",
    )


def test_a_press_on_a_reply_is_answered_in_the_thread_it_is_in() -> None:
    press = read_press(body_of(called(message={"ts": "2.0", "thread_ts": "1.0"})))
    assert press is not None
    assert press.ts == "1.0"


@pytest.mark.parametrize(
    ("user", "who"),
    [
        ({"id": "U1"}, "U1"),
        ({"id": "U1", "name": "ada"}, "ada"),
        ({"id": "U1", "username": "\u202eada\n@channel" + "x" * 99}, "ada @channel" + "x" * 47 + "…"),
        ({"id": "U1", "username": "\u200b"}, "somebody"),
    ],
)
def test_a_name_is_one_clean_line(user: dict[str, str], who: str) -> None:
    press = read_press(body_of(called(user=user)))
    assert press is not None
    assert press.who == who


@pytest.mark.parametrize(
    "payload",
    [
        called(actions=[]),
        called(actions=[{"action_id": "open-0", "type": "button"}]),
        called(actions=[{"action_id": "acknowledge", "value": "x"}]),
        called(actions=[{"action_id": "acknowledge", "value": value_of(CHANNEL, INCIDENT) + ":more"}]),
        called(actions=[{"action_id": "acknowledge", "value": "-" * 36 + ":" + "-" * 36}]),
        called(user=None),
        called(message=None),
        {"type": "view_submission"},
        [],
        None,
    ],
)
def test_what_is_no_button_of_ours_is_nothing(payload: Any) -> None:
    assert read_press(body_of(payload)) is None


@given(st.binary(max_size=400))
@example(b"payload=" + b"[" * 5_000)
@example(b"payload=%7B%22actions%22%3A%7B%7D%7D")
@example(b"a=1&" * 20)
@example(b"\xff\xfe")
def test_no_body_at_all_is_a_fault(body: bytes) -> None:
    assert read_press(body) is None


def test_slacks_own_signature_is_known() -> None:
    body = body_of(called())
    assert is_signed(body, headers_of(body), SIGNING_SECRET, now_s=AT_S)
    assert is_signed(body, headers_of(body), SIGNING_SECRET, now_s=AT_S + 300)
    assert is_signed(body, headers_of(body), SIGNING_SECRET, now_s=AT_S - 300)


@pytest.mark.parametrize(
    ("changes", "now_s", "secret"),
    [
        ({}, AT_S + 301, SIGNING_SECRET),
        ({}, AT_S - 301, SIGNING_SECRET),
        ({}, AT_S, "f" * 32),
        ({}, AT_S, ""),
        ({"X-Slack-Signature": ""}, AT_S, SIGNING_SECRET),
        ({"X-Slack-Signature": "v0=é"}, AT_S, SIGNING_SECRET),
        ({"X-Slack-Request-Timestamp": "1796000001"}, AT_S, SIGNING_SECRET),
        ({"X-Slack-Request-Timestamp": "now"}, AT_S, SIGNING_SECRET),
        ({"X-Slack-Request-Timestamp": "٣"}, AT_S, SIGNING_SECRET),
        ({"X-Slack-Request-Timestamp": "1" * 5_000}, AT_S, SIGNING_SECRET),
    ],
)
def test_nothing_else_is_signed(changes: dict[str, str], now_s: float, secret: str) -> None:
    body = body_of(called())
    assert not is_signed(body, headers_of(body) | changes, secret, now_s=now_s)


def test_another_body_is_not_signed() -> None:
    body = body_of(called())
    assert not is_signed(body + b" ", headers_of(body), SIGNING_SECRET, now_s=AT_S)
    assert not is_signed(body + b"\xff", headers_of(body), SIGNING_SECRET, now_s=AT_S)
    assert not is_signed(body, {}, SIGNING_SECRET, now_s=AT_S)


def test_without_a_secret_nothing_is_signed_not_even_by_none() -> None:
    body = body_of(called())
    forged = {"X-Slack-Signature": signature_of(body, "1796000000", "")}
    assert not is_signed(body, headers_of(body) | forged, "", now_s=AT_S)
