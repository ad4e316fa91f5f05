"""A site whose answers take as long as a test says: to shake hands, to think, to send. Loopback alone is too quick for
anything to cost a visitor time.
"""

import contextlib
import functools
import gzip
import socket
import ssl
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

from workers.tests.browser.sites import certificate

# Closer to each other than what is taken for a pause of the connection.
_PIECES_PER_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """What a path answers: after `think_s`, its head in two pieces with `head_s` between them, then at `bytes_per_s`
    where that is given.
    """

    body: bytes
    kind: str = "text/html; charset=utf-8"
    think_s: float = 0.0
    head_s: float = 0.0
    bytes_per_s: int | None = None
    compressed: bool = False
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class SlowSite:
    """A running site. Each new connection waits for `handshake_s` before its handshake."""

    port: int
    answers: Mapping[str, Slow]
    handshake_s: float
    over: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str = "/", host: str = "localhost") -> str:
        return f"https://{host}:{self.port}{path}"

    def wait(self, seconds: float) -> None:
        """As a slow machine or line would; ends with the site."""
        self.over.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    site: SlowSite
    context: ssl.SSLContext

    def finish_request(self, request: Any, client_address: Any) -> None:
        self.site.wait(self.site.handshake_s)
        with contextlib.suppress(OSError), self.context.wrap_socket(request, server_side=True) as secure:
            _Handler(secure, client_address, self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Browsers hang up in the middle of things."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""

    def do_GET(self) -> None:
        site = self.server.site
        answer = site.answers.get(self.path.partition("?")[0], Slow(body=b"nothing here", status=404))
        site.wait(answer.think_s)
        body = _gzipped(answer.body) if answer.compressed else answer.body
        encoding = (("Content-Encoding", "gzip"),) if answer.compressed else ()
        self.send_response(answer.status)
        if answer.head_s:
            self.flush_headers()
            site.wait(answer.head_s)
        for name, value in (("Content-Type", answer.kind), *encoding, *answer.headers):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        step = len(body) if answer.bytes_per_s is None else answer.bytes_per_s // _PIECES_PER_S
        for start in range(0, len(body), max(1, step)):
            self.wfile.write(body[start : start + max(1, step)])
            site.wait(0 if answer.bytes_per_s is None else 1 / _PIECES_PER_S)


@functools.cache
def _gzipped(body: bytes) -> bytes:
    return gzip.compress(body, 6)


@contextlib.contextmanager
def slowly_serving(answers: Mapping[str, Slow], *, handshake_s: float = 0.0) -> Iterator[SlowSite]:
    """A site with TLS on a free port of loopback, under all names of the authority's certificate."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.site = SlowSite(port=server.server_address[1], answers=answers, handshake_s=handshake_s)
    server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate().configure_cert(server.context)
    server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.site
    finally:
        server.site.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def noise(width: int, height: int) -> bytes:
    """A grey PNG that nothing makes smaller: a byte a pixel, the same at every call."""
    random = Random(width * height)
    rows = b"".join(b"\0" + random.randbytes(width) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 0)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
