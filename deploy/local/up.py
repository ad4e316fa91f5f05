"""`./dev up` and its opposites: from nothing to running services and measured demo sites, and back."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from deploy.local import fleet
from deploy.local.places import Places, make_state
from deploy.local.plan import TITLES
from deploy.local.process import StepError, tail
from deploy.local.settings import Settings, read_settings, settle
from deploy.local.state import Phase, Status, held, holder, read_status, stop
from deploy.local.venv import RUN, ensure_venv

_POLL_S = 0.05
# Longer than all services together are given to become ready, or to stop.
_START_S = 300.0
STOP_S = 200.0
# Four pages, one after the other, and two browsers are started for them.
_FIRST_RUNS_S = 120
# The folders whose code is at work.
_RUNS = ("backend", "workers", "deploy")


def up(places: Places, *, port: int | None, with_demo: bool, foreground: bool) -> int:
    """Sets up and starts everything; 0 once the demo sites are measured. Raises StepError."""
    make_state(places)
    if holder(places.lock):
        print("Already running.")
        return status(places)
    # As who interrupts it, who ends it while it starts ends what it has started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with held(places.up_lock, "Another ./dev up of this checkout is under way."):
        supervisor = _set_up(places, port=port, with_demo=with_demo)
    return _attend(supervisor) if foreground else 0


def _set_up(places: Places, *, port: int | None, with_demo: bool) -> subprocess.Popen[bytes]:
    began = monotonic()
    with _step("Python's environment"):
        ensure_venv(places, RUN)
    settings = settle(places.settings, web_port=port)
    first_time = not places.fleet.exists()
    supervisor = _start(places)
    runs, fault = "", None
    try:
        _follow(places, supervisor)
        ready_s = monotonic() - began
        runs, fault = _measure_demo(places, settings) if with_demo else ("", None)
    except BaseException:
        stop(places.lock, within_s=STOP_S)
        raise
    print(_card(places, settings, runs=runs, first_time=first_time, seconds=ready_s))
    if fault:
        raise StepError(f"{fault}\nThe services go on without these runs; ./dev logs says more, ./dev down stops them.")
    return supervisor


def down(places: Places) -> int:
    """Stops everything; the state stays. Raises StepError when something does not end, or has yet to begin."""
    if holder(places.lock) is None:
        if (beginning := holder(places.up_lock)) is not None:
            raise StepError(f"./dev up is under way (process {beginning}): interrupt it, or come again afterwards.")
        print("Nothing runs.")
        return 0
    with _step("stopping"):
        if not stop(places.lock, within_s=STOP_S):
            raise StepError(f"The services did not stop within {STOP_S:.0f} s; see {places.logs / 'supervisor.log'}.")
    return 0


def status(places: Places) -> int:
    """Says what runs: 0 when all of it does, 3 when nothing does, 1 otherwise."""
    said = read_status(places.status)
    if said is None or holder(places.lock) is None:
        print("Nothing runs. ./dev up starts it.")
        return 3
    settings = read_settings(places.settings)
    print(f"{said.phase} at {settings.base_url if settings else 'an unknown address'}")
    for service in said.services:
        process = f"process {service.pid}" if service.pid else "waits for a restart"
        restarts = f"restarted {service.restarts} time{'s' * (service.restarts != 1)}" if service.restarts else ""
        print(f"  {service.name:<16} {process:<18} {restarts}".rstrip())
    if _is_newer(places.code, than_s=places.lock.stat().st_mtime):
        print("The code here is newer than what runs: ./dev down, then ./dev up, runs it.")
    return 0 if said.healthy else 1


def reset(places: Places, *, ask: bool) -> int:
    """Stops everything and removes what `up` made."""
    if ask and not _agreed(places):
        print("Nothing was removed.")
        return 1
    down(places)
    try:
        for entry in places.state.iterdir() if places.state.exists() else ():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    except PermissionError as error:
        rest = f"Another user has put files into {places.state}, of which only a part could be removed"
        raise StepError(f"{rest}. As root: rm -r {places.state}") from error
    if os.access(places.code, os.W_OK):
        places.state.rmdir()
    print(f"Removed {places.state}.")
    return 0


def _is_newer(code: Path, *, than_s: float) -> bool:
    """Whether a file of what runs was written since, as by a pull."""
    files = (
        Path(folder, file)
        for part in _RUNS
        for folder, _, files in os.walk(code / part)
        if not folder.endswith("__pycache__")
        for file in files
    )
    return any(file.lstat().st_mtime > than_s for file in files)


def _agreed(places: Places) -> bool:
    print(f"This removes {places.state}: the database, its measurements, secrets and logs.")
    try:
        return input("Type 'yes' to go on: ").strip() == "yes"
    except EOFError:
        return False


def _start(places: Places) -> subprocess.Popen[bytes]:
    """The supervisor, in a session of its own: it stays when this terminal goes."""
    places.status.unlink(missing_ok=True)
    command = [sys.executable, "-m", "deploy.local.plan", str(places.code)]
    with (places.logs / "supervisor.log").open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=places.code,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            umask=0o077,
        )


def _follow(places: Places, supervisor: subprocess.Popen[bytes]) -> None:
    """Prints each service as it becomes ready, until all are. Raises StepError with the reason when one does not."""
    deadline = since = monotonic()
    deadline += _START_S
    ticked: set[str] = set()
    while True:
        said = _last_words(places, supervisor)
        for name in ready_names(said):
            if name not in ticked:
                _done(TITLES[name], monotonic() - since)
                ticked.add(name)
                since = monotonic()
        if said.phase is Phase.RUNNING:
            return
        if monotonic() > deadline:
            raise StepError(f"{said.detail} was not ready within {_START_S:.0f} s. All logs: {places.logs}")
        sleep(_POLL_S)


def ready_names(said: Status) -> list[str]:
    """The services that are ready: those that were started, but for the one that is starting."""
    starting = said.detail if said.phase is Phase.STARTING else None
    return [service.name for service in said.services if service.name != starting and said.phase is not Phase.STOPPING]


def _last_words(places: Places, supervisor: subprocess.Popen[bytes]) -> Status:
    """What the supervisor said last. Raises StepError when the start failed."""
    # In this order: what a supervisor wrote last is read after it ended.
    ended = supervisor.poll() is not None
    said = read_status(places.status) or Status(phase=Phase.STARTING, detail=None, services=())
    if said.phase is Phase.FAILED:
        raise StepError(f"{said.detail}\nAll logs: {places.logs}")
    if ended:
        raise StepError(f"The supervisor ended:\n{tail(places.logs / 'supervisor.log')}")
    return said


def _measure_demo(places: Places, settings: Settings) -> tuple[str, str | None]:
    """The first runs of the demo sites as text waterfalls, measured through the real queue; or why there are none."""
    demo = ("--origin", settings.shop_url, "--cdn", settings.cdn_url)
    first_runs = ("first_runs", settings.shop_url, settings.cdn_url, "--wait", str(_FIRST_RUNS_S))
    try:
        with _step("first runs of the demo sites"):
            seeds = ("seed_demo", *demo), ("seed_demo_pairs", *demo)
            return fleet.manage(places, settings, *seeds, first_runs)[-1], None
    except StepError as error:
        return "", str(error)


def _card(places: Places, settings: Settings, *, runs: str, first_time: bool, seconds: float) -> str:
    login = fleet.read_login(places.fleet)
    lines = ["", runs.rstrip(), ""] if runs else [""]
    lines.append(f"  Firstbyte runs at   {settings.base_url}   (ready after {seconds:.0f} s)")
    if login:
        shown = f"   password {login.password}" if first_time and login.password else ""
        lines.append(f"  login               {login.email}{shown}")
        lines.append(f"  first password      kept in {places.fleet}")
    lines.append("  stop   ./dev down      logs   ./dev logs      remove everything   ./dev reset")
    return "\n".join(lines)


def _attend(supervisor: subprocess.Popen[bytes]) -> int:
    """Stays until the supervisor ends, or ends it when we are told to."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: supervisor.send_signal(signal.SIGTERM))
    return supervisor.wait()


@contextmanager
def _step(title: str) -> Iterator[None]:
    began = monotonic()
    print(f"  … {title}", end="\r" if sys.stdout.isatty() else "\n", flush=True)
    yield
    _done(title, monotonic() - began)


def _done(title: str, seconds: float) -> None:
    print(f"  ✓ {title:<42} {seconds:5.1f} s", flush=True)
