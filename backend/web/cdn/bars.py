"""Two legs as bars on one axis that several rows share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from backend.web.units import duration, short_duration
from backend.web.waterfall.axis import Axis
from backend.web.waterfall.rows import Bar, bars_of
from backend.web.waterfall.segments import SPOKEN, Phase, Segment
from workers.diagnosis.pair.facts import LegFacts
from workers.diagnosis.pair.samples import Parts
from workers.diagnosis.pair.verdict import PairVerdict

_PHASES: tuple[Phase, ...] = ("dns", "connect", "tls", "wait", "download")
# The axis is cut into quarters at round times.
_STEPS = (1, 2, 4, 6, 8, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class LegBar:
    """The usual exchange of one leg. `spoken` says in words what the bars show."""

    name: str
    time: str
    bars: tuple[Bar, ...]
    spoken: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """From zero to a round time; `text` says so, and is empty where nothing was measured."""

    axis: Axis
    holds_any: bool

    @property
    def text(self) -> str:
        if not self.holds_any:
            return ""
        end_us = self.axis.end_us
        return f"0 to {short_duration(end_us)}, a line every {short_duration(end_us // 4)}"


def scale_of(verdicts: Iterable[PairVerdict]) -> Scale:
    """One that holds the usual exchange of every leg."""
    return scale_over(facts.parts for verdict in verdicts for facts in (verdict.a, verdict.b) if facts is not None)


def scale_over(exchanges: Iterable[Parts]) -> Scale:
    """One that holds all of these."""
    totals = [parts.total for parts in exchanges]
    axis = Axis(start_us=0, end_us=_round_up(max([1_000, *totals])))
    return Scale(axis=axis, holds_any=bool(totals))


def leg_bars(verdict: PairVerdict, scale: Scale) -> tuple[LegBar, ...]:
    """The CDN's bar, then the origin's; none when nothing was measured."""
    legs: Sequence[tuple[str, LegFacts | None]] = (("CDN", verdict.a), ("Origin", verdict.b))
    return tuple(leg_bar(name, facts.parts, scale) for name, facts in legs if facts is not None)


def leg_bar(name: str, parts: Parts, scale: Scale) -> LegBar:
    """Its phases, one after the other."""
    segments, at_us = [], 0
    for phase, length_us in zip(_PHASES, parts, strict=True):
        if length_us > 0:
            segments.append(Segment(phase=phase, start_us=at_us, end_us=at_us + length_us))
            at_us += length_us
    spoken = ", ".join(f"{SPOKEN[segment.phase]} {duration(segment.duration_us)}" for segment in segments)
    return LegBar(name=name, time=duration(parts.total), bars=bars_of(segments, scale.axis), spoken=spoken)


def _round_up(us: int) -> int:
    """The smallest of 1, 2, 4, 6, 8 times a power of ten milliseconds that is not less."""
    power_us = 1_000
    while True:
        for step in _STEPS:
            if us <= step * power_us:
                return step * power_us
        power_us *= 10
