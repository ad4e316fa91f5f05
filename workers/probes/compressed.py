"""Whether a server compresses its certificates, which our OpenSSL cannot ask: a handshake of TLS 1.3 that offers it.

aioquic's TLS makes the ClientHello and the keys; records are opened here, as far as the server's last word. Nothing is
verified and nothing answered, so that no secret could ever be said over such a connection.
"""

import os
import ssl
import time
from typing import NamedTuple

from aioquic._buffer import Buffer
from aioquic.tls import CipherSuite, Context, Direction, Epoch, cipher_suite_hash, hkdf_expand_label
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from workers.measurement.captures_probe import HandshakeCapture
from workers.measurement.compute.probe.handshake_messages import COMPRESSIONS, hello_retried
from workers.measurement.failure import FailureKind, Stage
from workers.measurement.tls_records import TLS13
from workers.probes.bindings import Notes
from workers.probes.faults import ProbeError
from workers.probes.inflating import why_spoilt
from workers.probes.openssl import HTTP11
from workers.probes.records import RecordFramer
from workers.probes.wire import Wire

# RFC 8879, 3: a list of algorithms behind its length.
_COMPRESS_CERTIFICATE = 27
_OFFERED = bytes((2 * len(COMPRESSIONS),)) + b"".join(number.to_bytes(2) for number in COMPRESSIONS)
# Content types (RFC 8446, 5.1) and handshake messages (B.3).
_CHANGE_CIPHER_SPEC, _ALERT, _HANDSHAKE, _APPLICATION_DATA = 20, 21, 22, 23
_SERVER_HELLO, _FINISHED, _COMPRESSED_CERTIFICATE = 2, 20, 25
_RECORD_HEADER_BYTES, _MESSAGE_HEADER_BYTES, _IV_BYTES = 5, 4, 12
_KEY_BYTES = {
    CipherSuite.AES_128_GCM_SHA256: 16,
    CipherSuite.AES_256_GCM_SHA384: 32,
    CipherSuite.CHACHA20_POLY1305_SHA256: 32,
}
_READ_BYTES = 64 * 1024
_HELLO_BYTES = 4096
# Of a message so much is kept as tells what it is.
_KEPT_BYTES = 512
# Far beyond what a server's side of a handshake needs: the rest is malice.
_MAX_BYTES = 256 * 1024
_MAX_RECORDS = 256
_MAX_MESSAGES = 32


async def hear_certificates(wire: Wire, host: str, protocols: tuple[bytes, ...]) -> None:
    """Leaves a handshake with the recorder, all of it but our own last word. `protocols` are offered by ALPN.
    Raises ProbeError, DeadlineError.
    """
    recorder = wire.recorder
    recorder.stage = Stage.TLS
    began_ns = time.thread_time_ns()
    client = _Client(host, protocols)
    hello = client.hello()
    own_ns = time.thread_time_ns() - began_ns
    recorder.notes = client.notes
    framer = RecordFramer(recorder)
    left_ns = await wire.write(hello)
    recorder.hello_bytes = len(hello)
    while not client.done:
        data, read = await wire.read(_READ_BYTES)
        if not data:
            raise ProbeError(FailureKind.CONNECTION_RESET, stage=Stage.TLS)
        if recorder.received_bytes > _MAX_BYTES:
            raise _failed(f"more than {_MAX_BYTES} bytes")
        began_ns = time.thread_time_ns()
        framer.feed(data, read)
        client.hear(data)
        own_ns += time.thread_time_ns() - began_ns
    recorder.tcp_secured = wire.tcp_info()
    recorder.handshake = HandshakeCapture(
        flights_sent_ns=(left_ns,),
        own_ns=own_ns,
        reads=len(recorder.reads),
        version=TLS13,
        cipher=client.cipher,
        staple=None,
    )


class _Key(NamedTuple):
    """What the server's records are closed with."""

    cipher: AESGCM | ChaCha20Poly1305
    iv: bytes

    @classmethod
    def of(cls, suite: CipherSuite, secret: bytes) -> "_Key":
        """RFC 8446, 7.3."""
        algorithm = cipher_suite_hash(suite)
        key = hkdf_expand_label(algorithm, secret, b"key", b"", _KEY_BYTES[suite])
        make = ChaCha20Poly1305 if suite is CipherSuite.CHACHA20_POLY1305_SHA256 else AESGCM
        return cls(make(key), hkdf_expand_label(algorithm, secret, b"iv", b"", _IV_BYTES))

    def opened(self, number: int, record: bytes) -> tuple[int, bytes]:
        """The content type inside, and the content without its padding (RFC 8446, 5.2 and 5.3)."""
        nonce = (int.from_bytes(self.iv) ^ number).to_bytes(_IV_BYTES)
        try:
            inner = self.cipher.decrypt(nonce, record[_RECORD_HEADER_BYTES:], record[:_RECORD_HEADER_BYTES])
        except InvalidTag as error:
            raise _failed("a record that cannot be decrypted") from error
        content = inner.rstrip(b"\0")
        if not content:
            raise _failed("an empty record")
        return content[-1], content[:-1]


