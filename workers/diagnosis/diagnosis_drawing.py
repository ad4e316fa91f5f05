"""What a diagnosis says, as text for a terminal: causes in the order in which to mend them. Pure."""

from collections.abc import Iterable, Sequence
from itertools import chain
from textwrap import wrap

from workers.diagnosis.catalogue import entry, reason_text, setting_for
from workers.diagnosis.units import counted, ms
from workers.measurement.canvas import BOLD, DIM, GREEN, RED, Canvas, columns_of, fit, hanging
from workers.measurement.evidence import Depth
from workers.measurement.finding import Answer, Check, Diagnosis, Fact, Finding, FindingId, NotJudged, Severity
from workers.measurement.messages import PageMeasurement, ProbeMeasurement

_MARKS = {Severity.CRITICAL: "✗", Severity.HIGH: "●", Severity.MEDIUM: "◐", Severity.LOW: "○", Severity.INFO: "·"}
_LOUD = frozenset({Severity.CRITICAL, Severity.HIGH})
# An empty line before all this, and the prompt after it.
_AROUND = 2
_LINES_OF_ADVICE = 2
_LINES_OF_REASONS = 2
_YELLOW = "33"


def draw_diagnosis(measured: ProbeMeasurement | PageMeasurement, canvas: Canvas, *, rows: int) -> list[str]:
    """As many findings as `rows` lines hold, the rest by name; nothing for what nobody judged."""
    if measured.diagnosis is None:
        return []
    diagnosis = measured.diagnosis
    lines = [canvas.paint(line, BOLD) for line in wrap(_headline(diagnosis, measured), canvas.columns)]
    told = [one for one in diagnosis.findings if one.severity is not Severity.INFO]
    server = _server(measured)
    blocks = [_finding(finding, canvas, server) for finding in told]
    rest = _named("Could be better", [_title(one) for one in diagnosis.findings if one not in told], canvas)
    rest += [*_open(diagnosis.not_judged, canvas), *_checklist(diagnosis.checklist, canvas)]
    for count in range(len(told), 0, -1):
        named = _named("And", [str(one.id) for one in told[count:]], canvas)
        if count == 1 or len(lines) + sum(map(len, blocks[:count])) + len(named) + len(rest) <= rows - _AROUND:
            return [*lines, *chain.from_iterable(blocks[:count]), *named, *rest]
    return [*lines, *rest]


def _headline(diagnosis: Diagnosis, measured: ProbeMeasurement | PageMeasurement) -> str:
    costly = [one for one in diagnosis.findings if one.severity is not Severity.INFO]
    if not costly and _is_silent(measured):
        return "No answer came: there was nothing more to judge."
    if not costly:
        return "Nothing found in one connection." if _is_light(measured) else "Nothing to mend was found."
    return f"{counted(len(costly), 'finding')}, to mend in this order:"


def _is_silent(measured: ProbeMeasurement | PageMeasurement) -> bool:
    return isinstance(measured, ProbeMeasurement) and all(hop.status is None for hop in measured.hops)


def _is_light(measured: ProbeMeasurement | PageMeasurement) -> bool:
    if isinstance(measured, PageMeasurement) or measured.evidence is None:
        return False
    return measured.evidence.depth is Depth.LIGHT


def _server(measured: ProbeMeasurement | PageMeasurement) -> str | None:
    """What answered last, by its own word."""
    if isinstance(measured, PageMeasurement) or not measured.hops:
        return None
    headers = measured.hops[-1].response_headers
    return next((header.value for header in headers if header.name.lower() == "server"), None)


def _finding(finding: Finding, canvas: Canvas, server: str | None) -> list[str]:
    told = entry(finding.id)
    colour = RED if finding.severity in _LOUD else _YELLOW
    cost = f" · costs {ms(finding.saving_us)}" if finding.saving_us else ""
    sure = [] if finding.confidence == "high" else [f"{finding.confidence} confidence"]
    room = canvas.columns - len(finding.id) - 2
    title = f"{_MARKS[finding.severity]} {told.title}"
    whole = " · ".join([title + cost, *sure])
    fits = columns_of(whole) <= room
    head = whole if fits else _shortened(title, room - columns_of(cost)) + cost
    lines = [f"{canvas.paint(head, colour)}  {canvas.paint(str(finding.id), DIM)}"]
    if seen := [*([] if fits else sure), *_evidence(finding.evidence)]:
        lines.append(canvas.paint(_as_many(seen, "    ", canvas), DIM))
    fitting = None if _is_not_missing(finding) else setting_for(told.settings, server)
    setting = "" if fitting is None else f"({fitting.server}: {fitting.setting})"
    return lines + _advice(told.advice, setting, canvas)


