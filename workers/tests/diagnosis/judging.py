"""What rules say of evidence, in words that a test can compare."""

from collections.abc import Iterable
from statistics import median

from workers.diagnosis.case import Case, Rule
from workers.diagnosis.probe.once import one_diagnosis
from workers.measurement.evidence import ProbeEvidence, Trial, TrialEvidence
from workers.measurement.finding import Finding, FindingId, NotJudged, NotJudgedReason


def said(rules: Iterable[Rule], evidence: ProbeEvidence) -> list[Finding | NotJudged]:
    case = Case(evidence=evidence)
    with one_diagnosis():
        return [one for rule in rules for one in rule(case)]


def found(rules: Iterable[Rule], evidence: ProbeEvidence) -> dict[FindingId, Finding]:
    findings = [one for one in said(rules, evidence) if isinstance(one, Finding)]
    assert len({one.id for one in findings}) == len(findings), "one cause was told twice"
    return {one.id: one for one in findings}


def left_open(rules: Iterable[Rule], evidence: ProbeEvidence) -> dict[FindingId, NotJudgedReason]:
    return {one.id: one.reason for one in said(rules, evidence) if isinstance(one, NotJudged)}


def facts(finding: Finding) -> dict[str, object]:
    return {one.name: one.value for one in finding.evidence}


def cost(evidence: ProbeEvidence, of: str) -> float:
    """How long a part of full connections takes, in us."""
    return median(_cost(trial, of) for trial in evidence.of(Trial.FULL))


def _cost(trial: TrialEvidence, of: str) -> int:
    shake, first = trial.handshake, trial.exchanges[0]
    assert shake is not None
    assert shake.network_us is not None
    spans = {
        "handshake": (0, shake.network_us),
        "first byte": (first.sent_us, first.first_readable_us),
        "whole": (first.sent_us, first.ended_us),
        "page": (0, shake.network_us + (first.ended_us or 0) - (first.sent_us or 0)),
        "again": (trial.exchanges[1].sent_us, trial.exchanges[1].ended_us) if trial.exchanges[1:] else (None, None),
        "after idle": (trial.exchanges[-1].sent_us, trial.exchanges[-1].ended_us),
    }
    start, end = spans[of]
    assert start is not None
    assert end is not None
    return end - start
