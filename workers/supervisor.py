"""A parent that forks children, restarts those that die, and never leaves one behind.

The parent has one thread and only waits: a fork of a process with threads can copy a lock that nobody will ever
release.
"""

import contextlib
import ctypes
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from workers.memory import settle_heap

log = logging.getLogger(__name__)

TICK_S = 1.0
# A child that lived this long was not broken from the start.
STEADY_S = 60.0
FIRST_RESTART_S, LONGEST_RESTART_S = 0.5, 30.0
# Runs may end within `tasks.FINISH_S`; the children keep that limit themselves, this is for those that do not.
DRAIN_S = 35.0
LAST_DRAIN_S = 10.0
_PR_SET_PDEATHSIG = 1
_WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)


@dataclass(kw_only=True)
class Child:
    """One process to keep. `work` runs in it and gives its exit code; `last` is ended after all others have ended.

    `buried` is called in the parent with the process id after its end; `is_stuck` is asked at every tick.
    """

    name: str
    work: Callable[[], int]
    last: bool = False
    buried: Callable[[int], None] = lambda pid: None
    is_stuck: Callable[[int], bool] = lambda pid: False
    pid: int | None = field(default=None, init=False)
    _started: float = field(default=0.0, init=False)
    _failures: int = field(default=0, init=False)
    _due: float = field(default=0.0, init=False)

    def start_when_due(self) -> None:
        if self.pid is None and time.monotonic() >= self._due:
            self._started = time.monotonic()
            self.pid = _fork(self.name, self.work)

    def ended(self, status: int) -> None:
        """Notes the end of this child and plans the next start."""
        assert self.pid is not None
        lived_s, code = time.monotonic() - self._started, os.waitstatus_to_exitcode(status)
        self._failures = 0 if lived_s > STEADY_S else self._failures + 1
        wait_s = min(LONGEST_RESTART_S, FIRST_RESTART_S * 2 ** min(self._failures, 10)) if self._failures else 0.0
        self._due = time.monotonic() + wait_s
        level = logging.WARNING if code else logging.INFO
        log.log(level, "%s (process %d) ended after %.1f s with %d", self.name, self.pid, lived_s, code)
        self.buried(self.pid)
        self.pid = None

    def kill_if_stuck(self) -> None:
        if self.pid is not None and self.is_stuck(self.pid):
            log.critical("%s (process %d) holds a run that should long be over: killed", self.name, self.pid)
            self.send(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        if self.pid is not None:
            os.kill(self.pid, number)


def supervise(children: Sequence[Child]) -> int:
    """Keeps the children until SIGTERM or SIGINT, then ends them in order; a second signal ends them at once."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    settle_heap()
    while True:
        for child in children:
            child.kill_if_stuck()
            child.start_when_due()
        if _next_signal(TICK_S) in (signal.SIGTERM, signal.SIGINT):
            break
        _reap(children)
    log.info("ending: runs may finish within %.0f s", DRAIN_S)
    for last, patience_s in ((False, DRAIN_S), (True, LAST_DRAIN_S)):
        _end([child for child in children if child.last is last], patience_s, children)
    return 0


def _end(ending: Sequence[Child], patience_s: float, children: Sequence[Child]) -> None:
    """Ends these. Any of all children may end meanwhile, and no signal may go to what another process is by now."""
    for child in ending:
        child.send(signal.SIGTERM)
    deadline = time.monotonic() + patience_s
    while any(child.pid is not None for child in ending):
        if _next_signal(0.2) in (signal.SIGTERM, signal.SIGINT) or time.monotonic() > deadline:
            for child in ending:
                child.send(signal.SIGKILL)
        _reap(children)


def _reap(children: Sequence[Child]) -> None:
    """Buries every process that has ended; as the first process of a container also those that nobody else would."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            for child in children:
                if child.pid == ended[0]:
                    child.ended(ended[1])


def _next_signal(timeout_s: float) -> int | None:
    received = signal.sigtimedwait(_WATCHED, timeout_s)
    return None if received is None else received.si_signo


def _fork(name: str, work: Callable[[], int]) -> int:
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os._exit(_be_a_child(parent, name, work))
    return pid


def _be_a_child(parent: int, name: str, work: Callable[[], int]) -> int:
    """A process group of its own, so that Ctrl+C reaches the parent alone; SIGTERM when the parent dies."""
    try:
        os.setpgid(0, 0)
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            return os.EX_TEMPFAIL
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        return work()
    except BaseException:
        log.critical("%s failed", name, exc_info=True)
        return os.EX_SOFTWARE
    finally:
        logging.shutdown()
