"""How late slots come to an agent with 100,000 monitor-regions at one minute: real scheduler, sweeper and broker."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import sleep

from django.utils import timezone

from backend.bench.figures import Figure
from backend.runs.sql import execute, fetch
from backend.runs.tests.factories import make_fleet, make_monitors, schedule
from backend.runs.tests.processes import ROOT, managed

MONITORS, REGIONS = 50_000, ("bench-x", "bench-y")
SECONDS = 90
# Until then all processes are up.
START_S = 8
# A run that begins a second late is still at its time.
TARGET_S = 1.0
# The agents get through what is under way.
_TAIL_S = 5
_DUE_SOON = """
UPDATE runs_schedule
SET next_at = date_bin('1 minute', now() + make_interval(secs => %s), next_at) + interval '1 minute'
"""
_COUNT = "SELECT (SELECT count(*) FROM runs_run) + (SELECT count(*) FROM runs_pendingrun)"


def measure() -> Iterator[Figure]:
    fleet = make_fleet(*REGIONS)
    schedule(fleet, make_monitors(fleet, MONITORS), now=timezone.now())
    execute("TRUNCATE runs_run, runs_connection, runs_rundocument, runs_pendingrun")
    execute("ANALYZE")
    with tempfile.TemporaryDirectory(prefix="fb-bench-") as folder:
        files = [Path(folder, code) for code in REGIONS]
        slots = _run(files)
        late_us = sorted(int(line) for file in files for line in file.read_text().split())
    yield Figure(name=f"slots in {SECONDS} s", value=slots, unit="runs")
    yield Figure(name="slots that no agent got", value=slots - len(late_us), unit="runs", target=0, at_least=False)
    yield Figure(name="lateness, median", value=late_us[len(late_us) // 2] / 1e6, unit="s")
    p99_s = late_us[len(late_us) * 99 // 100] / 1e6
    yield Figure(name="lateness, p99", value=p99_s, unit="s", target=TARGET_S, at_least=False)
    yield Figure(name="lateness, most", value=late_us[-1] / 1e6, unit="s")


def _run(files: Sequence[Path]) -> int:
    """Lets the plant work; how many slots there were."""
    with ExitStack() as plant:
        for code, file in zip(REGIONS, files, strict=True):
            plant.enter_context(_drain(code, file))
        plant.enter_context(managed("sweeper"))
        execute(_DUE_SOON, [START_S])
        plant.enter_context(managed("scheduler"))
        sleep(START_S + SECONDS)
        # No slot after this one: the agents get through what is under way.
        execute("UPDATE runs_schedule SET enabled = false")
        sleep(_TAIL_S)
        ((slots,),) = fetch(_COUNT)
    return int(slots)


@contextmanager
def _drain(code: str, file: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "backend.bench.drain", code, str(file)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            yield
        finally:
            process.terminate()
