"""Processor time of a process and all that it started, read again and again at little cost."""

import os
from pathlib import Path

_TICKS_S = 1 / os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


class ProcessClock:
    """Those of `root` and its descendants, also of ended ones as far as they were seen. In ticks of 10 ms."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._parents: dict[int, int] = {}
        self._ticks: dict[int, int] = {}

    def read_s(self) -> float | None:
        """Seconds until now; None when the root is gone or cannot be read.

        Only processes that are new, or ours, are looked into: a machine may have thousands of others.
        """
        alive = {int(name) for name in os.listdir(_PROC) if name.isdigit()}
        for pid in self._parents.keys() - alive:
            del self._parents[pid]
        for pid in alive - self._parents.keys():
            if (fields := _stat(pid)) is not None:
                self._parents[pid] = int(fields[1])
        for pid in [pid for pid in self._parents if self._is_ours(pid)]:
            if (fields := _stat(pid)) is not None:
                # Fields 14 and 15 of proc(5): user and system time.
                self._ticks[pid] = int(fields[11]) + int(fields[12])
        return sum(self._ticks.values()) * _TICKS_S if self._root in self._parents else None

    def _is_ours(self, pid: int) -> bool:
        while pid != self._root:
            if pid not in self._parents:
                return False
            pid = self._parents[pid]
        return True


def _stat(pid: int) -> list[str] | None:
    """The fields behind a process's name, which may hold anything; None when it has just gone."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return None
