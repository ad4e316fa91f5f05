"""Everything that touches OpenSSL, and the only module with private bindings of cryptography.

Verification always runs and never stops the handshake: its faults are collected, so that a bad certificate is measured
and shown, and the caller decides whether to go on.
"""

from ipaddress import ip_address
from pathlib import Path
from typing import Any

from OpenSSL import SSL, _util, crypto

from workers.measurement.evidence import CertificateFault

# pyOpenSSL has no public call to set the name or address that the leaf must be for, nor one for a fault's words.
_PRIVATE = (
    "SSL_get0_param",
    "X509_VERIFY_PARAM_set1_host",
    "X509_VERIFY_PARAM_set1_ip",
    "X509_VERIFY_PARAM_set_hostflags",
    "X509_verify_cert_error_string",
)
# As browsers do: the names of the certificate count, never its subject, and "w*.example.com" is no wildcard.
_HOST_FLAGS = _util.lib.X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | _util.lib.X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS
_PROTOCOLS = [b"http/1.1"]
_MAX_FAULTS = 16
_MAX_CHAIN = 16
_CHUNK = 65536


def missing_bindings() -> tuple[str, ...]:
    """Private functions that the installed cryptography lacks; no engine starts unless this is empty."""
    return tuple(name for name in _PRIVATE if not hasattr(_util.lib, name))


def make_context(ca_file: Path | None) -> SSL.Context:
    """A client's context with the system's authorities and those of `ca_file`. Building it costs milliseconds: share.

    Raises RuntimeError when the installed cryptography does not fit, SSL.Error or OSError for an unreadable `ca_file`.
    """
    missing = missing_bindings()
    if missing:
        raise RuntimeError(f"this cryptography lacks {', '.join(missing)}: install the version of requirements.txt")
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    context.set_default_verify_paths()
    if ca_file is not None:
        context.load_verify_locations(str(ca_file))
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_alpn_protos(_PROTOCOLS)
    context.set_verify(SSL.VERIFY_PEER, _note_fault)
    return context


def make_connection(context: SSL.Context, host: str) -> SSL.Connection:
    """A client's side over memory, with SNI, that will ask whether the leaf is for `host`."""
    connection = SSL.Connection(context, None)
    connection.set_connect_state()
    connection.set_app_data([])
    parameters = _util.lib.SSL_get0_param(connection._ssl)
    try:
        packed = ip_address(host).packed
        accepted = _util.lib.X509_VERIFY_PARAM_set1_ip(parameters, packed, len(packed))
    except ValueError:
        name = host.encode("ascii")
        connection.set_tlsext_host_name(name)
        _util.lib.X509_VERIFY_PARAM_set_hostflags(parameters, _HOST_FLAGS)
        accepted = _util.lib.X509_VERIFY_PARAM_set1_host(parameters, name, len(name))
    if accepted != 1:
        raise RuntimeError(f"OpenSSL refuses {host!r} as a name to verify")
    return connection


def _note_fault(connection: SSL.Connection, _: crypto.X509, code: int, depth: int, accepted: int) -> bool:
    faults: list[CertificateFault] = connection.get_app_data()
    if not accepted and len(faults) < _MAX_FAULTS:
        text = _util.text(_util.lib.X509_verify_cert_error_string(code))
        faults.append(CertificateFault(code=code, depth=depth, text=text))
    return True


def faults_of(connection: SSL.Connection) -> tuple[CertificateFault, ...]:
    return tuple(connection.get_app_data())


def chain_of(connection: SSL.Connection) -> tuple[bytes, ...]:
    """The certificates as the server sent them, DER."""
    chain = connection.get_peer_cert_chain() or []
    return tuple(crypto.dump_certificate(crypto.FILETYPE_ASN1, certificate) for certificate in chain[:_MAX_CHAIN])


def take_output(connection: SSL.Connection) -> bytes:
    """What OpenSSL wants sent; empty when nothing."""
    output = b""
    try:
        while True:
            output += connection.bio_read(_CHUNK)
    except SSL.WantReadError:
        return output


def reason_of(error: SSL.Error) -> str:
    """OpenSSL's own words for the last thing that went wrong, such as "tlsv1 alert protocol version"."""
    reasons: list[Any] = error.args[0] if error.args and isinstance(error.args[0], list) else []
    return str(reasons[-1][2]) if reasons else type(error).__name__
