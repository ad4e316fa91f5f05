"""Chains of certificates as servers sent them, said in our words."""

import zlib
from dataclasses import replace

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.x509.oid import AuthorityInformationAccessOID, SignatureAlgorithmOID

from workers.measurement.compute.certificate import MAX_NAMES, UNREADABLE, key_of, printable_text
from workers.measurement.compute.remembered import remembered
from workers.measurement.evidence import ChainCertificate

_MAX_URLS = 4
# Chrome takes no longer exponent of an RSA key (BoringSSL's kMaxExponentBits). One of thousands of bits makes each
# signature that it is tried on a hundred times as dear.
_MOST_EXPONENT_BITS = 33
_ALGORITHMS = {
    oid.dotted_string: name.replace("_WITH_", "-")
    for name, oid in vars(SignatureAlgorithmOID).items()
    if isinstance(oid, x509.ObjectIdentifier) and not name.startswith("_")
}


@remembered
def chain_certificates(ders: tuple[bytes, ...]) -> tuple[ChainCertificate | None, ...]:
    """Each in turn, with who of them signed it; None for what cannot be read.

    Remembered, because the same site is asked every minute, and signatures are dear.
    """
    read = [parsed(der) for der in ders]
    return tuple(
        None if one is None else replace(_certificate(der), issued_by=_issuer_of(one, read))
        for der, one in zip(ders, read, strict=True)
    )


@remembered
def zlib_bytes(ders: tuple[bytes, ...]) -> int:
    """How large the body of the Certificate message would be with RFC 8879's zlib: each one behind its length."""
    return len(zlib.compress(b"".join(len(der).to_bytes(3) + der + b"\0\0" for der in ders)))


def missing_issuer_urls(ders: tuple[bytes, ...]) -> tuple[str, ...]:
    """Where the certificates on the way from the leaf say that their issuers are found. The last one's come first: the
    server did not send that issuer. Of the others another certificate than the one sent may be there."""
    certificates = chain_certificates(ders)
    way: list[int] = []
    at: int | None = 0
    while at is not None and at not in way and at < len(certificates):
        way.append(at)
        one = certificates[at]
        at = None if one is None else one.issued_by
    urls = (url for place in reversed(way) if (found := certificates[place]) for url in found.issuer_urls)
    return tuple(dict.fromkeys(urls))


def parsed(der: bytes) -> x509.Certificate | None:
    """None of what is no certificate, or cannot be told."""
    try:
        one = x509.load_der_x509_certificate(der)
        # Read here, since they are what a certificate cannot be told without.
        _ = one.subject, one.issuer, one.extensions
    except UNREADABLE:
        return None
    return one


def _issuer_of(one: x509.Certificate, among: list[x509.Certificate | None]) -> int | None:
    for index, other in enumerate(among):
        if other is not None and other.subject == one.issuer and is_signed_by(one, other):
            return index
    return None


@remembered
def is_signed_by(one: x509.Certificate, by: x509.Certificate) -> bool:
    """By name and by signature, with a key that browsers use. Remembered: to verify one by a key of 16,384 bits takes
    milliseconds, and the ways through a chain ask for each of its pairs again and again, of which sixteen certificates
    have 240."""
    try:
        key = by.public_key()
        if isinstance(key, RSAPublicKey) and key.public_numbers().e.bit_length() > _MOST_EXPONENT_BITS:
            return False
        one.verify_directly_issued_by(by)
    except (InvalidSignature, *UNREADABLE):
        return False
    return True


@remembered
def _certificate(der: bytes) -> ChainCertificate:
    one = x509.load_der_x509_certificate(der)
    names = _names(one)
    key_type, key_bits = key_of(one)
    ocsp_urls, issuer_urls = _access(one)
    return ChainCertificate(
        subject=printable_text(one.subject.rfc4514_string()),
        issuer=printable_text(one.issuer.rfc4514_string()),
        names=tuple(printable_text(name) for name in names[:MAX_NAMES]),
        name_count=len(names),
        not_before=one.not_valid_before_utc,
        not_after=one.not_valid_after_utc,
        sha256=one.fingerprint(hashes.SHA256()).hex(),
        der_bytes=len(der),
        authority=_is_authority(one),
        key_type=key_type,
        key_bits=key_bits,
        signature_algorithm=_ALGORITHMS.get(one.signature_algorithm_oid.dotted_string),
        must_staple=_must_staple(one),
        ocsp_urls=ocsp_urls,
        issuer_urls=issuer_urls,
    )


def _names(one: x509.Certificate) -> list[str]:
    try:
        names = one.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]


def _is_authority(one: x509.Certificate) -> bool:
    try:
        return one.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _must_staple(one: x509.Certificate) -> bool:
    try:
        features = one.extensions.get_extension_for_class(x509.TLSFeature).value
    except x509.ExtensionNotFound:
        return False
    return x509.TLSFeatureType.status_request in features


def _access(one: x509.Certificate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where its state can be asked for by OCSP, and where its issuer's certificate is."""
    try:
        ways = one.extensions.get_extension_for_class(x509.AuthorityInformationAccess).value
    except x509.ExtensionNotFound:
        return (), ()
    ocsp = [way for way in ways if way.access_method == AuthorityInformationAccessOID.OCSP]
    issuers = [way for way in ways if way.access_method == AuthorityInformationAccessOID.CA_ISSUERS]
    return _urls(ocsp), _urls(issuers)


def _urls(ways: list[x509.AccessDescription]) -> tuple[str, ...]:
    places = [way.access_location for way in ways]
    urls = [place.value for place in places if isinstance(place, x509.UniformResourceIdentifier)]
    return tuple(printable_text(url) for url in urls[:_MAX_URLS])
