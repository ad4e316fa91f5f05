"""Certificates that clients refuse, or soon will: time, name, issuer, key. One cause, one finding.

Times are judged by the agent's wall clock; everything else by what OpenSSL held against the chain, with the
authorities that the agent trusts.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from workers.diagnosis.case import Case, Rule, Verdicts
from workers.diagnosis.facts import facts
from workers.diagnosis.probe.chains import Chain, is_in_order, path_of
from workers.diagnosis.probe.clocks import server_time, valid_there
from workers.diagnosis.probe.issuers import Trust, trust_fault
from workers.diagnosis.probe.tls_visits import judged_chain
from workers.measurement.evidence import ChainCertificate, Handshake
from workers.measurement.finding import Confidence, Fact, Finding, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.verify_codes import EXPIRED, NOT_YET_VALID, WEAK, WRONG_NAME

# Browsers and the CA/Browser Forum's baseline (6.1.5) refuse shorter ones.
MIN_RSA_BITS = 2048
# Renewal is due with a third of the life left, as ACME clients do it, who look once or twice a day; from two weeks on
# somebody must act.
RENEWAL_SHARE, LOOKED_EVERY = 3, timedelta(days=1)
SOON = timedelta(days=14)
_TOLD_NAMES = 5
_TOLD_CERTIFICATES = 6


def expired(case: Case) -> Verdicts:
    """The leaf, or another certificate on the way to the root, is past its end."""
    shaken, chain = judged_chain(case) or (None, ())
    if shaken is None:
        return
    now = case.evidence.measured_at
    judged = path_of(chain) if EXPIRED in _codes(shaken) else chain[:1]
    over = next((one for one in judged if one.not_after < now), None)
    if over is not None and valid_there(case, judged):
        yield NotJudged(id=FindingId.TLS_CERT_EXPIRED, reason=NotJudgedReason.CLOCKS_APART)
    elif over is not None:
        when = facts(not_after=over.not_after.isoformat(), expired_days=(now - over.not_after).days)
        yield _critical(FindingId.TLS_CERT_EXPIRED, (*_which(over, chain), *when))


def not_yet_valid(case: Case) -> Verdicts:
    shaken, chain = judged_chain(case) or (None, ())
    if shaken is None:
        return
    now = case.evidence.measured_at
    judged = path_of(chain) if NOT_YET_VALID in _codes(shaken) else chain[:1]
    early = next((one for one in judged if one.not_before > now), None)
    if early is not None and valid_there(case, judged):
        yield NotJudged(id=FindingId.TLS_CERT_NOT_YET_VALID, reason=NotJudgedReason.CLOCKS_APART)
    elif early is not None:
        when = facts(not_before=early.not_before.isoformat(), valid_in_hours=_hours(early.not_before - now))
        yield _critical(FindingId.TLS_CERT_NOT_YET_VALID, (*_which(early, chain), *when))


def expiring(case: Case) -> Verdicts:
    """A leaf that should have been renewed by now."""
    _, chain = judged_chain(case) or (None, ())
    now = case.evidence.measured_at
    if not chain or not chain[0].not_before <= now <= chain[0].not_after:
        return
    leaf = chain[0]
    left, lifetime = leaf.not_after - now, leaf.not_after - leaf.not_before
    severity, theirs = _urgency(leaf, now), _urgency(leaf, server_time(case) or now)
    if severity is not theirs:
        yield NotJudged(id=FindingId.TLS_CERT_EXPIRING, reason=NotJudgedReason.CLOCKS_APART)
        return
    if severity is None:
        return
    yield Finding(
        id=FindingId.TLS_CERT_EXPIRING,
        severity=severity,
        confidence=Confidence.HIGH,
        evidence=facts(
            not_after=leaf.not_after.isoformat(),
            left_days=round(left / timedelta(days=1), 1),
            lifetime_days=round(lifetime / timedelta(days=1), 1),
            issuer=leaf.issuer,
        ),
    )


def _urgency(leaf: ChainCertificate, now: datetime) -> Severity | None:
    """None where there is time enough, and where it is over."""
    left = leaf.not_after - now
    due = (leaf.not_after - leaf.not_before) / RENEWAL_SHARE
    if not timedelta() <= left < due - LOOKED_EVERY:
        return None
    return Severity.HIGH if left < SOON else Severity.MEDIUM


def name_mismatch(case: Case) -> Verdicts:
    shaken, chain = judged_chain(case) or (None, ())
    if shaken is None or not _codes(shaken) & WRONG_NAME:
        return
    leaf = chain[0]
    told = facts(host=case.evidence.host, names=leaf.names[:_TOLD_NAMES], name_count=leaf.name_count)
    yield _critical(FindingId.TLS_CERT_NAME_MISMATCH, told)


def issuer(case: Case) -> Verdicts:
    """Who vouches for the chain: nobody but itself, nobody known, or somebody whose certificate was not sent, or not
    where clients look for it."""
    shaken, chain = judged_chain(case) or (None, ())
    if shaken is None:
        return
    fault = trust_fault(shaken, chain)
    if fault is not None:
        yield Finding(
            id=fault.id, severity=Severity.CRITICAL, confidence=fault.confidence, evidence=_issuer_facts(fault, shaken)
        )
    unordered = bool(shaken.in_other_order) or not is_in_order(chain)
    if unordered and (fault is None or fault.id is not FindingId.TLS_CHAIN_INCOMPLETE):
        order = tuple(one.subject for one in chain[:_TOLD_CERTIFICATES])
        yield Finding(
            id=FindingId.TLS_CHAIN_INCOMPLETE,
            severity=Severity.MEDIUM,
            confidence=Confidence.HIGH,
            evidence=facts(in_order=False, order=order, sent=len(shaken.chain)),
        )


def _issuer_facts(fault: Trust, shaken: Handshake) -> tuple[Fact, ...]:
    return facts(
        certificate=fault.certificate.subject,
        issuer=fault.certificate.issuer,
        sent=len(shaken.chain),
        issuer_url=next(iter(fault.certificate.issuer_urls), None),
        trusted_with_fetched_issuer=shaken.verified_with_fetched_issuer,
        openssl=fault.words,
    )


def key_weak(case: Case) -> Verdicts:
    """A key that is too short, or a signature by a broken method, on the way to the root."""
    shaken, chain = judged_chain(case) or (None, ())
    if shaken is None:
        return
    weak = next(_weak_ones(shaken, chain), None)
    if weak is not None:
        told = facts(key_type=weak.key_type, key_bits=weak.key_bits, signature=weak.signature_algorithm)
        yield _critical(FindingId.TLS_KEY_WEAK, (*_which(weak, chain), *told))


def _weak_ones(shaken: Handshake, chain: Chain) -> Iterator[ChainCertificate]:
    leaf = chain[0]
    if leaf.key_type == "RSA" and leaf.key_bits is not None and leaf.key_bits < MIN_RSA_BITS:
        yield leaf
    blamed = (_at_fault(shaken, chain, code) for code in sorted(WEAK & _codes(shaken)))
    yield from (one for one in blamed if one is not None)


def _codes(shaken: Handshake) -> set[int]:
    return {fault.code for fault in shaken.faults}


def _at_fault(shaken: Handshake, chain: Chain, code: int) -> ChainCertificate | None:
    """The certificate that OpenSSL blames, when it was sent; the depth counts along the path."""
    path = path_of(chain)
    depths = [fault.depth for fault in shaken.faults if fault.code == code]
    return next((path[depth] for depth in depths if 0 <= depth < len(path)), None)


def _which(one: ChainCertificate, chain: Chain) -> tuple[Fact, ...]:
    role = "leaf" if one == chain[0] else "issuer"
    return facts(certificate=one.subject, role=role)


def _critical(id: FindingId, evidence: tuple[Fact, ...]) -> Finding:
    return Finding(id=id, severity=Severity.CRITICAL, confidence=Confidence.HIGH, evidence=evidence)


def _hours(span: timedelta) -> float:
    return round(span / timedelta(hours=1), 1)


RULES: tuple[Rule, ...] = (expired, not_yet_valid, expiring, name_mismatch, issuer, key_weak)
