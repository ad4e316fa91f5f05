"""Slack apps: a bot that writes by Slack's Web API. All that is said about one incident stands in one thread, and the
first message of it says how it is now.

Slack's own client is not used for the reasons that `slack` gives.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from django.conf import settings

from backend.alerts.channels.parcel import Outcome, Parcel, Sent, Thread, answered, unanswered
from backend.alerts.channels.slack_blocks import payload
from backend.alerts.message import GOING_ON, OVER, Event
from backend.outbound import Answer, Outbound, OutboundError

# Posting takes three calls at most, where a thread is gone and a form refused. With the changes of first messages, the
# last of which may begin at their end, they are over before the lease of `delivery` is.
CALL_S, CHANGES_S = 10.0, 15.0
# Slack gives the whole message back, each letter beyond ASCII in six.
ANSWER_BYTES = 128 * 1024
NO_THREAD = "There is no thread any more in which it would be said."
_TS = re.compile(r"[0-9]{1,20}\.[0-9]{1,10}")
_PLACE = re.compile(r"[A-Z0-9]{1,40}")

# Words of Slack's Web API (docs.slack.dev, `chat.postMessage` and what every method may answer).
_GONE = {
    "account_inactive": "The app was removed from Slack.",
    "channel_not_found": "There is no such channel, or it is private and the app was not invited.",
    "invalid_auth": "Slack does not know the token, or refuses it from this address.",
    "is_archived": "The channel is archived.",
    "not_authed": "Slack saw no token.",
    "token_expired": "The token has ended: switch token rotation off in the app's settings.",
    "token_revoked": "The token was taken back.",
}
_MENDABLE = {
    "missing_scope": "Give the app the scope chat:write, and install it anew.",
    "not_in_channel": "The app is not in that channel: write /invite and its name there.",
    "restricted_action": "The workspace does not let the app write there.",
    "restricted_action_read_only_channel": "Nobody may write in that channel.",
}
_NOT_TAKEN = {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text"}
_NO_THREAD = {
    "cannot_reply_to_message",
    "invalid_thread_ts",
    "message_not_found",
    "restricted_action_non_threadable_channel",
    "restricted_action_thread_locked",
    "thread_not_found",
}
# What an app needs to be: pasted where Slack asks for a manifest.
_SCOPES = ("chat:write", "chat:write.public")


def manifest(base_url: str) -> str:
    """What makes an app in Slack, as JSON."""
    pressed = {"is_enabled": True, "request_url": f"{base_url}/api/v1/slack/pressed"}
    wanted = {
        "display_information": {"name": "Firstbyte", "description": "Alerts about sites"},
        "features": {"bot_user": {"display_name": "Firstbyte", "always_online": True}},
        "oauth_config": {"scopes": {"bot": list(_SCOPES)}},
        "settings": {"interactivity": pressed, "token_rotation_enabled": False},
    }
    return json.dumps(wanted, indent=2)


def send(config: Mapping[str, Any], parcel: Parcel, outbound: Outbound) -> Sent:
    """Posts the parcel, in the thread that is there of its object, and brings first messages up to date. Never raises
    for what the other side does.
    """
    if parcel.first.event is Event.REMARK and _thread_of(parcel) is None:
        return Sent(outcome=Outcome.REFUSED, answer=NO_THREAD)
    bot = _Bot(
        config=config,
        outbound=replace(outbound, timeout_s=min(outbound.timeout_s, CALL_S), answer_bytes=ANSWER_BYTES),
    )
    try:
        said = bot.post(parcel)
        while (other := _otherwise(said, parcel)) is not None:
            parcel = other
            said = bot.post(parcel)
    except OutboundError as error:
        return _once(parcel, unanswered(error))
    outcome = _outcome_of(said)
    words = said.words
    if outcome is Outcome.DELIVERED and (fault := bot.bring_up_to_date(parcel)):
        words = f"{words}; its first message could not be changed: {fault}"
    sent = _once(parcel, answered(said.answer, outcome, parcel.sent_at, words=words))
    return replace(sent, begun=_begun(said, parcel)) if outcome is Outcome.DELIVERED else sent


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """Slack's answer. `error` is its word for what is wrong: None where nothing is, empty where it said none."""

    answer: Answer
    error: str | None
    begun: Thread | None = None

    @property
    def fault(self) -> str:
        """What is wrong, in a word or two; empty where nothing is."""
        return "" if self.error is None else self.error or f"status {self.answer.status}"

    @property
    def words(self) -> str:
        if not self.error:
            return "ok" if self.error is None else ""
        advice = _GONE.get(self.error) or _MENDABLE.get(self.error)
        return f"{self.error}: {advice}" if advice else self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bot:
    config: Mapping[str, Any]
    outbound: Outbound

    def post(self, parcel: Parcel) -> _Said:
        """A new message, or a reply that the whole channel sees. Raises OutboundError."""
        where: dict[str, Any] = {"channel": self.config["conversation"]}
        if (thread := _thread_of(parcel)) is not None:
            is_loud = parcel.first.event not in (Event.BETTER, Event.REMARK)
            where = {"channel": thread.conversation, "thread_ts": thread.ts, "reply_broadcast": is_loud}
        return self._call("chat.postMessage", where | self._body(parcel))

    def bring_up_to_date(self, parcel: Parcel) -> str:
        """Makes the first message of each thread say what is said now, as far as there is time; what went wrong."""
        until, fault = monotonic() + CHANGES_S, ""
        for item in parcel.items:
            thread = parcel.threads.get(item.about)
            if thread is None or item.message.event is Event.REMARK:
                continue
            if monotonic() > until:
                return fault or "no time was left"
            try:
                said = self._change(thread, replace(parcel, items=(item,)))
            except OutboundError as error:
                return fault or str(error)
            fault = fault or said.fault
            if said.answer.status == 429:
                return fault
        return fault

    def _change(self, thread: Thread, parcel: Parcel) -> _Said:
        """Raises OutboundError."""
        now = self._body(parcel)
        # What is not named may stay as it was.
        body = {"text": now["text"], "blocks": now.get("blocks", [])}
        return self._call("chat.update", {"channel": thread.conversation, "ts": thread.ts} | body)

    def _body(self, parcel: Parcel) -> dict[str, Any]:
        return payload(parcel, pressable=bool(self.config.get("signing_secret")))

    def _call(self, method: str, body: Mapping[str, Any]) -> _Said:
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "Authorization": f"Bearer {self.config['token']}",
        }
        data = json.dumps(body, separators=(",", ":")).encode()
        return _read(self.outbound.post(f"{settings.SLACK_API}/{method}", data, headers))


