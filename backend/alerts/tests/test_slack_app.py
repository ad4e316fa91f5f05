"""What a Slack app writes: one thread for each incident, whose first message says how it is now."""

import json
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from pytest_django import Settings

from backend.alerts.channels import Item, Outcome, Thread, send, slack_app
from backend.alerts.channels.config import ChannelError, Destination, check
from backend.alerts.channels.parcel import Parcel
from backend.alerts.delivery import LEASE
from backend.alerts.message import GOING_ON, Event, Fact, Link
from backend.alerts.message import OVER as BACK
from backend.alerts.models import ChannelKind
from backend.alerts.tests.parcels import ABOUT, CHANNEL, parcel
from backend.alerts.tests.slack_workspace import CONFIG, CONVERSATION, SIGNING_SECRET, TOKEN, Workspace
from backend.alerts.tests.standin import limited, loopback
from backend.alerts.tests.test_notices import message
from backend.outbound import Answer, Outbound, OutboundError, Reason
from workers.tests.ports import closed_port
from workers.tests.servers import response

OVER = message(Event.RECOVERED, title="shop.example is well again")


@pytest.fixture
def slack(settings: Settings) -> Iterator[Workspace]:
    with Workspace() as workspace:
        settings.SLACK_API = workspace.api
        yield workspace


def in_thread(one: Parcel, thread: Thread | None) -> Parcel:
    assert thread is not None
    return replace(one, threads={ABOUT: thread})


def begin(slack: Workspace) -> Thread:
    begun = slack_app.send(CONFIG, parcel(), loopback()).begun
    assert begun is not None
    return begun


def test_the_first_message_begins_a_thread(slack: Workspace) -> None:
    sent = send(ChannelKind.SLACK_APP, CONFIG, parcel(), loopback())

    [first] = slack.written
    assert (sent.outcome, sent.answer, sent.status) == (Outcome.DELIVERED, "ok", 200)
    assert sent.begun == Thread(conversation=CONVERSATION, ts=first.ts)
    assert (first.body["channel"], first.thread_ts, first.body["mrkdwn"]) == (CONVERSATION, None, False)
    assert first.text == "shop.example slower in Singapore: LCP 3.94 s (was 2.05 s)"


def test_what_comes_next_is_a_reply_that_all_see_and_the_first_message_says_it_too(slack: Workspace) -> None:
    thread = begin(slack)
    sent = slack_app.send(CONFIG, in_thread(parcel(OVER), thread), loopback())

    [first] = slack.firsts()
    [reply] = slack.replies(first)
    assert (sent.outcome, sent.answer, sent.begun) == (Outcome.DELIVERED, "ok", None)
    assert (reply.text, reply.body["reply_broadcast"]) == (OVER.title, True)
    assert (first.text, first.body["text"][0]) == (OVER.title, "🟢")
    assert first.changes == ["shop.example slower in Singapore: LCP 3.94 s (was 2.05 s)"]


def test_what_is_only_better_is_no_news_to_all(slack: Workspace) -> None:
    thread = begin(slack)
    slack_app.send(CONFIG, in_thread(parcel(message(Event.BETTER)), thread), loopback())
    assert slack.written[-1].body["reply_broadcast"] is False


def test_where_the_first_message_was_deleted_a_new_one_takes_its_place(slack: Workspace) -> None:
    thread = begin(slack)
    slack.written.clear()

    sent = slack_app.send(CONFIG, in_thread(parcel(OVER), thread), loopback())

    [first] = slack.firsts()
    assert (first.text, sent.answer) == (OVER.title, "ok")
    assert (sent.outcome, sent.begun) == (Outcome.DELIVERED, Thread(conversation=CONVERSATION, ts=first.ts))


def test_a_first_message_that_cannot_be_changed_costs_no_reply(slack: Workspace) -> None:
    thread = begin(slack)
    slack.faults = {"update": ["edit_window_closed"]}
    sent = slack_app.send(CONFIG, in_thread(parcel(OVER), thread), loopback())
    assert sent.outcome is Outcome.DELIVERED
    assert sent.answer == "ok; its first message could not be changed: edit_window_closed"
    assert slack.written[-1].text == OVER.title


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (limited("30"), "status 429"),
        (response(b"<html>down</html>", status="503 Service Unavailable"), "status 503"),
        (response(b"<html>a login page</html>"), "status 200"),
    ],
)
def test_a_first_message_that_slack_did_not_change_is_said_to_be_as_it_was(
    slack: Workspace, fault: bytes, words: str
) -> None:
    thread = begin(slack)
    slack.faults = {"update": [fault]}
    sent = slack_app.send(CONFIG, in_thread(parcel(OVER), thread), loopback())
    assert (sent.outcome, sent.retry_after_s) == (Outcome.DELIVERED, None)
    assert sent.answer == f"ok; its first message could not be changed: {words}"


