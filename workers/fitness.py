"""Which measuring processes of an agent have a browser out of service, as small files that all its processes see.

`unfit/<process>` exists while a process cannot measure pages, and says why. Those of processes that are gone are
passed over: a new process begins with a new browser.
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

MAX_CHARS = 300


def teller(directory: Path) -> Callable[[str | None], None]:
    """What this process tells of its browser: a sentence on its fault, or None when it is in order."""

    def tell(fault: str | None) -> None:
        path = directory / str(os.getpid())
        # Telling must not end a run; what cannot be told is in the runs' own failures.
        with contextlib.suppress(OSError):
            if fault is None:
                path.unlink(missing_ok=True)
            else:
                directory.mkdir(mode=0o700, exist_ok=True)
                path.write_text(fault[:MAX_CHARS], "utf-8")

    return tell


def browser_fault(directory: Path) -> str | None:
    """The fault of a living process's browser, or None."""
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(directory)):
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(name), 0)
                return (directory / name).read_text("utf-8", "replace")[:MAX_CHARS]
    return None


def unfit_in(spool_dir: Path) -> Path:
    """Where the files of an agent are."""
    return spool_dir / "unfit"