def _read(answer: Answer) -> _Said:
    """What Slack said, which may be anything."""
    try:
        told = json.loads(answer.body)
    except (ValueError, RecursionError):
        told = None
    if answer.status != 200 or not isinstance(told, dict):
        return _Said(answer=answer, error="")
    if told.get("ok") is not True:
        return _Said(answer=answer, error=str(told.get("error", "")))
    place, ts = str(told.get("channel")), str(told.get("ts"))
    is_one = _PLACE.fullmatch(place) and _TS.fullmatch(ts)
    return _Said(answer=answer, error=None, begun=Thread(conversation=place, ts=ts) if is_one else None)


def _thread_of(parcel: Parcel) -> Thread | None:
    """Where the parcel is a reply: a digest stands by itself."""
    return None if parcel.is_digest else parcel.threads.get(parcel.items[0].about)


def _otherwise(said: _Said, parcel: Parcel) -> Parcel | None:
    """How else to say what Slack did not take: outside a thread that is gone, or in the simplest form."""
    if said.error in _NO_THREAD and _thread_of(parcel) is not None and parcel.first.event is not Event.REMARK:
        return replace(parcel, threads={})
    if said.error in _NOT_TAKEN and not parcel.plain:
        return replace(parcel, plain=True)
    return None


def _once(parcel: Parcel, sent: Sent) -> Sent:
    """A remark keeps no alert behind it waiting: it is tried once."""
    is_late = parcel.first.event is Event.REMARK and sent.outcome is Outcome.RETRY
    return replace(sent, outcome=Outcome.REFUSED) if is_late else sent


def _outcome_of(said: _Said) -> Outcome:
    if said.error is None:
        return Outcome.DELIVERED
    if said.error in _GONE:
        return Outcome.GONE
    return Outcome.REFUSED if said.error in _NOT_TAKEN else Outcome.RETRY


def _begun(said: _Said, parcel: Parcel) -> Thread | None:
    """The thread of an incident begins with the first message about it alone."""
    is_of_incident = parcel.first.event in GOING_ON | OVER
    is_first = not parcel.is_digest and _thread_of(parcel) is None
    return said.begun if is_of_incident and is_first else None
