"""What each kind of channel is sent, and what its answers mean."""

import base64
import hashlib
import hmac
import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from backend.alerts.channels import Outcome, send, slack, slack_blocks, webhook
from backend.alerts.channels.config import (
    ChannelError,
    Destination,
    check,
    new_secret,
    rotated,
    secret_bytes,
    signing_secrets,
)
from backend.alerts.channels.parcel import REDIRECTED
from backend.alerts.message import Event, Fact, Link
from backend.alerts.models import ChannelKind
from backend.alerts.tests.parcels import ABOUT, HOSTILE, parcel, stored, texts
from backend.alerts.tests.standin import ARCHIVED, FAULT, INVALID_PAYLOAD, NO_SERVICE, OK, StandIn, limited, loopback
from backend.alerts.tests.test_notices import NOW, message
from workers.tests.ports import closed_port
from workers.tests.servers import redirect, response

# Slack


def test_a_slack_message_has_header_sections_small_print_and_buttons() -> None:
    body = slack_blocks.payload(parcel())
    kinds = [block["type"] for block in body["blocks"]]
    assert kinds == ["header", "section", "section", "context", "actions"]
    assert body["text"] == "🔴 shop.example slower in Singapore: LCP 3.94 s (was 2.05 s)"
    assert body["blocks"][0]["text"] == {"type": "plain_text", "text": body["text"], "emoji": False}
    assert body["blocks"][1]["text"]["text"] == "Since 14:20 UTC.\n5 of the last 5 runs."
    assert body["blocks"][2]["fields"][0]["text"] == "Regions: Singapore"
    button = body["blocks"][4]["elements"][0]
    assert (button["text"]["text"], button["url"]) == ("Open", "https://fb.example/alerts/1/")
    assert body["unfurl_links"] is False


def test_a_recovery_is_green() -> None:
    assert slack_blocks.payload(parcel(message(Event.RECOVERED, title="Recovered")))["text"] == "🟢 Recovered"


def test_a_message_with_a_title_alone_is_a_message() -> None:
    bare = message(sentences=(), facts=(), context=(), links=())
    assert [block["type"] for block in slack_blocks.payload(parcel(bare))["blocks"]] == ["header"]


def test_hostile_names_are_only_text_in_slack() -> None:
    hostile = message(
        title=HOSTILE,
        sentences=(HOSTILE,),
        facts=(Fact(label=HOSTILE, value=HOSTILE),),
        context=(HOSTILE,),
        links=(Link(label=HOSTILE, path="/alerts/1/"), Link(label="away", path="https://evil.example/")),
    )
    body = slack_blocks.payload(parcel(stored(hostile)))
    for text in texts(body):
        assert "<" not in text
        assert ">" not in text
    assert "mrkdwn" not in texts(body)
    assert "https://evil.example/" not in texts(body)


@given(st.text(max_size=4000), st.integers(min_value=2, max_value=40))
def test_slacks_limits_hold_for_every_text(text: str, many: int) -> None:
    long = stored(
        message(
            title=text,
            sentences=(text,) * 12,
            facts=(Fact(label=text, value=text),) * 12,
            context=(text,) * 5,
            links=(Link(label=text, path="/" + "x" * 100),) * 5,
        )
    )
    one, digest = parcel(long), parcel(*(long,) * many)
    buttons = slack_blocks.payload(one, pressable=True)["blocks"][-1]["elements"]
    assert len({button["action_id"] for button in buttons}) == len(buttons) <= 25
    assert all(len(button["text"]["text"]) <= 75 and len(button.get("value", "")) <= 2000 for button in buttons)
    for body in (slack_blocks.payload(one), slack_blocks.payload(one, pressable=True), slack_blocks.payload(digest)):
        assert len(body["blocks"]) <= 8
        assert len(body["blocks"][0]["text"]["text"]) <= 150
        assert all(0 < len(one) <= 3000 for one in texts(body))
        assert sum(map(len, texts(body))) < 3000 + 250
        json.dumps(body, ensure_ascii=False).encode()


@given(st.text(alphabet="a&<>…", max_size=60), st.integers(min_value=1, max_value=40))
def test_escaping_never_breaks_an_entity_or_the_limit(text: str, limit: int) -> None:
    escaped = slack_blocks.escape(text, limit)
    assert len(escaped) <= limit
    for entity in ("&amp;", "&lt;", "&gt;"):
        escaped = escaped.replace(entity, "")
    assert "&" not in escaped


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("shop is down", 12, "shop is down"),
        ("shop is down", 11, "shop is do…"),
        ("shop is down", 6, "shop…"),
        ("a & b", 9, "a &amp; b"),
        ("a & bc", 9, "a &amp;…"),
    ],
)
def test_a_text_that_is_too_long_keeps_as_much_of_its_beginning_as_there_is_room_for(
    text: str, limit: int, shown: str
) -> None:
    assert slack_blocks.escape(text, limit) == shown


