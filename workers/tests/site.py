"""A small site on loopback for what measures for real: a page, a redirect to it, and a hostile header."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = b"<!doctype html><title>A page</title><h1>Hello</h1>"


class _Pages(BaseHTTPRequestHandler):
    timeout = 120

    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/")
        else:
            self.send_response(200)
            self.send_header("X-Hostile", "\x1b[31mred")
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:
        """A test's output is for the test."""


@contextmanager
def running_site() -> Iterator[str]:
    """Its address, without a path."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
