"""Real certificates, made for a fixed day: what the rules are told of them is what they hold."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import AuthorityInformationAccessOID, NameOID

from workers.measurement.compute.chain import chain_certificates
from workers.measurement.evidence import CertificateFault, ChainCertificate, ProbeEvidence
from workers.measurement.finding import FindingId
from workers.tests.diagnosis.sites import HOST, NOW, fact, finding, judge, sent

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_SELF_SIGNED, _NO_ISSUER = 18, 20
_CERTIFICATE_FAMILY = ("tls.cert_", "tls.chain_", "tls.key_weak", "tls.ocsp")


@cache
def key_of(owner: str, bits: int | None = None) -> Key:
    if bits is None:
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def signed(
    subject: str, issuer: str, *, begins: datetime, ends: datetime, authority: bool = False, bits: int | None = None
) -> x509.Certificate:
    """By the issuer's own key; its URLs are those of a public authority."""
    access = x509.AccessDescription(
        AuthorityInformationAccessOID.CA_ISSUERS, x509.UniformResourceIdentifier("http://ca.example.net/i.der")
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key_of(subject, bits).public_key())
        .serial_number(len(subject) + 1)
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(subject.replace(" ", "-"))]), critical=False)
        .add_extension(x509.AuthorityInformationAccess([access]), critical=False)
    )
    return builder.sign(key_of(issuer, bits if issuer == subject else None), hashes.SHA256())


def leaf(
    begins_days: float = -30, ends_days: float = 60, issuer: str = "Issuing CA", bits: int | None = None
) -> x509.Certificate:
    begins, ends = NOW + timedelta(days=begins_days), NOW + timedelta(days=ends_days)
    return signed(HOST, issuer, begins=begins, ends=ends, bits=bits)


def above(subject: str, issuer: str) -> x509.Certificate:
    return signed(subject, issuer, begins=NOW - timedelta(days=900), ends=NOW + timedelta(days=900), authority=True)


def site(*chain: x509.Certificate, codes: tuple[int, ...] = (), fetched: bool | None = None) -> ProbeEvidence:
    read = chain_certificates(tuple(one.public_bytes(Encoding.DER) for one in chain))
    known: list[ChainCertificate] = [one for one in read if one is not None]
    assert len(known) == len(chain)
    faults = tuple(CertificateFault(code=code, depth=0, text=f"fault {code}") for code in codes)
    return sent(*known, faults=faults, verified_with_fetched_issuer=fetched)


def told(evidence: ProbeEvidence) -> set[FindingId]:
    return {one.id for one in judge(evidence).findings if one.id.startswith(_CERTIFICATE_FAMILY)}


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (site(leaf(), above("Issuing CA", "Root CA")), set()),
        (site(leaf(-100, -1), above("Issuing CA", "Root CA")), {FindingId.TLS_CERT_EXPIRED}),
        (site(leaf(-80, 10), above("Issuing CA", "Root CA")), {FindingId.TLS_CERT_EXPIRING}),
        (site(leaf(1, 91), above("Issuing CA", "Root CA")), {FindingId.TLS_CERT_NOT_YET_VALID}),
        (site(leaf(issuer=HOST), codes=(_SELF_SIGNED,)), {FindingId.TLS_CERT_SELF_SIGNED}),
        (site(leaf(), codes=(_NO_ISSUER,), fetched=True), {FindingId.TLS_CHAIN_INCOMPLETE}),
        (site(leaf(), codes=(_NO_ISSUER,)), {FindingId.TLS_CHAIN_INCOMPLETE}),
        (
            site(leaf(), above("Issuing CA", "Root CA"), codes=(_NO_ISSUER,), fetched=False),
            {FindingId.TLS_CERT_UNTRUSTED},
        ),
        (
            site(leaf(), above("Issuing CA", "Root CA"), above("Root CA", "Root CA")),
            {FindingId.TLS_CHAIN_NEEDLESS},
        ),
        (
            site(leaf(), above("Issuing CA", "Root CA"), above("Stranger", "Elsewhere")),
            {FindingId.TLS_CHAIN_NEEDLESS},
        ),
        (
            site(leaf(), above("Upper CA", "Root CA"), above("Issuing CA", "Upper CA")),
            {FindingId.TLS_CHAIN_INCOMPLETE},
        ),
        (site(leaf(bits=1024), above("Issuing CA", "Root CA")), {FindingId.TLS_KEY_WEAK}),
    ],
)
def test_each_chain_has_exactly_its_cause(evidence: ProbeEvidence, expected: set[FindingId]) -> None:
    assert told(evidence) == expected


def test_days_are_counted_from_the_day_of_the_measurement() -> None:
    chain = site(leaf(-60, 30), above("Issuing CA", "Root CA"))
    assert told(chain) == set()
    later = replace(chain, measured_at=NOW + timedelta(days=20))
    assert fact(finding(FindingId.TLS_CERT_EXPIRING, later), "left_days") == 10
    much_later = replace(chain, measured_at=NOW + timedelta(days=33))
    assert fact(finding(FindingId.TLS_CERT_EXPIRED, much_later), "expired_days") == 3
