"""The authority's word on the certificate (OCSP), sent along with it or not."""

from datetime import datetime, timedelta

from workers.diagnosis.case import Case, Rule, Verdicts
from workers.diagnosis.facts import facts, seen
from workers.diagnosis.probe.chains import Chain
from workers.diagnosis.probe.clocks import server_time
from workers.diagnosis.probe.tls_visits import first_visits, judged_chain
from workers.measurement.evidence import Handshake, StapleWord
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity

# Firefox breaks off for these (NSSCertDBTrustDomain::CheckRevocation); what has run out, speaks of another certificate,
# puts off until later or is signed by nobody entitled it takes for no staple. Chrome looks at none of it.
_REFUSED = frozenset({StapleWord.REVOKED, StapleWord.UNKNOWN, StapleWord.INVALID})
_USELESS = {StapleWord.NOTHING: "nothing of this certificate", StapleWord.UNSIGNED: "signed by nobody entitled"}
_NOT_YET = "not valid yet"
# So far into the future Firefox takes a beginning for a clock that is wrong (mozilla::pkix).
_MAX_EARLY = timedelta(days=1)


def ocsp(case: Case) -> Verdicts:
    """What comes along must vouch for the certificate; one that demands a staple must have one each time, and one that
    names a responder had better.

    Authorities that gave up OCSP name none: then there is nothing to staple. nginx begins to staple with the second
    connection after its start, so one with a staple is enough where none is demanded. One that has run out is none.
    """
    _, chain = judged_chain(case) or (None, ())
    told, refused = staples(case), refused_staples(case)
    if chain and not told and (chain[0].must_staple or chain[0].ocsp_urls):
        yield NotJudged(id=FindingId.TLS_OCSP, reason=NotJudgedReason.NOT_MEASURED)
    if chain and refused:
        yield _refused(chain, refused, of=len(told))
    elif chain and told and not all(told):
        yield from _missing(case, chain, told)


def _refused(chain: Chain, refused: list[str], *, of: int) -> Finding:
    return Finding(
        id=FindingId.TLS_OCSP,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if len(refused) == of > 1 else Confidence.MEDIUM,
        evidence=facts(
            staple_says=refused[0],
            seen=seen(len(refused), of),
            must_staple=chain[0].must_staple,
            responder=next(iter(chain[0].ocsp_urls), None),
        ),
    )


def _missing(case: Case, chain: Chain, told: list[bool]) -> Verdicts:
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
            staple_says=useless_staple(case),
            staple_ended=_ended(case),
            responder=next(iter(leaf.ocsp_urls), None),
        ),
    )


def staples(case: Case) -> list[bool]:
    """Of each first visit whether a word came along that vouches for the certificate, where it can be told who signed
    that. By the server's clock too: ours may be wrong."""
    told = (one for one in first_visits(case) if one.stapled is not None)
    return [_vouches(case, one) for one in told if one.staple_word is not StapleWord.UNVERIFIED]


def _vouches(case: Case, one: Handshake) -> bool:
    """A staple that nobody has read is taken for a good one."""
    good = one.staple_word in (None, StapleWord.GOOD) and not _is_early(case, one)
    return bool(one.stapled) and good and (one.staple_ends is None or one.staple_ends >= _now(case))


def refused_staples(case: Case) -> list[str]:
    """What the staples say for which browsers break off, in the order in which they came."""
    visits = first_visits(case)
    said = ((one.staple_word, _is_early(case, one)) for one in visits)
    return [_NOT_YET if early else str(word) for word, early in said if early or word in _REFUSED]


def _is_early(case: Case, one: Handshake) -> bool:
    ours = case.evidence.measured_at
    return one.staple_begins is not None and one.staple_begins > max(ours, server_time(case) or ours) + _MAX_EARLY


def useless_staple(case: Case) -> str | None:
    """Why a staple that came along is taken for none."""
    words = (one.staple_word for one in first_visits(case))
    return next((_USELESS[word] for word in words if word in _USELESS), None)


def _ended(case: Case) -> str | None:
    """When the last of those that hold no more ceased to."""
    ends = [one.staple_ends for one in first_visits(case) if one.staple_ends is not None]
    return max(ends).isoformat() if ends and max(ends) < _now(case) else None


def _now(case: Case) -> datetime:
    ours = case.evidence.measured_at
    return min(ours, server_time(case) or ours)


RULES: tuple[Rule, ...] = (ocsp,)
