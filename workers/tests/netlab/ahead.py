"""Processes that measure ahead of all other work of the machine, which waits meanwhile.

Other work may take the processor from a server, or from a probe, for as long as a short round trip, and nobody can tell
that from a slow server. What a column of the matrix computes is little, a fifth of one processor; it only must come at
once. Measured on two processors beside other work (a load of two to ten): of eight columns at 20 and 80 ms six had
something told wrongly the first time, and ahead of that work none of eight.

What computes long, as keys and imports, is not ahead: the kernel stops all that is where it takes more than 0.95 s of a
second (`sched_rt_runtime_us`), for 50 ms, and what measures just then finds a slow server five times out of five.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# Behind the links, which let out the packets of all. Of those that measure the matrix has the shortest round trips.
MATRIX = 5
_BEHIND_THE_MATRIX = 4


@contextmanager
def ahead(priority: int = _BEHIND_THE_MATRIX) -> Iterator[None]:
    """The calling thread, and what it starts meanwhile."""
    go_ahead(priority)
    try:
        yield
    finally:
        go_with_others()


@contextmanager
def with_others() -> Iterator[int]:
    """The calling thread and what it starts meanwhile take their turn. Gives how much ahead it was, for `go_ahead`."""
    priority = os.sched_getparam(0).sched_priority
    go_with_others()
    try:
        yield priority
    finally:
        go_ahead(priority)


def go_ahead(priority: int = _BEHIND_THE_MATRIX) -> None:
    """The calling thread and all that it starts, unless that is 0. Where it may not, it takes its turn."""
    if priority:
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))


def go_with_others() -> None:
    """Who makes way for others goes on to: the kernel lets not everybody leave that."""
    if os.sched_getscheduler(0) != os.SCHED_IDLE:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
