"""Work that makes way: it goes on while a processor has nothing else to do, and is told of when it has ended.

Somebody else's progress is being told meanwhile. So of what went well only the last line is said, and of what failed
everything at once.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy.local.process import Job


def aside(command: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> Job:
    """The command as work that makes way. In `cwd` is our code, or a copy of it."""
    return Job(command=(sys.executable, "-m", __name__, *command), env=env, cwd=cwd, prepare=_make_way)


def _make_way() -> None:
    """Leaves a processor at once to whoever wakes, and so do all children."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _main(command: Sequence[str]) -> int:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = done.stdout.decode(errors="replace").strip()
    told = said if done.returncode else said.rpartition("\n")[2]
    print(f"\n{told}", flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
