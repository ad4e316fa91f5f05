"""A real browser for the tests of this folder: one per test process, since starting one takes a second."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from workers.browser.pool import BrowserPool
from workers.browser.seen import PageRun
from workers.browser.settings import BrowserSettings
from workers.measurement.addresses import parse_networks
from workers.measurement.messages import Failed, Kind, Measured, PageMeasurement, RunRequest
from workers.tests.browser.sites import IMAGE, SCRIPT, STYLE, Answer, Site, serving, write_authority
from workers.tests.builders import build_request
from workers.tests.second_tries import measured_again

EVERY_PORT = frozenset(range(1024, 65536))
Load = Callable[..., PageRun]
Shown = Callable[..., PageRun]
# What a page waits for until it says itself that it is done, however long a busy machine takes.
HELD, DONE = "<img src=/held.png>", "fetch('/done')"


def page_request(url: str, **changes: Any) -> RunRequest:
    now = datetime.now(UTC)
    values = {"kind": Kind.PAGE, "url": url, "scheduled_for": now, "expires_at": now + timedelta(minutes=5)}
    return build_request(**(values | {"timeout_us": 20_000_000} | changes))


def browser_settings(ca_file: Path | None = None, **changes: Any) -> BrowserSettings:
    """Chromium refuses its sandbox to root, as which tests may run; only loopback is ever loaded."""
    values: dict[str, Any] = {
        "sandbox": False if os.geteuid() == 0 else None,
        "allow_unsandboxed": True,
        "allowed": parse_networks("127.0.0.1/32, ::1/128"),
        "extra_ports": EVERY_PORT,
        "ca_file": ca_file,
        "quiet_s": 0.3,
        "settle_s": 3.0,
    }
    return BrowserSettings(**(values | changes))


@pytest.fixture(scope="session")
def ca_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_authority(tmp_path_factory.mktemp("authority") / "ca.pem")


@pytest.fixture(scope="session")
def pool(ca_file: Path) -> Iterator[BrowserPool]:
    with BrowserPool(browser_settings(ca_file)) as pool:
        yield pool


@pytest.fixture
def site() -> Iterator[Site]:
    with serving({"/a.png": IMAGE, "/s.js": SCRIPT, "/s.css": STYLE}) as site:
        yield site


@pytest.fixture
def load(pool: BrowserPool) -> Load:
    return lambda url, **changes: pool.load(page_request(url, **changes))


@pytest.fixture
def shown(load: Load, site: Site) -> Shown:
    """A load of the page that is over when the page says so."""

    def show(body: str, **changes: Any) -> PageRun:
        done = threading.Event()

        def release() -> Iterator[bytes]:
            done.set()
            yield b"done"

        site.answers |= {"/held.png": replace(IMAGE, wait_for=done), "/done": Answer(body=release, kind="text/plain")}
        return load(site.page("/", body), **changes)

    return show


def cut_off(
    load: Load, url: str, seen: Callable[[PageMeasurement], bool], first_s: float = 1.5, **changes: Any
) -> Failed:
    """A page that has no end, cut off once so much of it was `seen`: a busy machine needs longer."""
    for longer in (1, 4, 12):
        outcome = failed(load(url, timeout_us=round(longer * first_s * 1e6), **changes))
        page = outcome.measurement
        if isinstance(page, PageMeasurement) and page.waterfall.requests and seen(page):
            break
        measured_again(f"cut off too soon, after {longer * first_s} s")
    return outcome


def measured(run: PageRun) -> PageMeasurement:
    assert isinstance(run.outcome, Measured), run.outcome
    assert isinstance(run.outcome.measurement, PageMeasurement)
    return run.outcome.measurement


def failed(run: PageRun) -> Failed:
    assert isinstance(run.outcome, Failed), run.outcome
    return run.outcome
