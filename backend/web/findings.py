"""What a diagnosis says on pages: causes in the order in which to mend them, open questions, the checklist. No I/O."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from backend.runs.diagnoses import OpenFinding, OpenFindings, causes_in_order, gravest, known_causes, saving_us
from backend.runs.queries import FoundCause
from backend.web import units
from backend.web.phrases import number_of
from backend.web.verdict import Level, Verdict
from backend.web.waterfall.text import printable
from workers.diagnosis.catalogue import (
    Counts,
    Setting,
    advice_of,
    answered_by,
    column,
    entry,
    fact_words,
    reason_text,
    setting_for,
    settings_of,
    title_of,
    unit_of,
)
from workers.diagnosis.units import lasting
from workers.measurement.evidence import Depth
from workers.measurement.finding import (
    LEAST_COST_US,
    Answer,
    Cause,
    Check,
    Diagnosis,
    Fact,
    Finding,
    FindingId,
    NotJudged,
    Severity,
)

_LEVELS: dict[Severity, Level] = {
    Severity.CRITICAL: "bad",
    Severity.HIGH: "bad",
    Severity.MEDIUM: "warn",
    Severity.LOW: "info",
    Severity.INFO: "info",
}
# A second way to tell them apart beside colour.
_MARKS = {
    Severity.CRITICAL: "✕",
    Severity.HIGH: "●",
    Severity.MEDIUM: "◐",
    Severity.LOW: "○",
    Severity.INFO: "i",
}
_WORTH = {
    Severity.CRITICAL: "visitors fail",
    Severity.HIGH: "high",
    Severity.MEDIUM: "medium",
    Severity.LOW: "low",
    Severity.INFO: "could be better",
}
_WHOM = {
    Counts.NEW_VISIT: "each new visitor",
    Counts.RETURNING_VISIT: "each returning visitor",
    Counts.EACH_REQUEST: "each request",
    Counts.FURTHER_REQUEST: "each further request",
    Counts.ANSWER_AFTER_REST: "each large answer after a pause",
}
_ANSWERS: dict[Answer, tuple[str, str, Level | str]] = {
    Answer.YES: ("✓", "yes", "good"),
    Answer.NO: ("✕", "no", "bad"),
    Answer.NOT_APPLICABLE: (units.ABSENT, "not applicable", "quiet"),
    Answer.UNKNOWN: ("?", "not known", "quiet"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One cause as a page tells it. `setting` is that of whoever answered, or an example; `evidence` are names and
    values; `seen` says where, on the page of a site; `rows` are the requests of a page load that it speaks of.
    """

    id: str
    title: str
    level: str
    mark: str
    worth: str
    cost: str
    unsure: str
    host: str
    explanation: str
    advice: str
    setting: str
    settings: tuple[Setting, ...]
    evidence: tuple[tuple[str, str], ...]
    seen: tuple[tuple[str, UUID], ...] = ()
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """Why several causes were neither found nor excluded, and which. `because` begins with that word."""

    because: str
    titles: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A line of "Is TLS fast yet"."""

    title: str
    explanation: str
    mark: str
    answer: str
    level: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """All that is said of one run, or of a site."""

    verdict: Verdict
    findings: tuple[Told, ...]
    remarks: tuple[Told, ...]
    unjudged: tuple[Unjudged, ...]
    checklist: tuple[Checked, ...]

    @property
    def has_answers(self) -> bool:
        """Whether the checklist answers any question: of a page without TLS it asks nothing."""
        return any(one.level != "quiet" for one in self.checklist)

    @property
    def yes(self) -> str:
        """How many of the checklist's questions that have an answer have a good one."""
        answered = [one for one in self.checklist if one.level != "quiet"]
        return f"{sum(one.level == 'good' for one in answered)} of {len(answered)}"


