"""Starts services in order, each once the one before is ready, restarts what dies, and stops all of it in reverse.

It waits for signals with sigtimedwait, so nothing happens between two lines: SIGTERM or SIGINT stops everything,
SIGCHLD says that a child ended. What its children leave behind becomes its own child, and is ended last.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from deploy.local.process import Check, Prepare, StepError, adopt_orphans, end_children, exit_words, spawn, tail
from deploy.local.state import Phase, Report, ServiceReport

SIGNALS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}
POLL_S = 0.05
IDLE_S = 5.0
# A service that keeps dying is tried again after 1, 2, 4 … seconds, at most this; one that lived a while starts over.
MAX_BACKOFF_S = 30.0
STEADY_S = 60.0
# One file and one older one of this size: what a service may say before its past is forgotten.
LOG_BYTES = 5 * 1024 * 1024


def nothing() -> None:
    """A service without preparations."""


def at_once() -> bool:
    """A service that is as good as ready when it runs."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A process to keep running. `prepare` runs once before its first start; `ready` is asked until it says yes."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    prepare: Prepare = nothing
    ready: Check = at_once
    ready_within_s: float = 60.0
    stop_signal: signal.Signals = signal.SIGTERM
    stop_within_s: float = 20.0


@dataclass(slots=True)
class _Child:
    service: Service
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    restart_at: float | None = None
    restarts: int = 0
    backoff_s: float = 1.0

    def report(self) -> ServiceReport:
        pid = self.process.pid if self.process else None
        return ServiceReport(name=self.service.name, pid=pid, restarts=self.restarts)


class _Stop(BaseException):
    """Somebody asked us to stop."""


@dataclass(slots=True)
class Supervisor:
    """Runs `services`, asking for each when those before are ready; logs go to `logs`, and what it does to `report`."""

    services: Iterable[Service]
    logs: Path
    report: Report
    _children: list[_Child] = field(default_factory=list)

    def run(self) -> int:
        """Returns when all is stopped again: 0 when asked to, 1 when a service did not become ready."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        adopt_orphans()
        try:
            for service in self.services:
                self._bring_up(service)
            self._tell(Phase.RUNNING)
            while True:
                self._tend(IDLE_S)
                self._rotate_logs()
        except _Stop:
            fault = None
        except (StepError, OSError) as error:
            fault = str(error)
        self._tell(Phase.STOPPING)
        self._stop_all()
        self._tell(Phase.FAILED if fault else Phase.STOPPED, fault)
        return 1 if fault else 0

    def _bring_up(self, service: Service) -> None:
        self._tell(Phase.STARTING, service.name)
        service.prepare()
        child = _Child(service)
        self._children.append(child)
        self._spawn(child)
        deadline = monotonic() + service.ready_within_s
        while not (child.process and service.ready()):
            if child.process is None:
                raise StepError(f"{service.name} ended before it was ready:\n{tail(self._log(service))}")
            if monotonic() > deadline:
                raise StepError(
                    f"{service.name} was not ready after {service.ready_within_s:.0f} s:\n{tail(self._log(service))}"
                )
            self._tend(POLL_S)

    def _spawn(self, child: _Child) -> None:
        service = child.service
        child.started_at, child.restart_at = monotonic(), None
        child.process = spawn(
            service.command, env=service.env, cwd=service.cwd, log=self._log(service), death_signal=service.stop_signal
        )

    def _tend(self, seconds: float) -> None:
        """Waits for a signal, at most so long, and restarts what is due. Raises _Stop when asked to stop."""
        due = [child.restart_at for child in self._children if child.restart_at is not None]
        seen = signal.sigtimedwait(SIGNALS, max(0.0, min([seconds, *(at - monotonic() for at in due)])))
        if seen and seen.si_signo != signal.SIGCHLD:
            raise _Stop
        changed = self._reap()
        for child in changed:
            self._plan_restart(child)
        for child in self._children:
            if child.restart_at is not None and child.restart_at <= monotonic() and child.process is None:
                self._start_again(child)
                changed.append(child)
        if changed and self.report.phase is Phase.RUNNING:
            self._tell(Phase.RUNNING)

    def _reap(self) -> list[_Child]:
        """Buries every child that ended, adopted ones too; returns the services among them."""
        ended: list[_Child] = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return ended
            if pid == 0:
                return ended
            for child in self._children:
                if child.process and child.process.pid == pid:
                    child.process.returncode = os.waitstatus_to_exitcode(status)
                    ended.append(child)

    def _plan_restart(self, child: _Child) -> None:
        assert child.process is not None
        self._sweep(child.process.pid)
        code = child.process.returncode
        child.process = None
        if self.report.phase is Phase.STARTING and child is self._children[-1]:
            return
        if monotonic() - child.started_at > STEADY_S:
            child.backoff_s = 1.0
        self._put_off(child, f"ended ({exit_words(code)})")

    def _start_again(self, child: _Child) -> None:
        """What the machine lacks for a start it may have for the next."""
        try:
            self._spawn(child)
        except OSError as error:
            self._put_off(child, f"cannot be started ({error})")

    def _put_off(self, child: _Child, why: str) -> None:
        child.restarts += 1
        child.restart_at = monotonic() + child.backoff_s
        self._note(f"{child.service.name} {why}; it starts again in {child.backoff_s:.0f} s")
        child.backoff_s = min(2 * child.backoff_s, MAX_BACKOFF_S)

    def _stop_all(self) -> None:
        for child in reversed(self._children):
            if child.process:
                self._stop(child.process, child.service)
                child.process = None
        end_children()

    def _stop(self, process: subprocess.Popen[bytes], service: Service) -> None:
        deadline = monotonic() + service.stop_within_s
        process.send_signal(service.stop_signal)
        while process.returncode is None and monotonic() < deadline:
            signal.sigtimedwait({signal.SIGCHLD}, POLL_S)
            self._reap()
        if process.returncode is None:
            self._note(f"{service.name} did not stop within {service.stop_within_s:.0f} s and was killed")
        self._sweep(process.pid)

    @staticmethod
    def _sweep(group: int) -> None:
        """Ends what is left of a service's process group, so that the next start finds its sockets and locks free."""
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            return

    def _rotate_logs(self) -> None:
        for child in self._children:
            rotate(self._log(child.service))

    def _log(self, service: Service) -> Path:
        return self.logs / f"{service.name}.log"

    def _note(self, sentence: str) -> None:
        self.report.note(sentence)

    def _tell(self, phase: Phase, detail: str | None = None) -> None:
        self.report.write(phase, detail, [child.report() for child in self._children])


def rotate(log: Path, limit: int = LOG_BYTES) -> None:
    """Keeps a log bounded while its writer holds it open for appending: the past is copied away, as far as the disk has
    room for it, and the file cut.
    """
    if log.exists() and log.stat().st_size > limit:
        with suppress(OSError):
            shutil.copyfile(log, log.with_suffix(".log.1"))
        os.truncate(log, 0)
