"""Python's environment: made from hashed requirements, and made again when they change."""

import hashlib
import sys
from pathlib import Path

from deploy.local import environment
from deploy.local.places import Places
from deploy.local.process import run_step

RUN = ("requirements.txt", "workers/requirements.txt")
# The lock of everything: what is needed to run is in it as well, in the same versions.
DEVELOP = ("requirements-dev.txt",)


def ensure_venv(places: Places, files: tuple[str, ...]) -> bool:
    """Installs what these requirement files say, unless they are installed already; whether there was something to do.

    The stamp is written last, so that a broken installation is never taken for a good one. Raises StepError.
    """
    wanted = stamp(places.code, files)
    marks = places.venv / "installed"
    done = marks.read_text().split() if marks.exists() else []
    if wanted in done:
        return False
    env = environment.registry(places)
    if not done:
        make = [sys.executable, "-m", "venv", "--clear", places.venv]
        run_step(make, env=env, cwd=places.state, what="Making Python's environment")
    chosen = [word for name in files for word in ("--requirement", str(places.code / name))]
    pip = [places.python, "-m", "pip", "install", "--quiet", "--require-hashes", "--no-compile", *chosen]
    run_step(pip, env=env, cwd=places.state, what="Installing Python packages", timeout_s=1800)
    marks.write_text("\n".join([*done, wanted]) + "\n")
    return True


def stamp(code: Path, files: tuple[str, ...]) -> str:
    """What stands for the contents of requirement files and the Python they are for."""
    digest = hashlib.sha256(sys.version.encode())
    for name in files:
        digest.update((code / name).read_bytes())
    return digest.hexdigest()
