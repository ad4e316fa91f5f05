"""A copy of the code where checks and tests run: writable, as it was when they began, with the developer's tools."""

import hashlib
import secrets
import shutil
from base64 import urlsafe_b64encode
from contextlib import AbstractContextManager
from pathlib import Path

from deploy.local import environment
from deploy.local.places import Places, make_state, mirror
from deploy.local.process import StepError, run_step
from deploy.local.state import held
from deploy.local.venv import DEVELOP, ensure_venv


def open_workshop(places: Places) -> Path:
    """The folder of the copy, brought up to date, with Python's and Node's tools installed. Raises StepError."""
    make_state(places)
    workshop = places.state / "workshop"
    mirror(places.code, workshop)
    ensure_venv(places, DEVELOP)
    _install_node_modules(places, workshop / "frontend")
    return workshop


def workshop_to_ourselves(places: Places) -> AbstractContextManager[None]:
    """Checks and tests share one copy of the code, so that they come one after the other."""
    refusal = "Checks, tests or benches of this checkout run already; they share a copy of the code."
    return held(places.state / "workshop.lock", refusal)


def tool_environment(places: Places) -> dict[str, str]:
    """For checks and tests: as for a service in production, with secrets that protect nothing."""
    caches = places.state / "caches"
    return environment.base(places) | {
        "DJANGO_SETTINGS_MODULE": "backend.settings",
        "FIRSTBYTE_SECRET_KEY": secrets.token_urlsafe(50),
        "FIRSTBYTE_FERNET_KEYS": urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(caches / "hypothesis"),
        "MYPY_CACHE_DIR": str(caches / "mypy"),
        "RUFF_CACHE_DIR": str(caches / "ruff"),
    }


def _install_node_modules(places: Places, frontend: Path) -> None:
    lock = frontend / "package-lock.json"
    if not lock.exists():
        raise StepError(f"{lock} is missing: the front end's tools cannot be installed.")
    stamp, wanted = frontend / "node_modules" / ".stamp", hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    npm = shutil.which("npm", path=environment.PATH)
    if npm is None:
        raise StepError("npm is missing. ./dev test installs it: run it as root or as a user with sudo.")
    # No package may run a script of its own when it is installed.
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    run_step(command, env=environment.registry(places), cwd=frontend, what="Installing the front end's tools")
    stamp.write_text(wanted)
