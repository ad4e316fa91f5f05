"""The only module with private bindings of cryptography: what pyOpenSSL has no public call for.

`missing_bindings()` tells before any engine starts what a new cryptography has dropped; a test fails on it first.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from OpenSSL import SSL, _util, crypto

from workers.measurement.evidence import CertificateFault
from workers.probes.verdicts import Key, Verdicts, key_of

_PRIVATE = (
    "SSL_get0_param",
    "X509_VERIFY_PARAM_set1_host",
    "X509_VERIFY_PARAM_set1_ip",
    "X509_VERIFY_PARAM_set_hostflags",
    "X509_verify_cert_error_string",
    "X509_STORE_set_purpose",
    "SSL_CTX_set_msg_callback",
    "SSL_CTX_set_verify",
    "SSL_set_SSL_CTX",
    "SSL_set_verify",
    "X509_STORE_CTX_get_error",
    "X509_STORE_CTX_get_error_depth",
    "X509_STORE_CTX_set_error",
    "SSL_CTX_set1_curves_list",
    "SSL_get_tlsext_status_ocsp_resp",
    "SSL_session_reused",
    "SSL_SESSION_get_max_early_data",
    "SSL_write_early_data",
)
# As browsers do: the names of the certificate count, never its subject, and "w*.example.com" is no wildcard.
_HOST_FLAGS = _util.lib.X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | _util.lib.X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS
# What the message callback is told besides the content types of RFC 8446, 5.1 (OpenSSL's ssl3.h, SSL3_RT_…).
_HANDSHAKE, _RECORD_HEADER, _INNER_TYPE = 22, 256, 257
# What of a message is kept: enough of the small ones, the type and length of a certificate.
_CERTIFICATE = 11
_HEADER_BYTES = 4
_MESSAGE_BYTES = 4096
_MAX_MESSAGES = 32
# Of tickets the last one tells all, of the others it counts that they came: an honest server sends a handful.
_TICKET, _MAX_TICKETS, _TICKET_BYTES = 4, 256, 16
_MAX_INNER_TYPES = 512
_MAX_FAULTS = 16
_read = _util.ffi.buffer
_lib = _util.lib
# No record holds more (RFC 8446, 5.1).
_RECORD_BYTES = 16 * 1024


@dataclass(slots=True)
class Notes:
    """What OpenSSL said of one connection while it worked.

    `faults` are what verification held against the chain, `verdict` what it is remembered by; `spared` tells that it
    was in order a short while ago and was not verified again. `messages` are handshake messages received, decrypted,
    the long ones cut; `certificate` is the last one with certificates, whole. `inner_types` are content types inside
    encrypted records of TLS 1.3, by the number of the record. `records` and `heard` count all records and handshake
    messages.
    """

    host: str = ""
    faults: list[CertificateFault] = field(default_factory=list)
    verdict: Key | None = None
    spared: bool = False
    messages: list[bytes] = field(default_factory=list)
    certificate: bytes | None = None
    inner_types: list[tuple[int, int]] = field(default_factory=list)
    records: int = 0
    heard: int = 0


class Tap:
    """Hears every record and handshake message that the connections of some contexts read, and every fault of a
    certificate, for the one at work.

    One thread works on one connection at a time; it says on whose behalf by `listener` before it calls OpenSSL.
    The contexts know no authorities: only a chain of which no verdict is held is verified, by those of `authorities`.
    Verification always goes on. pyOpenSSL's own callback for it makes an object of each certificate that is in order,
    which costs a tenth of a handshake.
    """

    def __init__(self, authorities: SSL.Context, verdicts: Verdicts) -> None:
        self.listener = Notes()
        self.verdicts = verdicts
        self.buffer = _util.ffi.new("char[]", _RECORD_BYTES)
        self._authorities = authorities
        # OpenSSL keeps the bare pointers: this object must live as long as the contexts. Bytes, since most that is
        # heard is read for its first one.
        self._callbacks = (
            _util.ffi.callback("void(int, int, int, const unsigned char *, size_t, SSL *, void *)", self._hear),
            _util.ffi.callback("int(int, X509_STORE_CTX *)", self._verify),
        )

    def listen_to(self, context: SSL.Context) -> None:
        """Called once, before any connection is made of the context."""
        hears = _util.ffi.cast("void(*)(int, int, int, const void *, size_t, SSL *, void *)", self._callbacks[0])
        _util.lib.SSL_CTX_set_msg_callback(context._context, hears)
        _util.lib.SSL_CTX_set_verify(context._context, SSL.VERIFY_NONE, self._callbacks[1])

    def _hear(self, sent: int, _: int, kind: int, data: Any, size: int, ssl: Any, __: Any) -> None:
        if sent:
            return
        notes = self.listener
        if kind == _RECORD_HEADER:
            notes.records += 1
        elif kind == _INNER_TYPE:
            if len(notes.inner_types) < _MAX_INNER_TYPES:
                notes.inner_types.append((notes.records - 1, data[0]))
        elif kind == _HANDSHAKE:
            notes.heard += 1
            if data[0] == _CERTIFICATE:
                self._hear_certificate(notes, _read(data, size)[:], ssl)
            elif len(notes.messages) < (_MAX_TICKETS if data[0] == _TICKET else _MAX_MESSAGES):
                _keep_message(notes, _read(data, size)[:])

    def _hear_certificate(self, notes: Notes, message: bytes, ssl: Any) -> None:
        """However many there were before: none goes unseen. OpenSSL asks its context for authorities only after this.

        That of a further handshake is verified in any case.
        """
        key = key_of(notes.host, message)
        notes.spared = notes.verdict is None and self.verdicts.hold(key)
        notes.verdict, notes.certificate = key, message
        if len(notes.messages) < _MAX_MESSAGES:
            notes.messages.append(message[:_HEADER_BYTES])
        if not notes.spared:
            _util.lib.SSL_set_SSL_CTX(ssl, self._authorities._context)
            _util.lib.SSL_set_verify(ssl, SSL.VERIFY_PEER, self._callbacks[1])

    def _verify(self, accepted: int, store: Any) -> int:
        if not accepted:
            if self.listener.spared:
                return 0
            faults = self.listener.faults
            if len(faults) < _MAX_FAULTS:
                code = _util.lib.X509_STORE_CTX_get_error(store)
                depth = _util.lib.X509_STORE_CTX_get_error_depth(store)
                faults.append(CertificateFault(code=code, depth=depth, text=fault_text(code)))
            _util.lib.X509_STORE_CTX_set_error(store, SSL.X509VerificationCodes.OK)
        return 1


def _keep_message(notes: Notes, message: bytes) -> None:
    if message[0] == _TICKET and notes.messages and notes.messages[-1][0] == _TICKET:
        notes.messages[-1] = notes.messages[-1][:_TICKET_BYTES]
    notes.messages.append(message[:_MESSAGE_BYTES])


class Pipe:
    """What goes in and out of a connection over memory.

    pyOpenSSL does the same with checks, a new buffer and an exception in each call, which cost as much as system calls.
    """

    __slots__ = ("_buffer", "_connection", "_from", "_into", "_ssl", "_view", "has_ended")

    def __init__(self, connection: SSL.Connection, buffer: Any) -> None:
        self._connection = connection
        self._ssl, self._into, self._from = connection._ssl, connection._into_ssl, connection._from_ssl
        self._buffer, self._view = buffer, _read(buffer)
        self.has_ended = False

    def shake(self) -> bool:
        """Whether the handshake is done; otherwise it needs more. Raises SSL.Error."""
        result = _lib.SSL_do_handshake(self._ssl)
        if result == 1:
            return True
        self._raise_unless_wanting(result)
        return False

    def put(self, data: bytes) -> None:
        """What came from the server."""
        if _lib.BIO_write(self._into, data, len(data)) != len(data):
            raise MemoryError("OpenSSL has no memory for what came")

    def take(self) -> bytes:
        """What OpenSSL wants sent; empty when nothing."""
        output = b""
        while (size := _lib.BIO_read(self._from, self._buffer, _RECORD_BYTES)) > 0:
            output += self._view[:size]
            if size < _RECORD_BYTES:
                break
        return output

    def read(self) -> bytes:
        """Some of what the server said, decrypted; empty for no more, `has_ended` for good. Raises SSL.Error."""
        size = _lib.SSL_read(self._ssl, self._buffer, _RECORD_BYTES)
        if size > 0:
            return bytes(self._view[:size])
        why = _lib.SSL_get_error(self._ssl, size)
        if why == _lib.SSL_ERROR_ZERO_RETURN:
            self.has_ended = True
        elif why != _lib.SSL_ERROR_WANT_READ:
            self._connection._raise_ssl_error(self._ssl, size)
        return b""

    def write(self, data: bytes) -> None:
        """Encrypts what is to be said, all of it: pyOpenSSL has OpenSSL take no more than a record at a time. Raises
        SSL.Error."""
        while data:
            size = _lib.SSL_write(self._ssl, data, len(data))
            if size <= 0:
                self._connection._raise_ssl_error(self._ssl, size)
            data = data[size:]

    def _raise_unless_wanting(self, result: int) -> None:
        if _lib.SSL_get_error(self._ssl, result) != _lib.SSL_ERROR_WANT_READ:
            self._connection._raise_ssl_error(self._ssl, result)


def missing_bindings() -> tuple[str, ...]:
    """Private functions that the installed cryptography lacks; no engine starts unless this is empty."""
    return tuple(name for name in _PRIVATE if not hasattr(_util.lib, name))


@lru_cache(maxsize=4096)
def packed_address(host: str) -> bytes | None:
    """The bytes of an address; None for a name."""
    try:
        return ip_address(host).packed
    except ValueError:
        return None


def verify_host(connection: SSL.Connection, host: str) -> None:
    """Makes verification ask whether the leaf is for this name or address."""
    parameters = _util.lib.SSL_get0_param(connection._ssl)
    packed = packed_address(host)
    if packed is not None:
        accepted = _util.lib.X509_VERIFY_PARAM_set1_ip(parameters, packed, len(packed))
    else:
        name = host.encode("ascii")
        _util.lib.X509_VERIFY_PARAM_set_hostflags(parameters, _HOST_FLAGS)
        accepted = _util.lib.X509_VERIFY_PARAM_set1_host(parameters, name, len(name))
    if accepted != 1:
        raise RuntimeError(f"OpenSSL refuses {host!r} as a name to verify")


def ask_for_servers(store: crypto.X509Store) -> None:
    """Makes every verification by these authorities ask whether the chain is fit for servers, as connections do."""
    if _util.lib.X509_STORE_set_purpose(store._store, _util.lib.X509_PURPOSE_SSL_SERVER) != 1:
        raise RuntimeError("OpenSSL refuses to verify chains of servers")


def fault_text(code: int) -> str:
    """OpenSSL's words for a fault of verification."""
    return str(_util.text(_util.lib.X509_verify_cert_error_string(code)))


