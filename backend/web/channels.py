"""What the pages of channels say of them. No I/O."""

from collections.abc import Sequence

from backend.alerts.channels import Outcome, Sent
from backend.alerts.holding import SPARED
from backend.alerts.models import Channel, DeliveryState
from backend.alerts.queries.channels import ChannelRow, DeliveryRow
from backend.web import times
from backend.web.phrases import number_of
from backend.web.verdict import Verdict
from backend.web.waterfall.text import printable

_GOOD = frozenset({DeliveryState.DELIVERED, DeliveryState.DIGESTED})
_HOLDS = "This channel is told later, or has hours: what comes before waits until then."
_WAS_OFF = "It was switched off at that time."


def is_failing(row: ChannelRow) -> bool:
    """Whether the last thing that was to be told did not arrive."""
    return row.enabled and row.last is not None and row.last.state not in _GOOD


def _was_off(row: ChannelRow) -> bool:
    """Whether the last message was left unsent, since the channel was switched off then."""
    return row.last is not None and row.last.state is DeliveryState.DROPPED


def verdict_of(rows: Sequence[ChannelRow]) -> Verdict:
    """Does every alert reach somebody?"""
    gone = [row for row in rows if row.disabled_reason]
    unsent = [row for row in rows if is_failing(row) and _was_off(row)]
    failing = [row for row in rows if is_failing(row) and not _was_off(row)]
    working = [row for row in rows if row.enabled]
    if gone:
        text = f"It answered “{printable(gone[0].disabled_reason, 200)}”. Give it a new address to switch it on again."
        return Verdict(level="bad", title=f"{_names(gone)} was switched off", text=text)
    if failing:
        last = failing[0].last
        text = _answer(last.status, last.answer, "The last answer") if last else ""
        return Verdict(level="warn", title=f"{_names(failing)} did not take the last message", text=text)
    if unsent:
        return Verdict(level="warn", title=f"The last message to {_names(unsent)} was not sent", text=_WAS_OFF)
    if not working:
        return Verdict(level="warn", title="Nobody is told", text="Every channel is switched off.")
    untried = [row for row in working if row.last is None]
    if untried:
        text = "Send a test to see what the other side says."
        return Verdict(level="info", title=f"Nothing was told to {_names(untried)} yet", text=text)
    text = "The last message arrived at each of them."
    return Verdict(level="good", title=f"Alerts reach {number_of(len(working), 'channel')}", text=text)


def verdict_of_one(channel: Channel, log: Sequence[DeliveryRow]) -> Verdict:
    """Does what is told by this way arrive? `log` is of this channel, newest first."""
    if channel.disabled_reason:
        text = f"The answer was “{printable(channel.disabled_reason, 200)}”. A new address switches it on again."
        return Verdict(level="bad", title="It was switched off, because it is gone", text=text)
    if not channel.enabled:
        return Verdict(level="warn", title="It is switched off", text="Nobody is told by this way.")
    last = next((line for line in log if line.answer not in SPARED), None)
    if last is None:
        text = "Send a test to see what the other side says."
        return Verdict(level="info", title="Nothing was told by this way yet", text=text)
    if last.held_until is not None:
        title = f"The last message is held until {times.short(last.held_until)}"
        return Verdict(level="info", title=title, text=_HOLDS)
    if last.state in _GOOD:
        return Verdict(level="good", title="The last message arrived", text="")
    # A try is counted when it begins; one that has ended left an answer.
    if last.state is DeliveryState.WAITING and last.status is None and not last.answer:
        return Verdict(level="warn", title="The last message is on its way", text="")
    if last.state is DeliveryState.DROPPED:
        return Verdict(level="warn", title="The last message was not sent", text=_WAS_OFF)
    answer = _answer(last.status, last.answer, "The last answer")
    if last.state is DeliveryState.WAITING:
        return Verdict(level="warn", title="The last message has not arrived yet; it is tried again", text=answer)
    advice = "Send a test once that is mended."
    return Verdict(level="bad", title="The last message did not arrive", text=answer, advice=advice)


def untold(rows: Sequence[ChannelRow]) -> Verdict | None:
    """What keeps alerts from people: that no channel is switched on, or that one did not take the last message."""
    if not any(row.enabled for row in rows):
        text = "What goes wrong stands on the page of alerts only: no channel, such as Slack or e-mail, is switched on."
        return Verdict(level="warn", title="Nobody would be told", text=text)
    verdict = verdict_of(rows)
    return verdict if verdict.level in ("warn", "bad") else None


def test_sentence(name: str, sent: Sent) -> str:
    """What came of a test, in the other side's own words."""
    took = "took" if sent.outcome is Outcome.DELIVERED else "did not take"
    return f"{name} {took} the test. {_answer(sent.status, sent.answer, 'The answer')}"


def _answer(status: int | None, answer: str, name: str) -> str:
    """What the other side said; our own sentence where it said nothing."""
    words = printable(answer, 300)
    if status is None:
        return words or "There was no answer."
    return f"{name}: {status} {words}".strip()


def _names(rows: Sequence[ChannelRow]) -> str:
    first = printable(rows[0].name, 60)
    return first if len(rows) == 1 else f"{first} and {len(rows) - 1} more"
