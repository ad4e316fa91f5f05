"""A comparison of two legs as text for a terminal: the verdict, both legs as bars on one axis, and why. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import chain
from textwrap import wrap

from workers.diagnosis.finding_drawing import Detail, draw_finding
from workers.diagnosis.pair.document import Asked
from workers.diagnosis.pair.facts import NOT_PACKED, LegFacts
from workers.diagnosis.pair.samples import CDN_AND_ORIGIN, Parts, Verdict
from workers.diagnosis.pair.verdict import Comparison, PairVerdict
from workers.diagnosis.units import lasting, ms, signed_ms, size
from workers.measurement.canvas import BOLD, COLOURS, DIM, RED, SHADES, Canvas, counted, fit, hanging, pad
from workers.measurement.finding import Diagnosis
from workers.measurement.pair import CacheState, Leg

_MAX_REASONS = 4
_NAME_COLUMNS = 8
_VALUE_COLUMNS = 9


def draw_comparison(asked: Asked, comparison: Comparison, diagnosis: Diagnosis, canvas: Canvas) -> str:
    """Lines without a final line break: all of it, or what the canvas has rows for, the last of which says what it has
    not; but the verdict and the bars of fresh connections always.
    """
    drawing = _Drawing(asked, comparison, diagnosis, canvas)
    whole = _Shown(reasons=len(drawing.reasons), warnings=len(drawing.warnings))
    lines = drawing.lines(whole)
    if canvas.rows is None or len(lines) <= canvas.rows:
        return "\n".join(lines)
    for shown in _shrinking(whole):
        lines = [*drawing.lines(shown), canvas.left_out(_names(whole, shown))]
        if len(lines) <= canvas.rows:
            break
    return "\n".join(lines)


class _Detail(Enum):
    """How much is told of a round: nothing, its bars, or also what answered and in which phases they differ."""

    NOTHING = auto()
    BARS = auto()
    WHOLE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """What of a comparison is drawn: how many of the reasons and warnings, the first ones first."""

    reasons: int
    warnings: int
    fresh: _Detail = _Detail.WHOLE
    again: _Detail = _Detail.WHOLE
    legend: bool = True
    findings: bool = True


def _shrinking(shown: _Shown) -> Iterator[_Shown]:
    """Less and less. The main reason stands with the verdict; a warning may change what the verdict is worth."""
    shown = replace(shown, again=_Detail.BARS)
    yield shown
    for reasons in reversed(range(shown.reasons)):
        shown = replace(shown, reasons=reasons)
        yield shown
    shown = replace(shown, again=_Detail.NOTHING)
    yield shown
    shown = replace(shown, fresh=_Detail.BARS)
    yield shown
    shown = replace(shown, legend=False)
    yield shown
    shown = replace(shown, findings=False)
    yield shown
    for warnings in reversed(range(shown.warnings)):
        yield replace(shown, warnings=warnings)


def _names(whole: _Shown, shown: _Shown) -> list[str]:
    """What was left out, by its names."""
    names = ["the same connections again"] if shown.again is _Detail.NOTHING else []
    for hidden, noun in ((whole.warnings - shown.warnings, "warning"), (whole.reasons - shown.reasons, "reason")):
        names += [counted(hidden, f"more {noun}")] if hidden else []
    names += [] if shown.findings else ["what to do"]
    return [*names, "more details"]


class _Drawing:
    """The parts of a comparison, which any number of drawings put together."""

    def __init__(self, asked: Asked, comparison: Comparison, diagnosis: Diagnosis, canvas: Canvas) -> None:
        self._asked, self._canvas = asked, canvas
        self._cold, self._reused = comparison.cold, comparison.reused
        legs = [facts for verdict in (self._cold, self._reused) for facts in (verdict.a, verdict.b) if facts]
        self._longest_us = max((facts.parts.total for facts in legs), default=0)
        self._head = _head(asked, self._cold, canvas)
        self._legend = ["", _legend(canvas)] if legs else []
        self.reasons = _reasons(self._cold, canvas)
        self.warnings = [hanging("! ", warning.text, canvas, RED) for warning in self._cold.warnings]
        self.findings = [draw_finding(finding, canvas, None, Detail.BRIEF) for finding in diagnosis.findings]

    def lines(self, shown: _Shown) -> list[str]:
        why = [*self.reasons[: shown.reasons], *self.warnings[: shown.warnings]]
        return [
            *self._head,
            *self._round("Over fresh connections", self._cold, shown.fresh),
            *self._round("Over the same connections again", self._reused, shown.again),
            *(self._legend if shown.legend else []),
            *([""] if why else []),
            *chain.from_iterable(why),
            *([line for told in self.findings for line in ("", *told)] if shown.findings else []),
        ]

    def _round(self, title: str, verdict: PairVerdict, detail: _Detail) -> list[str]:
        canvas = self._canvas
        if verdict.a is None or verdict.b is None or detail is _Detail.NOTHING:
            return []
        lines = ["", canvas.paint(title, DIM)]
        for leg, facts in ((Leg.A, verdict.a), (Leg.B, verdict.b)):
            drawn = _leg(_label(self._asked, leg), facts, self._longest_us, canvas)
            lines += drawn if detail is _Detail.WHOLE else drawn[:1]
        if detail is _Detail.WHOLE and verdict.by_phase is not None and verdict.difference is not None:
            lines += hanging("  ", f"{_split(verdict.by_phase)} = {signed_ms(verdict.by_phase.total)}", canvas, DIM)
        return lines


def _head(asked: Asked, cold: PairVerdict, canvas: Canvas) -> list[str]:
    lines = [canvas.paint(line, BOLD) for line in wrap(cold.sentence, canvas.columns)]
    if cold.main_reason is not None and cold.verdict not in (Verdict.INCONCLUSIVE, Verdict.NO_DIFFERENCE):
        lines += wrap(cold.main_reason.text, canvas.columns)
    if asked.names is not CDN_AND_ORIGIN:
        lines += [
            fit(f"{leg}: {canvas.named(url)}", canvas.columns) for leg, url in ((Leg.A, asked.a), (Leg.B, asked.b))
        ]
    return lines


def _label(asked: Asked, leg: Leg) -> str:
    if asked.names is CDN_AND_ORIGIN:
        return "CDN" if leg is Leg.A else "origin"
    return str(leg)


def _leg(name: str, facts: LegFacts, longest_us: int, canvas: Canvas) -> list[str]:
    label = f"  {pad(name, _NAME_COLUMNS)}{ms(facts.parts.total):>{_VALUE_COLUMNS}}  "
    bar = _bar(facts.parts, longest_us, canvas.columns - len(label), canvas)
    return [
        f"{label}{bar}".rstrip(),
        canvas.paint(fit(f"  {' ' * _NAME_COLUMNS}{'  '.join(_about(facts))}", canvas.columns), DIM),
    ]


def _bar(parts: Parts, longest_us: int, columns: int, canvas: Canvas) -> str:
    """Ends of phases are rounded, not lengths, so that equal legs have equal bars."""
    drawn, at_us, begun = "", 0, 0
    for phase, length_us in parts._asdict().items():
        at_us += length_us
        ended = round(columns * at_us / max(1, longest_us))
        drawn += canvas.paint(SHADES[phase] * (ended - begun), COLOURS[phase])
        begun = ended
    return drawn


def _about(facts: LegFacts) -> list[str]:
    status = "/".join(map(str, facts.statuses)) or None
    body = None if facts.body_bytes is None else size(facts.body_bytes)
    encoding = None if facts.content_encoding == NOT_PACKED else facts.content_encoding
    return [
        part
        for part in (status, facts.protocol, facts.tls_version, body, encoding, _cache(facts), _where(facts))
        if part
    ]


def _cache(facts: LegFacts) -> str | None:
    told = [f"{state} {count}" for state, count in facts.caches.items() if state is not CacheState.UNKNOWN]
    age = [] if facts.age_s is None else [f"age {lasting(facts.age_s)}"]
    return f"cache {', '.join(told + age)}" if told else None


def _where(facts: LegFacts) -> str | None:
    more = f" and {len(facts.addresses) - 1} more" if len(facts.addresses) > 1 else ""
    return f"{facts.addresses[0]}{more}" if facts.addresses else None


def _split(parts: Parts) -> str:
    return "  ".join(f"{name} {signed_ms(us)}" for name, us in parts._asdict().items())


def _reasons(verdict: PairVerdict, canvas: Canvas) -> list[list[str]]:
    told = verdict.reasons[:_MAX_REASONS]
    return [hanging(f"{signed_ms(reason.difference_us):>{_VALUE_COLUMNS}}  ", reason.text, canvas) for reason in told]


def _legend(canvas: Canvas) -> str:
    return "  ".join(f"{canvas.paint(SHADES[phase], COLOURS[phase])} {phase}" for phase in Parts._fields)