def many(slack: Workspace, count: int) -> tuple[Parcel, list[Thread]]:
    """A digest of recoveries of incidents that each have a thread."""
    threads = {uuid4(): begin(slack) for _ in range(count)}
    items = tuple(Item(about=about, sequence=2, message=OVER) for about in threads)
    slack.calls.clear()
    return replace(parcel(), items=items, threads=threads), list(threads.values())


def test_at_slacks_limit_no_more_first_messages_are_changed(slack: Workspace) -> None:
    digest, _ = many(slack, 3)
    slack.faults = {"update": [limited("30")]}
    sent = slack_app.send(CONFIG, digest, loopback())
    assert slack.calls == ["postMessage", "update"]
    assert sent.answer == "ok; its first message could not be changed: status 429"


def test_one_first_message_that_is_gone_keeps_none_from_being_changed(slack: Workspace) -> None:
    digest, _ = many(slack, 3)
    slack.faults = {"update": ["message_not_found"]}
    sent = slack_app.send(CONFIG, digest, loopback())
    assert slack.calls == ["postMessage", "update", "update", "update"]
    assert sent.answer == "ok; its first message could not be changed: message_not_found"


def test_a_message_that_was_not_taken_changes_no_first_message(slack: Workspace) -> None:
    """It is tried again: what the first message says would be known before anybody was told."""
    thread = begin(slack)
    slack.calls.clear()
    slack.faults = {"postMessage": ["internal_error"]}
    assert slack_app.send(CONFIG, in_thread(parcel(OVER), thread), loopback()).outcome is Outcome.RETRY
    assert slack.calls == ["postMessage"]


def test_a_connection_that_broke_off_is_said_and_ends_the_changes(slack: Workspace) -> None:
    digest, _ = many(slack, 2)
    slack.faults = {"update": [b"no HTTP"]}
    sent = slack_app.send(CONFIG, digest, loopback())
    assert slack.calls == ["postMessage", "update"]
    assert sent.answer.startswith("ok; its first message could not be changed: The host's answer was not HTTP")


def test_all_calls_of_a_message_are_over_before_its_lease() -> None:
    whole_s = 3 * slack_app.CALL_S + slack_app.CHANGES_S + slack_app.CALL_S
    assert whole_s < LEASE.total_seconds()


def test_no_call_takes_longer_than_is_reckoned_with(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Outbound] = []

    def post(self: Outbound, *_: object) -> Answer:
        used.append(self)
        raise OutboundError(Reason.TIMEOUT)

    monkeypatch.setattr(Outbound, "post", post)
    for given_s in (60.0, 2.0):
        slack_app.send(CONFIG, parcel(), loopback(given_s))
    assert [one.timeout_s for one in used] == [slack_app.CALL_S, 2.0]


