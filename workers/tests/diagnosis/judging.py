"""What rules say of evidence, in words that a test can compare."""

from collections.abc import Iterable

from workers.diagnosis.case import Case, Rule
from workers.measurement.evidence import ProbeEvidence
from workers.measurement.finding import Finding, FindingId, NotJudged, NotJudgedReason


def said(rules: Iterable[Rule], evidence: ProbeEvidence) -> list[Finding | NotJudged]:
    case = Case(evidence=evidence)
    return [one for rule in rules for one in rule(case)]


def found(rules: Iterable[Rule], evidence: ProbeEvidence) -> dict[FindingId, Finding]:
    findings = [one for one in said(rules, evidence) if isinstance(one, Finding)]
    assert len({one.id for one in findings}) == len(findings), "one cause was told twice"
    return {one.id: one for one in findings}


def left_open(rules: Iterable[Rule], evidence: ProbeEvidence) -> dict[FindingId, NotJudgedReason]:
    return {one.id: one.reason for one in said(rules, evidence) if isinstance(one, NotJudged)}


def facts(finding: Finding) -> dict[str, object]:
    return {one.name: one.value for one in finding.evidence}
