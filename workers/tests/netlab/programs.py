"""Programs inside a network of the lab, none of which outlives it."""

import os
import signal
import subprocess
from collections.abc import Sequence
from typing import IO

from workers.shaping.namespace import Namespace

# Its arguments: the process that starts it ($0) and the command.
_UNLESS_ORPHANED = '[ "$PPID" = "$0" ] && exec "$@" </dev/null'


def start_inside(
    network: Namespace,
    command: Sequence[str],
    *,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
) -> subprocess.Popen[bytes]:
    """It is killed when the network is closed or this process ends."""
    ours, theirs = os.pipe()
    with open(ours, "rb") as guard:
        try:
            process = network.call(
                lambda: subprocess.Popen(_guarded(command), stdin=theirs, stdout=stdout, stderr=stderr)
            )
        finally:
            os.close(theirs)
        # Until the program has its own standard input: from then on it cannot outlive us.
        guard.read()
    return process


def _guarded(command: Sequence[str]) -> list[str]:
    """The command, killed with the thread that starts it, also should this process end before it can ask for that."""
    signal_name = signal.SIGKILL.name.removeprefix("SIG")
    asked = ["setpriv", "--pdeathsig", signal_name, "--", "sh", "-c", _UNLESS_ORPHANED]
    return [*asked, str(os.getpid()), *command]
