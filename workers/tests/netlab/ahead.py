"""Processes that measure ahead of all other work of the machine, which waits meanwhile.

Other work may take the processor from a server, or from a probe, for as long as a short round trip, and nobody can tell
that from a slow server. What a column of the matrix computes is little, a fifth of one processor; it only must come at
once. Measured on two processors beside other work (a load of two to ten): of eight columns at 20 and 80 ms six had
something told wrongly the first time, and ahead of that work none of eight.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context

# Behind the links, which let out the packets of all. Of those that measure the matrix has the shortest round trips.
_PRIORITY, _BEHIND_THE_MATRIX = 5, 4


@contextmanager
def processes_ahead(count: int) -> Iterator[ProcessPoolExecutor]:
    """Each has an interpreter of its own. What it starts, as servers, is as much ahead."""
    with ProcessPoolExecutor(count, get_context("spawn"), initializer=go_ahead) as processes:
        yield processes


@contextmanager
def ahead() -> Iterator[None]:
    """The calling thread, and what it starts meanwhile."""
    go_ahead(_BEHIND_THE_MATRIX)
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def go_ahead(priority: int = _PRIORITY) -> None:
    """The calling thread and all that it starts. Where it may not, it takes its turn with the others."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))
