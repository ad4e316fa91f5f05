"""Whether a chain is trusted that did not come over a connection of OpenSSL's: the same faults, by the same numbers."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from cryptography import x509
from OpenSSL import crypto

from workers.measurement.evidence import CertificateFault

# x509_vfy.h: X509_V_ERR_HOSTNAME_MISMATCH, …IP_ADDRESS_MISMATCH, …CERT_REJECTED.
_WRONG_HOST, _WRONG_ADDRESS, _REJECTED = 62, 64, 28
# …UNABLE_TO_GET_ISSUER_CERT(_LOCALLY) and …UNABLE_TO_VERIFY_LEAF_SIGNATURE.
_ISSUER_MISSING = frozenset({2, 20, 21})
# …SELF_SIGNED_CERT_IN_CHAIN.
_ROOT_UNKNOWN = 19


def chain_faults(store: crypto.X509Store, chain: tuple[bytes, ...], host: str) -> tuple[CertificateFault, ...]:
    """What is wrong with a chain (DER, leaf first) for a host. Of several faults of the chain the first is told."""
    try:
        leaf = x509.load_der_x509_certificate(chain[0])
        certificates = [crypto.load_certificate(crypto.FILETYPE_ASN1, der) for der in chain]
        fits = is_for(leaf, host)
    except (ValueError, IndexError, crypto.Error):
        return (CertificateFault(code=_REJECTED, depth=0, text="the certificate cannot be read"),)
    faults: list[CertificateFault] = []
    try:
        crypto.X509StoreContext(store, certificates[0], certificates[1:]).verify_certificate()
    except crypto.X509StoreContextError as error:
        code, depth, text = error.errors
        faults.append(CertificateFault(code=code, depth=depth, text=text))
    if not fits:
        numeric = _address(host) is not None
        text = "IP address mismatch" if numeric else "hostname mismatch"
        faults.append(CertificateFault(code=_WRONG_ADDRESS if numeric else _WRONG_HOST, depth=0, text=text))
    return tuple(faults)


def lacks_issuer(faults: tuple[CertificateFault, ...]) -> bool:
    """Whether a certificate's issuer is neither known nor was it sent where it was looked for."""
    return any(fault.code in _ISSUER_MISSING for fault in faults)


def leads_nowhere(faults: tuple[CertificateFault, ...]) -> bool:
    """Whether the way that was taken from the leaf ends without an issuer, or at a root that nobody knows."""
    return lacks_issuer(faults) or any(fault.code == _ROOT_UNKNOWN for fault in faults)


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
