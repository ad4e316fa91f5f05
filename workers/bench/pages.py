"""What a page run costs beside browsertime, and beside a bare load by Playwright, in CPU seconds."""

import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from playwright.sync_api import sync_playwright

from workers.bench.cpu import adopt_orphans, reap_adopted, tree_cpu_s
from workers.bench.site import REQUESTS, Site, bench_site
from workers.browser.chromium import find_chromium
from workers.browser.pool import BrowserPool
from workers.browser.settings import BrowserSettings
from workers.measurement.addresses import parse_networks
from workers.measurement.messages import Kind, Measured, PageMeasurement, RunRequest

# Targets: at most 0.3 of browsertime -n 1; where it cannot be installed, at most 1.6 of a bare load.
BROWSERTIME_TARGET, BARE_TARGET = 0.3, 1.6
BROWSERTIME_VARIABLE = "FIRSTBYTE_BROWSERTIME"
CHROMEDRIVER = "/usr/bin/chromedriver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Median CPU seconds of ours and of a peer over the same interleaved rounds."""

    peer: str
    ours_s: float
    peer_s: float
    target: float

    @property
    def ratio(self) -> float:
        return self.ours_s / self.peer_s

    @property
    def met(self) -> bool:
        return self.ratio <= self.target


def compare_page_runs(rounds: int) -> list[Ratio]:
    """One ratio per peer that is installed. Raises RuntimeError when a load did not see the whole page."""
    adopt_orphans()
    with bench_site() as site, _ours(site) as ours:
        peers = _peers(site)
        costs: dict[str, list[float]] = {name: [] for name in ("ours", *peers)}
        ours()
        for _ in range(rounds):
            for name, load in {"ours": ours, **{name: peer.load for name, peer in peers.items()}}.items():
                costs[name].append(_cost_s(load, site))
    medians = {name: statistics.median(values) for name, values in costs.items()}
    return [
        Ratio(peer=name, ours_s=medians["ours"], peer_s=medians[name], target=peer.target)
        for name, peer in peers.items()
    ]


@dataclass(frozen=True, slots=True)
class _Peer:
    load: Callable[[], None]
    target: float


def _peers(site: Site) -> dict[str, _Peer]:
    peers = {"bare Playwright load": _Peer(lambda: _bare(site), BARE_TARGET)}
    browsertime = os.environ.get(BROWSERTIME_VARIABLE)
    if browsertime:
        peers["browsertime -n 1"] = _Peer(lambda: _browsertime(Path(browsertime), site), BROWSERTIME_TARGET)
    return peers


def _cost_s(load: Callable[[], None], site: Site) -> float:
    without = frozenset({site.pid})
    reap_adopted()
    before_s = tree_cpu_s(os.getpid(), without=without)
    load()
    reap_adopted()
    return tree_cpu_s(os.getpid(), without=without) - before_s


@contextmanager
def _ours(site: Site) -> Iterator[Callable[[], None]]:
    """A page run as an agent makes it: warm process, fresh context, everything computed."""
    settings = BrowserSettings(
        allowed=parse_networks("127.0.0.0/8"), extra_ports=frozenset({site.port}), sandbox=os.geteuid() != 0
    )
    with BrowserPool(settings) as pool:

        def load() -> None:
            outcome = pool.load(_request(site)).outcome
            if not isinstance(outcome, Measured) or not isinstance(outcome.measurement, PageMeasurement):
                raise RuntimeError(f"the page could not be measured: {outcome}")
            if len(outcome.measurement.waterfall.requests) < REQUESTS:
                raise RuntimeError(
                    f"only {len(outcome.measurement.waterfall.requests)} of {REQUESTS} requests were seen"
                )

        yield load


def _request(site: Site) -> RunRequest:
    now = datetime.now(UTC)
    return RunRequest(
        run_id=uuid4(),
        monitor_id=uuid4(),
        kind=Kind.PAGE,
        url=site.url,
        region="bench",
        scheduled_for=now,
        attempt=1,
        expires_at=now + timedelta(minutes=5),
        timeout_us=60_000_000,
    )


def _bare(site: Site) -> None:
    """The least that a fresh browser does for this page: start, load, wait for quiet, close."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), chromium_sandbox=os.geteuid() != 0)
        page = browser.new_page()
        page.goto(site.url, wait_until="networkidle")
        browser.close()


def _browsertime(program: Path, site: Site) -> None:
    results = tempfile.mkdtemp(prefix="firstbyte-browsertime-")
    command = [
        str(program), "-n", "1", "--headless", "--xvfb", "false", "--video", "false", "--visualMetrics", "false",
        "--chrome.chromedriverPath", CHROMEDRIVER, "--chrome.binaryPath", "/usr/lib/chromium/chromium",
        *(["--chrome.args", "no-sandbox"] if os.geteuid() == 0 else []), "--resultDir", results, site.url,
    ]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=180)
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"browsertime failed: {error.output.decode(errors='replace')[-500:]}") from error
    finally:
        shutil.rmtree(results, ignore_errors=True)
