"""What the supervisor tells the commands: a status file, and a lock that says whether it still lives."""

import fcntl
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from time import monotonic, sleep

from deploy.local.process import StepError

_POLL_S = 0.05


class Phase(StrEnum):
    """Where the supervisor is. STOPPED and FAILED are its last words."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceReport:
    """One service: its process, absent while it waits for a restart, and how often it was restarted."""

    name: str
    pid: int | None
    restarts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """`detail` is the service that starts, or why the start failed."""

    phase: Phase
    detail: str | None
    services: tuple[ServiceReport, ...]

    @property
    def healthy(self) -> bool:
        """Whether every service runs."""
        return self.phase is Phase.RUNNING and all(service.pid for service in self.services)


class AlreadyRunningError(StepError):
    """Another process holds the lock; the text says what it is for."""


@dataclass(slots=True)
class Report:
    """Writes the status file, and one line an event to standard output, as far as the disk has room: without it the
    status is an old one, and what happened is told with the next event.
    """

    path: Path
    phase: Phase = field(default=Phase.STARTING)

    def write(self, phase: Phase, detail: str | None, services: Sequence[ServiceReport]) -> None:
        """Replaces the status at once: a reader sees the old one or the new one."""
        self.phase = phase
        document = {"phase": phase, "detail": detail, "services": [asdict(service) for service in services]}
        fresh = self.path.with_suffix(".new")
        with suppress(OSError):
            fresh.write_text(json.dumps(document))
            fresh.replace(self.path)

    def note(self, sentence: str) -> None:
        """Says what happened, with the time."""
        with suppress(OSError):
            sys.stdout.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {sentence}\n")
            sys.stdout.flush()


def read_status(path: Path) -> Status | None:
    """The last status; None before the first."""
    try:
        document = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    services = tuple(ServiceReport(**service) for service in document["services"])
    return Status(phase=Phase(document["phase"]), detail=document["detail"], services=services)


@contextmanager
def held(lock: Path, refusal: str) -> Iterator[None]:
    """Holds the lock, with the process id in it. Raises AlreadyRunningError with `refusal` when another holds it."""
    with lock.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyRunningError(refusal) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def holder(lock: Path) -> int | None:
    """The process that holds the lock; None when nobody does. A process id alone could be a stranger's by now."""
    try:
        with lock.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read() or 0) or None
    except FileNotFoundError:
        return None
    return None


def stop(lock: Path, *, within_s: float) -> bool:
    """Asks the holder to stop and waits until it has; whether it did in time. True when there is none."""
    pid = holder(lock)
    if pid is None:
        return True
    os.kill(pid, signal.SIGTERM)
    deadline = monotonic() + within_s
    while holder(lock) is not None:
        if monotonic() > deadline:
            return False
        sleep(_POLL_S)
    return True
