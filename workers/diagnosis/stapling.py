"""The authority's word on the certificate (OCSP), sent along with it or not."""

from datetime import datetime

from workers.diagnosis.case import Case, Rule, Verdicts
from workers.diagnosis.clocks import server_time
from workers.diagnosis.facts import facts, seen
from workers.diagnosis.tls_visits import first_visits, judged_chain
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity


def ocsp(case: Case) -> Verdicts:
    """A certificate that demands a staple must have one each time; one that names a responder had better.

    Authorities that gave up OCSP name none: then there is nothing to staple. nginx begins to staple with the second
    connection after its start, so one with a staple is enough where none is demanded. One that has run out is none.
    """
    _, chain = judged_chain(case) or (None, ())
    told = staples(case)
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
            staple_ended=_ended(case),
            responder=next(iter(leaf.ocsp_urls), None),
        ),
    )


def staples(case: Case) -> list[bool]:
    """Of each first visit whether a word came along that still holds. By the server's clock too: ours may be wrong."""
    now = _now(case)
    known = (one for one in first_visits(case) if one.stapled is not None)
    return [bool(one.stapled) and (one.staple_ends is None or one.staple_ends >= now) for one in known]


def _ended(case: Case) -> str | None:
    """When the last of those that hold no more ceased to."""
    ends = [one.staple_ends for one in first_visits(case) if one.staple_ends is not None]
    return max(ends).isoformat() if ends and max(ends) < _now(case) else None


def _now(case: Case) -> datetime:
    ours = case.evidence.measured_at
    return min(ours, server_time(case) or ours)


RULES: tuple[Rule, ...] = (ocsp,)
