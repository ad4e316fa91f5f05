"""One finding as text for a terminal: what it is and costs, what was seen, what to do. Pure."""

from collections.abc import Iterable, Sequence
from enum import Enum, auto

from workers.diagnosis.catalogue import advice_of, fact_words, setting_for, settings_of, title_of, unit_of
from workers.diagnosis.units import lasting, ms
from workers.measurement.canvas import DIM, RED, Canvas, columns_of, fit, hanging
from workers.measurement.finding import Confidence, Fact, Finding, Severity

_MARKS = {Severity.CRITICAL: "✗", Severity.HIGH: "●", Severity.MEDIUM: "◐", Severity.LOW: "○", Severity.INFO: "·"}
_LOUD = frozenset({Severity.CRITICAL, Severity.HIGH})
_YELLOW = "33"
# Before what to do.
ADVICE, _BESIDE = "  → ", "    "
# So many others that share a saving are named.
_NAMED = 3
# Names of facts have commas.
_APART = " · "


class Detail(Enum):
    """How much is told: two lines, up to four, or all that there is to tell."""

    BRIEF = auto()
    USUAL = auto()
    WHOLE = auto()


def draw_finding(finding: Finding, canvas: Canvas, server: str | None, detail: Detail) -> list[str]:
    """Lines; `server` is whose setting is told. What is cut, but not what is left out, ends with a sign."""
    head, told_before = _head(finding, canvas)
    advice = advice_of(finding.id, finding.severity)
    fitting = setting_for(settings_of(finding), server)
    setting = "" if fitting is None else f"({fitting})"
    whole = hanging(ADVICE, f"{advice} {setting}".rstrip(), canvas)
    if detail is Detail.BRIEF:
        return [head, _in_one_line(whole, hanging(ADVICE, advice, canvas), canvas)]
    host = [finding.host] if finding.host and finding.host not in head else []
    seen = [*host, *_others(finding), *([] if told_before else _confidence(finding)), *_evidence(finding.evidence)]
    if detail is Detail.WHOLE:
        return [head, *hanging(_BESIDE, _APART.join(seen), canvas, DIM), *whole]
    lines = [canvas.paint(_as_many(seen, _BESIDE, canvas), DIM)] if seen else []
    return [head, *lines, *_in_two_lines(whole, setting, canvas)]


def _head(finding: Finding, canvas: Canvas) -> tuple[str, bool]:
    """What it costs is never cut, its host and its confidence are told here where there is room."""
    cost = _cost(finding)
    room = canvas.columns - len(finding.id) - 2
    host = f" ({finding.host})" if finding.host else ""
    title = f"{_MARKS[finding.severity]} {title_of(finding.id, finding.severity)}{host}"
    whole = " · ".join([title + cost, *_confidence(finding)])
    fits = columns_of(whole) <= room
    head = whole if fits else _shortened(title, room - columns_of(cost)) + cost
    colour = RED if finding.severity in _LOUD else _YELLOW
    return f"{canvas.paint(head, colour)}  {canvas.paint(str(finding.id), DIM)}", fits


def _cost(finding: Finding) -> str:
    alone = f" · costs {ms(finding.saving_us)}" if finding.saving_us else ""
    if finding.together is None:
        return alone
    more = f"{ms(finding.together.saving_us)} together"
    return f"{alone} + {more}" if alone else f" · costs {more}"


def _others(finding: Finding) -> list[str]:
    """With what else it must be mended to save what is told of both."""
    others = () if finding.together is None else finding.together.others
    names = [f"{one.id} ({one.host})" if one.host else str(one.id) for one in others[:_NAMED]]
    more = [f"{len(others) - _NAMED} more"] if len(others) > _NAMED else []
    return [f"together with {', '.join([*names, *more])}"] if names else []


def _confidence(finding: Finding) -> list[str]:
    return [] if finding.confidence is Confidence.HIGH else [f"{finding.confidence} confidence"]


def _in_one_line(whole: Sequence[str], advice: Sequence[str], canvas: Canvas) -> str:
    """With the setting where there is room for all of it."""
    shorter = whole if len(whole) == 1 else advice
    return shorter[0] if len(shorter) == 1 else _cut(shorter[0], canvas)


def _in_two_lines(whole: Sequence[str], setting: str, canvas: Canvas) -> list[str]:
    """Advice at this length. A setting is told whole, since it is copied, at the cost of words before it."""
    if len(whole) <= 2:
        return [*whole]
    if not setting:
        return [whole[0], _cut(whole[1], canvas)]
    apart = hanging(_BESIDE, setting, canvas)
    return [_cut(whole[0], canvas), apart[0] if len(apart) == 1 else _cut(apart[0], canvas)]


def _cut(line: str, canvas: Canvas) -> str:
    """The line, which goes on where nobody sees it, with as many of its words as leave room to say so."""
    short = line if columns_of(line) <= canvas.columns - 2 else line.rpartition(" ")[0]
    return f"{short} …"


def _shortened(text: str, columns: int) -> str:
    """As many of its words as fit, and a sign where some do not: what comes behind them stays readable."""
    if columns_of(text) <= columns:
        return text
    words = text.split(" ")
    while len(words) > 1 and columns_of(" ".join(words)) + 2 > columns:
        words.pop()
    return fit(f"{' '.join(words)} …", columns)


def _as_many(facts: Sequence[str], begin: str, canvas: Canvas) -> str:
    """As many as fit, the first ones first, none of them cut unless it stands alone."""
    counts = range(len(facts), 0, -1)
    lines = [f"{begin}{_APART.join(facts[:count])}{'' if count == len(facts) else ' …'}" for count in counts]
    return fit(next((line for line in lines if columns_of(line) <= canvas.columns), lines[-1]), canvas.columns)


def _evidence(facts: Iterable[Fact]) -> list[str]:
    return [f"{fact_words(fact.name)} {_value(fact)}" for fact in facts if fact.value not in (None, ())]


def _value(fact: Fact) -> str:
    if isinstance(fact.value, bool):
        return "yes" if fact.value else "no"
    if isinstance(fact.value, tuple):
        words = [_value(Fact(name=fact.name, value=one)) for one in fact.value]
        return (", " if any(" " in word for word in words) else " ").join(words)
    if fact.name.endswith("_ms") and isinstance(fact.value, int | float):
        return ms(fact.value * 1000)
    in_bytes = fact.name.endswith("_bytes") or fact.name.startswith("bytes_")
    if in_bytes and isinstance(fact.value, int):
        return f"{fact.value:,} B"
    unit = unit_of(fact.name) if isinstance(fact.value, int | float) else None
    if unit == "s" and isinstance(fact.value, int | float):
        return lasting(fact.value)
    return str(fact.value) if unit is None else f"{fact.value:,} {unit}"
