"""What a page run costs beside browsertime, Lighthouse and a bare load by Playwright, in CPU seconds.

All of them load the same page once, in turns, with the same browser, and ours brings its network log read, a film, a
screenshot, processor time by kind, every metric and the findings. Browsertime is compared twice: as it is by default,
and told to bring a network log, a screenshot and processor time by kind too; both go without a film, for which it needs
a display and ffmpeg. Lighthouse, whose pictures come with its trace, is compared as it is, and judging performance
alone.

Ours is measured in the warm browser that an agent keeps, and with a browser started for the run and ended after it, as
the others do every time. Gates hold for the warm browser, beside browsertime with like captures and beside Lighthouse
both ways; the other ratios are told.
"""

import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from playwright.sync_api import sync_playwright

from workers.bench.cpu import adopt_orphans, reap_adopted, tree_cpu_s
from workers.bench.page_runs import bench_pool, run_once
from workers.bench.site import Site, bench_site
from workers.browser.chromium import find_chromium
from workers.memory import settle_heap

# Where none of the others can be installed, at most 1.6 of a bare load.
BROWSERTIME_TARGET, LIGHTHOUSE_TARGET, BARE_TARGET = 0.35, 0.15, 1.6
BROWSERTIME_VARIABLE, LIGHTHOUSE_VARIABLE = "FIRSTBYTE_BROWSERTIME", "FIRSTBYTE_LIGHTHOUSE"
CHROMEDRIVER = "/usr/bin/chromedriver"
_LIKE = ("--chrome.collectNetLog", "--screenshot", "--chrome.timeline")
_PERFORMANCE = ("--only-categories=performance",)
_PATIENCE_S = 180
_WARM, _STARTED = "warm", "browser started for the run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Median CPU seconds of ours and of a peer over the same interleaved rounds."""

    peer: str
    ours_s: float
    peer_s: float
    # None where a ratio is told without being a gate.
    target: float | None

    @property
    def ratio(self) -> float:
        return self.ours_s / self.peer_s

    @property
    def met(self) -> bool:
        return self.target is None or self.ratio <= self.target


def compare_page_runs(rounds: int) -> list[Ratio]:
    """A ratio per peer and way of ours; who is not there is told. Raises RuntimeError for a load that failed."""
    adopt_orphans()
    with bench_site() as site, _warm(site) as warm:
        peers = _peers(site)
        loads = {_WARM: warm, _STARTED: lambda: _started(site), **{name: peer.load for name, peer in peers.items()}}
        costs: dict[str, list[float]] = {name: [] for name in loads}
        warm()
        for _ in range(rounds):
            for name, load in loads.items():
                costs[name].append(_cost_s(load, site))
    medians = {name: statistics.median(values) for name, values in costs.items()}
    return [
        Ratio(peer=f"{name} ({ours})", ours_s=medians[ours], peer_s=medians[name], target=target)
        for name, peer in peers.items()
        for ours, target in ((_WARM, peer.target), (_STARTED, None))
    ]


@dataclass(frozen=True, slots=True)
class _Peer:
    load: Callable[[], None]
    target: float | None


def _peers(site: Site) -> dict[str, _Peer]:
    peers: dict[str, _Peer] = {}
    if program := _program(BROWSERTIME_VARIABLE):
        name = _named(program)
        peers[f"{name} as it is"] = _Peer(partial(_browsertime, program, site, ()), None)
        peers[f"{name} with like captures"] = _Peer(partial(_browsertime, program, site, _LIKE), BROWSERTIME_TARGET)
    if program := _program(LIGHTHOUSE_VARIABLE):
        name = _named(program)
        peers[f"{name} as it is"] = _Peer(partial(_lighthouse, program, site, ()), LIGHTHOUSE_TARGET)
        peers[f"{name} judging performance alone"] = _Peer(
            partial(_lighthouse, program, site, _PERFORMANCE), LIGHTHOUSE_TARGET
        )
    return peers or {"bare Playwright load": _Peer(lambda: _bare(site), BARE_TARGET)}


def _program(variable: str) -> str | None:
    program = os.environ.get(variable)
    if program is None:
        print(f"  One peer is not there: {variable} names no program.", file=sys.stderr)
    return program


def _named(program: str) -> str:
    """With its version, from the package that a command of npm leads into."""
    path = Path(program).resolve()
    package = next((folder / "package.json" for folder in path.parents if (folder / "package.json").is_file()), None)
    version = "" if package is None else json.loads(package.read_text())["version"]
    return f"{Path(program).name} {version}"


def _cost_s(load: Callable[[], None], site: Site) -> float:
    without = frozenset({site.pid})
    reap_adopted()
    before_s = tree_cpu_s(os.getpid(), without=without)
    load()
    reap_adopted()
    return tree_cpu_s(os.getpid(), without=without) - before_s


@contextmanager
def _warm(site: Site) -> Iterator[Callable[[], None]]:
    # As an agent's supervisor does before it starts whoever makes the runs.
    settle_heap()
    with bench_pool(site) as pool:

        def load() -> None:
            run_once(pool, site)

        yield load
    gc.unfreeze()


def _started(site: Site) -> None:
    with bench_pool(site) as pool:
        run_once(pool, site)


def _bare(site: Site) -> None:
    """The least that a fresh browser does for this page: start, load, wait for quiet, close."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), chromium_sandbox=os.geteuid() != 0)
        page = browser.new_page()
        page.goto(site.url, wait_until="networkidle")
        browser.close()


def _browsertime(program: str, site: Site, captures: Sequence[str]) -> None:
    command = [
        program, "-n", "1", "--headless", "--xvfb", "false", "--video", "false", "--visualMetrics", "false",
        "--chrome.chromedriverPath", CHROMEDRIVER, "--chrome.binaryPath", str(find_chromium()),
        *captures, *(["--chrome.args", "no-sandbox"] if os.geteuid() == 0 else []),
    ]  # fmt: skip
    _run("browsertime", lambda place: [*command, "--resultDir", place, site.url])


def _lighthouse(program: str, site: Site, judged: Sequence[str]) -> None:
    command = [program, site.url, "--quiet", *judged, "--output=json"]
    flags = "--headless --no-sandbox" if os.geteuid() == 0 else "--headless"
    _run("lighthouse", lambda place: [*command, f"--output-path={place}/told.json", f"--chrome-flags={flags}"])


def _run(name: str, command: Callable[[str], Sequence[str]]) -> None:
    """Runs a peer with a directory that goes with it. Raises RuntimeError when it fails."""
    with tempfile.TemporaryDirectory(prefix=f"firstbyte-{name}-", ignore_cleanup_errors=True) as place:
        env = os.environ | {"CHROME_PATH": str(find_chromium())}
        try:
            subprocess.run(command(place), check=True, capture_output=True, env=env, timeout=_PATIENCE_S)
        except subprocess.CalledProcessError as error:
            said = (error.stdout + error.stderr).decode(errors="replace")[-500:]
            raise RuntimeError(f"{name} failed: {said}") from error
