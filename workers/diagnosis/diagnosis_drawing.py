"""What a diagnosis says, as text for a terminal: causes in the order in which to mend them. Pure."""

from collections.abc import Iterator, Sequence
from itertools import chain
from textwrap import wrap
from typing import NamedTuple

from workers.diagnosis.catalogue import answered_by, column, reason_text, title_of
from workers.diagnosis.finding_drawing import Detail, draw_finding
from workers.diagnosis.units import counted
from workers.measurement.canvas import BOLD, DIM, GREEN, Canvas, hanging
from workers.measurement.evidence import Depth
from workers.measurement.finding import Answer, Check, Diagnosis, Finding, NotJudged, Severity
from workers.measurement.messages import PageMeasurement, ProbeMeasurement

Measurement = ProbeMeasurement | PageMeasurement


class _Part(NamedTuple):
    """What stands below the findings, and what it is called where it is left out."""

    lines: list[str]
    name: str


def draw_diagnosis(measured: Measurement, canvas: Canvas, *, rows: int | None = None) -> list[str]:
    """All that it says, or what `rows` lines hold of it, the last of which says what they do not; but the first finding
    always. Nothing for what nobody judged.
    """
    if measured.diagnosis is None:
        return []
    head = [canvas.paint(line, BOLD) for line in wrap(_headline(measured.diagnosis, measured), canvas.columns)]
    parts = list(_parts(measured.diagnosis, canvas))
    found, server = _costly(measured.diagnosis), answered_by(measured)
    whole = chain.from_iterable(draw_finding(one, canvas, server, Detail.WHOLE) for one in found)
    lines = [*head, *whole, *chain.from_iterable(part.lines for part in parts)]
    if rows is None or len(lines) <= rows:
        return lines
    # The headline has its place, and so has the line that says what is left out.
    room = rows - len(head) - 1
    told = _told(found, canvas, server, room)
    hidden = len(found) - len(told)
    kept = [] if hidden else _that_fit(parts, room - sum(map(len, told)))
    names = [counted(hidden, "more finding")] if hidden else []
    names += [part.name for part in parts if part not in kept]
    below = chain.from_iterable(part.lines for part in kept)
    return [*head, *chain.from_iterable(told), *below, canvas.left_out([*names, "more details"])]


def _told(found: Sequence[Finding], canvas: Canvas, server: str | None, room: int) -> list[list[str]]:
    """Every finding in brief before any is told at its usual length, the first ones first."""
    told: list[list[str]] = []
    for finding in found:
        brief = draw_finding(finding, canvas, server, Detail.BRIEF)
        if told and len(brief) > room:
            return told
        told.append(brief)
        room -= len(brief)
    for number, finding in enumerate(found):
        usual = draw_finding(finding, canvas, server, Detail.USUAL)
        room -= len(usual) - len(told[number])
        if room < 0:
            return told
        told[number] = usual
    return told


def _that_fit(parts: Sequence[_Part], room: int) -> list[_Part]:
    """Those that fit as they are, the first ones first."""
    kept: list[_Part] = []
    for part in parts:
        if len(part.lines) <= room:
            kept.append(part)
            room -= len(part.lines)
    return kept


def _parts(diagnosis: Diagnosis, canvas: Canvas) -> Iterator[_Part]:
    remarks = [one for one in diagnosis.findings if one.severity is Severity.INFO]
    if remarks:
        titles = ", ".join(f"{title_of(one.id, one.severity)} ({one.id})" for one in remarks)
        lines = hanging("· ", f"Could be better: {titles}", canvas, DIM)
        yield _Part(lines, counted(len(remarks), "remark"))
    if diagnosis.not_judged:
        yield _Part(_open(diagnosis.not_judged, canvas), f"{len(diagnosis.not_judged)} not judged")
    checklist = _checklist(diagnosis.checklist, canvas)
    if checklist:
        yield _Part(checklist, "the checklist")


def _costly(diagnosis: Diagnosis) -> list[Finding]:
    return [one for one in diagnosis.findings if one.severity is not Severity.INFO]


def _headline(diagnosis: Diagnosis, measured: Measurement) -> str:
    costly = _costly(diagnosis)
    if not costly and _is_silent(measured):
        return "No answer came: there was nothing more to judge."
    if not costly:
        return "Nothing found in one connection." if _is_light(measured) else "Nothing to mend was found."
    return f"{counted(len(costly), 'finding')}, to mend in this order:"


def _is_silent(measured: Measurement) -> bool:
    return isinstance(measured, ProbeMeasurement) and all(hop.status is None for hop in measured.hops)


def _is_light(measured: Measurement) -> bool:
    if isinstance(measured, PageMeasurement) or measured.evidence is None:
        return False
    return measured.evidence.depth is Depth.LIGHT


def _open(not_judged: Sequence[NotJudged], canvas: Canvas) -> list[str]:
    """By reason, since many rules stay silent for the same one."""
    lines: list[str] = []
    for reason in dict.fromkeys(one.reason for one in not_judged):
        ids = ", ".join(str(one.id) for one in not_judged if one.reason is reason)
        lines += hanging("? ", f"Not judged, {reason_text(reason)}: {ids}", canvas, DIM)
    return lines


def _checklist(checks: Sequence[Check], canvas: Canvas) -> list[str]:
    known = [one for one in checks if one.answer in (Answer.YES, Answer.NO)]
    if not known:
        return []
    lacking = [column(one.column).title for one in known if one.answer is Answer.NO]
    text = f"Is TLS fast yet: {len(known) - len(lacking)} of {len(known)} yes"
    told = f"{text}; no: {', '.join(lacking)}" if lacking else text
    return hanging("", told, canvas, DIM if lacking else GREEN)