def of_run(diagnosis: Diagnosis, depth: Depth, total_us: int | None, server: str | None = None) -> Panel:
    """What one run says; `server` is who answered, by its own word."""
    told = [told_of(finding, server=server) for finding in diagnosis.findings]
    costly, remarks = _parted(diagnosis.findings, told)
    return Panel(
        verdict=_verdict(diagnosis.findings, saving_us(diagnosis.findings, total_us), depth),
        findings=costly,
        remarks=remarks,
        unjudged=_unjudged(diagnosis.not_judged),
        checklist=tuple(_checked(check) for check in diagnosis.checklist),
    )


def of_site(found: OpenFindings) -> Panel:
    """What the newest deep runs of all regions say together; a cause that several have stands once."""
    groups: dict[tuple[FindingId, str | None], list[OpenFinding]] = {}
    for one in found.findings:
        groups.setdefault((one.finding.id, one.finding.host), []).append(one)
    findings = [gravest(one.finding for one in group) for group in groups.values()]
    told = [
        told_of(finding, group, server=answered_by(group[0].deep.measurement))
        for finding, group in zip(findings, groups.values(), strict=True)
    ]
    costly, remarks = _parted(findings, told)
    newest = found.newest
    diagnosis = newest.diagnosis if newest else Diagnosis()
    return Panel(
        verdict=_site_verdict(findings, found.saving_us) if newest else _NOBODY_LOOKED,
        findings=costly,
        remarks=remarks,
        unjudged=_unjudged(one for one in diagnosis.not_judged if one.id not in {finding.id for finding in findings}),
        checklist=tuple(_checked(check) for check in diagnosis.checklist),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """What to mend first at a site in a list, and how grave the gravest is."""

    text: str
    level: str


def hint_of(rows: Iterable[FoundCause]) -> Hint | None:
    """What the site's own page names first, of rows in the words of the agents that judged; None where there is nothing
    to mend."""
    costly = [one for one in causes_in_order(known_causes(rows)) if one.severity is not Severity.INFO]
    if not costly:
        return None
    first = costly[0]
    cost = f": {units.duration(first.saving_us)}" if (first.saving_us or 0) >= LEAST_COST_US else ""
    return Hint(text=f"{title_of(first.id, first.severity)}{cost}", level=_LEVELS[_gravest_severity(costly)])


def _gravest_severity(findings: Iterable[Finding]) -> Severity:
    return min((finding.severity for finding in findings), key=list(Severity).index)


def told_of(finding: Finding, seen: Sequence[OpenFinding] = (), *, server: str | None = None) -> Told:
    """A cause in today's words."""
    told, settings = entry(finding.id), settings_of(finding)
    return Told(
        id=finding.id.value,
        title=title_of(finding.id, finding.severity),
        level=_LEVELS[finding.severity],
        mark=_MARKS[finding.severity],
        worth=_WORTH[finding.severity],
        cost=_cost(finding, told.counts),
        unsure="" if finding.confidence == "high" else f"{finding.confidence.value} confidence",
        host=printable(finding.host or "", _HOST_CHARS),
        explanation=told.explanation,
        advice=advice_of(finding.id, finding.severity),
        setting=setting_for(settings, server) or "",
        settings=settings,
        evidence=tuple((fact_words(fact.name), _value(fact)) for fact in finding.evidence if fact.value is not None),
        seen=tuple((one.deep.region.name, one.deep.run.run_id) for one in seen),
        rows=finding.rows,
    )


_NOBODY_LOOKED = Verdict(
    level="info",
    title="No deep probe has measured it yet",
    text="One runs once a day in each region, and whenever somebody tests the site.",
)


def _verdict(findings: Sequence[Finding], gain_us: int | None, depth: Depth) -> Verdict:
    costly = [finding for finding in findings if finding.severity is not Severity.INFO]
    if not costly:
        if depth is Depth.LIGHT:
            text = "One connection shows only part of it; a deep probe runs once a day, and whenever somebody tests."
            return Verdict(level="info", title="Nothing found in one connection", text=text)
        return Verdict(level="good", title="Nothing to mend was found", text="")
    count = f"{number_of(len(costly), 'thing')} to mend"
    gain = "" if not gain_us or gain_us < LEAST_COST_US else f"; a new visitor could save {units.duration(gain_us)}"
    level: Level = "bad" if _LEVELS[_gravest_severity(costly)] == "bad" else "warn"
    return Verdict(level=level, title=f"{count}{gain}", text=f"First: {_with_cost(costly[0])}.")


def _site_verdict(findings: Sequence[Finding], gain_us: int | None) -> Verdict:
    """Page loads, which have causes of their own, have no part in it."""
    verdict = _verdict(findings, gain_us, Depth.DEEP)
    return replace(verdict, title="Its probes found nothing to mend") if verdict.level == "good" else verdict


def _with_cost(finding: Finding) -> str:
    host = f" ({printable(finding.host, _HOST_CHARS)})" if finding.host else ""
    cost = _cost(finding, entry(finding.id).counts)
    return f"{title_of(finding.id, finding.severity)}{host}{f', which costs {cost}' if cost else ''}"


def _parted(findings: Sequence[Finding], told: Sequence[Told]) -> tuple[tuple[Told, ...], tuple[Told, ...]]:
    """What costs something, and what is mere information."""
    pairs = list(zip(findings, told, strict=True))
    return (
        tuple(one for finding, one in pairs if finding.severity is not Severity.INFO),
        tuple(one for finding, one in pairs if finding.severity is Severity.INFO),
    )


def _cost(finding: Finding, counts: Counts | None) -> str:
    whom = f" for {_WHOM[counts]}" if counts else ""
    alone_us = finding.saving_us if (finding.saving_us or 0) >= LEAST_COST_US else None
    alone = "" if alone_us is None else f"{units.duration(alone_us)}{whom}"
    if finding.together is None:
        return alone
    more = f"{units.duration(finding.together.saving_us)}{'' if alone else whom}"
    others = ", ".join(map(_named, finding.together.others[:_OTHERS]))
    left = len(finding.together.others) - _OTHERS
    named = f"{others} and {left} more" if left > 0 else others
    return f"{alone}, and {more} more, with {named}" if alone else f"{more}, together with {named}"


def _named(cause: Cause) -> str:
    title = f"“{entry(cause.id).title}”"
    return f"{title} ({printable(cause.host, _HOST_CHARS)})" if cause.host else title


def _unjudged(open_ones: Iterable[NotJudged]) -> tuple[Unjudged, ...]:
    """By reason: many rules stay silent for the same one."""
    groups: dict[str, list[str]] = {}
    for one in open_ones:
        because = reason_text(one.reason)
        if one.hidden_by is not None:
            because = f"because another finding hides it, which is to be mended first: {entry(one.hidden_by).title}"
        groups.setdefault(because, []).append(entry(one.id).title)
    return tuple(Unjudged(because=because, titles=tuple(titles)) for because, titles in groups.items())


def _checked(check: Check) -> Checked:
    told = column(check.column)
    mark, answer, level = _ANSWERS[check.answer]
    return Checked(
        title=told.title,
        explanation=told.explanation,
        mark=mark,
        answer=answer,
        level=level,
        detail=printable(check.detail, 300),
    )


# Below it a byte more or less decides whether certificates or records fit; above it nobody counts them.
_EXACT_BYTES = 100_000
_HOST_CHARS = 200
# So many others that share a saving are named.
_OTHERS = 3


def _value(fact: Fact) -> str:
    value = fact.value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return printable(", ".join(_value(replace(fact, value=one)) for one in value), 400)
    if not isinstance(value, int | float):
        return printable(str(value), 400)
    if fact.name.endswith("_ms"):
        return units.duration(round(value * 1000))
    if fact.name.endswith("_bytes") or fact.name.startswith("bytes_"):
        return f"{value:,.0f} B" if value < _EXACT_BYTES else units.size(round(value))
    unit = unit_of(fact.name)
    return lasting(value) if unit == "s" else f"{value:,} {unit or ''}".strip()
