"""Handshake messages that a server sent, as far as they were kept, read for what is to be known of them.

Any server may send anything: what cannot be read is as if it had not been sent.
"""

from functools import lru_cache
from typing import NamedTuple

from workers.measurement.evidence import CertificateCompression, EarlyData
from workers.measurement.tls_records import TLS13

# RFC 8446, 4 and B.3, and RFC 8879, 4; a HelloRetryRequest is a ServerHello with this for its random (4.1.3).
_SERVER_HELLO, _NEW_SESSION_TICKET, _ENCRYPTED_EXTENSIONS = b"\x02", b"\x04", b"\x08"
_CERTIFICATE, _COMPRESSED, _FINISHED = b"\x0b", b"\x19", b"\x14"
_RETRY_RANDOM = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
_EARLY_DATA = 42
_WITH_CERTIFICATES = (_CERTIFICATE, _COMPRESSED)
# As the wire numbers them.
COMPRESSIONS = {1: CertificateCompression.ZLIB, 2: CertificateCompression.BROTLI, 3: CertificateCompression.ZSTD}
_HEADER_BYTES = 4


class Tickets(NamedTuple):
    """How many came, and the life and early data of the last one."""

    number: int
    lifetime_s: int | None = None
    max_early_data_bytes: int | None = None


class Compressed(NamedTuple):
    """What a CompressedCertificate message says of itself."""

    algorithm: CertificateCompression
    inflated_bytes: int


def _bodies(messages: tuple[bytes, ...], kind: bytes) -> list[bytes]:
    return _by_kind(messages).get(kind, [])


@lru_cache(maxsize=16)
def _by_kind(messages: tuple[bytes, ...]) -> dict[bytes, list[bytes]]:
    """Remembered, because several things are asked of the same messages."""
    found: dict[bytes, list[bytes]] = {}
    for message in messages:
        found.setdefault(message[:1], []).append(message[_HEADER_BYTES:])
    return found


def hello_retried(messages: tuple[bytes, ...]) -> bool | None:
    """Whether the server asked for another ClientHello; None when it said no hello at all."""
    hellos = _bodies(messages, _SERVER_HELLO)
    return any(hello[2:34] == _RETRY_RANDOM for hello in hellos) if hellos else None


def early_data_answer(messages: tuple[bytes, ...]) -> EarlyData | None:
    """What the server's EncryptedExtensions say of early data that was sent; None before them."""
    for extensions in _bodies(messages, _ENCRYPTED_EXTENSIONS):
        return EarlyData.ACCEPTED if _EARLY_DATA in _extensions(extensions) else EarlyData.REJECTED
    return None


@lru_cache(maxsize=16)
def certificate_bytes(messages: tuple[bytes, ...]) -> int | None:
    """The size of the message with the certificates, compressed or not; None when none came, as when a session is
    resumed."""
    sizes = [_HEADER_BYTES + int.from_bytes(one[1:4]) for one in messages if one.startswith(_WITH_CERTIFICATES)]
    return sizes[-1] if sizes else None


def compressed_certificate(messages: tuple[bytes, ...]) -> Compressed | None:
    """None when certificates came as they are, or not at all."""
    found = [body for body in _bodies(messages, _COMPRESSED) if len(body) >= 5]
    number = int.from_bytes(found[-1][:2]) if found else 0
    return Compressed(COMPRESSIONS[number], int.from_bytes(found[-1][2:5])) if number in COMPRESSIONS else None


def tickets_of(messages: tuple[bytes, ...], version: str | None) -> Tickets:
    """The tickets of a connection. An empty one of TLS 1.2 says that there is none (RFC 5077, 3.3)."""
    found = [body for body in _bodies(messages, _NEW_SESSION_TICKET) if len(body) > 6]
    if not found:
        return Tickets(0)
    lifetime_s = int.from_bytes(found[-1][:4])
    if version != TLS13:
        return Tickets(len(found), lifetime_s or None)
    return Tickets(len(found), lifetime_s, _early_data_of(found[-1]))


def _early_data_of(ticket: bytes) -> int:
    """RFC 8446, 4.6.1: lifetime, age, nonce, ticket, extensions."""
    at = 9 + ticket[8] if len(ticket) > 8 else len(ticket)
    at += 2 + int.from_bytes(ticket[at : at + 2])
    return int.from_bytes(_extensions(ticket[at:]).get(_EARLY_DATA, b""))


def _extensions(block: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    at, end = 2, 2 + int.from_bytes(block[:2])
    while at + 4 <= min(end, len(block)):
        size = int.from_bytes(block[at + 2 : at + 4])
        found[int.from_bytes(block[at : at + 2])] = block[at + 4 : at + 4 + size]
        at += 4 + size
    return found


def messages_in(stream: bytes) -> tuple[bytes, ...]:
    """The messages that a stream brings whole, each with its header."""
    found, at = [], 0
    while at + _HEADER_BYTES <= len(stream):
        end = at + _HEADER_BYTES + int.from_bytes(stream[at + 1 : at + _HEADER_BYTES])
        if end > len(stream):
            break
        found.append(stream[at:end])
        at = end
    return tuple(found)


def cipher_of(messages: tuple[bytes, ...]) -> int | None:
    """IANA's number of the suite that the server chose: behind version, random and session id (RFC 8446, 4.1.3)."""
    hellos = _bodies(messages, _SERVER_HELLO)
    if not hellos or len(hellos[-1]) < 35:
        return None
    number = hellos[-1][35 + hellos[-1][34] :][:2]
    return int.from_bytes(number) if len(number) == 2 else None


def is_resumed(messages: tuple[bytes, ...]) -> bool | None:
    """Whether a handshake of TLS 1.3 resumed a session: the server came to its end and showed no certificate (RFC 8446,
    2.2). None before that.
    """
    if any(message.startswith(_WITH_CERTIFICATES) for message in messages):
        return False
    return True if _bodies(messages, _FINISHED) else None


def chain_of(messages: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The certificates of TLS 1.3 in DER, the server's own first (RFC 8446, 4.4.2): a context, then each with its
    extensions. None of those that came compressed.
    """
    found = []
    for body in _bodies(messages, _CERTIFICATE)[-1:]:
        at = 4 + (body[0] if body else 0)
        while at + 3 <= len(body):
            size = int.from_bytes(body[at : at + 3])
            found.append(body[at + 3 : at + 3 + size])
            at += 3 + size
            at += 2 + int.from_bytes(body[at : at + 2])
    return tuple(found)