class _Client:
    """Our side over memory. `notes` keeps the beginnings of the server's messages."""

    def __init__(self, host: str, protocols: tuple[bytes, ...] = HTTP11) -> None:
        self.notes = Notes()
        self.done = False
        self.cipher: str | None = None
        names = [name.decode("ascii") for name in protocols]
        self._tls = Context(is_client=True, alpn_protocols=names, server_name=host, verify_mode=ssl.CERT_NONE)
        self._tls.handshake_extensions = [(_COMPRESS_CERTIFICATE, _OFFERED)]
        # As browsers do, for boxes on the way that know no other TLS (RFC 8446, D.4).
        self._tls.legacy_session_id = os.urandom(32)
        self._tls.update_traffic_key_cb = self._take_key
        self._key: _Key | None = None
        self._records = self._opened = 0
        self._bytes = bytearray()
        self._said = bytearray()

    def hello(self) -> bytes:
        """The first record."""
        message = self._advance(b"")
        return bytes((_HANDSHAKE, 3, 1)) + len(message).to_bytes(2) + message

    def hear(self, data: bytes) -> None:
        """Bytes from the wire, in which every record has a sound header. Raises ProbeError."""
        self._bytes += data
        while not self.done and len(self._bytes) >= _RECORD_HEADER_BYTES:
            end = _RECORD_HEADER_BYTES + int.from_bytes(self._bytes[3:5])
            if len(self._bytes) < end:
                break
            record = bytes(self._bytes[:end])
            del self._bytes[:end]
            self._records += 1
            if self._records > _MAX_RECORDS:
                raise _failed(f"more than {_MAX_RECORDS} records")
            self._take_record(record)

    def _take_record(self, record: bytes) -> None:
        kind, content = record[0], record[_RECORD_HEADER_BYTES:]
        if kind == _CHANGE_CIPHER_SPEC:
            return
        if kind == _APPLICATION_DATA and self._key is not None:
            kind, content = self._key.opened(self._opened, record)
            self._opened += 1
        if kind == _ALERT:
            number = content[1] if len(content) > 1 else 0
            raise ProbeError(FailureKind.TLS_ALERT, f"alert {number}", stage=Stage.TLS)
        if kind != _HANDSHAKE:
            raise _failed(f"a record of type {kind} in the handshake")
        self._said += content
        self._take_messages()

    def _take_messages(self) -> None:
        while len(self._said) >= _MESSAGE_HEADER_BYTES:
            end = _MESSAGE_HEADER_BYTES + int.from_bytes(self._said[1:4])
            if len(self._said) < end:
                break
            message = bytes(self._said[:end])
            del self._said[:end]
            self.notes.messages.append(message[:_KEPT_BYTES])
            if len(self.notes.messages) > _MAX_MESSAGES:
                raise _failed(f"more than {_MAX_MESSAGES} messages")
            if self._key is None:
                self._take_hello(message)
            elif message[0] == _COMPRESSED_CERTIFICATE and (why := why_spoilt(message)) is not None:
                raise ProbeError(FailureKind.CERTIFICATE_INVALID, why, stage=Stage.TLS)
            elif message[0] == _FINISHED:
                self.done = True

    def _take_hello(self, message: bytes) -> None:
        if message[0] != _SERVER_HELLO:
            raise _failed("it does not begin with a ServerHello")
        if hello_retried((message,)):
            raise _failed("it asks for another ClientHello")
        self._advance(message)

    def _advance(self, message: bytes) -> bytes:
        """What our side says to that. A library with hostile bytes in its hands may stumble over anything."""
        output = Buffer(capacity=_HELLO_BYTES)
        try:
            self._tls.handle_message(message, {Epoch.INITIAL: output})
        except Exception as error:
            raise _failed(f"{type(error).__name__} in the ServerHello") from error
        return output.data

    def _take_key(self, direction: Direction, _: Epoch, suite: CipherSuite, secret: bytes) -> None:
        if direction is Direction.DECRYPT:
            self.cipher = f"TLS_{suite.name}"
            self._key = _Key.of(suite, secret)


def _failed(why: str) -> ProbeError:
    return ProbeError(FailureKind.TLS_FAILED, why, stage=Stage.TLS)
