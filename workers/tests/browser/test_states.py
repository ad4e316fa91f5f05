"""What the browser holds when a view begins, proved by what the server gets to see of it."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from workers.browser.pool import BrowserPool
from workers.measurement.failure import FailureKind
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import PageOptions, PageState
from workers.measurement.page_view import RepeatView
from workers.measurement.waterfall import ServedFrom
from workers.tests.browser import processes
from workers.tests.browser.conftest import Load, browser_settings, cut_off, failed, measured, page_request
from workers.tests.browser.sites import IMAGE, Answer, Site, certificate
from workers.tests.ports import closed_port

_FRESH = "Cache-Control: max-age=600"
_STALE = 'Cache-Control: no-cache\r\nETag: "1"'


@dataclass(slots=True)
class Witness:
    """A server that notes each connection, whether its TLS session was taken up, and what was asked on it."""

    port: int
    connections: list[tuple[bool, list[str]]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}/"

    @property
    def told(self) -> list[tuple[bool, list[str]]]:
        """Connections on which anything was asked."""
        return [one for one in self.connections if one[1]]


@contextmanager
def witnessing() -> Iterator[Witness]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate().configure_cert(context)
    listener = socket.create_server(("127.0.0.1", 0))
    witness = Witness(listener.getsockname()[1])

    def accept() -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(sock,), daemon=True).start()

    def talk(sock: socket.socket) -> None:
        try:
            with context.wrap_socket(sock, server_side=True) as secured:
                asked: list[str] = []
                witness.connections.append((bool(secured.session_reused), asked))
                _serve(secured, asked)
        except OSError:
            # The browser hung up.
            return

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield witness
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def _serve(secured: ssl.SSLSocket, asked: list[str]) -> None:
    while True:
        head = b""
        while b"\r\n\r\n" not in head:
            chunk = secured.recv(65536)
            if not chunk:
                return
            head += chunk
        path = head.split(b" ")[1].decode()
        conditional = b"\r\nif-none-match:" in head.lower()
        asked.append(f"{path} if changed" if conditional else path)
        secured.sendall(_unchanged() if conditional else _page(path))


def _page(path: str) -> bytes:
    kind, cache, body = {
        "/": ("text/html", _STALE, b"<!doctype html><link rel=icon href=data:,><script src=/fresh.js></script>"),
        "/fresh.js": ("text/javascript", _FRESH, b"window.ran = 1"),
    }.get(path, ("text/html", _FRESH, b""))
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{cache}\r\n\r\n".encode() + body


def _unchanged() -> bytes:
    return f"HTTP/1.1 304 Not Modified\r\n{_STALE}\r\n\r\n".encode()


def both(pool: BrowserPool, url: str, state: PageState) -> tuple[PageMeasurement, RepeatView]:
    page = measured(pool.load(page_request(url, page=PageOptions(repeat=state))))
    assert page.repeat is not None
    assert page.repeat.state is state
    return page, page.repeat


COLD = (False, ["/", "/fresh.js"])


def test_a_warm_connection_asks_again_on_what_is_open(pool: BrowserPool) -> None:
    with witnessing() as witness:
        _, repeat = both(pool, witness.url, PageState.WARM_CONNECTION)
        assert witness.told == [(False, [*COLD[1], "/ if changed"])]
    document, script = (row for row in repeat.waterfall.requests if row.served_from is not ServedFrom.DATA)
    assert (document.timing.dns, document.timing.connect, document.timing.tls) == (None, None, None)
    assert document.reused is True
    assert script.served_from in {ServedFrom.DISK_CACHE, ServedFrom.MEMORY_CACHE}


def test_a_warm_cache_connects_anew_and_has_what_was_kept(pool: BrowserPool) -> None:
    with witnessing() as witness:
        page, repeat = both(pool, witness.url, PageState.WARM_CACHE)
        assert witness.told == [COLD, (False, ["/ if changed"])]
    for view in (page, repeat):
        document = view.waterfall.requests[0]
        assert document.timing.connect is not None
        assert document.timing.tls is not None
        assert document.reused is False
        assert next(one for one in view.waterfall.connections if one.requests).resumed is False
    script = next(row for row in repeat.waterfall.requests if row.url.endswith("/fresh.js"))
    assert script.served_from is ServedFrom.DISK_CACHE


def test_a_warm_cache_leaves_no_browser_and_no_profile(ca_file: Path, site: Site) -> None:
    url = site.page("/", "<p>page")
    before = set(processes.descendants())
    with BrowserPool(browser_settings(ca_file)) as pool:
        both(pool, url, PageState.WARM_CACHE)
        assert set(processes.browsers()) <= before


def test_each_of_several_loads_is_cold_and_the_one_in_the_middle_stands_for_them(pool: BrowserPool) -> None:
    with witnessing() as witness:
        page = measured(pool.load(page_request(witness.url, page=PageOptions(loads=3))))
        assert witness.told == [COLD] * 3
    assert [(sample.load, sample.state, sample.failure) for sample in page.samples] == [
        (1, PageState.COLD, None),
        (2, PageState.COLD, None),
        (3, PageState.COLD, None),
    ]
    assert page.vitals in [sample.vitals for sample in page.samples]
    assert page.repeat is None


def test_each_load_has_its_repeat_view(pool: BrowserPool) -> None:
    options = PageOptions(loads=2, repeat=PageState.WARM_CONNECTION)
    with witnessing() as witness:
        page = measured(pool.load(page_request(witness.url, page=options)))
        assert [len(asked) for _, asked in witness.told] == [3, 3]
    assert [(sample.load, sample.state) for sample in page.samples] == [
        (1, PageState.COLD),
        (1, PageState.WARM_CONNECTION),
        (2, PageState.COLD),
        (2, PageState.WARM_CONNECTION),
    ]
    assert page.repeat is not None
    number = next(sample.load for sample in page.samples if sample.vitals == page.vitals)
    assert page.repeat.vitals in [sample.vitals for sample in page.samples if sample.load == number]


def test_a_page_that_failed_thrice_is_not_asked_again(load: Load, site: Site) -> None:
    site.answers["/"] = Answer(status=500, body=b"<p>broken")
    outcome = failed(load(site.url("/"), page=PageOptions(loads=9)))
    assert outcome.failure.kind is FailureKind.STATUS_UNEXPECTED
    assert len(site.seen("/")) == 3
    assert isinstance(outcome.measurement, PageMeasurement)
    assert [sample.failure for sample in outcome.measurement.samples] == ["status_unexpected"] * 3


def test_one_failed_load_of_several_does_not_stand_for_the_run(load: Load, site: Site) -> None:
    site.answers["/"] = Answer(body=b"<p>fine")
    held = iter([500, 200, 200])

    class Turns(dict[str, Answer]):
        def get(self, path: str, default: Answer | None = None) -> Answer:  # type: ignore[override]  # narrower on purpose
            return Answer(status=next(held), body=b"<p>turn") if path == "/" else default or Answer(status=404)

    site.answers = Turns()
    page = measured(load(site.url("/"), page=PageOptions(loads=3)))
    assert [sample.failure for sample in page.samples] == ["status_unexpected", None, None]
    assert page.waterfall.requests[0].status == 200


@pytest.mark.parametrize("state", [PageState.WARM_CACHE, PageState.WARM_CONNECTION])
def test_a_view_that_came_to_nothing_has_no_second_one(load: Load, state: PageState) -> None:
    outcome = failed(load(f"http://127.0.0.1:{closed_port()}/", page=PageOptions(repeat=state)))
    assert outcome.failure.kind is FailureKind.CONNECT_REFUSED


def test_the_timeout_is_each_views_own(load: Load, site: Site) -> None:
    held = threading.Event()
    site.answers |= {"/slow.png": Answer(wait_for=held), "/a.png": IMAGE}
    url = site.page("/", "<img src=/slow.png>")
    begun = time.monotonic()
    cut_off(load, url, lambda _: len(site.seen("/")) > 1, first_s=0.7, page=PageOptions(loads=2))
    held.set()
    assert time.monotonic() - begun > 1.4
    assert len(site.seen("/")) > 1
