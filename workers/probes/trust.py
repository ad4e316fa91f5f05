"""Whether a chain is trusted that did not come over a connection of OpenSSL's: the same faults, by the same numbers."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import islice

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, SignatureAlgorithmOID
from OpenSSL import crypto

from workers.measurement.compute.certificate import UNREADABLE, key_of
from workers.measurement.compute.chain import is_signed_by, parsed
from workers.measurement.evidence import CertificateFault
from workers.measurement.verify_codes import (
    ISSUER_UNKNOWN,
    OTHER_ADDRESS,
    OTHER_HOST,
    SHORT_ISSUERS_KEY,
    SHORT_LEAFS_KEY,
    WEAK_SIGNATURE,
)
from workers.probes.bindings import fault_text

# X509_V_ERR_CERT_REJECTED (x509_vfy.h).
_REJECTED = 28
_OF_HOST = frozenset({OTHER_HOST, OTHER_ADDRESS})
# …CERT_SIGNATURE_FAILURE, …PERMITTED_, …EXCLUDED_VIOLATION too: what is said of a leaf for the certificates above it.
_OF_LEAFS_ISSUER = ISSUER_UNKNOWN | {7, 47, 48}
# …INVALID_PURPOSE: it is mostly the leaf's own.
_UNFIT_PURPOSE = 26
_BROKEN = frozenset({SignatureAlgorithmOID.RSA_WITH_MD5, SignatureAlgorithmOID.RSA_WITH_SHA1})
_BROKEN |= {SignatureAlgorithmOID.ECDSA_WITH_SHA1, SignatureAlgorithmOID.DSA_WITH_SHA1}
_LEAST_BITS = {"RSA": 2048, "DSA": 2048, "EC": 224}
# Cross-signed chains have two to four. A hostile one of sixteen large keys costs no more than half a second.
_MOST_WAYS = 8


def chain_faults(store: crypto.X509Store, chain: tuple[bytes, ...], host: str) -> tuple[CertificateFault, ...]:
    """What is wrong with a chain (DER, leaf first) for a host. Of several faults of the chain the first is told."""
    try:
        leaf = x509.load_der_x509_certificate(chain[0])
        certificates = [crypto.load_certificate(crypto.FILETYPE_ASN1, der) for der in chain]
        fits = is_for(leaf, host)
    except (IndexError, crypto.Error, *UNREADABLE):
        return (CertificateFault(code=_REJECTED, depth=0, text="the certificate cannot be read"),)
    fault = fault_of_way(store, certificates)
    faults = [] if fault is None else [fault]
    if not fits:
        numeric = _address(host) is not None
        text = "IP address mismatch" if numeric else "hostname mismatch"
        faults.append(CertificateFault(code=OTHER_ADDRESS if numeric else OTHER_HOST, depth=0, text=text))
    return tuple(faults)


def fault_of_way(store: crypto.X509Store, certificates: list[crypto.X509]) -> CertificateFault | None:
    """The first thing that is wrong with the way that OpenSSL takes from a leaf through the others; None where all is
    well. The store must ask for servers (`bindings.ask_for_servers`)."""
    leaf, *others = certificates
    try:
        way = crypto.X509StoreContext(store, leaf, others).get_verified_chain()
    except crypto.X509StoreContextError as error:
        code, depth, text = error.errors
        return CertificateFault(code=code, depth=depth, text=text)
    return _weakness([one.to_cryptography() for one in way])


def _weakness(way: list[x509.Certificate]) -> CertificateFault | None:
    """What connections ask for besides (SSL_CTX_set_security_level). How a root is signed is nobody's concern."""
    for depth, one in enumerate(way):
        if _is_short(one):
            code = SHORT_ISSUERS_KEY if depth else SHORT_LEAFS_KEY
        elif one is not way[-1] and one.signature_algorithm_oid in _BROKEN:
            code = WEAK_SIGNATURE
        else:
            continue
        return CertificateFault(code=code, depth=depth, text=fault_text(code))
    return None


def another_way_may_help(faults: tuple[CertificateFault, ...]) -> bool:
    """Whether nothing is wrong, the host's name apart, but the way that was taken from the leaf: OpenSSL takes one,
    browsers try each."""
    others = [fault for fault in faults if fault.code not in _OF_HOST]
    return bool(others) and all(
        fault.code in _OF_LEAFS_ISSUER if fault.depth == 0 else fault.code != _UNFIT_PURPOSE for fault in others
    )


def beside_the_way(faults: tuple[CertificateFault, ...]) -> tuple[CertificateFault, ...]:
    """What is still wrong once another way is known."""
    return tuple(fault for fault in faults if fault.code in _OF_HOST)


def ways(chain: tuple[bytes, ...]) -> Iterator[tuple[bytes, ...]]:
    """Each way from the leaf through what was sent (DER), as far as signatures lead, and no more than there may be."""
    read = [parsed(der) for der in chain]
    fit = [None if one is None or (place and _is_unfit(one)) else one for place, one in enumerate(read)]
    return islice(_ways_on((0,), chain, fit), _MOST_WAYS)


def _is_unfit(one: x509.Certificate) -> bool:
    """Whether no way leads over this issuer's certificate: only so many ways are tried."""
    return _is_weak(one) or not _may_serve(one)


def _may_serve(one: x509.Certificate) -> bool:
    """Whether those it vouches for may be servers (RFC 5280, 4.2.1.12)."""
    try:
        purposes = one.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return bool({ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(purposes))


def _is_weak(one: x509.Certificate) -> bool:
    """By its key or how it is signed. How a root has signed itself is nobody's concern."""
    return _is_short(one) or (one.subject != one.issuer and one.signature_algorithm_oid in _BROKEN)


def _is_short(one: x509.Certificate) -> bool:
    kind, bits = key_of(one)
    return (bits or 0) < _LEAST_BITS.get(kind or "", 0)


def _ways_on(
    way: tuple[int, ...], chain: tuple[bytes, ...], read: list[x509.Certificate | None]
) -> Iterator[tuple[bytes, ...]]:
    """Those that go on from here, each as long as can be."""
    last, ended = read[way[-1]], True
    for place, upper in enumerate(read):
        if last is not None and upper is not None and place not in way and is_signed_by(last, upper):
            ended = False
            yield from _ways_on((*way, place), chain, read)
    if ended:
        yield tuple(chain[place] for place in way)


def is_for(leaf: x509.Certificate, host: str) -> bool:
    """As browsers judge: the alternative names alone, and an asterisk only as the whole of the first label."""
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    address = _address(host)
    if address is not None:
        return address in names.get_values_for_type(x509.IPAddress)
    return any(_matches(name.lower().rstrip("."), host.lower()) for name in names.get_values_for_type(x509.DNSName))


def _matches(name: str, host: str) -> bool:
    if name.startswith("*."):
        first, _, rest = host.partition(".")
        return bool(first) and rest == name[2:] and "." in rest
    return name == host


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
