"""The authority's word on the certificate (OCSP), sent along with it or not."""

from workers.diagnosis.case import Case, Rule, Verdicts
from workers.diagnosis.facts import facts, seen
from workers.diagnosis.tls_visits import first_visits, judged_chain
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity


def ocsp(case: Case) -> Verdicts:
    """A certificate that demands a staple must have one each time; one that names a responder had better.

    Authorities that gave up OCSP name none: then there is nothing to staple. nginx begins to staple with the second
    connection after its start, so one with a staple is enough where none is demanded.
    """
    _, chain = judged_chain(case) or (None, ())
    told = [one.stapled for one in first_visits(case) if one.stapled is not None]
    if chain and not told and (chain[0].must_staple or chain[0].ocsp_urls):
        yield NotJudged(id=FindingId.TLS_OCSP, reason=NotJudgedReason.NOT_MEASURED)
    if not chain or not told or all(told):
        return
    leaf, missing = chain[0], told.count(False)
    if not leaf.must_staple and (not leaf.ocsp_urls or any(told)):
        return
    yield Finding(
        id=FindingId.TLS_OCSP,
        severity=Severity.CRITICAL if leaf.must_staple else Severity.LOW,
        confidence=Confidence.HIGH if missing == len(told) > 1 else Confidence.MEDIUM,
        saving_us=None if leaf.must_staple else 0,
        evidence=facts(
            must_staple=leaf.must_staple,
            without_staple=seen(missing, len(told)),
            responder=next(iter(leaf.ocsp_urls), None),
        ),
    )


RULES: tuple[Rule, ...] = (ocsp,)
