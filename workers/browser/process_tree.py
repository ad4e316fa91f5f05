"""A browser's processes, by /proc. What has just gone, or is not for us, is passed over."""

import contextlib
import os
import time

_PROC = "/proc"
# A browser seldom starts processes in the middle of a page, and a list of all is the most of the cost.
_LIST_EVERY_S = 0.4


class ProcessTree:
    """`root` and its descendants."""

    def __init__(self, root: int) -> None:
        self.root = root
        self._parents: dict[int, int] = {}
        self._ours: tuple[int, ...] = ()
        self._listed_s = float("-inf")

    def pids(self) -> tuple[int, ...]:
        """Those of the last list, which is made anew every _LIST_EVERY_S; another tuple for each list.

        Only processes that are new are looked into: a machine may have thousands of others.
        """
        if time.monotonic() - self._listed_s >= _LIST_EVERY_S:
            self._listed_s = time.monotonic()
            # Who may open no more files goes by the list before.
            with contextlib.suppress(OSError):
                self._list()
        return self._ours

    def _list(self) -> None:
        alive = {int(name) for name in os.listdir(_PROC) if name.isdigit()}
        for pid in self._parents.keys() - alive:
            del self._parents[pid]
        for pid in alive - self._parents.keys():
            if (fields := stat_of(pid)) is not None:
                self._parents[pid] = int(fields[1])
        self._ours = tuple(filter(self._is_ours, self._parents))

    def _is_ours(self, pid: int) -> bool:
        while pid != self.root:
            if pid not in self._parents:
                return False
            pid = self._parents[pid]
        return True


def stat_of(pid: int) -> list[bytes] | None:
    """The fields behind a process's name, which may hold anything; None when it has just gone."""
    return read(f"{pid}/stat").rpartition(b")")[2].split() or None


def threads_of(pid: int) -> list[int]:
    """Its threads, the first of which has the process's own number."""
    try:
        return [int(name) for name in os.listdir(f"{_PROC}/{pid}/task")]
    except OSError:
        return []


def read(name: str) -> bytes:
    """A file of /proc; empty when it has just gone, or is not for us."""
    try:
        with open(f"{_PROC}/{name}", "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""
