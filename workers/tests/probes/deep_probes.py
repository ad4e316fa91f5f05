"""Deep probes of one name, and what they bring."""

from collections import Counter
from typing import Any

from workers.measurement.evidence import Depth, ProbeEvidence, Trial
from workers.measurement.messages import Failed, Measured, ProbeMeasurement
from workers.tests.probes.conftest import Lab

Outcome = Measured | Failed


def evidence_of(outcome: Outcome) -> ProbeEvidence:
    assert isinstance(outcome.measurement, ProbeMeasurement), outcome
    assert outcome.measurement.evidence is not None
    return outcome.measurement.evidence


def deep(lab: Lab, url: str, **changes: Any) -> ProbeEvidence:
    outcome = lab.probe(url, depth=Depth.DEEP, **changes)
    assert isinstance(outcome, Measured), outcome
    return evidence_of(outcome)


def counted(evidence: ProbeEvidence) -> Counter[Trial]:
    return Counter(trial.trial for trial in evidence.trials)
