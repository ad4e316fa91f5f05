"""What of a diagnosis travels with its evidence to the service."""

from dataclasses import replace

from workers.measurement.evidence import Depth
from workers.measurement.finding import Diagnosis
from workers.measurement.messages import Missed, Outcome, PageMeasurement, ProbeMeasurement


def as_sent(outcome: Outcome) -> Outcome:
    """Without what the service makes of the evidence itself, which is a third of a light probe: the checklist, and of
    one connection the long list of what it cannot show. Of a page's findings what its rows show again.
    """
    seen = None if isinstance(outcome, Missed) else outcome.measurement
    if not isinstance(outcome, Missed) and isinstance(seen, PageMeasurement) and seen.diagnosis is not None:
        findings = tuple(replace(one, evidence=(), rows=()) for one in seen.diagnosis.findings)
        return replace(outcome, measurement=replace(seen, diagnosis=replace(seen.diagnosis, findings=findings)))
    if isinstance(outcome, Missed) or not isinstance(seen, ProbeMeasurement):
        return outcome
    if seen.evidence is None or seen.diagnosis is None:
        return outcome
    not_judged = seen.diagnosis.not_judged if seen.evidence.depth is Depth.DEEP else ()
    kept = Diagnosis(findings=seen.diagnosis.findings, not_judged=not_judged)
    return replace(outcome, measurement=replace(seen, diagnosis=kept))