def test_links_that_are_too_long_for_a_button_or_too_many_keep_no_others_away() -> None:
    paths = [
        "/" + "x" * slack_blocks.URL_CHARS,
        *(f"/runs/{number}/" for number in range(slack_blocks.MAX_BUTTONS + 1)),
    ]
    body = slack_blocks.payload(parcel(message(links=tuple(Link(label="Run", path=path) for path in paths))))
    urls = [element["url"] for element in body["blocks"][-1]["elements"]]
    assert urls == [f"https://fb.example{path}" for path in paths[1 : slack_blocks.MAX_BUTTONS + 1]]


def test_many_at_once_are_one_message() -> None:
    body = slack_blocks.payload(parcel(*(message(title=f"site {number} is down") for number in range(14))))
    assert body["text"] == "🔴 14 alerts at once"
    lines = body["blocks"][1]["text"]["text"].split("\n")
    assert lines[0] == "🔴 site 0 is down"
    assert lines[-1] == "and 4 more"
    assert body["blocks"][2]["elements"][0]["url"] == "https://fb.example/alerts/"


def test_a_digest_that_names_all_of_them_speaks_of_no_more() -> None:
    titles = [f"site {number} is down" for number in range(slack_blocks.MAX_LISTED)]
    body = slack_blocks.payload(parcel(*(message(title=title) for title in titles)))
    assert body["blocks"][1]["text"]["text"].split("\n") == [f"🔴 {title}" for title in titles]


@pytest.mark.parametrize(
    ("answer", "plain", "outcome", "words"),
    [
        (OK, False, Outcome.DELIVERED, "ok"),
        (INVALID_PAYLOAD, False, Outcome.RETRY, "invalid_payload"),
        (INVALID_PAYLOAD, True, Outcome.REFUSED, "invalid_payload"),
        (NO_SERVICE, False, Outcome.GONE, "no_service"),
        (ARCHIVED, False, Outcome.GONE, "channel_is_archived"),
        # What stands before Slack, or in its place for an hour, does not speak for it.
        (response(b"<h1>Not found</h1>", status="404 Not Found"), False, Outcome.RETRY, "<h1>Not found</h1>"),
        (response(b"", status="410 Gone"), False, Outcome.RETRY, ""),
        (response(b"invalid_token", status="403 Forbidden"), False, Outcome.GONE, "invalid_token"),
        (response(b"action_prohibited", status="403 Forbidden"), False, Outcome.RETRY, "action_prohibited"),
        (FAULT, False, Outcome.RETRY, "rollup_error"),
        (redirect("http://169.254.169.254/"), False, Outcome.RETRY, REDIRECTED),
    ],
)
def test_slacks_answers_are_understood(answer: bytes, outcome: Outcome, words: str, *, plain: bool) -> None:
    with StandIn(answer) as there:
        sent = slack.send({"url": there.url}, parcel(plain=plain), loopback())
    assert (sent.outcome, sent.answer) == (outcome, words)
    assert ("blocks" in there.calls[0].body) is not plain


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30.0),
        ("0", 0.0),
        ("999999", 3600.0),
        ("Sat, 21 Nov 2026 12:02:00 GMT", 120.0),
        ("Sat, 21 Nov 2020 12:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("-5", None),
    ],
)
def test_retry_after_is_honoured_within_an_hour(text: str, seconds: float | None) -> None:
    with StandIn(limited(text)) as there:
        sent = slack.send({"url": there.url}, parcel(), loopback())
    assert (sent.outcome, sent.status, sent.retry_after_s) == (Outcome.RETRY, 429, seconds)


def test_nobody_there_is_tried_again_and_no_secret_is_told() -> None:
    sent = slack.send({"url": f"http://127.0.0.1:{closed_port()}/secret-part"}, parcel(), loopback())
    assert (sent.outcome, sent.status) == (Outcome.RETRY, None)
    assert "secret-part" not in sent.answer


def test_an_answer_is_cleaned_and_cut() -> None:
    with StandIn(response(b"\x00\xff\x1b[31m" + b"x" * 5000, status="500 No")) as there:
        answer = slack.send({"url": there.url}, parcel(), loopback()).answer
    assert len(answer) == 500
    assert "\x1b" not in answer


# Webhooks


