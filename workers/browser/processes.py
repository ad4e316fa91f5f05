"""Processor time of a browser beside that of its whole machine, read again and again at little cost."""

import os
import time
from collections.abc import Iterable, Iterator

from workers.measurement.captures_sight import ProcessorTime

_TICKS_S = 1 / os.sysconf("SC_CLK_TCK")
_PROC = "/proc"
# A browser seldom starts processes in the middle of a page, and a list of all is the most of the cost.
_LIST_EVERY_S = 0.4
# Chromium's threads that move bytes: the network's is one of them. Names have 15 characters in Linux.
_MOVERS = (b"Chrome_IOThread", b"Chrome_ChildIOT")
# Of the first line of proc_stat(5): user, nice, system, irq and softirq; idle and iowait; steal.
_USED, _IDLE, _STOLEN = (1, 2, 3, 6, 7), (4, 5), 8


class ProcessClock:
    """Those of `root` and its descendants, also of ended ones as far as they were seen. In ticks of 10 ms."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._parents: dict[int, int] = {}
        self._ticks: dict[int, int] = {}
        # Of each of ours the threads that a page waits for.
        self._threads: dict[int, tuple[int, ...]] = {}
        self._listed_s = float("-inf")

    def read(self) -> ProcessorTime | None:
        """What was used until now; None when the root is gone or cannot be read.

        Only processes that are new, or ours, are looked into: a machine may have thousands of others.
        """
        if time.monotonic() - self._listed_s >= _LIST_EVERY_S:
            self._list()
        found = {pid: fields for pid in self._parents if self._is_ours(pid) and (fields := _stat(pid)) is not None}
        # Fields 14 and 15 of proc(5): user and system time.
        self._ticks |= {pid: int(fields[11]) + int(fields[12]) for pid, fields in found.items()}
        machine = _read("stat").partition(b"\n")[0].split()
        if self._root not in found or len(machine) <= _STOLEN:
            return None
        stolen_s = int(machine[_STOLEN]) * _TICKS_S
        return ProcessorTime(
            ours_s=sum(self._ticks.values()) * _TICKS_S,
            machine_s=sum(int(machine[field]) for field in _USED) * _TICKS_S + stolen_s,
            idle_s=sum(int(machine[field]) for field in _IDLE) * _TICKS_S,
            stolen_s=stolen_s,
            waited_s=dict(self._waits(found)),
        )

    def _list(self) -> None:
        self._listed_s = time.monotonic()
        alive = {int(name) for name in os.listdir(_PROC) if name.isdigit()}
        for pid in self._parents.keys() - alive:
            del self._parents[pid]
        for pid in alive - self._parents.keys():
            if (fields := _stat(pid)) is not None:
                self._parents[pid] = int(fields[1])
        self._threads = {pid: _awaited(pid) for pid in self._parents if self._is_ours(pid)}

    def _waits(self, ours: Iterable[int]) -> Iterator[tuple[int, float]]:
        for pid in ours:
            for thread in self._threads.get(pid, ()):
                # Time on a processor, time in wait for one, turns: Documentation/scheduler/sched-stats of Linux.
                fields = _read(f"{pid}/task/{thread}/schedstat").split()
                if len(fields) == 3:
                    yield thread, int(fields[1]) / 1e9

    def _is_ours(self, pid: int) -> bool:
        while pid != self._root:
            if pid not in self._parents:
                return False
            pid = self._parents[pid]
        return True


def _awaited(pid: int) -> tuple[int, ...]:
    """Of a process its main thread, which has the process's own number, and those that move bytes."""
    try:
        threads = [int(name) for name in os.listdir(f"{_PROC}/{pid}/task")]
    except OSError:
        return ()
    return tuple(one for one in threads if one == pid or _read(f"{pid}/task/{one}/comm").strip() in _MOVERS)


def _stat(pid: int) -> list[bytes] | None:
    """The fields behind a process's name, which may hold anything; None when it has just gone."""
    return _read(f"{pid}/stat").rpartition(b")")[2].split() or None


def _read(name: str) -> bytes:
    """A file of /proc; empty when it has just gone, or is not for us."""
    try:
        with open(f"{_PROC}/{name}", "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""
