"""Who vouches for a chain, and what is most likely wrong when nobody does: exactly one cause."""

from dataclasses import dataclass

from workers.diagnosis.chains import Chain, leaf_signed_itself, path_of
from workers.measurement.evidence import CertificateFault, ChainCertificate, Handshake
from workers.measurement.finding import Confidence, FindingId

# OpenSSL's X509_V_ERR_… numbers (x509_vfy.h): a certificate without a known issuer, at some depth.
_ISSUER_UNKNOWN = frozenset({2, 20, 21})
_LEAF_SIGNED_ITSELF = 18
_ROOT_UNKNOWN = 19
# Time, name and strength are other causes, with findings of their own.
_TIMES = frozenset({9, 10})
_OTHER_CAUSES = _TIMES | {62, 63, 64, 66, 67, 68}


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
    return fault.code in _TIMES and fault.depth >= sent


def _judged(codes: set[int], shaken: Handshake, chain: Chain) -> tuple[FindingId, Confidence]:
    if _LEAF_SIGNED_ITSELF in codes or leaf_signed_itself(shaken, chain[0]):
        return FindingId.TLS_CERT_SELF_SIGNED, Confidence.HIGH
    if shaken.verified_with_fetched_issuer is True:
        return FindingId.TLS_CHAIN_INCOMPLETE, Confidence.HIGH
    if _ROOT_UNKNOWN in codes or not codes & _ISSUER_UNKNOWN:
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