def test_what_there_was_no_time_for_is_said(slack: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    digest, _ = many(slack, 2)
    monkeypatch.setattr(slack_app, "CHANGES_S", -1.0)
    sent = slack_app.send(CONFIG, digest, loopback())
    assert (slack.calls, sent.outcome) == (["postMessage"], Outcome.DELIVERED)
    assert sent.answer == "ok; its first message could not be changed: no time was left"


def test_a_form_that_is_not_taken_and_a_thread_that_is_gone_take_three_calls_in_any_order(slack: Workspace) -> None:
    for faults in (["invalid_blocks", "thread_not_found"], ["thread_not_found", "invalid_blocks"]):
        thread = begin(slack)
        slack.calls.clear()
        slack.faults = {"postMessage": [*faults]}
        sent = slack_app.send(CONFIG, in_thread(parcel(OVER), thread), loopback())
        assert slack.calls == ["postMessage"] * 3
        assert (sent.outcome, sent.begun) == (
            Outcome.DELIVERED,
            Thread(conversation=CONVERSATION, ts=slack.written[-1].ts),
        )
        assert "blocks" not in slack.written[-1].body


def test_a_first_message_takes_the_simple_form_that_was_taken(slack: Workspace) -> None:
    """Blocks that are not named may stay as they were, and would go on to say that it is down."""
    thread = begin(slack)
    slack.faults = {"postMessage": ["invalid_blocks"]}
    slack_app.send(CONFIG, in_thread(parcel(OVER), thread), loopback())
    [first] = slack.firsts()
    assert (first.text, first.body["blocks"]) == (OVER.title, [])


def test_a_digest_stands_by_itself_and_brings_first_messages_up_to_date(slack: Workspace) -> None:
    thread = begin(slack)
    sent = slack_app.send(CONFIG, in_thread(parcel(OVER, message(title="another is down")), thread), loopback())

    first, digest = slack.firsts()
    assert (sent.begun, digest.text) == (None, "2 alerts at once")
    assert first.text == OVER.title


@pytest.mark.parametrize("event", sorted(GOING_ON | BACK))
def test_whatever_is_said_first_of_an_incident_begins_its_thread(slack: Workspace, event: Event) -> None:
    assert slack_app.send(CONFIG, parcel(message(event)), loopback()).begun is not None


@pytest.mark.parametrize("event", [Event.TEST, Event.WEEKLY, Event.CHANNEL_DISABLED])
def test_what_is_no_incident_begins_no_thread(slack: Workspace, event: Event) -> None:
    assert slack_app.send(CONFIG, parcel(message(event)), loopback()).begun is None


def test_buttons_act_on_an_incident_while_it_lasts(slack: Workspace) -> None:
    links = (Link(label="Open the incident", path="/alerts/1/"), Link(label="Mute", path="/alerts/1/#mute"))
    thread = begin(slack)
    slack_app.send(CONFIG, in_thread(parcel(message(Event.WORSE, links=links)), thread), loopback())
    acknowledge, mute, opened = slack.written[-1].buttons
    assert [one["text"]["text"] for one in (acknowledge, mute)] == ["Acknowledge", "Mute for an hour"]
    assert acknowledge["value"] == f"{CHANNEL}:{ABOUT}"
    assert "url" not in acknowledge
    assert opened["url"] == "https://fb.example/alerts/1/"

    slack_app.send(CONFIG, in_thread(parcel(replace(OVER, links=links)), thread), loopback())
    assert [one["text"]["text"] for one in slack.written[-1].buttons] == ["Open the incident"]


def test_without_a_signing_secret_there_are_links_alone(slack: Workspace) -> None:
    links = (Link(label="Mute", path="/alerts/1/#mute"),)
    slack_app.send({**CONFIG, "signing_secret": ""}, parcel(message(links=links)), loopback())
    assert [one["url"] for one in slack.written[-1].buttons] == ["https://fb.example/alerts/1/#mute"]


def test_a_form_that_slack_does_not_take_is_said_more_simply_at_once(slack: Workspace) -> None:
    slack.faults = {"postMessage": ["invalid_blocks"]}
    assert slack_app.send(CONFIG, parcel(), loopback()).outcome is Outcome.DELIVERED
    assert "blocks" not in slack.written[0].body
    slack.faults = {"postMessage": ["invalid_blocks", "no_text"]}
    assert slack_app.send(CONFIG, parcel(), loopback()).outcome is Outcome.REFUSED


@pytest.mark.parametrize(
    ("fault", "outcome", "answer"),
    [
        ("not_in_channel", Outcome.RETRY, "not_in_channel: The app is not in that channel: write /invite and its name"),
        ("internal_error", Outcome.RETRY, "internal_error"),
        ("token_revoked", Outcome.GONE, "token_revoked: The token was taken back."),
        ("is_archived", Outcome.GONE, "is_archived: The channel is archived."),
        (response(b"<html>down</html>", status="503 Service Unavailable"), Outcome.RETRY, "<html>down</html>"),
        (response(b"<html>a login page</html>"), Outcome.RETRY, "<html>a login page</html>"),
        (response(b"[" * 100_000), Outcome.RETRY, "[[["),
        (response(b"[]"), Outcome.RETRY, "[]"),
        (response(b'{"ok": true}', status="502 Bad Gateway"), Outcome.RETRY, '{"ok": true}'),
        (response(b'{"ok": "no"}'), Outcome.RETRY, '{"ok": "no"}'),
    ],
)
def test_slacks_word_says_what_follows(slack: Workspace, fault: str | bytes, outcome: Outcome, answer: str) -> None:
    slack.faults = {"postMessage": [fault]}
    sent = slack_app.send(CONFIG, parcel(), loopback())
    assert (sent.outcome, sent.answer[: len(answer)], sent.begun) == (outcome, answer, None)
    assert slack.calls == ["postMessage"]


def test_slacks_limit_of_calls_is_kept(slack: Workspace) -> None:
    slack.faults = {"postMessage": [limited("30")]}
    sent = slack_app.send(CONFIG, parcel(), loopback())
    assert (sent.outcome, sent.retry_after_s) == (Outcome.RETRY, 30.0)


def test_a_whole_message_of_rare_letters_is_read_back(slack: Workspace) -> None:
    """Slack gives each letter back in six bytes, of emoji in twelve: its answer is longer than that of a webhook."""
    rare = message(title="漢" * 140, sentences=("🚦" * 400,) * 4, context=("漢" * 400,) * 2)
    rare = replace(rare, facts=(Fact(label="漢", value="漢" * 99),) * 6)
    assert slack_app.send(CONFIG, parcel(rare), loopback()).begun is not None


def test_no_answer_is_tried_again(settings: Settings) -> None:
    settings.SLACK_API = f"http://127.0.0.1:{closed_port()}/api"
    sent = slack_app.send(CONFIG, parcel(), loopback())
    assert (sent.outcome, sent.status) == (Outcome.RETRY, None)
    assert TOKEN not in sent.answer


@pytest.mark.parametrize(("place", "ts"), [({"a": 1}, "1.2"), ("C0123ABCDEF", "now"), ("C0/../x", "1.2"), (None, None)])
def test_an_answer_that_names_no_message_begins_no_thread(slack: Workspace, place: object, ts: object) -> None:
    slack.faults = {"postMessage": [response(json.dumps({"ok": True, "channel": place, "ts": ts}).encode())]}
    sent = slack_app.send(CONFIG, parcel(), loopback())
    assert (sent.outcome, sent.begun) == (Outcome.DELIVERED, None)


def test_threads_of_others_are_left_alone(slack: Workspace) -> None:
    thread = begin(slack)
    other = replace(parcel(), items=(Item(about=uuid4(), sequence=1, message=message(title="another")),))
    sent = slack_app.send(CONFIG, replace(other, threads={ABOUT: thread}), loopback())
    assert sent.begun == Thread(conversation=CONVERSATION, ts=slack.written[1].ts)
    assert slack.calls == ["postMessage", "postMessage"]


# Configurations


def app(**changes: str) -> Destination:
    return Destination(**({"token": TOKEN, "conversation": CONVERSATION} | changes))


def test_a_slack_app_needs_a_token_and_a_channel() -> None:
    checked = check(ChannelKind.SLACK_APP, app(token=f" {TOKEN} ", signing_secret=SIGNING_SECRET))
    assert checked.config == CONFIG
    assert checked.target == CONVERSATION
    assert check(ChannelKind.SLACK_APP, app()).config["signing_secret"] == ""


def test_what_is_left_empty_stays() -> None:
    moved = check(ChannelKind.SLACK_APP, Destination(conversation="C9999ZZZZ"), before=CONFIG)
    assert moved.config == CONFIG | {"conversation": "C9999ZZZZ"}


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"token": ""}, "token", "begins with xoxb-"),
        ({"token": "xoxp-1234567890-abcdef"}, "token", "begins with xoxb-"),
        ({"token": "xoxe.xoxb-1-abcdefghijkl"}, "token", "switch token rotation off"),
        ({"token": f"{TOKEN}\r\nX: y"}, "token", "begins with xoxb-"),
        ({"conversation": "#alerts"}, "conversation", "such as C0123ABCDEF"),
        ({"signing_secret": "hunter2"}, "signing_secret", "32 digits"),
    ],
)
def test_what_cannot_be_a_slack_app_names_its_field(changes: dict[str, str], field: str, words: str) -> None:
    with pytest.raises(ChannelError, match=words) as caught:
        check(ChannelKind.SLACK_APP, app(**changes))
    assert caught.value.field == field
