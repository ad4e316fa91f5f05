"""Python's environment: made from hashed requirements, and made again when they change."""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from deploy.local import environment
from deploy.local.places import Places
from deploy.local.process import run_step

RUN = ("requirements.txt", "workers/requirements.txt")
# The lock of everything: what is needed to run is in it as well, in the same versions.
DEVELOP = ("requirements-dev.txt",)

_MARKS = "installed"


def ensure_venv(places: Places, files: tuple[str, ...]) -> bool:
    """Installs what these requirement files say, unless they are installed already; whether there was something to do.

    The mark is written last, so that a broken installation is never taken for a good one. Raises StepError.
    """
    if is_installed(places, files):
        return False
    done = _marks(places)
    env = environment.registry(places)
    if not done:
        make = [sys.executable, "-m", "venv", "--clear", places.venv]
        run_step(make, env=env, cwd=places.state, what="Making Python's environment")
    chosen = [word for name in files for word in ("--requirement", str(places.code / name))]
    pip = [places.python, "-m", "pip", "install", "--quiet", "--require-hashes", "--no-compile", *chosen]
    run_step(pip, env=env, cwd=places.state, what="Installing Python packages", timeout_s=1800)
    # What said something else before is not installed any more: who takes a change back gets the old versions again.
    true = [mark for mark in done if _is_true(places.code, mark)]
    (places.venv / _MARKS).write_text("\n".join([*true, _mark(places.code, files)]) + "\n")
    return True


def is_installed(places: Places, files: Sequence[str]) -> bool:
    """Whether the environment is what these requirement files say now."""
    return _mark(places.code, files) in _marks(places)


def _marks(places: Places) -> list[str]:
    marks = places.venv / _MARKS
    return marks.read_text().splitlines() if marks.exists() else []


def _is_true(code: Path, mark: str) -> bool:
    files = mark.split()[1:]
    return all((code / name).is_file() for name in files) and mark == _mark(code, files)


def _mark(code: Path, files: Sequence[str]) -> str:
    return " ".join((stamp(code, files), *files))


def stamp(code: Path, files: Sequence[str]) -> str:
    """What stands for the contents of requirement files and the Python they are for."""
    digest = hashlib.sha256(sys.version.encode())
    for name in files:
        digest.update((code / name).read_bytes())
    return digest.hexdigest()
