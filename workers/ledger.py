"""Which runs an agent holds at this moment, as empty files that all its processes see.

`held/<process>/<run>` exists while the run is carried out; its modification time is when the run must be over, on the
monotonic clock that all processes of a machine share (the wall clock may be set meanwhile). A killed
process cannot tidy up: its parent removes its folder, and the service lets the leases of those runs lapse.
"""

import contextlib
import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import UUID

from workers.measurement.messages import Kind, RunRequest
from workers.measurement.page_options import STEP_S
from workers.page_turns import LONGEST_WAIT_S

# Beyond a run's own timeout: computing, closing a browser and waiting for a processor.
GRACE_S = 60.0
# Between two views: computing, a picture, at most a browser's end and another's start.
_BETWEEN_S = 30.0
# A message comes again after the visibility timeout (600 s); 200 probes in flight end about 10,000 runs in that time.
REMEMBERED = 20_000


def longest_s(request: RunRequest) -> float:
    """How long a run may take: its timeout is each view's, and each view may need a browser of its own. The first one
    waits for its turn.
    """
    timeout_s = request.timeout_us / 1_000_000
    if request.kind is not Kind.PAGE:
        return timeout_s
    page = request.page
    views = page.loads * (1 if page.repeat is None else 2)
    return LONGEST_WAIT_S + views * timeout_s + (views - 1) * _BETWEEN_S + len(page.steps) * STEP_S


class Recent:
    """The last `size` runs told, to be asked by several threads."""

    def __init__(self, size: int, runs: Iterable[UUID] = ()) -> None:
        self._size = size
        self._runs: OrderedDict[UUID, None] = OrderedDict.fromkeys(runs)
        self._lock = threading.Lock()

    def add(self, run_id: UUID) -> bool:
        """Whether it was new."""
        with self._lock:
            if run_id in self._runs:
                return False
            self._runs[run_id] = None
            if len(self._runs) > self._size:
                self._runs.popitem(last=False)
            return True

    def __contains__(self, run_id: UUID) -> bool:
        with self._lock:
            return run_id in self._runs


class Ledger:
    """The runs of one process. `done` are runs already measured, whose messages must not be carried out again."""

    def __init__(self, directory: Path, *, done: Iterable[UUID] = ()) -> None:
        self._directory = directory
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._known = Recent(REMEMBERED, done)

    def begin(self, request: RunRequest, *, now_s: float) -> bool:
        """Whether this run is ours to carry out; False for one that is being carried out or was."""
        if not self._known.add(request.run_id):
            return False
        path = self._directory / str(request.run_id)
        over_s = now_s + longest_s(request) + GRACE_S
        # On a disk that takes nothing the run is carried out all the same, and only not named.
        with contextlib.suppress(OSError):
            path.touch(mode=0o600)
            os.utime(path, (over_s, over_s))
        return True

    def end(self, run_id: UUID) -> None:
        (self._directory / str(run_id)).unlink(missing_ok=True)


def holding(held: Path, *, now_s: float) -> tuple[UUID, ...]:
    """The runs that all processes hold, without those that should long be over: their leases must not live for ever."""
    folders = [Path(entry.path) for entry in os.scandir(held) if entry.is_dir()]
    return tuple(run_id for folder in folders for run_id, over_s in _entries(folder) if over_s > now_s)


def is_stuck(folder: Path, *, now_s: float) -> bool:
    """Whether a process holds a run that should long be over: a fault of ours that only a new process mends."""
    return any(over_s <= now_s for _, over_s in _entries(folder))


def forget(folder: Path) -> None:
    """Stops naming the runs of a process that is gone."""
    shutil.rmtree(folder, ignore_errors=True)


def _entries(folder: Path) -> Iterator[tuple[UUID, float]]:
    # A run, or its process, may end while we look.
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                yield UUID(name), os.stat(folder / name).st_mtime
