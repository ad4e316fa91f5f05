"""Page runs in a row on one agent's browser: does anything grow, is anything left behind, is the last as cold?

Memory is judged by the slope of Theil and Sen (the median of the slopes between all pairs of runs), which no single
collection of garbage moves, over the runs behind the first fifth, in which caches fill. This process may grow by the
larger of 5 % and 8 MB over 500 runs. A browser grows while it lives and is replaced, so its last life may need 10 %
more than its first at the same ages.
"""

import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from workers.bench.cpu import descendants
from workers.bench.page_runs import bench_pool, run_once
from workers.bench.site import Site, bench_site
from workers.browser.faults import BrowserError
from workers.browser.pool import BrowserPool

RUNS = 500
MIB = 1024 * 1024
_WARM_UP = 0.2
_MAX_GROWTH, _MAX_GROWTH_BYTES = 0.05, 8 * MIB
_MAX_LIFE_GROWTH = 0.10
_OWN = ("Pss_Anon:", "Pss_Shmem:")
# Chrome keeps a process ready for the next page, or not yet.
_SPARE = 1
# Pipes of a browser that has just ended; what a profile holds differs by what Chrome has tidied up.
_MORE_OPEN, _MORE_FILES = 2, 20
_QUIET_S = 0.3
_MAX_OVERHEAD_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What there was after a run, and how long the run took beyond its page and the wait for quiet.

    `open_files` are descriptors of this process, `files` what lies in its directory for temporary files.
    """

    ours_bytes: int
    browser_bytes: int
    processes: int
    open_files: int
    files: int
    overhead_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One question of the soak with its answer in figures."""

    question: str
    answer: str
    met: bool


def soak(runs: int, *, recycle_after: int) -> list[Verdict]:
    """Loads the page that often."""
    faults: list[str] = []
    with _temporary_files() as place, bench_site() as site:
        before = descendants(os.getpid())
        with bench_pool(site, quiet_s=_QUIET_S, recycle_after=recycle_after) as pool:
            samples = [sample for _ in range(runs) if (sample := _run(pool, site, place, faults)) is not None]
            canary = _canary(pool)
        left = descendants(os.getpid()) - before
        kept = [canary, _none_left(left), _no_files_left(place)]
    return [_all_measured(faults), *verdicts(samples, recycle_after), *kept]


@contextmanager
def _temporary_files() -> Iterator[Path]:
    """A directory of our own for all that this process and those it starts leave there."""
    place, usual = Path(tempfile.mkdtemp(prefix="firstbyte-soak-")), tempfile.tempdir
    tempfile.tempdir = os.environ["TMPDIR"] = str(place)
    try:
        yield place
    finally:
        tempfile.tempdir = usual
        del os.environ["TMPDIR"]
        shutil.rmtree(place, ignore_errors=True)


def _run(pool: BrowserPool, site: Site, place: Path, faults: list[str]) -> Sample | None:
    try:
        done = run_once(pool, site)
    except RuntimeError as error:
        faults.append(str(error))
        return None
    if any(one.connect is None or one.resumed for one in done.page.waterfall.connections if one.requests):
        faults.append(f"it was not cold: {done.page.waterfall.connections}")
    family = descendants(os.getpid()) - {site.pid}
    return Sample(
        ours_bytes=memory_bytes(os.getpid()),
        browser_bytes=sum(map(memory_bytes, family)),
        processes=len(family),
        open_files=len(os.listdir("/proc/self/fd")),
        files=sum(len(files) for _, _, files in os.walk(place)),
        overhead_s=done.overhead_s(_QUIET_S),
    )


def verdicts(samples: list[Sample], recycle_after: int) -> list[Verdict]:
    """What the samples of all runs say."""
    settled = samples[round(len(samples) * _WARM_UP) :]
    return [
        _growth(settled),
        _lives(samples, recycle_after),
        _steady("processes", [sample.processes for sample in settled], _SPARE),
        _steady("open files", [sample.open_files for sample in settled], _MORE_OPEN),
        _steady("temporary files", [sample.files for sample in settled], _MORE_FILES),
        _overhead(settled),
    ]


