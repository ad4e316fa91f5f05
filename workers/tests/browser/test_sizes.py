"""Sizes on the wire in a real Chromium, against what the server sends."""

import itertools
import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace

from workers.measurement.waterfall import RowFlag
from workers.tests.browser.conftest import Load, measured
from workers.tests.browser.sites import AUTHORITY, Answer, Site, picture


def sent_bytes(site: Site, path: str) -> int:
    """What the site answers with, its head included, to whoever asks."""
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    raw = socket.create_connection(("127.0.0.1", site.port), 60)
    with context.wrap_socket(raw, server_hostname="localhost") as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        return sum(len(piece) for piece in iter(lambda: connection.recv(65_536), b""))


def test_what_workers_ask_for_has_its_size_on_the_wire_and_so_have_their_scripts(load: Load, site: Site) -> None:
    """DevTools tells of their scripts' heads alone, and of what a shared worker asks for nothing."""
    for name in ("plain", "shared", "service"):
        source = f"fetch('/for-{name}').then(answer => answer.text())"
        site.answers[f"/{name}.js"] = Answer(body=source.encode(), kind="text/javascript")
        site.answers[f"/for-{name}"] = Answer(body=name.encode() * 4_000, kind="text/plain")
    body = (
        "<script>new Worker('/plain.js'); new SharedWorker('/shared.js');"
        "navigator.serviceWorker.register('/service.js')</script>"
    )
    rows = {row.url.rpartition("/")[2]: row for row in measured(load(site.page("/", body))).waterfall.requests}
    for name in ("plain", "shared", "service"):
        for path in (f"{name}.js", f"for-{name}"):
            assert rows[path].transferred_bytes == sent_bytes(site, f"/{path}"), path
    assert RowFlag.WORKER in rows["for-shared"].flags


def test_a_redirect_whose_answer_has_a_body_is_counted_with_it(load: Load, site: Site) -> None:
    site.answers["/old.png"] = Answer(status=302, body=b"moved" * 100, headers=(("Location", "/a.png"),))
    rows = measured(load(site.page("/", "<img src=/old.png>"))).waterfall.requests
    (moved,) = [row for row in rows if row.url.endswith("/old.png")]
    assert moved.transferred_bytes == sent_bytes(site, "/old.png")


def test_what_is_given_up_is_counted_as_far_as_it_came(load: Load, site: Site) -> None:
    """As films are, of which a page wants the beginning."""

    def film() -> Iterator[bytes]:
        yield b"x" * 300_000
        site.released.wait(60)

    site.answers["/film"] = Answer(body=film, kind="video/mp4")
    script = (
        "const wish = new AbortController(); fetch('/film', { signal: wish.signal }).then(async answer => {"
        "let size = 0; for await (const piece of answer.body) if ((size += piece.length) >= 3e5) wish.abort(); })"
    )
    page = measured(load(site.page("/", f"<script>{script}</script>")))
    (row,) = [row for row in page.waterfall.requests if row.url.endswith("/film")]
    assert RowFlag.CANCELLED in row.flags
    assert row.body_bytes == 300_000
    assert row.transferred_bytes is not None
    assert 300_000 < row.transferred_bytes < 301_000


def test_a_picture_that_is_cut_short_has_failed_and_is_counted_as_far_as_it_came(load: Load, site: Site) -> None:
    """Chrome shows what came of it, and DevTools calls it finished."""
    head = (("Content-Length", "5000"),)
    site.answers["/cut.png"] = Answer(body=lambda: iter([picture()[:60]]), kind="image/png", headers=head)
    (row,) = [
        row
        for row in measured(load(site.page("/", "<img src=/cut.png>"))).waterfall.requests
        if row.url.endswith("/cut.png")
    ]
    assert row.failure == "ERR_CONTENT_LENGTH_MISMATCH"
    assert row.status == 200
    assert row.transferred_bytes == sent_bytes(site, "/cut.png")


def test_of_many_requests_for_one_address_each_has_the_phases_of_its_own_answer(load: Load, site: Site) -> None:
    """The cache lets them through one by one, though they begin at once; each answer is larger than the one before."""
    sizes = itertools.count(100, 100)
    answer = Answer(kind="text/plain", headers=(("Cache-Control", "no-store"),))
    site.answers["/again"] = replace(answer, body=lambda: iter([b"x" * next(sizes)]))
    page = site.page("/", "<script>for (let i = 0; i < 9; i++) fetch('/again').then(answer => answer.text())</script>")
    rows = [row for row in measured(load(page)).waterfall.requests if row.url.endswith("/again")]
    in_order = sorted(rows, key=lambda row: row.timing.send.start_us if row.timing.send else 0)
    assert [row.body_bytes for row in in_order] == list(range(100, 1000, 100))
