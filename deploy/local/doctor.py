"""`./dev doctor`: looks for what could be wrong, and says what to do about it."""

import json
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deploy.local import environment
from deploy.local.places import Places
from deploy.local.settings import read_settings
from deploy.local.state import holder, read_status
from deploy.local.venv import DEVELOP, RUN, is_installed

_SHELL = Path("/usr/lib/chromium/chromium-headless-shell")
_MIN_DISK_BYTES = 1 << 30
_MIN_SHM_BYTES = 512 << 20
_BROWSER_S = 30
_PACED = ("scheduler", "judge")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, and what to do when it is not well."""

    words: str
    advice: str | None = None


def examine(places: Places) -> int:
    """Prints every finding; 0 when all is well."""
    machine: tuple[Callable[[Places], Finding], ...] = (_disk, _python, _browser, _shared_memory)
    examinations = (*machine, _services, _web, _pace, _broker)
    findings = [examination(places) for examination in examinations]
    for finding in findings:
        print(f"  ✗ {finding.words}\n    {finding.advice}" if finding.advice else f"  ✓ {finding.words}")
    return 1 if any(finding.advice for finding in findings) else 0


def _disk(places: Places) -> Finding:
    free = shutil.disk_usage(places.code).free
    advice = None if free > _MIN_DISK_BYTES else "Make room: PostgreSQL stops when the disk is full."
    return Finding(f"{free / (1 << 30):.1f} GB of disk are free", advice)


def _python(places: Places) -> Finding:
    if is_installed(places, RUN) or is_installed(places, DEVELOP):
        return Finding("Python's environment is what the requirements say")
    return Finding("Python's environment is missing or outdated", "Run ./dev down and ./dev up.")


def _browser(places: Places) -> Finding:
    """With its sandbox, as agents use it."""
    with tempfile.TemporaryDirectory() as profile:
        options = ("--headless", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom", "data:text/html,<p>here")
        command, env = [str(_SHELL), *options], environment.base(places)
        try:
            done = subprocess.run(command, env=env, capture_output=True, timeout=_BROWSER_S)
        except FileNotFoundError:
            return Finding(f"Chromium's headless shell is not at {_SHELL}", "Run ./dev up, which installs it.")
        except subprocess.TimeoutExpired:
            advice = "See whether the machine is overloaded."
            return Finding(f"Chromium did not draw an empty page within {_BROWSER_S} s", advice)
    if b"here" in done.stdout:
        return Finding("Chromium draws a page, with its sandbox on")
    if b"sandbox" in done.stderr.lower():
        advice = "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile for it."
        return Finding("Chromium's sandbox does not work here", advice)
    said = done.stderr.decode(errors="replace").strip()[-300:]
    return Finding("Chromium does not draw a page", f"It says: {said}")


def _shared_memory(_places: Places) -> Finding:
    size = shutil.disk_usage("/dev/shm").total
    advice = None if size >= _MIN_SHM_BYTES else "Mount /dev/shm larger: big pages crash below 512 MB."
    return Finding(f"Chromium may share {size >> 20} MB of memory", advice)


def _services(places: Places) -> Finding:
    said = read_status(places.status)
    if said is None or holder(places.lock) is None:
        return Finding("nothing runs; ./dev up starts it")
    unsteady = [service.name for service in said.services if service.restarts or not service.pid]
    if said.healthy and not unsteady:
        return Finding("all services run, and none was restarted")
    names = ", ".join(unsteady) or said.phase
    return Finding(f"these ended and were started again: {names}", "See ./dev logs and the name.")


def _web(places: Places) -> Finding:
    settings = read_settings(places.settings)
    if settings is None or holder(places.lock) is None:
        return Finding("the web server is not wanted now")
    url = f"{settings.base_url}/readyz"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return Finding(f"{url} answers {answer.status}")
    except (urllib.error.URLError, OSError) as error:
        return Finding(f"{url} does not answer: {error}", "See ./dev logs service.")


def _broker(places: Places) -> Finding:
    """Whether it has room, and no region has filled it."""
    said = _summary(places, "broker_memory")
    return Finding("the broker is not wanted now") if said is None else broker_finding(said)


def _pace(places: Places) -> Finding:
    """Whether scheduler and judge work: the service's parent starts them again by itself, which no status tells."""
    said = _summary(places, *_PACED)
    return Finding("scheduler and judge are not wanted now") if said is None else pace_finding(said)


def _summary(places: Places, *asked: str) -> dict[str, str] | None:
    """What the service says of itself as a whole, or the error for what is asked; None where it is not wanted."""
    settings = read_settings(places.settings)
    if settings is None or holder(places.lock) is None:
        return None
    try:
        return _read(f"{settings.base_url}/healthz")
    except (urllib.error.URLError, OSError, ValueError) as error:
        return dict.fromkeys(asked, f"{error}")


def _read(url: str) -> dict[str, str]:
    """A document that says what is wrong with a status of its own, too."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return dict(json.load(answer))
    except urllib.error.HTTPError as refusal:
        return dict(json.load(refusal))


def pace_finding(said: dict[str, str]) -> Finding:
    """What a summary of the service means for those that work in it."""
    states = {name: said.get(name, "unknown") for name in _PACED}
    if set(states.values()) == {"ok"}:
        return Finding("scheduler and judge keep pace")
    words = ", ".join(f"{name}: {state}" for name, state in states.items() if state != "ok")
    return Finding(
        f"not all of the service keeps pace: {words}", "See ./dev logs service: does one end again and again?"
    )


def broker_finding(said: dict[str, str]) -> Finding:
    """What a summary of the service means for its broker."""
    if "filled the broker" in said.get("regions", ""):
        return Finding("a region filled the broker and was emptied", "The page Regions says which, and what to do.")
    memory = said.get("broker_memory", "unknown")
    if memory == "nearly full":
        return Finding("the broker's memory is nearly full", "Are agents away? The page Regions says what waits.")
    if memory != "ok":
        return Finding(
            f"whether the broker has room is not known: {memory}", "See ./dev logs service and ./dev logs redis."
        )
    return Finding("the broker has room")
