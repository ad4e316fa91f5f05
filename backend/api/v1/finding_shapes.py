"""Causes as the API tells them: what was found, what could not be judged, and the checklist of a site."""

from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import Field, WithJsonSchema

from backend.api.v1.shapes import Ms, Out
from backend.runs.queries import FoundCause as FoundRow
from workers.diagnosis.catalogue import Counts, advice_of, column, entry, reason_text, settings_of, title_of
from workers.measurement.document import milliseconds
from workers.measurement.finding import (
    Answer,
    Check,
    CheckColumn,
    Confidence,
    Diagnosis,
    Finding,
    FindingId,
    NotJudged,
    NotJudgedReason,
    Severity,
)

# Rules of alerts have severities of their own, under the same name.
CauseSeverity = Annotated[Severity, WithJsonSchema({"type": "string", "enum": [word.value for word in Severity]})]
Word = TypeVar("Word", Severity, Confidence)


class FoundCause(Out):
    """A cause that a run found; `saving_ms` is what its repair saves, null where its cost is no time."""

    id: str
    title: str
    severity: CauseSeverity
    confidence: Confidence
    saving_ms: Ms | None
    host: str | None


class ServerSetting(Out):
    """What to write, or to switch on, in one server or CDN."""

    server: str
    setting: str


class CauseName(Out):
    """Another finding of the same run."""

    id: FindingId
    host: str | None


class SavedTogether(Out):
    """What is saved if a cause is mended with all of `others`, beyond what each saves by itself. Each of them says so:
    added up, it counts once.
    """

    saving_ms: Ms
    others: list[CauseName]


class ToldCause(FoundCause):
    """`evidence` is what was seen, by names that carry units; `counts` says for whom the saving counts. `rows` are the
    numbers of a page's requests that it speaks of. `together` is null where it shares no saving with others.
    """

    explanation: str
    advice: str
    settings: list[ServerSetting]
    counts: Counts | None
    evidence: dict[str, Any]
    rows: list[int]
    together: SavedTogether | None


class OpenQuestion(Out):
    """A cause that was neither found nor excluded, and why; `hidden_by` is to be mended first."""

    id: FindingId
    title: str
    reason: NotJudgedReason
    because: str
    hidden_by: FindingId | None


class CheckedColumn(Out):
    """One column of "Is TLS fast yet"; `detail` is the evidence in a few words."""

    column: CheckColumn
    title: str
    answer: Answer
    detail: str


class OpenCause(ToldCause):
    """Where a cause was seen last."""

    run_id: UUID
    monitor_id: UUID
    region: str
    seen_at: datetime


class DeepLook(Out):
    """The newest deep run of a monitor in a region: what is open follows from these."""

    run_id: UUID
    monitor_id: UUID
    region: str
    scheduled_for: datetime


class SiteFindings(Out):
    """`runs` without `findings` means that nothing was found; without runs nobody has looked yet.

    `saving_ms` is what a new visitor would gain in the region where that is most. The checklist is that of the newest
    run, empty when there is none.
    """

    findings: list[OpenCause] = Field(
        description="In the order in which to mend them, one for each monitor and region."
    )
    runs: list[DeepLook]
    saving_ms: Ms | None
    checklist: list[CheckedColumn]


def found_of(row: FoundRow) -> FoundCause:
    """A row of a list. A cause that only a newer agent knows has its id for a title."""
    severity = _word(Severity, row.severity, Severity.INFO)
    return FoundCause(
        id=row.finding,
        title=title_of(FindingId(row.finding), severity) if row.finding in set(FindingId) else row.finding,
        severity=severity,
        confidence=_word(Confidence, row.confidence, Confidence.LOW),
        saving_ms=milliseconds(row.saving_us),
        host=row.host,
    )


def told_of(finding: Finding) -> ToldCause:
    """All of one cause."""
    return ToldCause(**told_fields(finding))


def told_fields(finding: Finding) -> dict[str, Any]:
    told = entry(finding.id)
    return {
        "id": finding.id.value,
        "title": title_of(finding.id, finding.severity),
        "severity": finding.severity,
        "confidence": finding.confidence,
        "saving_ms": milliseconds(finding.saving_us),
        "host": finding.host,
        "explanation": told.explanation,
        "advice": advice_of(finding.id, finding.severity),
        "settings": [ServerSetting(server=one.server, setting=one.setting) for one in settings_of(finding)],
        "counts": told.counts,
        "evidence": {fact.name: fact.value for fact in finding.evidence},
        "rows": list(finding.rows),
        "together": _together_of(finding),
    }


def _together_of(finding: Finding) -> SavedTogether | None:
    together = finding.together
    if together is None:
        return None
    others = [CauseName(id=one.id, host=one.host) for one in together.others]
    return SavedTogether(saving_ms=together.saving_us / 1000, others=others)


def question_of(one: NotJudged) -> OpenQuestion:
    return OpenQuestion(
        id=one.id,
        title=entry(one.id).title,
        reason=one.reason,
        because=reason_text(one.reason),
        hidden_by=one.hidden_by,
    )


def checklist_of(diagnosis: Diagnosis) -> list[CheckedColumn]:
    return [_column(check) for check in diagnosis.checklist]


def _column(check: Check) -> CheckedColumn:
    return CheckedColumn(
        column=check.column, title=column(check.column).title, answer=check.answer, detail=check.detail
    )


def _word(words: type[Word], word: str, otherwise: Word) -> Word:
    return words(word) if word in set(words) else otherwise
