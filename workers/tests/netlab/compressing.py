"""The side of a server that compresses its certificates, which neither OpenSSL nor aioquic do: tlslite-ng's.

It serves those only who offer to take such. It is slow, as all cryptography in Python, and so it answers no request.
"""

import socket
import threading
import warnings
from contextlib import suppress
from typing import Any

with warnings.catch_warnings():
    # It still knows how to work with asyncore.
    warnings.simplefilter("ignore", DeprecationWarning)
    from tlslite.api import HandshakeSettings, TLSConnection, X509CertChain, parsePEMKey
    from tlslite.errors import BaseTLSException
    from tlslite.handshakesettings import ALL_COMPRESSION_ALGOS_SEND
    from tlslite.messages import CompressedCertificate
    from tlslite.utils.compression import compression_algo_impls

from backports import zstd

from workers.measurement.evidence import CertificateCompression
from workers.tests.netlab.chains import Chain

_COMPRESS_CERTIFICATE = 27
_RANDOM_END = 5 + 4 + 2 + 32
_LENGTH_END = 9


# Whether the thread's connection is one to be spoilt.
_here = threading.local()
_write = CompressedCertificate.write


def _written(message: CompressedCertificate) -> bytearray:
    """Spoilt, it says that it is longer or shorter by a byte than it is (RFC 8879, 4)."""
    written = bytearray(_write(message))
    if getattr(_here, "spoils", False):
        written[_LENGTH_END - 1] ^= 1
    return written


CompressedCertificate.write = _written
# It knows this one by other packages only.
compression_algo_impls["zstd_compress"] = zstd.compress
ALL_COMPRESSION_ALGOS_SEND.append(CertificateCompression.ZSTD.value)


def offers_compression(hello: bytes) -> bool:
    """Whether a record with a ClientHello has the extension of RFC 8879."""
    at = _RANDOM_END + 1 + hello[_RANDOM_END]
    at += 2 + int.from_bytes(hello[at : at + 2])
    at += 1 + hello[at] + 2
    while at + 4 <= len(hello):
        if int.from_bytes(hello[at : at + 2]) == _COMPRESS_CERTIFICATE:
            return True
        at += 4 + int.from_bytes(hello[at + 2 : at + 4])
    return False


class _Heard:
    """A socket of which something was read already."""

    def __init__(self, sock: socket.socket, heard: bytes) -> None:
        self._sock = sock
        self._heard = heard

    def recv(self, size: int) -> bytes:
        if self._heard:
            part, self._heard = self._heard[:size], self._heard[size:]
            return part
        return self._sock.recv(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class Compressing:
    """Shakes hands until the client leaves."""

    def __init__(self, chain: Chain, algorithm: CertificateCompression, *, spoils: bool = False) -> None:
        self._algorithm = algorithm
        self._spoils = spoils
        self._certificates = X509CertChain()
        self._certificates.parsePemList(chain.chain_file.read_text())
        self._key = parsePEMKey(chain.key_file.read_text(), private=True)

    def is_for(self, hello: bytes) -> bool:
        return offers_compression(hello)

    def serve(self, sock: socket.socket, heard: bytes) -> None:
        _here.spoils = self._spoils
        settings = HandshakeSettings()
        settings.certificate_compression_send = [self._algorithm.value]
        # A client that leaves in the middle is what it is here for.
        with suppress(BaseTLSException):
            TLSConnection(_Heard(sock, heard)).handshakeServer(
                certChain=self._certificates, privateKey=self._key, settings=settings, alpn=[bytearray(b"http/1.1")]
            )
