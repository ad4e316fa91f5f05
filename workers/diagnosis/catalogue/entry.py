"""How a cause is told to people: what each entry of the catalogue holds."""

from dataclasses import dataclass
from enum import StrEnum


class Counts(StrEnum):
    """For whom a repair saves its milliseconds. The first request of a visit is no further one; a rest is a pause of a
    connection that is kept."""

    NEW_VISIT = "new_visit"
    RETURNING_VISIT = "returning_visit"
    EACH_REQUEST = "each_request"
    FURTHER_REQUEST = "further_request"
    ANSWER_AFTER_REST = "answer_after_rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What to write, or to switch on, in one server or CDN; `setting` may have several lines."""

    server: str
    setting: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One cause: `title` for a list, `explanation` in two sentences, `advice` as what to do.

    `counts` says for whom the saving counts; None where the cost is no time.
    """

    title: str
    explanation: str
    advice: str
    counts: Counts | None = None
    settings: tuple[Setting, ...] = ()
