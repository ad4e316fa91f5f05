"""How much of certificates is sent, and whether it must be."""

from workers.diagnosis.case import MIN_RTT_US, Case, Rule, Verdicts
from workers.diagnosis.chains import Chain, of_use, total_bytes
from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.tls_visits import TLS13, chain_of, judged_chain
from workers.measurement.evidence import ChainCertificate, Trial, TrialEvidence
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity

# PROBING 7, 12 and 23.
LARGE_BYTES = 4_096
# A QUIC server sends three times what it has received, 1,200 bytes at first, before it knows the client's address
# (RFC 9000, 8.1).
QUIC_FIRST_FLIGHT_BYTES = 3_600
# From here on a QUIC handshake took two round trips, not one.
_TWO_TRIPS = 1.5
_TOLD = 4


def chain_large(case: Case) -> Verdicts:
    """More than 4 KB are worth a remark; over HTTP/3 what exceeds the first flight costs a round trip."""
    _, chain = judged_chain(case) or (None, ())
    if not chain:
        return
    slow = _slowed_by_amplification(case)
    size = total_bytes(chain)
    if slow is None and size <= LARGE_BYTES:
        return
    largest = max(chain, key=lambda one: one.der_bytes)
    yield Finding(
        id=FindingId.TLS_CHAIN_LARGE,
        severity=Severity.INFO if slow is None else Severity.MEDIUM,
        confidence=Confidence.HIGH,
        saving_us=None if slow is None else case.rtt_us,
        evidence=facts(
            chain_bytes=size,
            certificate_bytes=tuple(float(one.der_bytes) for one in chain),
            names_in_leaf=chain[0].name_count,
            largest=largest.subject,
            http3_handshake_ms=None if slow is None else in_ms(_network_us(slow)),
            rtt_ms=None if slow is None else in_ms(case.rtt_us),
        ),
    )


def _slowed_by_amplification(case: Case) -> TrialEvidence | None:
    """An HTTP/3 handshake with a chain too large for its first flight that took a second round trip for it."""
    rtt_us = case.rtt_us
    if rtt_us is None or rtt_us < MIN_RTT_US:
        return None
    seen = [(trial, us) for trial in case.evidence.of(Trial.HTTP3) if (us := _network_us(trial)) is not None]
    if not seen or _quic_chain_bytes(case) <= QUIC_FIRST_FLIGHT_BYTES:
        return None
    quickest, us = min(seen, key=lambda pair: pair[1])
    return quickest if us >= _TWO_TRIPS * rtt_us else None


def _quic_chain_bytes(case: Case) -> int:
    """Over HTTP/3 where it was seen there, else as it comes over TCP: servers send the same."""
    over_quic = [chain_of(case, one.handshake) for one in case.evidence.of(Trial.HTTP3) if one.handshake is not None]
    _, usual = judged_chain(case) or (None, ())
    return total_bytes(next((chain for chain in over_quic if chain), usual))


def _network_us(trial: TrialEvidence) -> int | None:
    shaken = trial.handshake
    if shaken is None or shaken.ended_us is None or shaken.resumed:
        return None
    return shaken.ended_us - shaken.started_us if shaken.network_us is None else shaken.network_us


def chain_needless(case: Case) -> Verdicts:
    """A root, a certificate twice, or one that does not lead from the leaf to anywhere."""
    _, chain = judged_chain(case) or (None, ())
    needless = _needless(chain)
    if not needless:
        return
    yield Finding(
        id=FindingId.TLS_CHAIN_NEEDLESS,
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        evidence=facts(
            needless=tuple(one.subject for one in needless[:_TOLD]),
            needless_bytes=total_bytes(needless),
            chain_bytes=total_bytes(chain),
        ),
    )


def _needless(chain: Chain) -> list[ChainCertificate]:
    """Those that help nobody; of what is sent twice, all but the first."""
    useful = of_use(chain) if chain else ()
    first = {one.sha256: place for place, one in reversed(list(enumerate(chain)))}
    return [one for place, one in enumerate(chain) if one not in useful or first[one.sha256] != place]


def cert_compression(case: Case) -> Verdicts:
    """Only a client that offers it could see it, and this one cannot (OpenSSL is built without it)."""
    shaken, chain = judged_chain(case) or (None, ())
    if shaken is not None and shaken.version == TLS13 and total_bytes(chain) > LARGE_BYTES:
        yield NotJudged(id=FindingId.TLS_CERT_COMPRESSION, reason=NotJudgedReason.NOT_MEASURED)


RULES: tuple[Rule, ...] = (chain_large, chain_needless, cert_compression)
