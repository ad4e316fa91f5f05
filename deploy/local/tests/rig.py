"""Runs a supervisor as a process of its own, as `./dev up` does: it takes signals and orphans, which a test must not.

`python3 -m deploy.local.tests.rig FOLDER` reads the services from `FOLDER/services.json`. Standard library only.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from deploy.local.process import StepError
from deploy.local.state import Phase, Report, Status, held, read_status
from deploy.local.supervisor import Service, Supervisor

CODE = Path(__file__).resolve().parents[3]
PATIENCE_S = 120.0


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Returns once the condition holds. Raises AssertionError that names what was waited for."""
    deadline = monotonic() + PATIENCE_S
    while not condition():
        assert monotonic() < deadline, f"waited {PATIENCE_S} s for {what}"
        sleep(0.01)


class Running:
    """A supervisor and what it says."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self.process = process

    def status(self) -> Status | None:
        return read_status(self.folder / "status.json")

    def wait_for(self, phase: Phase) -> Status:
        wait_until(lambda: (said := self.status()) and said.phase is phase, f"the phase {phase}")
        said = self.status()
        assert said is not None
        return said

    def pid(self, name: str) -> int:
        """The process of a service that runs."""
        said = self.status()
        assert said is not None
        (pid,) = (service.pid for service in said.services if service.name == name)
        assert pid is not None
        return pid

    def log(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


@contextmanager
def running(folder: Path, *services: Mapping[str, Any]) -> Iterator[Running]:
    """A supervisor of these services; ended by force when a test left it."""
    (folder / "services.json").write_text(json.dumps(services))
    command = [sys.executable, "-m", "deploy.local.tests.rig", str(folder)]
    with subprocess.Popen(command, cwd=CODE, start_new_session=True) as process:
        try:
            yield Running(folder, process)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(PATIENCE_S)


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _service(folder: Path, facts: Mapping[str, Any]) -> Service:
    ready = folder / facts["ready"] if "ready" in facts else None
    return Service(
        name=facts["name"],
        command=["/bin/sh", "-c", facts["script"]],
        env={"PATH": os.environ["PATH"]},
        cwd=folder,
        prepare=partial(_prepare, facts.get("fault")),
        ready=ready.exists if ready else lambda: True,
        ready_within_s=facts.get("ready_within_s", PATIENCE_S),
        stop_within_s=facts.get("stop_within_s", PATIENCE_S),
    )


def _prepare(fault: str | None) -> None:
    if fault:
        raise StepError(fault)


def main(arguments: Sequence[str]) -> int:
    folder = Path(arguments[0])
    services = [_service(folder, facts) for facts in json.loads((folder / "services.json").read_text())]
    with held(folder / "lock", "two supervisors"):
        return Supervisor(services, folder, Report(folder / "status.json")).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
