"""What a diagnosis says, as parts of the JSON documents of `firstbyte probe` and `firstbyte page`."""

from workers.diagnosis.catalogue import advice_of, settings_of, title_of
from workers.measurement.document import Document, milliseconds
from workers.measurement.finding import Diagnosis, Finding, NotJudged


def diagnosis_parts(diagnosis: Diagnosis) -> Document:
    """`findings` in the order in which to mend them, and `not_judged`."""
    return {
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "not_judged": [_not_judged(one) for one in diagnosis.not_judged],
    }


def _finding(finding: Finding) -> Document:
    return {
        "id": str(finding.id),
        "severity": str(finding.severity),
        "confidence": str(finding.confidence),
        "title": title_of(finding.id, finding.severity),
        "saving_ms": milliseconds(finding.saving_us),
        "evidence": {fact.name: fact.value for fact in finding.evidence},
        "advice": advice_of(finding.id, finding.severity),
        "settings": [{"server": setting.server, "setting": setting.setting} for setting in settings_of(finding)],
        "host": finding.host,
    }


def _not_judged(one: NotJudged) -> Document:
    return {"id": str(one.id), "reason": str(one.reason), "hidden_by": one.hidden_by and str(one.hidden_by)}
