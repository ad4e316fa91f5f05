"""What the rules look at: one ended slot of a monitor in a region, and what a rule makes of all it saw."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from backend.alerts.metrics import METRICS, POSITIONS
from backend.alerts.states import State
from backend.analysis.user_timings import is_user_timing

# What is told of a failure, in words.
MAX_DETAIL_CHARS = 300
# JSON values only.
Memory = dict[str, Any]


class Seen(StrEnum):
    """What a run says of the site. A run that was missed, or failed by our own fault, says nothing."""

    UP = "up"
    DOWN = "down"
    NOTHING = "nothing"


def seen_in(outcome: str, blame: str | None) -> Seen:
    """What an outcome, and for a failure its blame, say."""
    if outcome == "measured":
        return Seen.UP
    return Seen.DOWN if outcome == "failed" and blame != "monitor" else Seen.NOTHING


class Sample(NamedTuple):
    """One ended slot: the last attempt that tells anything. `values` are the stored metrics in the order of COLUMNS,
    `timings_us` the user timings that were followed."""

    region: str
    at_us: int
    run_id: UUID
    seen: Seen
    detail: str
    values: tuple[float | None, ...]
    agent: str = ""
    timings_us: Mapping[str, int | None] | None = None

    def value(self, metric: str) -> float | None:
        """A metric in the door's unit; None when it was not measured, or the run failed."""
        if self.seen is not Seen.UP:
            return None
        if is_user_timing(metric):
            us = (self.timings_us or {}).get(metric)
            return None if us is None else us / 1000
        stored = self.values[POSITIONS[metric]]
        return None if stored is None else stored * METRICS[metric].scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a rule makes of a monitor. `facts` are JSON values that the wording needs; `after` is a run that shows the
    bad state and `before` the last one without it, as hex, in the first of the regions. A state that is just passing
    is not `firm`: it stays, and is not a moment to tell of it. Where one bad state became another, `turned_us` is when;
    `since_us` may be when it became bad at all.
    """

    state: State
    since_us: int
    regions: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    firm: bool = True
    turned_us: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Evaluator(Protocol):
    """A rule's eyes on one monitor. Samples of a region come in the order of their slots."""

    def observe(self, sample: Sample) -> None:
        """Takes note of an ended slot."""

    def keep(self, regions: Collection[str]) -> None:
        """Forgets what other regions said: nothing is measured there any more."""

    def standing(self, current: State, now_us: int) -> Standing:
        """What is to be made of all that was seen; `current` is what was made of it before."""

    def memory(self) -> Memory:
        """All that has to be known to go on."""


def forget_others(kept: dict[str, Any], regions: Collection[str]) -> None:
    """Takes the regions out of what was kept by region that are not among these."""
    for code in [code for code in kept if code not in regions]:
        del kept[code]


def newest_us(instants: Iterable[int]) -> int:
    return max(instants, default=0)
