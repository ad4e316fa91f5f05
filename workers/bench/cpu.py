"""CPU seconds of this process and all that it started, whoever started it in between."""

import ctypes
import os
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_TICKS_S = 1 / os.sysconf("SC_CLK_TCK")


def adopt_orphans() -> None:
    """Makes this process the parent of descendants whose parents end, so that their time is not lost."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def tree_cpu_s(root: int, *, without: frozenset[int] = frozenset()) -> float:
    """Seconds used by a process, its living descendants and those it has waited for; `without` leaves out whole trees.

    From /proc/<pid>/stat, fields 14 to 17 (proc(5)): own and waited-for children's user and system time, in ticks.
    """
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(entry)):
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    return sum(ticks[pid] for pid in ticks if _descends(pid, root, parents, without)) * _TICKS_S


def descendants(root: int) -> set[int]:
    """Every process below another, zombies too."""
    stats = {int(entry.name): _stat(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    parents = {pid: int(fields[1]) for pid, fields in stats.items() if fields}
    return {pid for pid in parents if pid != root and _descends(pid, root, parents, frozenset())}


def reap_adopted() -> None:
    """Waits for orphans that have ended; until then their time counts as a zombie's, after it as ours."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _descends(pid: int, root: int, parents: dict[int, int], without: frozenset[int]) -> bool:
    while pid in parents and pid not in without:
        if pid == root:
            return True
        pid = parents[pid]
    return False


def _stat(entry: Path) -> list[str]:
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
