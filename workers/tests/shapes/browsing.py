"""Shapes in the test lab: a server process at the far end of a link, Chromium at the near end with names of its own.

Needs the rights of the test lab (`workers/tests/netlab`).
"""

import asyncio
import ctypes
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

from workers.browser.chromium import find_chromium, inspect_chromium
from workers.browser.faults import BrowserError
from workers.browser.guard import Guard
from workers.browser.launch import ORDINARY
from workers.browser.pool import BrowserPool
from workers.browser.seen import PageRun
from workers.browser.session import Home, Session
from workers.browser.settings import BrowserSettings
from workers.measurement.addresses import parse_networks
from workers.measurement.captures_page import PageCapture
from workers.measurement.compute.page.page import Page, compute_page
from workers.measurement.messages import RunRequest
from workers.measurement.page_options import PageOptions
from workers.tests.browser.conftest import browser_settings, page_request
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.network import NETWORKS
from workers.tests.netlab.programs import start_inside
from workers.tests.shapes.serve import AUTHORITY_FILE, write_certificates, write_plan
from workers.tests.shapes.site import HOSTS, RTT_MS, Shape

_CLONE_NEWNS = 0x00020000
_MS_BIND, _MS_PRIVATE = 0x1000, 0x40000 | 0x4000
_LIBC = ctypes.CDLL(None, use_errno=True)
_PORTS = frozenset(range(1, 65536))
_WHOLE = Path("/usr/lib/chromium/chromium")
# The whole browser goes on starting when it has come up, and what it loads meanwhile waits for that: its first lookup
# was 3.2 ms from the packets (p90 of 30), and a second later 1.3 ms, as the headless one's is at once.
_REST_S = 1.0
_ASKED_FILE = "asked.txt"


class ShapeLab:
    """A lab that knows the names of `HOSTS`, with a browser at its near end for each set of switches."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder
        self._resolver = folder / "resolv.conf"
        self._resolver.write_text(f"nameserver {lab.server_address4}\n")
        write_certificates(folder)
        for host in HOSTS:
            lab.zone.a[host.name] = [lab.server_address4]
        self._pools: dict[tuple[str, ...], BrowserPool] = {}

    def load(self, shape: Shape) -> PageCapture:
        """The shape, loaded once by a browser that is warm and knows nothing."""
        with self.serving(shape):
            return self.visit(shape)

    def visit(self, shape: Shape) -> PageCapture:
        """The page of a shape that is being served. Raises BrowserError when the browser brought nothing back."""
        if shape.full:
            return self._apart(lambda: asyncio.run(_load_whole(self._settings(shape), _request(shape))))
        seen: list[PageCapture] = []

        def keep(capture: PageCapture) -> Page:
            seen.append(capture)
            return compute_page(capture)

        with patch("workers.browser.seen.compute_page", keep):
            outcome = self.run(shape).outcome
        if not seen:
            raise BrowserError(f"nothing was seen: {outcome}")
        return seen[-1]

    def run(self, shape: Shape) -> PageRun:
        """The whole run of a shape that is being served, as an agent makes it."""
        return self._pool(shape).load(_request(shape))

    @contextmanager
    def serving(self, shape: Shape) -> Iterator[None]:
        """The shape's server at the far end, and its names."""
        write_plan(self.folder, shape)
        hosts = {urlsplit(url).hostname or "" for url in shape.replies}
        for name in hosts | set(shape.elsewhere):
            self.lab.zone.a[name] = [self.lab.server_address4]
        self.lab.zone.failing, self.lab.zone.silent = set(shape.failing), set(shape.silent)
        self.lab.zone.https = {name: [record] for name, record in shape.records}
        address = self.lab.server_address4
        command = [sys.executable, "-m", "workers.tests.shapes.serve", str(self.folder), address]
        with (self.folder / _ASKED_FILE).open("wb") as asked:
            process = start_inside(self.lab.server, command, stdout=asked)
        try:
            self.lab.wait_for_port(443, address)
            yield
        finally:
            process.kill()
            process.wait()

    def asked(self) -> list[str]:
        """The URLs that the shape's server was asked for until now."""
        return (self.folder / _ASKED_FILE).read_text().splitlines()

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def _pool(self, shape: Shape) -> BrowserPool:
        if shape.switches not in self._pools:
            settings = self._settings(shape)
            guard = Guard(allowed=settings.allowed, extra_ports=_PORTS, resolve=lambda *_: (self.lab.server_address4,))
            self._pools[shape.switches] = BrowserPool(settings, guard=guard, enter=self._enter)
        return self._pools[shape.switches]

    def _settings(self, shape: Shape) -> BrowserSettings:
        browser = _WHOLE if shape.full else find_chromium()
        return browser_settings(
            self.folder / AUTHORITY_FILE,
            chromium=_wrapped(self.folder, browser, shape.switches) if shape.switches else browser,
            allowed=parse_networks(f"{NETWORKS},127.0.0.1/32"),
            extra_ports=_PORTS,
            quiet_s=0.5,
            quic=bool(shape.switches),
        )

    def _apart(self, action: Callable[[], PageCapture]) -> PageCapture:
        """In a thread of its own, which goes where the browser shall live."""
        with ThreadPoolExecutor(1, initializer=self._enter) as thread:
            return thread.submit(action).result()

    def _enter(self) -> None:
        """Moves the calling thread into the client's network, and to a file system where it finds its name server."""
        self.lab.client.enter()
        _check(_LIBC.unshare(_CLONE_NEWNS))
        _check(_LIBC.mount(b"none", b"/", None, _MS_PRIVATE, None))
        _check(_LIBC.mount(bytes(self._resolver), b"/etc/resolv.conf", None, _MS_BIND, None))


def _request(shape: Shape) -> RunRequest:
    options = PageOptions(protocol=shape.protocol, repeat=shape.repeat)
    return page_request(shape.url, timeout_us=15_000_000, headers=(), page=options)


def _check(returned: int) -> None:
    if returned != 0:
        raise OSError(ctypes.get_errno(), "the lab's browser cannot be given a name server")


async def _load_whole(settings: BrowserSettings, request: RunRequest) -> PageCapture:
    """By a browser in a profile of its own: one in a context for guests opens no connection ahead."""
    chromium = await asyncio.to_thread(inspect_chromium, settings.chromium)
    with tempfile.TemporaryDirectory() as profile:
        home = Home(profile=Path(profile), request=request)
        session = await Session.start(settings, chromium, ORDINARY, sandbox=bool(settings.sandbox), home=home)
        try:
            await asyncio.sleep(_REST_S)
            return (await session.load(request, None, lambda *_: None)).first.capture
        finally:
            await session.close()


def _wrapped(folder: Path, browser: Path, switches: tuple[str, ...]) -> Path:
    """A program that is the browser with more switches."""
    place = Path(tempfile.mkdtemp(dir=folder))
    wrapper = place / browser.name
    words = " ".join(f"'{switch}'" for switch in switches)
    wrapper.write_text(f'#!/bin/sh\nexec {browser} "$@" {words}\n')
    wrapper.chmod(0o755)
    return wrapper


@contextmanager
def shape_lab(rtt_ms: float = RTT_MS) -> Iterator[ShapeLab]:
    """A lab for shapes, and whatever it needs, until the end of the block."""
    with tempfile.TemporaryDirectory() as folder, Lab(rtt_ms=rtt_ms) as lab:
        here = ShapeLab(lab, Path(folder))
        try:
            yield here
        finally:
            here.close()
