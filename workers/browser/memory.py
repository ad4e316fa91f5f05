"""The memory that a page takes, and the end of one that takes more than it may."""

import asyncio
import contextlib
import os
import signal

from workers.browser.process_tree import ProcessTree, read

# The fastest page filled 0.7 GB in a second, and a look takes a millisecond or two.
_LOOK_S = 0.2
_KIB = 1024
# Of proc_pid_status(5), in KiB: what is nobody's copy of a file. What processes share counts for each of them, by a
# fiftieth of the whole where pages were heaviest.
_TAKEN = (b"RssAnon:", b"RssShmem:", b"VmSwap:")
_PAGES = b"--type=renderer"


class MemoryBound:
    """A context in which the processes of a browser may come to hold `limit_bytes` more than at its beginning: those of
    its pages are killed beyond that, and `outgrown` is true. `tree` is None where the browser is not known.
    """

    def __init__(self, tree: ProcessTree | None, limit_bytes: int) -> None:
        self._tree, self.limit_bytes = tree, limit_bytes
        self.outgrown = False
        self._kills: int | None = None
        self._watching: asyncio.Task[None] | None = None

    @property
    def ran_out(self) -> bool:
        """Whether the machine, or a container on it, has run out of memory meanwhile, so that the kernel killed."""
        return self._kills is not None and oom_kills() != self._kills

    async def __aenter__(self) -> "MemoryBound":
        self._kills = oom_kills()
        if self._tree is not None:
            self._watching = asyncio.create_task(self._watch(self._tree))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self, tree: ProcessTree) -> None:
        before_bytes = taken_bytes(tree)
        while True:
            await asyncio.sleep(_LOOK_S)
            if taken_bytes(tree) - before_bytes > self.limit_bytes:
                self.outgrown = True
                _kill_pages(tree)


def taken_bytes(tree: ProcessTree) -> int:
    """What the processes hold beside files; what the machine has swapped out is theirs too."""
    return sum(map(_taken_bytes, tree.pids()))


def oom_kills() -> int | None:
    """How many processes the kernel has killed for want of memory, those in containers included; None untold."""
    fields = read("vmstat").split()
    return int(fields[fields.index(b"oom_kill") + 1]) if b"oom_kill" in fields else None


def _taken_bytes(pid: int) -> int:
    lines = [line.split() for line in read(f"{pid}/status").splitlines()]
    return sum(int(line[1]) * _KIB for line in lines if line and line[0] in _TAKEN)


def _kill_pages(tree: ProcessTree) -> None:
    for pid in tree.pids():
        if _PAGES in read(f"{pid}/cmdline"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
