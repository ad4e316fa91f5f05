"""The whole diagnosis: of a faultless site, of anything at all, and with a rule that is itself at fault."""

import logging
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from workers.diagnosis.case import Case, Rule, Verdicts
from workers.diagnosis.probe import diagnose as diagnosing
from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.connection import Header
from workers.measurement.evidence import ProbeEvidence, Trial, TrialEvidence
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import CheckColumn, FindingId, NotJudgedReason, Severity
from workers.measurement.messages import Hop
from workers.tests.diagnosis import anything
from workers.tests.diagnosis.sites import answered, deep_site, judge, light_site, sent, without

_REMARKS_ONLY = (Severity.INFO,)


@pytest.mark.parametrize("site", [deep_site(), light_site()])
def test_a_healthy_site_has_nothing_to_mend(site: ProbeEvidence) -> None:
    assert all(one.severity in _REMARKS_ONLY for one in judge(site).findings)


def test_no_deeper_probe_is_advised_where_none_would_come_further() -> None:
    reasons = {one.reason for one in judge(light_site()).not_judged}
    assert NotJudgedReason.NEEDS_DEEP_PROBE in reasons
    silent = failure(FailureKind.TLS_TIMEOUT, "192.0.2.1 port 443")
    only = TrialEvidence(trial=Trial.FULL, started_us=0, connect_us=80_000, failure=silent)
    reasons = {one.reason for one in judge(replace(light_site(), trials=(only,))).not_judged}
    assert reasons
    assert NotJudgedReason.NEEDS_DEEP_PROBE not in reasons


# Without shrinking, which takes minutes for evidence of this size.
@settings(
    max_examples=settings().max_examples // 2,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.data_too_large],
)
@given(anything.evidence(), anything.hops())
def test_no_evidence_whatever_makes_a_rule_fail(evidence: ProbeEvidence, hops: tuple[Hop, ...]) -> None:
    diagnosis = judge(evidence, *hops)
    assert [one.column for one in diagnosis.checklist] == list(CheckColumn)
    told = [(one.id, one.host) for one in diagnosis.findings]
    assert len(set(told)) == len(told)
    assert not {one.id for one in diagnosis.findings} & {one.id for one in diagnosis.not_judged}
    assert all(one.saving_us is None or one.saving_us >= 0 for one in diagnosis.findings)
    assert diagnosis == judge(evidence, *hops)


@pytest.mark.parametrize("name", anything.READ)
def test_no_header_whatever_makes_a_rule_fail(name: str) -> None:
    for text in anything.SAID:
        judge(answered(deep_site(), tuple(Trial), headers=(Header(name=name, value=text),)))


def test_a_rule_at_fault_is_logged_and_takes_no_other_with_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(case: Case) -> Verdicts:
        raise ZeroDivisionError(case.evidence.host)

    rules: Iterable[Rule] = (broken, *diagnosing.RULES)
    monkeypatch.setattr(diagnosing, "RULES", tuple(rules))
    site = sent(*deep_site().certificates, *deep_site().certificates)
    with caplog.at_level(logging.ERROR):
        found = diagnose(without(site)).findings
    assert FindingId.TLS_CHAIN_NEEDLESS in {one.id for one in found}
    assert "broken failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text
