"""One probe's evidence in, its diagnosis out. Asks every rule; what they say is ordered in `order`."""

from dataclasses import replace

from workers.diagnosis.asking import OnFault, all_said, log_fault
from workers.diagnosis.case import Case, Rule
from workers.diagnosis.order import findings_in_order, open_questions
from workers.diagnosis.probe import (
    answers,
    chain_sizes,
    handshakes,
    key_exchange,
    names,
    path,
    protocols,
    records,
    redirects,
    resumption,
    stapling,
    transport,
    trust,
    versions,
)
from workers.diagnosis.probe.checklist import checklist
from workers.diagnosis.probe.checks import Judged
from workers.diagnosis.probe.once import one_diagnosis
from workers.measurement.evidence import ProbeEvidence
from workers.measurement.finding import Diagnosis, Finding, NotJudged, NotJudgedReason
from workers.measurement.messages import Hop

RULES: tuple[Rule, ...] = (
    *names.RULES,
    *path.RULES,
    *redirects.RULES,
    *versions.RULES,
    *handshakes.RULES,
    *chain_sizes.RULES,
    *trust.RULES,
    *resumption.RULES,
    *stapling.RULES,
    *key_exchange.RULES,
    *records.RULES,
    *transport.RULES,
    *protocols.RULES,
    *answers.RULES,
)
_UNMEASURED = frozenset({NotJudgedReason.NOT_MEASURED, NotJudgedReason.NEEDS_DEEP_PROBE})


def diagnose(evidence: ProbeEvidence, hops: tuple[Hop, ...] = (), *, on_fault: OnFault = log_fault) -> Diagnosis:
    """Causes in the order in which to mend them, what could not be judged, and the checklist of the site."""
    with one_diagnosis():
        return _judged(Case(evidence=evidence, hops=hops), on_fault)


def _judged(case: Case, on_fault: OnFault) -> Diagnosis:
    said = tuple(all_said(RULES, case, on_fault))
    findings = findings_in_order(one for one in said if isinstance(one, Finding))
    asked = (_without_promise(case, one) for one in said if isinstance(one, NotJudged) and _is_asked(case, one))
    not_judged = open_questions(asked, findings)
    judged = Judged(
        case=case,
        found={finding.id: finding for finding in findings},
        left_open={one.id: one.reason for one in not_judged},
    )
    return Diagnosis(findings=findings, not_judged=not_judged, checklist=checklist(judged, on_fault))


def _is_asked(case: Case, one: NotJudged) -> bool:
    """Where nobody answered nothing was measured, and none of it needs to be said."""
    return case.is_reached or one.reason not in _UNMEASURED


def _without_promise(case: Case, one: NotJudged) -> NotJudged:
    """Where the only connection failed a deep probe ends as early: it is not told to show more."""
    failed = all(trial.failure is not None for trial in case.evidence.trials)
    promised = one.reason is NotJudgedReason.NEEDS_DEEP_PROBE
    return replace(one, reason=NotJudgedReason.NOT_MEASURED) if failed and promised else one
