"""Shapes in the test lab: a server process at the far end of a link, Chromium at the near end with names of its own.

Needs the rights of the test lab (`workers/tests/netlab`).
"""

import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from workers.browser.chromium import find_chromium
from workers.browser.guard import Guard
from workers.browser.pool import BrowserPool
from workers.browser.settings import BrowserSettings
from workers.measurement.addresses import parse_networks
from workers.measurement.captures_page import PageCapture
from workers.measurement.compute.page import Page, compute_page
from workers.measurement.messages import Failed, Kind, Measured
from workers.measurement.page_options import PageOptions
from workers.tests.builders import build_request
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.network import NETWORKS
from workers.tests.shapes.serve import AUTHORITY_FILE, write_certificates, write_plan
from workers.tests.shapes.site import HOSTS, RTT_MS, Shape

_CLONE_NEWNS = 0x00020000
_MS_BIND, _MS_PRIVATE = 0x1000, 0x40000 | 0x4000
_LIBC = ctypes.CDLL(None, use_errno=True)
_PORTS = frozenset(range(1, 65536))


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One page load: what was captured, and what came of it."""

    capture: PageCapture
    outcome: Measured | Failed


class ShapeLab:
    """A lab that knows the names of `HOSTS`, with a browser at its near end for each set of switches."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self._folder = folder
        self._resolver = folder / "resolv.conf"
        self._resolver.write_text(f"nameserver {lab.server_address4}\n")
        write_certificates(folder)
        for host in HOSTS:
            lab.zone.a[host.name] = [lab.server_address4]
        self._pools: dict[tuple[str, ...], BrowserPool] = {}

    def load(self, shape: Shape) -> Load:
        """The shape, loaded once by a browser that is warm and knows nothing."""
        with self.serving(shape):
            return self.visit(shape.url, shape.switches, page=PageOptions(protocol=shape.protocol))

    def visit(self, url: str, switches: tuple[str, ...] = (), **changes: Any) -> Load:
        """A page of what is being served."""
        seen: list[PageCapture] = []

        def keep(capture: PageCapture) -> Page:
            seen.append(capture)
            return compute_page(capture)

        now = datetime.now(UTC)
        values = {"kind": Kind.PAGE, "url": url, "scheduled_for": now, "expires_at": now + timedelta(minutes=5)}
        request = build_request(**(values | {"timeout_us": 15_000_000, "headers": ()} | changes))
        with patch("workers.browser.seen.compute_page", keep):
            outcome = self._pool(switches).load(request).outcome
        return Load(capture=seen[-1], outcome=outcome)

    @contextmanager
    def serving(self, shape: Shape) -> Iterator[None]:
        """The shape's server at the far end, and its names."""
        write_plan(self._folder, shape)
        hosts = {urlsplit(url).hostname or "" for url in shape.replies}
        for name in hosts | set(shape.elsewhere):
            self.lab.zone.a[name] = [self.lab.server_address4]
        self.lab.zone.https = {name: [record] for name, record in shape.records}
        address = self.lab.server_address4
        process = self.lab.server.popen(
            [sys.executable, "-m", "workers.tests.shapes.serve", str(self._folder), address]
        )
        try:
            self.lab.wait_for_port(443, address)
            yield
        finally:
            process.kill()
            process.wait()

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def _pool(self, switches: tuple[str, ...]) -> BrowserPool:
        if switches not in self._pools:
            self._pools[switches] = self._make_pool(switches)
        return self._pools[switches]

    def _make_pool(self, switches: tuple[str, ...]) -> BrowserPool:
        settings = BrowserSettings(
            chromium=_wrapped(self._folder, switches) if switches else None,
            sandbox=False if os.geteuid() == 0 else None,
            allow_unsandboxed=True,
            allowed=parse_networks(NETWORKS),
            extra_ports=_PORTS,
            ca_file=self._folder / AUTHORITY_FILE,
            quiet_s=0.5,
            settle_s=3.0,
            quic=bool(switches),
        )
        guard = Guard(allowed=settings.allowed, extra_ports=_PORTS, resolve=lambda *_: (self.lab.server_address4,))
        return BrowserPool(settings, guard=guard, enter=self._enter)

    def _enter(self) -> None:
        """Moves the calling thread into the client's network, and to a file system where it finds its name server."""
        self.lab.client.enter()
        _check(_LIBC.unshare(_CLONE_NEWNS))
        _check(_LIBC.mount(b"none", b"/", None, _MS_PRIVATE, None))
        _check(_LIBC.mount(bytes(self._resolver), b"/etc/resolv.conf", None, _MS_BIND, None))


def _check(returned: int) -> None:
    if returned != 0:
        raise OSError(ctypes.get_errno(), "the lab's browser cannot be given a name server")


def _wrapped(folder: Path, switches: tuple[str, ...]) -> Path:
    """A program that is the browser with more switches."""
    browser = find_chromium()
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
