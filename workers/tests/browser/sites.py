"""Small sites on loopback for a real browser to load: pages by path, some of which misbehave."""

import contextlib
import socket
import ssl
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trustme

AUTHORITY = trustme.CA()
NAMES = ("localhost", "other.localhost", "third.localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a path answers. `wait_for` holds the answer back; `body` may be a source of chunks without end."""

    body: bytes | Callable[[], Iterator[bytes]] = b""
    status: int = 200
    kind: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    wait_for: threading.Event | None = None


@dataclass(slots=True)
class Site:
    """A running site. `hits` are the requests that came: path and headers (lower case)."""

    port: int
    secure: bool
    answers: dict[str, Answer]
    hits: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str = "/", host: str = "localhost") -> str:
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{path}"

    def page(self, path: str, body: str, **options: Any) -> str:
        """Adds a page and gives its URL."""
        self.answers[path] = Answer(body=f"<!doctype html><title>Page</title>{body}".encode(), **options)
        return self.url(path)

    def seen(self, path: str) -> list[dict[str, str]]:
        """The headers of each request for a path."""
        return [headers for hit, headers in self.hits if hit == path]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    site: Site

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Browsers hang up in the middle of things: that is what these tests are about."""


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""

    def do_GET(self) -> None:
        site = self.server.site
        path = self.path.partition("?")[0]
        site.hits.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        answer = site.answers.get(path, Answer(status=404, body=b"nothing here"))
        if answer.wait_for is not None:
            answer.wait_for.wait(600)
        self.send_response(answer.status)
        for name, value in (("Content-Type", answer.kind), *answer.headers):
            self.send_header(name, value)
        if isinstance(answer.body, bytes):
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)
        else:
            # Made before the head goes, behind which the browser may ask once more.
            chunks = answer.body()
            self.close_connection = True
            self.end_headers()
            for chunk in chunks:
                self.wfile.write(chunk)


def certificate(
    *names: str,
    authority: trustme.CA = AUTHORITY,
    not_before: datetime | None = None,
    not_after: datetime | None = None,
) -> trustme.LeafCert:
    return authority.issue_cert(*(names or NAMES), not_before=not_before, not_after=not_after)


@contextlib.contextmanager
def serving(
    answers: dict[str, Answer] | None = None,
    *,
    secure: bool = True,
    leaf: trustme.LeafCert | None = None,
    address: str = "127.0.0.1",
) -> Iterator[Site]:
    """A site on a free port of loopback, over TLS unless told otherwise."""
    server = (_Server6 if ":" in address else _Server)((address, 0), _Handler)
    server.site = Site(port=server.server_address[1], secure=secure, answers=dict(answers or {}))
    if secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        (leaf or certificate()).configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.site
    finally:
        server.site.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def write_authority(path: Path) -> Path:
    """The authority behind every certificate here, as an operator would give it."""
    AUTHORITY.cert_pem.write_to_path(str(path))
    return path


def picture(width: int = 40, height: int = 40) -> bytes:
    """A red PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


IMAGE = Answer(body=picture(), kind="image/png", headers=(("Cache-Control", "max-age=600"),))
SCRIPT = Answer(body=b"window.ran = true;", kind="text/javascript")
STYLE = Answer(body=b"body { color: #222 }", kind="text/css")
