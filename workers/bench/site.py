"""A page of 60 requests on loopback, served by a process of its own so that its time is not counted."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import NamedTuple

# One document, one style sheet, ten scripts and 48 pictures: the shape of a median home page.
SCRIPTS, PICTURES = 10, 48
REQUESTS = 2 + SCRIPTS + PICTURES


class Site(NamedTuple):
    url: str
    port: int
    pid: int


class _Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body, mime_type = _body(self.path)
        self.send_response(200)
        self.send_header("Content-Type", mime_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=3600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Requests are counted by those who measure."""


def _body(path: str) -> tuple[bytes, str]:
    if path.endswith(".css"):
        return b"body{font:16px sans-serif}img{width:64px;height:64px}", "text/css"
    if path.endswith(".js"):
        return (
            b"(() => { let n = 0; for (let i = 0; i < 1e4; i++) n += i; return n })();" + b" " * 8000,
            "text/javascript",
        )
    if path.endswith(".svg"):
        dots = "".join(f'<circle cx="{x * 6}" cy="{x * 5 % 64}" r="3"/>' for x in range(200))
        return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">{dots}</svg>'.encode(), "image/svg+xml"
    scripts = "".join(f'<script src="/{n}.js" defer></script>' for n in range(SCRIPTS))
    pictures = "".join(f'<img src="/{n}.svg" alt="">' for n in range(PICTURES))
    head = '<!doctype html><title>Bench</title><link rel="stylesheet" href="/a.css"><link rel="icon" href="data:,">'
    return f"{head}{scripts}<h1>Sixty requests</h1>{pictures}".encode(), "text/html"


def _serve(ready: Connection) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    ready.send(server.server_address[1])
    server.serve_forever()


@contextmanager
def bench_site() -> Iterator[Site]:
    """The site while the context lasts."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    assert process.pid is not None
    try:
        port = ours.recv()
        yield Site(f"http://127.0.0.1:{port}/", port, process.pid)
    finally:
        process.terminate()
        process.join()
