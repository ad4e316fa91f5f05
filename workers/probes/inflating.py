"""Whether compressed certificates are what they say (RFC 8879, 4), in as little memory as honest ones need."""

import zlib
from collections.abc import Callable

import brotli
from backports import zstd

from workers.measurement.compute.probe.handshake_messages import COMPRESSIONS
from workers.measurement.evidence import CertificateCompression

# Far more than any browser takes.
_MAX_BYTES = 256 * 1024
# Windows of 8 MiB are what everybody should read (RFC 8878, 3.1.1.1.2); zstd itself would go as far as 128.
_ZSTD_LIMITS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}
# What CompressedCertificate says before the compressed bytes: its header, the algorithm, both lengths.
_ALGORITHM, _SIZE, _DATA = slice(4, 6), slice(6, 9), 12


def why_spoilt(message: bytes) -> str | None:
    """Why a browser would end the connection that brings such a CompressedCertificate; None where it would not, and for
    an algorithm that nobody offers."""
    algorithm = COMPRESSIONS.get(int.from_bytes(message[_ALGORITHM]))
    if algorithm is None:
        return None
    size = int.from_bytes(message[_SIZE])
    try:
        inflated = _INFLATE[algorithm](message[_DATA:], min(size, _MAX_BYTES) + 1)
    except (zlib.error, brotli.error, zstd.ZstdError, EOFError):
        return "compressed certificates that cannot be decompressed"
    return None if len(inflated) == size else f"compressed certificates that are not as long as they say, {size} bytes"


def _inflate_zlib(data: bytes, limit_bytes: int) -> bytes:
    return zlib.decompressobj().decompress(data, limit_bytes)


def _inflate_brotli(data: bytes, limit_bytes: int) -> bytes:
    return bytes(brotli.Decompressor().process(data, output_buffer_limit=limit_bytes))


def _inflate_zstd(data: bytes, limit_bytes: int) -> bytes:
    return zstd.ZstdDecompressor(options=_ZSTD_LIMITS).decompress(data, limit_bytes)


# Each gives what it can, not much more than a limit in bytes.
_INFLATE: dict[CertificateCompression, Callable[[bytes, int], bytes]] = {
    CertificateCompression.ZLIB: _inflate_zlib,
    CertificateCompression.BROTLI: _inflate_brotli,
    CertificateCompression.ZSTD: _inflate_zstd,
}
