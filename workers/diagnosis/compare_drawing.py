"""A comparison of two legs as text for a terminal: the verdict, both legs as bars on one axis, and why. Pure."""

from textwrap import wrap

from workers.diagnosis.compare_document import Asked
from workers.diagnosis.pair_facts import NOT_PACKED, LegFacts
from workers.diagnosis.pair_samples import CDN_AND_ORIGIN, Parts, Verdict
from workers.diagnosis.pairs import Comparison, PairVerdict
from workers.diagnosis.units import ms, signed_ms, size
from workers.measurement.canvas import BOLD, COLOURS, DIM, RED, SHADES, Canvas, fit, hanging, pad
from workers.measurement.pair import CacheState, Leg

_MAX_REASONS = 4
_NAME_COLUMNS = 8
_VALUE_COLUMNS = 9


def draw_comparison(asked: Asked, comparison: Comparison, canvas: Canvas) -> str:
    """Lines without a final line break."""
    cold, reused = comparison.cold, comparison.reused
    lines = [canvas.paint(line, BOLD) for line in wrap(cold.sentence, canvas.columns)]
    if cold.main_reason is not None and cold.verdict not in (Verdict.INCONCLUSIVE, Verdict.NO_DIFFERENCE):
        lines += wrap(cold.main_reason.text, canvas.columns)
    if asked.names is not CDN_AND_ORIGIN:
        lines += [fit(f"{leg}: {url}", canvas.columns) for leg, url in ((Leg.A, asked.a), (Leg.B, asked.b))]
    longest_us = max(
        (facts.parts.total for verdict in (cold, reused) for facts in (verdict.a, verdict.b) if facts), default=0
    )
    lines += _round("Over fresh connections", asked, cold, longest_us, canvas)
    lines += _round("Over the same connections again", asked, reused, longest_us, canvas)
    if cold.a is not None or reused.a is not None:
        lines += ["", _legend(canvas)]
    lines += _why(cold, canvas)
    for warning in cold.warnings:
        lines += hanging("! ", warning.text, canvas, RED)
    return "\n".join(lines)


def _round(title: str, asked: Asked, verdict: PairVerdict, longest_us: int, canvas: Canvas) -> list[str]:
    if verdict.a is None or verdict.b is None:
        return []
    lines = ["", canvas.paint(title, DIM)]
    for leg, facts in ((Leg.A, verdict.a), (Leg.B, verdict.b)):
        lines += _leg(_label(asked, leg), facts, longest_us, canvas)
    if verdict.by_phase is not None and verdict.difference is not None:
        lines += hanging("  ", f"{_split(verdict.by_phase)} = {signed_ms(verdict.by_phase.total)}", canvas, DIM)
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
    age = [] if facts.age_s is None else [f"age {facts.age_s:.0f} s"]
    return f"cache {', '.join(told + age)}" if told else None


def _where(facts: LegFacts) -> str | None:
    more = f" and {len(facts.addresses) - 1} more" if len(facts.addresses) > 1 else ""
    return f"{facts.addresses[0]}{more}" if facts.addresses else None


def _split(parts: Parts) -> str:
    return "  ".join(f"{name} {signed_ms(us)}" for name, us in parts._asdict().items())


def _why(verdict: PairVerdict, canvas: Canvas) -> list[str]:
    told = [reason for reason in verdict.reasons if reason.difference_us is not None][:_MAX_REASONS]
    lines = [""] if told or verdict.warnings else []
    for reason in told:
        share = f"{signed_ms(reason.difference_us or 0):>{_VALUE_COLUMNS}}  "
        lines += hanging(share, reason.text, canvas)
    return lines


def _legend(canvas: Canvas) -> str:
    return "  ".join(f"{canvas.paint(SHADES[phase], COLOURS[phase])} {phase}" for phase in Parts._fields)
