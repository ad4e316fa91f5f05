"""Processor time of a browser beside that of its whole machine, read again and again at little cost."""

import os
from collections.abc import Iterable, Iterator

from workers.browser.process_tree import ProcessTree, read, stat_of, threads_of
from workers.measurement.captures_sight import ProcessorTime

_TICKS_S = 1 / os.sysconf("SC_CLK_TCK")
# Chromium's threads that move bytes: the network's is one of them. Names have 15 characters in Linux.
_MOVERS = (b"Chrome_IOThread", b"Chrome_ChildIOT")
# Of the first line of proc_stat(5): user, nice, system, irq and softirq; idle and iowait; steal.
_USED, _IDLE, _STOLEN = (1, 2, 3, 6, 7), (4, 5), 8


class ProcessClock:
    """Those of a tree, also of ended ones as far as they were seen. In ticks of 10 ms."""

    def __init__(self, tree: ProcessTree) -> None:
        self._tree = tree
        self._ours: tuple[int, ...] = ()
        self._ticks: dict[int, int] = {}
        # Of each of ours the threads that a page waits for.
        self._threads: dict[int, tuple[int, ...]] = {}

    def read(self) -> ProcessorTime | None:
        """What was used until now; None when the root is gone or cannot be read."""
        ours = self._tree.pids()
        if ours is not self._ours:
            self._ours, self._threads = ours, {pid: _awaited(pid) for pid in ours}
        found = {pid: fields for pid in ours if (fields := stat_of(pid)) is not None}
        # Fields 14 and 15 of proc(5): user and system time.
        self._ticks |= {pid: int(fields[11]) + int(fields[12]) for pid, fields in found.items()}
        machine = read("stat").partition(b"\n")[0].split()
        if self._tree.root not in found or len(machine) <= _STOLEN:
            return None
        stolen_s = int(machine[_STOLEN]) * _TICKS_S
        return ProcessorTime(
            ours_s=sum(self._ticks.values()) * _TICKS_S,
            machine_s=sum(int(machine[field]) for field in _USED) * _TICKS_S + stolen_s,
            idle_s=sum(int(machine[field]) for field in _IDLE) * _TICKS_S,
            stolen_s=stolen_s,
            waited_s=dict(self._waits(found)),
        )

    def _waits(self, ours: Iterable[int]) -> Iterator[tuple[int, float]]:
        for pid in ours:
            for thread in self._threads.get(pid, ()):
                # Time on a processor, time in wait for one, turns: Documentation/scheduler/sched-stats of Linux.
                fields = read(f"{pid}/task/{thread}/schedstat").split()
                if len(fields) == 3:
                    yield thread, int(fields[1]) / 1e9


def _awaited(pid: int) -> tuple[int, ...]:
    """Of a process its main thread, and those that move bytes."""
    return tuple(one for one in threads_of(pid) if one == pid or read(f"{pid}/task/{one}/comm").strip() in _MOVERS)
