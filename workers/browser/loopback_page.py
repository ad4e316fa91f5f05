"""A page of our own, served to one browser on loopback over TLS: what a browser does with it is known beforehand.

It stands in the network that the browser lives in, under a certificate that nobody else trusts and that goes with it.
"""

import asyncio
import base64
import hashlib
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

from workers.measurement.compute.page.canary import CanaryVisit

# Chrome leads every name under localhost to loopback by itself (RFC 6761, 6.3).
HOST = "canary.localhost"
ASSET = "/asset.js"
# Long enough to be told from nothing by a clock of milliseconds.
HOLD_S = 0.02
_MAX_HEAD_BYTES = 16 * 1024
_IDLE_S = 30.0
_PAGE = f"<!doctype html><title>Canary</title><link rel=icon href=data:,><script src={ASSET}></script>".encode()


class LoopbackPage:
    """Made by `start`; `close` when its browser has ended. `seen` is what came since `begin`.

    `key_hash` is what Chromium must be told to trust it (--ignore-certificate-errors-spki-list): an ordinary handshake,
    where one with an error that is ignored would be made twice.
    """

    def __init__(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        self._context = _context(key)
        self.key_hash = _hash_of(key)
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()
        self.seen = CanaryVisit()

    @classmethod
    async def start(cls) -> "LoopbackPage":
        """Serves on a free port. Raises OSError when there is none."""
        page = cls()
        page._server = await asyncio.start_server(
            page._accept, "127.0.0.1", 0, ssl=page._context, limit=_MAX_HEAD_BYTES
        )
        return page

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"https://{HOST}:{self._server.sockets[0].getsockname()[1]}/"

    def begin(self) -> None:
        """Forgets what it saw."""
        self.seen = CanaryVisit()

    async def close(self) -> None:
        """Ends the server and whatever is still connected."""
        if self._server is not None:
            self._server.close()
        await self.hang_up()

    async def hang_up(self) -> None:
        """Ends every connection."""
        for talk in tuple(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.current_task()
        assert talk is not None
        self._talks.add(talk)
        try:
            await self._talk(reader, writer)
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # The browser has hung up, or this is no browser.
            return
        finally:
            self._talks.discard(talk)
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        secured = writer.get_extra_info("ssl_object")
        self.seen.connects += 1
        self.seen.resumed += bool(secured.session_reused)
        while True:
            async with asyncio.timeout(_IDLE_S):
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
            self.seen.requests.append(head.split(b" ", 2)[1].decode("ascii", "replace")[:100])
            self.seen.conditional += b"\r\nif-none-match:" in head or b"\r\nif-modified-since:" in head
            is_asset = head.startswith(f"get {ASSET} ".encode())
            if not is_asset:
                await asyncio.sleep(HOLD_S)
            writer.write(_answer("text/javascript", b"") if is_asset else _answer("text/html", _PAGE))
            await writer.drain()


def _answer(kind: str, body: bytes) -> bytes:
    fields = (
        "HTTP/1.1 200 OK",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        'Cache-Control: max-age=86400\r\nETag: "1"',
    )
    return "\r\n".join(fields).encode() + b"\r\n\r\n" + body


def _hash_of(key: ec.EllipticCurvePrivateKey) -> str:
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(public).digest()).decode()


def _context(key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)]), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Python's ssl reads certificates from files alone.
    with tempfile.NamedTemporaryFile(prefix="firstbyte-canary-") as file:
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        Path(file.name).write_bytes(secret + certificate.public_bytes(Encoding.PEM))
        context.load_cert_chain(file.name)
    return context
