"""Processor time of a process and all that it started, read again and again at little cost."""

import os
import time

_TICKS_S = 1 / os.sysconf("SC_CLK_TCK")
_PROC = "/proc"
# A browser seldom starts processes in the middle of a page, and a list of all is the most of the cost.
_LIST_EVERY_S = 0.4


class ProcessClock:
    """Those of `root` and its descendants, also of ended ones as far as they were seen. In ticks of 10 ms."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._parents: dict[int, int] = {}
        self._ticks: dict[int, int] = {}
        self._listed_s = float("-inf")

    def read_s(self) -> float | None:
        """Seconds until now; None when the root is gone or cannot be read.

        Only processes that are new, or ours, are looked into: a machine may have thousands of others.
        """
        if time.monotonic() - self._listed_s >= _LIST_EVERY_S:
            self._list()
        found = {pid: fields for pid in self._parents if self._is_ours(pid) and (fields := _stat(pid)) is not None}
        # Fields 14 and 15 of proc(5): user and system time.
        self._ticks |= {pid: int(fields[11]) + int(fields[12]) for pid, fields in found.items()}
        return sum(self._ticks.values()) * _TICKS_S if self._root in found else None

    def _list(self) -> None:
        self._listed_s = time.monotonic()
        alive = {int(name) for name in os.listdir(_PROC) if name.isdigit()}
        for pid in self._parents.keys() - alive:
            del self._parents[pid]
        for pid in alive - self._parents.keys():
            if (fields := _stat(pid)) is not None:
                self._parents[pid] = int(fields[1])

    def _is_ours(self, pid: int) -> bool:
        while pid != self._root:
            if pid not in self._parents:
                return False
            pid = self._parents[pid]
        return True


def _stat(pid: int) -> list[bytes] | None:
    """The fields behind a process's name, which may hold anything; None when it has just gone."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb", buffering=0) as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None
