"""One certificate at a time, made by hand so that nothing about it is left to chance. Keys are made once a process."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, NameOID

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class KeyKind(StrEnum):
    P256 = "p256"
    P384 = "p384"
    RSA_1024 = "1024"
    RSA_2048 = "2048"
    RSA_4096 = "4096"


_CURVES = {KeyKind.P256: ec.SECP256R1(), KeyKind.P384: ec.SECP384R1()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who can sign: a certificate with its key."""

    certificate: x509.Certificate
    key: PrivateKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """From when to when, in days from now."""

    begins: float = -10
    ends: float = 80


USUAL_LIFE = Life()
AUTHORITYS_LIFE = Life(begins=-400, ends=4000)


@cache
def key_of(kind: KeyKind, owner: str) -> PrivateKey:
    """The owner's key of that kind. RSA takes up to seconds, so each is made once."""
    if kind in _CURVES:
        return ec.generate_private_key(_CURVES[kind])
    # The short one is made on purpose: servers that have one must be told.
    return rsa.generate_private_key(public_exponent=65537, key_size=int(kind.value))


def make_authority(
    name: str,
    *,
    signer: Holder | None = None,
    life: Life = AUTHORITYS_LIFE,
    owner: str | None = None,
    kind: KeyKind = KeyKind.P256,
    purpose: x509.ObjectIdentifier | None = None,
) -> Holder:
    """A root, or an intermediate when somebody signs it. Its key is that of its name, or of another `owner`. With a
    purpose it vouches for no others."""
    key = key_of(kind, owner or name)
    builder = _begin(name, key, signer, life)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(_SIGNS_CERTIFICATES, critical=True)
    if purpose is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    return Holder(certificate=_sign(builder, key, signer), key=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafWish:
    """What a leaf says. A name may be an address."""

    names: tuple[str, ...]
    key: KeyKind = KeyKind.P256
    life: Life = USUAL_LIFE
    issuer_url: str | None = None
    ocsp_url: str | None = None
    must_staple: bool = False
    purpose: x509.ObjectIdentifier = ExtendedKeyUsageOID.SERVER_AUTH


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def make_leaf(wish: LeafWish, signer: Holder | None) -> Holder:
    """Signed by itself when nobody else does."""
    key = key_of(wish.key, "leaf")
    builder = _begin(wish.names[0][:64], key, signer, wish.life)
    names = x509.SubjectAlternativeName([_name(name) for name in wish.names])
    builder = builder.add_extension(names, critical=False)
    builder = builder.add_extension(x509.ExtendedKeyUsage([wish.purpose]), critical=False)
    access = list(_access(wish))
    if access:
        builder = builder.add_extension(x509.AuthorityInformationAccess(access), critical=False)
    if wish.must_staple:
        feature = x509.TLSFeature([x509.TLSFeatureType.status_request])
        builder = builder.add_extension(feature, critical=False)
    return Holder(certificate=_sign(builder, key, signer), key=key)


def make_staple(
    leaf: x509.Certificate,
    issuer: Holder,
    *,
    status: ocsp.OCSPCertStatus = ocsp.OCSPCertStatus.GOOD,
    life: Life = Life(begins=-1, ends=6),
    responder: Holder | None = None,
) -> bytes:
    """The issuer's word on the leaf, DER, as a server hands it out; a responder may speak for it."""
    signer = responder or issuer
    now = datetime.now(UTC)
    builder = ocsp.OCSPResponseBuilder().add_response(
        cert=leaf,
        issuer=issuer.certificate,
        algorithm=hashes.SHA256(),
        cert_status=status,
        this_update=now + timedelta(days=life.begins),
        next_update=now + timedelta(days=life.ends),
        revocation_time=now - timedelta(days=2) if status is ocsp.OCSPCertStatus.REVOKED else None,
        revocation_reason=None,
    )
    builder = builder.responder_id(ocsp.OCSPResponderEncoding.HASH, signer.certificate)
    if signer.certificate != issuer.certificate:
        builder = builder.certificates([signer.certificate])
    return builder.sign(signer.key, hashes.SHA256()).public_bytes(Encoding.DER)


def make_responder(
    name: str, issuer: Holder, *, key: KeyKind = KeyKind.P256, entitled: bool = True, life: Life = USUAL_LIFE
) -> Holder:
    """Who may speak for that authority, where it is `entitled`."""
    own = key_of(key, name)
    builder = _begin(name, own, issuer, life)
    purpose = ExtendedKeyUsageOID.OCSP_SIGNING if entitled else ExtendedKeyUsageOID.SERVER_AUTH
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    return Holder(certificate=_sign(builder, own, issuer), key=own)


_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


def _access(wish: LeafWish) -> Sequence[x509.AccessDescription]:
    places = (
        (AuthorityInformationAccessOID.CA_ISSUERS, wish.issuer_url),
        (AuthorityInformationAccessOID.OCSP, wish.ocsp_url),
    )
    return [x509.AccessDescription(kind, x509.UniformResourceIdentifier(url)) for kind, url in places if url]


def _begin(name: str, key: PrivateKey, signer: Holder | None, life: Life) -> x509.CertificateBuilder:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(
        issuer_name=subject if signer is None else signer.certificate.subject,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now + timedelta(days=life.begins),
        not_valid_after=now + timedelta(days=life.ends),
    )
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = builder.add_extension(own, critical=False)
    if signer is None:
        return builder
    theirs = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
    return builder.add_extension(theirs, critical=False)


def _sign(builder: x509.CertificateBuilder, key: PrivateKey, signer: Holder | None) -> x509.Certificate:
    return builder.sign(key if signer is None else signer.key, hashes.SHA256())
