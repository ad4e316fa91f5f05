"""The processes below this one, by /proc, to see that none is left and to end one on purpose."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def descendants(root: int | None = None) -> list[int]:
    """Everything started below a process, zombies included."""
    family = {root or os.getpid()}
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    found: list[int] = []
    while new := [pid for pid in pids if pid not in family and _parent(pid) in family]:
        family.update(new)
        found += new
    return found


def browsers() -> list[int]:
    """Chromium's main processes."""
    return [pid for pid in descendants() if _is_browser(command(pid)) and not _is_browser(command(_parent(pid)))]


def _is_browser(words: str) -> bool:
    """Also of a helper that one has begun and that is not yet told what to be."""
    return "--remote-debugging-pipe" in words and "--type=" not in words


def renderers() -> list[int]:
    return [pid for pid in descendants() if "--type=renderer" in command(pid)]


def kill(pids: Iterable[int]) -> None:
    """Those of them that have not ended meanwhile, as a page's first process does when it has gone elsewhere."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
