from dataclasses import replace

import pytest

from workers.diagnosis.probe.diagnose import diagnose
from workers.diagnosis.sending import as_sent
from workers.measurement.evidence import ProbeEvidence
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import (
    Confidence,
    Diagnosis,
    Fact,
    Finding,
    FindingId,
    NotJudged,
    NotJudgedReason,
    Severity,
)
from workers.measurement.messages import Failed, Measured, Missed, MissedReason, PageMeasurement, ProbeMeasurement
from workers.tests.builders import build_page, build_probe
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep, light

PATH = Path(rtt_ms=80)
SLOW = Server(record_bytes=16_384, body_bytes=60_000)


def judged(evidence: ProbeEvidence) -> ProbeMeasurement:
    return ProbeMeasurement(evidence=evidence, diagnosis=diagnose(evidence))


def test_a_deep_probe_travels_with_what_it_found_and_what_it_could_not_judge() -> None:
    seen = judged(deep(PATH, SLOW))
    sent = as_sent(Measured(measurement=seen))
    assert isinstance(sent, Measured)
    assert isinstance(sent.measurement, ProbeMeasurement)
    assert seen.diagnosis is not None
    assert sent.measurement.diagnosis == replace(seen.diagnosis, checklist=())
    assert sent.measurement.evidence == seen.evidence


def test_a_light_probe_travels_with_what_it_found() -> None:
    seen = judged(light(PATH, SLOW))
    sent = as_sent(Failed(failure=failure(FailureKind.TEXT_MISSING), measurement=seen))
    assert isinstance(sent, Failed)
    assert isinstance(sent.measurement, ProbeMeasurement)
    assert seen.diagnosis is not None
    assert sent.measurement.diagnosis == replace(seen.diagnosis, checklist=(), not_judged=())


@pytest.mark.parametrize(
    "outcome",
    [
        Missed(reason=MissedReason.LATE),
        Measured(measurement=build_page()),
        Measured(measurement=build_probe()),
        Failed(failure=failure(FailureKind.CONNECT_REFUSED)),
    ],
    ids=["missed", "page", "probe without evidence", "nothing seen"],
)
def test_all_else_travels_as_it_is(outcome: Measured | Failed | Missed) -> None:
    assert as_sent(outcome) == outcome


def test_a_page_travels_with_its_causes_and_not_with_what_its_rows_show_again() -> None:
    found = Finding(
        id=FindingId.PAGE_LCP_LATE,
        severity=Severity.HIGH,
        confidence=Confidence.MEDIUM,
        saving_us=400_000,
        evidence=(Fact(name="lcp_ms", value=900.0),),
        rows=(7,),
    )
    left_open = NotJudged(id=FindingId.PAGE_RENDER_BLOCKING, reason=NotJudgedReason.PAINT_ELSEWHERE)
    page = replace(build_page(), diagnosis=Diagnosis(findings=(found,), not_judged=(left_open,)))
    sent = as_sent(Measured(measurement=page))
    assert isinstance(sent, Measured)
    assert isinstance(sent.measurement, PageMeasurement)
    assert sent.measurement.diagnosis == Diagnosis(
        findings=(replace(found, evidence=(), rows=()),), not_judged=(left_open,)
    )
    assert replace(sent.measurement, diagnosis=page.diagnosis) == page
