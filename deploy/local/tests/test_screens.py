"""Pictures of a little site that is signed in to and walked like the real one."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deploy.local.fleet import Login
from deploy.local.process import StepError
from deploy.local.screens import LOOKS, kind_of, take_pictures

_LOGIN = '<form action="/sites/"><input name="login"><input name="password"><button>Sign in</button></form>'
_PAGES = {
    "/": _LOGIN,
    "/sites/": '<a href="/start/">start</a> <a href="/sites/1/">one</a> <a href="/sites/2/">two</a>'
    '<a href="/table.csv">table</a>',
    "/table.csv": "1,2",
    "/sites/1/": '<a href="/runs/0b0c1a52-9d0a-4f6e-8a0e-2f6d8a3f9f10/">a run</a> <a href="https://elsewhere.test/">x</a>',
    "/runs/0b0c1a52-9d0a-4f6e-8a0e-2f6d8a3f9f10/": "a run",
}


class _Little(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/start/":
            self.send_response(302)
            self.send_header("Location", "/sites/")
            self.end_headers()
            return
        text = _PAGES.get(self.path.partition("?")[0])
        self.send_response(404 if text is None else 200)
        self.send_header("Content-Type", "text/csv" if self.path.endswith(".csv") else "text/html")
        self.end_headers()
        self.wfile.write((text or "").encode())

    def log_message(self, *_: object) -> None:
        """A test's output is for the test."""


@pytest.fixture
def little() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Little)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_page_of_each_kind_is_pictured_in_every_look_and_old_pictures_go(little: str, tmp_path: Path) -> None:
    (tmp_path / "gone.light.png").touch()
    pictures = take_pictures(little, Login(email="owner@shop.example", password="secret"), tmp_path)
    kinds = ("sites", "sites_-", "runs_-")
    assert {path.name for path in pictures} == {f"{kind}.{look}.png" for kind in kinds for look in LOOKS}
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in pictures}


def test_without_the_password_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(StepError, match="password"):
        take_pictures("http://127.0.0.1:9", Login(email="owner@shop.example", password=None), tmp_path)


def test_pages_that_differ_in_an_id_are_of_one_kind() -> None:
    assert kind_of("/runs/0b0c1a52-9d0a-4f6e-8a0e-2f6d8a3f9f10/") == kind_of("/runs/12/") == "runs_-"
    assert kind_of("/") == "home"
