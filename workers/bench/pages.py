"""What a page run costs beside browsertime, and beside a bare load by Playwright, in CPU seconds."""

import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import sync_playwright

from workers.bench.cpu import adopt_orphans, reap_adopted, tree_cpu_s
from workers.bench.page_runs import bench_pool, run_once
from workers.bench.site import Site, bench_site
from workers.browser.chromium import find_chromium

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
    with bench_pool(site) as pool:

        def load() -> None:
            run_once(pool, site)

        yield load


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
