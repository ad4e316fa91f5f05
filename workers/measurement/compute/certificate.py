"""Certificates as they came over the wire, said in our words."""

from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa

from workers.measurement.certificate import Certificate
from workers.measurement.compute.remembered import remembered
from workers.measurement.compute.texts import plain
from workers.measurement.evidence import CertificateFault
from workers.measurement.failure import FailureKind
from workers.measurement.verify_codes import (
    EXPIRED,
    ISSUER_UNKNOWN,
    LEAF_SIGNED_ITSELF,
    NOT_YET_VALID,
    OTHER_ADDRESS,
    OTHER_HOST,
    ROOT_UNKNOWN,
)

# What a stranger's certificate may make the library raise: for a version that there is not, for an attribute of a name
# in a type that it never has, for extensions and keys that nobody knows.
UNREADABLE = (
    ValueError,
    TypeError,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
    UnsupportedAlgorithm,
)
# A CDN's certificate names hundreds of hosts: enough to see whose it is.
MAX_NAMES = 100
_MAX_NAME_CHARS = 512

# …CERT_UNTRUSTED: the store knows it and does not trust it.
_REFUSED = 27
# The most telling first: a certificate is often wrong in several ways.
_KINDS: tuple[tuple[FailureKind, frozenset[int]], ...] = (
    (FailureKind.CERTIFICATE_EXPIRED, frozenset({EXPIRED})),
    (FailureKind.CERTIFICATE_NOT_YET_VALID, frozenset({NOT_YET_VALID})),
    (FailureKind.CERTIFICATE_SELF_SIGNED, frozenset({LEAF_SIGNED_ITSELF})),
    (FailureKind.CERTIFICATE_UNTRUSTED, ISSUER_UNKNOWN | {ROOT_UNKNOWN, _REFUSED}),
    (FailureKind.CERTIFICATE_WRONG_HOST, frozenset({OTHER_HOST, OTHER_ADDRESS})),
)
_KEY_TYPES: tuple[tuple[type, str], ...] = (
    (rsa.RSAPublicKey, "RSA"),
    (ec.EllipticCurvePublicKey, "EC"),
    (dsa.DSAPublicKey, "DSA"),
    (ed25519.Ed25519PublicKey, "Ed25519"),
    (ed448.Ed448PublicKey, "Ed448"),
)
_ROLES = {0: "the server's certificate"}


class CertificateError(NamedTuple):
    """The kind of failure, and every fault in words."""

    kind: FailureKind
    text: str


def certificate_error(faults: tuple[CertificateFault, ...]) -> CertificateError | None:
    """What is wrong with a chain: None when nothing is."""
    if not faults:
        return None
    codes = {fault.code for fault in faults}
    kind = next((kind for kind, known in _KINDS if codes & known), FailureKind.CERTIFICATE_INVALID)
    words = dict.fromkeys(f"{_ROLES.get(fault.depth, f'issuer {fault.depth}')}: {fault.text}" for fault in faults)
    return CertificateError(kind, "; ".join(words))


@remembered
def certificate_of(chain: tuple[bytes, ...]) -> Certificate | None:
    """The leaf of a chain in DER. None when there is none or it cannot be read, since any server may send anything.

    Remembered, because the same site is asked every minute and reading a certificate costs more than all the rest here.
    """
    if not chain:
        return None
    try:
        return _certificate(x509.load_der_x509_certificate(chain[0]), chain)
    except UNREADABLE:
        return None


def _certificate(leaf: x509.Certificate, chain: tuple[bytes, ...]) -> Certificate:
    key_type, key_bits = key_of(leaf)
    return Certificate(
        subject=_text(leaf.subject),
        issuer=_text(leaf.issuer),
        names=_names(leaf),
        not_before=leaf.not_valid_before_utc,
        not_after=leaf.not_valid_after_utc,
        sha256=leaf.fingerprint(hashes.SHA256()).hex(),
        key_type=key_type,
        key_bits=key_bits,
        chain_length=len(chain),
        chain_bytes=sum(map(len, chain)),
    )


def _text(name: x509.Name) -> str:
    return printable_text(name.rfc4514_string())


def printable_text(text: str) -> str:
    return plain(text, _MAX_NAME_CHARS)


def _names(leaf: x509.Certificate) -> tuple[str, ...]:
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, *UNREADABLE):
        return ()
    dns = names.get_values_for_type(x509.DNSName)
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    return tuple(printable_text(name) for name in (*dns, *addresses)[:MAX_NAMES])


def key_of(leaf: x509.Certificate) -> tuple[str | None, int | None]:
    try:
        key = leaf.public_key()
    except UNREADABLE:
        return None, None
    name = next((name for kind, name in _KEY_TYPES if isinstance(key, kind)), None)
    return name, getattr(key, "key_size", None)
