"""The time axis that all rows of a waterfall share: ticks at round times, and the moments the visitor noticed.

`frontend/src/waterfall/axis.ts` is the twin, for zooming without a reload; a golden file holds both to one answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from backend.web.units import short_duration

MarkKey = Literal["first-byte", "start-render", "fcp", "lcp", "dcl", "load", "shift", "user-timing"]

MAX_TICKS = 5
# Room for one label ("Largest paint 12.34 s") in percent of an axis in a window of 320 pixels, the narrowest that must
# do (WCAG 1.4.10); closer labels go to another line.
LABEL_PERCENT = 42.0
LAST_TICK_PERCENT = 85.0
# Room for the label of a tick ("-400 ms") there.
TICK_PERCENT = 16.5
PADDING = 1.03
_SIDES: tuple[tuple[Literal["start", "end"], float], ...] = (("start", 0.0), ("end", -LABEL_PERCENT))
# Nobody looks closer than this: the browser's log counts in milliseconds, a probe in microseconds.
MIN_LENGTH_US = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A time. `apart` is how far the one before stands, in percent; None for the first."""

    x: float
    text: str
    apart: float | None

    @property
    def anchor(self) -> str:
        """The text stands right of its line, at the far end left of it, so that it stays on the axis."""
        return "end" if self.x > LAST_TICK_PERCENT else "start"

    @property
    def is_tight(self) -> bool:
        """Whether its text would meet the one before where the axis is short: there it is left out."""
        return self.anchor == "end" and self.apart is not None and self.apart < 2 * TICK_PERCENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """An instant on the run's clock that gets a line; an empty text is a line without a label."""

    key: MarkKey
    text: str
    at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A vertical line. `lane` counts lines of labels from the top; `anchor` is SVG's text-anchor."""

    key: MarkKey
    text: str
    x: float
    lane: int
    anchor: Literal["start", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """From `start_us` to `end_us` on the run's clock, drawn from 0 to 100 percent; its labels count from `zero_us`."""

    start_us: int
    end_us: int
    zero_us: int = 0

    @property
    def length_us(self) -> int:
        return self.end_us - self.start_us

    def x(self, us: int) -> float:
        """Where an instant stands, held within the axis."""
        share = (us - self.start_us) / self.length_us
        return round(100 * min(max(share, 0.0), 1.0), 4)

    def holds(self, us: int) -> bool:
        return self.start_us <= us <= self.end_us

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """At round times from zero, before it too."""
        step_us = _round_step(self.length_us)
        first = -(-(self.start_us - self.zero_us) // step_us)
        times = range(first * step_us, self.end_us - self.zero_us, step_us)
        apart = 100 * step_us / self.length_us
        return tuple(
            Tick(x=self.x(self.zero_us + us), text=short_duration(us), apart=apart if place else None)
            for place, us in enumerate(times)
        )


def axis_of(start_us: int, end_us: int) -> Axis:
    """An axis that holds both instants, with a little air at its end; never without length."""
    length_us = max(end_us - start_us, 1)
    return Axis(start_us=start_us, end_us=start_us + max(int(length_us * PADDING), length_us + 1))


def part_of(axis: Axis, wanted: tuple[int, int] | None) -> Axis:
    """The part of an axis that a reader looks at, from and to in microseconds after its zero; else all of it."""
    if wanted is None:
        return axis
    start_us = max(wanted[0] + axis.zero_us, axis.start_us)
    end_us = min(wanted[1] + axis.zero_us, axis.end_us)
    if end_us - start_us < MIN_LENGTH_US:
        return axis
    return Axis(start_us=start_us, end_us=end_us, zero_us=axis.zero_us)


def box_of(axis: Axis, view: Axis) -> str:
    """From where and how much of an axis a part of it is, in percent: `20 35.5`."""
    left = 100 * (view.start_us - axis.start_us) / axis.length_us
    width = max(100 * view.length_us / axis.length_us, 0.0001)
    return " ".join(f"{part:.4f}".rstrip("0").rstrip(".") for part in (left, width))


def marks_on(axis: Axis, moments: Iterable[Moment]) -> tuple[Mark, ...]:
    """Lines for the moments that lie on the axis, in order of time."""
    marks: list[Mark] = []
    taken: list[tuple[int, float, float]] = []
    for moment in sorted(moments, key=lambda moment: moment.at_us):
        if not axis.holds(moment.at_us):
            continue
        x = axis.x(moment.at_us)
        lane, anchor = _place(taken, x) if moment.text else (0, "start")
        marks.append(Mark(key=moment.key, text=moment.text, x=x, lane=lane, anchor=anchor))
    return tuple(marks)


def lanes_of(marks: Iterable[Mark]) -> int:
    """How many lines of labels stand above the ticks."""
    return max((mark.lane + 1 for mark in marks if mark.text), default=0)


def _place(taken: list[tuple[int, float, float]], x: float) -> tuple[int, Literal["start", "end"]]:
    """The uppermost line that has room for a label, right of its mark before left of it; the room is then taken."""
    lane = 0
    while True:
        for anchor, left in _SIDES:
            room = (lane, x + left, x + left + LABEL_PERCENT)
            if room[1] >= 0 and room[2] <= 100 and not any(_meet(room, other) for other in taken):
                taken.append(room)
                return lane, anchor
        lane += 1


def _meet(one: tuple[int, float, float], other: tuple[int, float, float]) -> bool:
    return one[0] == other[0] and one[1] < other[2] and one[2] > other[1]


def _round_step(length_us: int) -> int:
    """The smallest of 1, 2, 5 times a power of ten that needs no more than MAX_TICKS steps."""
    step_us = 1
    while True:
        for factor in (1, 2, 5):
            if length_us <= step_us * factor * MAX_TICKS:
                return step_us * factor
        step_us *= 10