def offer_groups(context: SSL.Context, groups: str) -> None:
    """Which key exchanges are offered, the first with its key share."""
    if _util.lib.SSL_CTX_set1_curves_list(context._context, groups.encode("ascii")) != 1:
        raise RuntimeError(f"OpenSSL refuses the groups {groups}")


def staple(connection: SSL.Connection) -> bytes:
    """The OCSP answer that the server sent with its certificate, DER; empty for none."""
    place = _util.ffi.new("unsigned char **")
    size = _util.lib.SSL_get_tlsext_status_ocsp_resp(connection._ssl, place)
    return bytes(_util.ffi.buffer(place[0], size)) if size > 0 else b""


def resumed(connection: SSL.Connection) -> bool:
    """Whether the handshake took up a session of before."""
    return bool(_util.lib.SSL_session_reused(connection._ssl) == 1)


def max_early_data_bytes(session: SSL.Session) -> int:
    """How much may be sent before the handshake with this session; 0 for nothing."""
    return int(_util.lib.SSL_SESSION_get_max_early_data(session._session))


def write_early(connection: SSL.Connection, data: bytes) -> bool:
    """Begins the handshake with early data; both are in the connection's output then. False when it is refused."""
    written = _util.ffi.new("size_t *")
    done = _util.lib.SSL_write_early_data(connection._ssl, data, len(data), written) == 1
    _util.lib.ERR_clear_error()
    return bool(done and written[0] == len(data))
