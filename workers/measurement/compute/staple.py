"""The OCSP answer that a server sends along with its certificate."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa
from cryptography.x509 import ocsp
from cryptography.x509.oid import ExtendedKeyUsageOID

from workers.measurement.compute.certificate import UNREADABLE
from workers.measurement.compute.chain import is_signed_by, parsed
from workers.measurement.compute.remembered import remembered
from workers.measurement.evidence import StapleWord

# An answer on one certificate has some hundred bytes, with its signer's certificate some thousand.
_MAX_BYTES = 32_768
_WORDS = {
    ocsp.OCSPCertStatus.GOOD: StapleWord.GOOD,
    ocsp.OCSPCertStatus.REVOKED: StapleWord.REVOKED,
    ocsp.OCSPCertStatus.UNKNOWN: StapleWord.UNKNOWN,
}


class Staple(NamedTuple):
    """What it says of a certificate, and when that begins (thisUpdate) and ceases (nextUpdate) to hold.

    None where it does not say; all three where it is too long to be read.
    """

    word: StapleWord | None = None
    begins: datetime | None = None
    ends: datetime | None = None


@remembered
def read_staple(staple: bytes, chain: tuple[bytes, ...]) -> Staple:
    """The authority's word on the leaf of a chain (all DER), whatever was sent as such. Only what the leaf's issuer
    has signed, or who speaks for it, is believed."""
    if len(staple) > _MAX_BYTES:
        return Staple()
    try:
        answer = ocsp.load_der_ocsp_response(staple)
        if answer.response_status is not ocsp.OCSPResponseStatus.SUCCESSFUL:
            later = answer.response_status is ocsp.OCSPResponseStatus.TRY_LATER
            return Staple(StapleWord.NOTHING if later else StapleWord.INVALID)
        leaf, *others = map(parsed, chain)
        mine = None if leaf is None else _about(leaf, answer)
        if leaf is None or mine is None:
            return Staple(StapleWord.NOTHING)
        fault = _fault_of_signer(answer, [one for one in others if one is not None and is_signed_by(leaf, one)])
        return _said(mine) if fault is None else Staple(fault)
    except UNREADABLE:
        return Staple(StapleWord.INVALID)


def _about(leaf: x509.Certificate, answer: ocsp.OCSPResponse) -> ocsp.OCSPSingleResponse | None:
    return next((one for one in answer.responses if one.serial_number == leaf.serial_number), None)


def _said(one: ocsp.OCSPSingleResponse) -> Staple:
    return Staple(_WORDS[one.certificate_status], one.this_update_utc, one.next_update_utc)


def _fault_of_signer(answer: ocsp.OCSPResponse, issuers: list[x509.Certificate]) -> StapleWord | None:
    """Why the answer is not to be believed; None when the issuer, or who speaks for it, has signed it."""
    if not issuers:
        return StapleWord.UNVERIFIED
    try:
        signers = [one for one in (*issuers, *_delegates(answer, issuers)) if _is_named(answer, one)]
        if not signers:
            return StapleWord.UNSIGNED
        return None if any(_has_signed(one, answer) for one in signers) else StapleWord.INVALID
    except UnsupportedAlgorithm:
        return StapleWord.UNVERIFIED


def _delegates(answer: ocsp.OCSPResponse, issuers: list[x509.Certificate]) -> Iterator[x509.Certificate]:
    """Whom the issuer itself has entitled to sign answers, at the time of this one (RFC 6960, 4.2.2.2)."""
    for one in answer.certificates:
        in_time = one.not_valid_before_utc <= answer.produced_at_utc <= one.not_valid_after_utc
        if in_time and _may_sign_answers(one) and any(is_signed_by(one, issuer) for issuer in issuers):
            yield one


def _may_sign_answers(one: x509.Certificate) -> bool:
    try:
        purposes = one.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return False
    return ExtendedKeyUsageOID.OCSP_SIGNING in purposes


def _is_named(answer: ocsp.OCSPResponse, one: x509.Certificate) -> bool:
    """Whether the answer names this one for its signer, by its name or by its key's SHA-1."""
    if answer.responder_name is not None:
        return answer.responder_name == one.subject
    return answer.responder_key_hash == x509.SubjectKeyIdentifier.from_public_key(one.public_key()).digest


def _has_signed(one: x509.Certificate, answer: ocsp.OCSPResponse) -> bool:
    """Raises UnsupportedAlgorithm for a way to sign that is not known here."""
    key, signature, signed = one.public_key(), answer.signature, answer.tbs_response_bytes
    try:
        if isinstance(key, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey):
            key.verify(signature, signed)
            return True
        method = answer.signature_hash_algorithm
        if method is None:
            raise UnsupportedAlgorithm("no hash")
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, signed, padding.PKCS1v15(), method)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, signed, ec.ECDSA(method))
        else:
            raise UnsupportedAlgorithm("a key of another kind")
    except InvalidSignature:
        return False
    return True