def _is_not_missing(finding: Finding) -> bool:
    """Settings for the hybrid key exchange add it; where it kills connections that is no help."""
    return finding.id is FindingId.TLS_PQ and finding.severity is Severity.CRITICAL


def _advice(advice: str, setting: str, canvas: Canvas) -> list[str]:
    """In one line or two. A setting is told whole, since it is copied, at the cost of words before it."""
    whole = hanging("  → ", f"{advice} {setting}".rstrip(), canvas)
    if len(whole) <= _LINES_OF_ADVICE:
        return whole
    apart = hanging("    ", setting, canvas) if setting else whole[1:]
    return [_cut(whole[0], canvas), apart[0] if len(apart) == 1 else _cut(apart[0], canvas)]


def _cut(line: str, canvas: Canvas) -> str:
    """The line, which goes on where nobody sees it, with as many of its words as leave room to say so."""
    short = line if columns_of(line) <= canvas.columns - 2 else line.rpartition(" ")[0]
    return f"{short} …"


def _title(finding: Finding) -> str:
    return f"{entry(finding.id).title} ({finding.id})"


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
    lines = [f"{begin}{', '.join(facts[:count])}{'' if count == len(facts) else ' …'}" for count in counts]
    return fit(next((line for line in lines if columns_of(line) <= canvas.columns), lines[-1]), canvas.columns)


def _evidence(facts: Iterable[Fact]) -> list[str]:
    return [f"{_plain(fact.name)} {_value(fact)}" for fact in facts if fact.value not in (None, ())]


def _plain(name: str) -> str:
    for unit in ("_ms", "_bytes", "_s", "_kbit_s"):
        name = name.removesuffix(unit)
    return name.replace("_", " ")


def _value(fact: Fact) -> str:
    if isinstance(fact.value, bool):
        return "yes" if fact.value else "no"
    if isinstance(fact.value, tuple):
        words = [_value(Fact(name=fact.name, value=one)) for one in fact.value]
        return (", " if any(" " in word for word in words) else " ").join(words)
    if fact.name.endswith("_ms") and isinstance(fact.value, int | float):
        return ms(fact.value * 1000)
    in_bytes = fact.name.endswith("_bytes") or fact.name.startswith("bytes_")
    return f"{fact.value:,} B" if in_bytes and isinstance(fact.value, int) else str(fact.value)


def _open(not_judged: Sequence[NotJudged], canvas: Canvas) -> list[str]:
    """By reason, since many rules stay silent for the same one."""
    reasons = dict.fromkeys(one.reason for one in not_judged)
    lines: list[str] = []
    for reason in reasons:
        ids = ", ".join(str(one.id) for one in not_judged if one.reason is reason)
        told = hanging("? ", f"Not judged, {reason_text(reason)}: {ids}", canvas)
        shown = told if len(told) <= _LINES_OF_REASONS else [told[0], _cut(told[1], canvas)]
        lines += [canvas.paint(line, DIM) for line in shown]
    return lines


def _checklist(checks: Sequence[Check], canvas: Canvas) -> list[str]:
    known = [one for one in checks if one.answer in (Answer.YES, Answer.NO)]
    if not known:
        return []
    lacking = [one.column.replace("_", " ") for one in known if one.answer is Answer.NO]
    text = f"Is TLS fast yet: {len(known) - len(lacking)} of {len(known)} yes"
    told = f"{text}; no: {', '.join(lacking)}" if lacking else text
    return hanging("", told, canvas, DIM if lacking else GREEN)[:3]


def _named(word: str, names: Sequence[str], canvas: Canvas) -> list[str]:
    return hanging("· ", f"{word}: {', '.join(names)}", canvas, DIM)[:3] if names else []
