"""Which user timings of a page a monitor follows: each is a metric of its own (`backend.analysis.user_timings`).

What a run tells of them is stored under what was followed, name and all: with another one begins another history, and
whoever goes back to the first finds what was measured then.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from backend.analysis.user_timings import KINDS, is_user_timing
from workers.measurement.compute.devtools.vitals import MAX_NAME_CHARS

MAX_FOLLOWED = 5
# Longer than what is told of a name, which agents cut, nothing can be followed by.
MAX_TIMING_CHARS = max(map(len, KINDS)) + 1 + MAX_NAME_CHARS
# Times are read as `bigint`, and JSON has larger numbers.
_MAX_US = 2**63 - 1


class Told(Protocol):
    """A user timing as a page tells it, whoever has read it (`workers.measurement.vitals.UserTiming`)."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def at_us(self) -> int: ...
    @property
    def duration_us(self) -> int | None: ...


def followed_fault(timings: Sequence[str]) -> str | None:
    """A sentence on what no page tells, or more than may be; None where all can be followed."""
    if len(timings) > MAX_FOLLOWED:
        return f"At most {MAX_FOLLOWED} user timings can be followed."
    if len(set(timings)) < len(timings):
        return "Each user timing can be followed once."
    return next(filter(None, map(_fault, timings)), None)


def _fault(timing: str) -> str | None:
    name = timing.partition(":")[2]
    if not is_user_timing(timing):
        return "Write what it is and its name, such as mark:hero-painted; it is a mark, a measure or an element."
    if len(name) > MAX_NAME_CHARS:
        return f"The name of a user timing may have at most {MAX_NAME_CHARS} characters."
    if not timing.isprintable():
        return "The name of a user timing must be one line without control characters."
    # As in `mark: hero-painted`, which no page would ever tell; forms strip it.
    if name != name.strip():
        return "The name of a user timing must not begin or end with a space."
    return None


def timings_in(told: Iterable[Told]) -> Mapping[str, int]:
    """What of it can be followed, in its order: of a mark and of an element the instant, of a measure how long it took,
    in microseconds."""
    found: dict[str, int] = {}
    for one in told:
        us = one.at_us if one.duration_us is None else one.duration_us
        if 0 <= us <= _MAX_US:
            found.setdefault(f"{one.kind}:{one.name}", us)
    return found
