"""How much memory a browser and its driver take while something goes on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from workers.tests.browser import processes

_KIB = 1024
_OFTEN_S = 0.1


@dataclass(slots=True)
class Peak:
    """By how much all processes below this one grew at most: what they share is counted once. Browsers that other tests
    have left open are there before and after.
    """

    grown_bytes: int = 0


def tree_bytes() -> int:
    """What the processes below this one take now."""
    return sum(map(_proportional_bytes, processes.descendants()))


def _proportional_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * _KIB for line in lines if line.startswith("Pss:")), 0)


@contextmanager
def watched() -> Iterator[Peak]:
    """Looks ten times a second until the end of the block."""
    peak, over, before_bytes = Peak(), threading.Event(), tree_bytes()

    def watch() -> None:
        while not over.wait(_OFTEN_S):
            peak.grown_bytes = max(peak.grown_bytes, tree_bytes() - before_bytes)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()