def slope(values: list[int]) -> float:
    """Theil and Sen's: by how much a value grows from one run to the next."""
    rises = [(later - earlier) / (j - i) for (i, earlier), (j, later) in combinations(enumerate(values), 2)]
    return statistics.median(rises) if rises else 0.0


def _growth(samples: list[Sample]) -> Verdict:
    values = [sample.ours_bytes for sample in samples]
    usual, grown = statistics.median(values), slope(values) * RUNS
    allowed = max(usual * _MAX_GROWTH, _MAX_GROWTH_BYTES)
    answer = f"{usual / MIB:.0f} MB, {grown / MIB:+.1f} MB in {RUNS} runs (at most {allowed / MIB:+.1f})"
    return Verdict(question="memory of this process", answer=answer, met=grown <= allowed)


def _lives(samples: list[Sample], recycle_after: int) -> Verdict:
    question = "memory of the browser"
    lives = [samples[at : at + recycle_after] for at in range(0, len(samples), recycle_after)]
    whole = [life for life in lives if len(life) == recycle_after]
    # What is there after its last run is what is left of it: nothing.
    means = [statistics.mean(sample.browser_bytes for sample in life[:-1]) for life in whole if len(life) > 1]
    if len(means) < 2:
        return Verdict(question=question, answer="fewer than two whole lives: not judged", met=True)
    grown = means[-1] / means[0] - 1
    answer = f"{means[0] / MIB:.0f} MB in its first life, {grown:+.1%} in the last of {len(means)} (at most +10 %)"
    return Verdict(question=question, answer=answer, met=grown <= _MAX_LIFE_GROWTH)


def _steady(question: str, counts: list[int], play: int) -> Verdict:
    """The most after any run in the last quarter is no more than in the first."""
    quarter = max(1, len(counts) // 4)
    first, last = max(counts[:quarter]), max(counts[-quarter:])
    return Verdict(question=question, answer=f"at most {first} at first, {last} at last", met=last <= first + play)


def _overhead(samples: list[Sample]) -> Verdict:
    median_s = statistics.median(sample.overhead_s for sample in samples)
    answer = f"median {median_s:.2f} s (at most 0.5 s on a machine that does nothing else)"
    return Verdict(question="wall time beyond the page", answer=answer, met=median_s <= _MAX_OVERHEAD_S)


def _all_measured(faults: list[str]) -> Verdict:
    answer = f"{len(faults)}, the first: {faults[0][:300]}" if faults else "none"
    return Verdict(question="runs not measured or not cold", answer=answer, met=not faults)


def _canary(pool: BrowserPool) -> Verdict:
    try:
        pool.prove_cold()
    except BrowserError as error:
        return Verdict(question="canary at the end", answer=str(error), met=False)
    return Verdict(question="canary at the end", answer="cold", met=True)


def _none_left(pids: set[int]) -> Verdict:
    names = ", ".join(sorted(map(_name, pids))) or "none"
    return Verdict(question="processes left behind", answer=names, met=not pids)


def _no_files_left(place: Path) -> Verdict:
    left = sorted(entry.name for entry in place.iterdir())
    return Verdict(question="files left behind", answer=", ".join(left) or "none", met=not left)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:80] or f"zombie {pid}"
    except OSError:
        return f"{pid}"


def memory_bytes(pid: int) -> int:
    """What a process holds of its own making, what it shares with its family in parts (proc(5)).

    Pages of files are left out: programs and libraries are shared with whoever runs them at the time, so that a
    process's part of them grows when a stranger's ends.
    """
    try:
        return own_bytes(Path(f"/proc/{pid}/smaps_rollup").read_text())
    except OSError:
        return 0


def own_bytes(rollup: str) -> int:
    """The part that `memory_bytes` counts of a `smaps_rollup`."""
    return sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith(_OWN))


def lines(found: list[Verdict]) -> Iterator[str]:
    for one in found:
        yield f"  {one.question:30} {one.answer}: {'met' if one.met else 'MISSED'}"