def verify(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Written from the specification, not from our own code."""
    key = base64.b64decode(secret.split("_", 1)[1])
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    return wanted in headers["webhook-signature"].split(" ")


def test_a_webhook_is_signed_as_the_specification_says() -> None:
    secret, sending = new_secret(), parcel()
    with StandIn(response(b"", status="204 No Content")) as there:
        sent = send(ChannelKind.WEBHOOK, {"url": there.url, "secret": secret}, sending, loopback())
    (call,) = there.calls
    assert sent.outcome is Outcome.DELIVERED
    assert call.headers["webhook-id"] == f"msg_{sending.id.hex}"
    assert call.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    assert verify(secret, call.headers, call.raw)
    assert not verify(new_secret(), call.headers, call.raw)
    assert not verify(secret, call.headers, call.raw + b" ")
    assert not verify(secret, call.headers | {"webhook-timestamp": "1"}, call.raw)


def test_the_signature_is_that_of_the_specifications_example() -> None:
    body = b'{"event_type":"ping","data":{"success":true}}'
    found = webhook.signature("whsec_plJ3nmyCDGBKInavdOK15jsl", "msg_loFOjxBNrRLzqYUf", "1731705121", body)
    assert found == "rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="


def test_a_webhook_says_everything_in_words_and_in_figures() -> None:
    body = webhook.payload(parcel())
    assert body["type"] == "incident.opened"
    assert body["timestamp"] == "2026-11-21T12:00:00Z"
    assert body["data"]["id"] == str(ABOUT)
    assert body["data"]["links"] == [{"label": "Open", "url": "https://fb.example/alerts/1/"}]
    assert body["data"]["details"] == {"metric": "lcp_ms", "value": 3940.5, "regions": ["sin"]}
    assert webhook.payload(parcel(message(Event.TEST)))["type"] == "channel.test"


def test_after_a_rotation_both_secrets_sign_for_a_day() -> None:
    config: dict[str, Any] = {"url": "http://x/", "secret": new_secret()}
    changed = rotated(config, NOW)
    assert changed["secret"] != config["secret"]
    headers = webhook.headers(parcel(), b"{}", signing_secrets(changed, NOW + timedelta(hours=23)))
    assert verify(config["secret"], headers, b"{}")
    assert verify(changed["secret"], headers, b"{}")
    assert signing_secrets(changed, NOW + timedelta(hours=25)) == [changed["secret"]]


def test_secrets_have_the_length_that_is_asked_for() -> None:
    assert 24 <= len(secret_bytes(new_secret())) <= 64
    assert new_secret() != new_secret()


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("201 Created", Outcome.DELIVERED),
        ("410 Gone", Outcome.GONE),
        ("404 Not Found", Outcome.RETRY),
        ("302 Found", Outcome.RETRY),
        ("500 Oops", Outcome.RETRY),
    ],
)
def test_a_receivers_answers_are_understood(status: str, outcome: Outcome) -> None:
    with StandIn(response(b"", status=status)) as there:
        sent = webhook.send({"url": there.url, "secret": new_secret()}, parcel(), loopback())
    assert sent.outcome is outcome


# Configurations


def test_a_slack_address_is_slacks_own() -> None:
    checked = check(ChannelKind.SLACK, Destination(url=" https://hooks.slack.com/services/T0/B0/xyz "))
    assert checked.config == {"url": "https://hooks.slack.com/services/T0/B0/xyz"}
    assert checked.target == "hooks.slack.com"


@pytest.mark.parametrize(
    ("kind", "url", "addresses", "field", "words"),
    [
        (ChannelKind.SLACK, "", "", "url", "Paste the address"),
        (ChannelKind.SLACK, "https://hooks.slack.com.evil.example/services/x", "", "url", "begins with https://hooks"),
        (ChannelKind.SLACK, "http://hooks.slack.com/services/x", "", "url", "begins with https://hooks"),
        (ChannelKind.SLACK, "https://hooks.slack.com/", "", "url", "not complete"),
        (ChannelKind.WEBHOOK, "https://10.0.0.1/", "", "url", "inside your network"),
        (ChannelKind.WEBHOOK, "https://localhost./x", "", "url", "inside your network"),
        (ChannelKind.WEBHOOK, "https://u:p@hook.example/", "", "url", "user name or password"),
        (ChannelKind.WEBHOOK, "https://hook.example:25/", "", "url", "Port 25"),
        (ChannelKind.EMAIL, "", "", "addresses", "at least one"),
        (ChannelKind.EMAIL, "", "ops@acme.example, nobody", "addresses", "'nobody' is not"),
        (ChannelKind.EMAIL, "", " ".join(f"u{n}@acme.example" for n in range(21)), "addresses", "At most 20"),
    ],
)
def test_a_configuration_that_cannot_work_names_its_field(
    kind: ChannelKind, url: str, addresses: str, field: str, words: str
) -> None:
    with pytest.raises(ChannelError, match=words) as caught:
        check(kind, Destination(url=url, addresses=addresses))
    assert caught.value.field == field


def test_what_is_shown_of_a_channel_holds_no_secret() -> None:
    assert (
        check(ChannelKind.WEBHOOK, Destination(url="https://hook.example/path?token=hunter2")).target == "hook.example"
    )
    shown = check(ChannelKind.EMAIL, Destination(addresses="a@acme.example; b@acme.example a@acme.example"))
    assert shown.target == "a@acme.example and 1 more"
    assert shown.config == {"addresses": ["a@acme.example", "b@acme.example"]}


def test_an_operator_names_what_speaks_like_slack(settings: Settings) -> None:
    settings.SLACK_ORIGINS = ("https://chat.example",)
    assert check(ChannelKind.SLACK, Destination(url="https://chat.example/hooks/abc")).target == "chat.example"
