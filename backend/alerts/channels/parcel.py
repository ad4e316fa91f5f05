"""What goes to a channel, and what comes back. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from backend.alerts.message import Message, clean
from backend.alerts.models.channels import MAX_ANSWER_CHARS
from backend.outbound import Answer, OutboundError, Reason
from workers.measurement.http_date import http_date

# Longer than this nobody may ask us to wait: by then an alert is history.
MAX_RETRY_AFTER_S = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """The first message about an object in a conversation of Slack's: its ID and the message's time stamp there."""

    conversation: str
    ts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One message about one object, the `sequence`-th of it."""

    about: UUID
    sequence: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One thing to send. `id` stays the same through all tries of the same. Several items make a digest.

    `plain` asks for the simplest form there is: the usual one was refused. `were_held`: the channel's delay or hours
    held some of it. `threads` are where the channel was told first of each object, where that can be gone on with.
    """

    id: UUID
    channel: UUID
    items: tuple[Item, ...]
    organisation: str
    base_url: str
    sent_at: datetime
    plain: bool = False
    were_held: bool = False
    threads: Mapping[UUID, Thread] = field(default_factory=dict)

    @property
    def first(self) -> Message:
        return self.items[0].message

    @property
    def is_digest(self) -> bool:
        return len(self.items) > 1

    @property
    def title(self) -> str:
        """It all in one line."""
        if not self.is_digest:
            return self.first.title
        return f"{len(self.items)} alerts{', held until now' if self.were_held else ' at once'}"

    def url(self, path: str) -> str:
        """An address inside the service."""
        return f"{self.base_url}{path}" if path.startswith("/") else self.base_url


REDIRECTED = "It redirects, which is not followed: give the address it leads to."


class Outcome(StrEnum):
    """What follows from an answer. `gone`: this channel will never take anything again."""

    DELIVERED = "delivered"
    RETRY = "retry"
    REFUSED = "refused"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What the other side said. `status` is None where there was no answer; `answer` is theirs, or our sentence.

    `begun` is the thread that what is said next about the same object belongs to.
    """

    outcome: Outcome
    answer: str
    status: int | None = None
    retry_after_s: float | None = None
    begun: Thread | None = None


def unanswered(error: OutboundError) -> Sent:
    """Nobody answered: tried again, unless the address itself is none."""
    outcome = Outcome.REFUSED if error.reason is Reason.INVALID else Outcome.RETRY
    return Sent(outcome=outcome, answer=clean(str(error), MAX_ANSWER_CHARS))


def answered(answer: Answer, outcome: Outcome, now: datetime, *, words: str = "") -> Sent:
    """An answer with its first words, or with those that were read out of it; anything may be in them, so they are
    cleaned and cut.
    """
    is_redirect = 300 <= answer.status < 400
    words = REDIRECTED if is_redirect else words or answer.body.decode("utf-8", "replace")
    cut = clean(words, MAX_ANSWER_CHARS)
    return Sent(outcome=outcome, answer=cut, status=answer.status, retry_after_s=_retry_after(answer, now))


def _retry_after(answer: Answer, now: datetime) -> float | None:
    """Seconds until the other side wants to be asked again (RFC 9110, 10.2.3): a number or a date."""
    if answer.status not in (429, 503):
        return None
    text = answer.headers.get("retry-after", "").strip()
    if text.isdecimal() and text.isascii():
        return min(float(text[:10]), MAX_RETRY_AFTER_S)
    instant = http_date(text)
    return None if instant is None else min(max((instant - now).total_seconds(), 0.0), MAX_RETRY_AFTER_S)
