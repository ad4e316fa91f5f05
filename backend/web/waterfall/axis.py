"""The time axis that all rows of a waterfall share: ticks at round times, and the moments the visitor noticed."""

from dataclasses import dataclass
from typing import Literal

from backend.web.units import duration, short_duration

MarkKey = Literal["first-byte", "fcp", "lcp", "load"]

MAX_TICKS = 5
# Room for one label ("Largest paint 0.84 s") on a phone, in percent of its axis; closer labels go to another line.
LABEL_PERCENT = 34.0
LAST_TICK_PERCENT = 85.0
PADDING = 1.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    x: float
    text: str

    @property
    def anchor(self) -> str:
        """The text stands right of its line, at the far end left of it, so that it stays on the axis."""
        return "end" if self.x > LAST_TICK_PERCENT else "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A vertical line with a label. `lane` counts lines of labels from the top; `anchor` is SVG's text-anchor."""

    key: MarkKey
    text: str
    x: float
    lane: int
    anchor: Literal["start", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """From `start_us` to `end_us` on the run's clock, drawn from 0 to 100 percent."""

    start_us: int
    end_us: int

    @property
    def length_us(self) -> int:
        return self.end_us - self.start_us

    def x(self, us: int) -> float:
        """Where an instant stands, held within the axis."""
        share = (us - self.start_us) / self.length_us
        return round(100 * min(max(share, 0.0), 1.0), 3)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """At round times of the run's clock; what began before zero has none."""
        times = range(0, self.end_us, _round_step(self.length_us))
        return tuple(Tick(x=self.x(us), text=short_duration(us)) for us in times)


def axis_of(start_us: int, end_us: int) -> Axis:
    """An axis that holds both instants, with a little air at its end; never without length."""
    length_us = max(end_us - start_us, 1)
    return Axis(start_us=start_us, end_us=start_us + max(int(length_us * PADDING), length_us + 1))


def marks_on(axis: Axis, moments: list[tuple[MarkKey, str, int | None]]) -> tuple[Mark, ...]:
    """Lines for the moments (key, name, microseconds on the run's clock) that are known, in order of time."""
    known = sorted(((us, key, name) for key, name, us in moments if us is not None), key=lambda moment: moment[0])
    marks: list[Mark] = []
    taken: list[tuple[int, float, float]] = []
    for us, key, name in known:
        x = axis.x(us)
        fits_right = x + LABEL_PERCENT <= 100
        left, right = (x, x + LABEL_PERCENT) if fits_right else (x - LABEL_PERCENT, x)
        lane = _free_lane(taken, left, right)
        taken.append((lane, left, right))
        marks.append(
            Mark(key=key, text=f"{name} {duration(us)}", x=x, lane=lane, anchor="start" if fits_right else "end")
        )
    return tuple(marks)


def _free_lane(taken: list[tuple[int, float, float]], left: float, right: float) -> int:
    lane = 0
    while any(lane == other and left < their_right and right > their_left for other, their_left, their_right in taken):
        lane += 1
    return lane


def _round_step(length_us: int) -> int:
    """The smallest of 1, 2, 5 times a power of ten that needs no more than MAX_TICKS steps."""
    step_us = 1
    while True:
        for factor in (1, 2, 5):
            if length_us <= step_us * factor * MAX_TICKS:
                return step_us * factor
        step_us *= 10
