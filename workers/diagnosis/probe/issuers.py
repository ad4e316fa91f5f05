"""Who vouches for a chain, and what is most likely wrong when nobody does: exactly one cause."""

from dataclasses import dataclass

from workers.diagnosis.probe.chains import Chain, leaf_signed_itself, path_of
from workers.measurement.evidence import CertificateFault, ChainCertificate, Handshake
from workers.measurement.finding import Confidence, FindingId
from workers.measurement.verify_codes import ISSUER_UNKNOWN, LEAF_SIGNED_ITSELF, OF_TIME, ROOT_UNKNOWN, WEAK, WRONG_NAME

# Time, name and strength are other causes, with findings of their own.
_OTHER_CAUSES = OF_TIME | WRONG_NAME | WEAK


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Why the chain is not trusted; `certificate` is the one for which an issuer was sought, `words` OpenSSL's own."""

    id: FindingId
    confidence: Confidence
    certificate: ChainCertificate
    words: str


def trust_fault(shaken: Handshake, chain: Chain) -> Trust | None:
    """None when the chain leads to an authority that the agent trusts, or fails for another cause alone."""
    sent = len(path_of(chain))
    codes = {one.code for one in shaken.faults if one.code not in _OTHER_CAUSES or _is_of_root(one, sent)}
    if not codes:
        return None
    words = next(fault.text for fault in shaken.faults if fault.code in codes)
    id, confidence = _judged(codes, shaken, chain)
    blamed = chain[0] if id is FindingId.TLS_CERT_SELF_SIGNED else path_of(chain)[-1]
    return Trust(id=id, confidence=confidence, certificate=blamed, words=words)


def _is_of_root(fault: CertificateFault, sent: int) -> bool:
    """Whether it is the authority itself whose time is over, or has not come: its certificate is the agent's own."""
    return fault.code in OF_TIME and fault.depth >= sent


def _judged(codes: set[int], shaken: Handshake, chain: Chain) -> tuple[FindingId, Confidence]:
    if LEAF_SIGNED_ITSELF in codes or leaf_signed_itself(shaken, chain[0]):
        return FindingId.TLS_CERT_SELF_SIGNED, Confidence.HIGH
    if shaken.verified_with_fetched_issuer is True:
        return FindingId.TLS_CHAIN_INCOMPLETE, Confidence.HIGH
    if ROOT_UNKNOWN in codes or not codes & ISSUER_UNKNOWN:
        return FindingId.TLS_CERT_UNTRUSTED, Confidence.HIGH
    return _without_issuer(shaken, path_of(chain))


def _without_issuer(shaken: Handshake, path: Chain) -> tuple[FindingId, Confidence]:
    """Nothing that was sent or is known here signed the last certificate of the path.

    Whether its issuer is missing or unknown shows when the issuer is fetched from where the certificate says. Without
    that: public authorities sign leaves by intermediates only and name where those are, so a leaf alone that names one
    lacks it, and a leaf alone that names none is of an authority of somebody's own. When more was sent, what is
    missing is the root, and that is for the client to know.
    """
    alone = len(path) == 1
    if shaken.verified_with_fetched_issuer is None and alone and path[0].issuer_urls:
        return FindingId.TLS_CHAIN_INCOMPLETE, Confidence.MEDIUM
    sure = shaken.verified_with_fetched_issuer is False and not alone
    return FindingId.TLS_CERT_UNTRUSTED, Confidence.HIGH if sure else Confidence.MEDIUM
