"""Where everything lies: the code, and in its `.run` all that is made (data, secrets, logs, Python's environment)."""

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from deploy.local.process import StepError

# What a copy of the code leaves out: history, state, and what is made again.
NOT_CODE = (
    ".git",
    ".run",
    ".venv",
    "node_modules",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The folders and files of one installation."""

    code: Path

    @property
    def state(self) -> Path:
        return self.code / ".run"

    @property
    def venv(self) -> Path:
        return self.state / "venv"

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def settings(self) -> Path:
        return self.state / "env"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def home(self) -> Path:
        return self.state / "home"

    @property
    def status(self) -> Path:
        return self.state / "status.json"

    @property
    def lock(self) -> Path:
        return self.state / "supervisor.lock"

    @property
    def up_lock(self) -> Path:
        """Held by `./dev up`, also before there is a supervisor."""
        return self.state / "up.lock"

    @property
    def fleet(self) -> Path:
        """What the service said about its regions: tokens and broker accounts."""
        return self.state / "fleet.json"

    @property
    def authority(self) -> Path:
        """The certificate of the throw-away authority that the demo sites are signed by."""
        return self.state / "demo" / "ca.pem"

    @property
    def sockets(self) -> Path:
        """Short, since the path of a unix socket has at most 107 bytes; its own for each installation."""
        return Path("/tmp") / f"firstbyte-{digest(self.state)}"


def digest(path: Path) -> str:
    """Eight characters that stand for a path."""
    return hashlib.sha256(str(path).encode()).hexdigest()[:8]


def make_state(places: Places) -> None:
    """The state's folders, for their owner's eyes only. Raises StepError when they are somebody else's."""
    for folder in (places.state, places.logs, places.home):
        folder.mkdir(mode=0o700, exist_ok=True)
        _must_be_ours(folder, "it was made by another user; go on as that user, or remove it with ./dev reset")
        folder.chmod(0o700)


def make_sockets(places: Places) -> None:
    """The folder of the sockets. Raises StepError when somebody else made one of that name: /tmp is everybody's."""
    places.sockets.mkdir(mode=0o700, exist_ok=True)
    _must_be_ours(places.sockets, "remove it and run ./dev up again")
    places.sockets.chmod(0o700)


def mirror(source: Path, target: Path) -> None:
    """Makes `target` hold the code of `source` as it is now. What is no code stays: state, installed node modules."""
    target.mkdir(mode=0o755, exist_ok=True)
    wanted = {entry.name: entry for entry in source.iterdir() if entry.name not in NOT_CODE}
    for entry in target.iterdir():
        if entry.name not in wanted and entry.name not in NOT_CODE:
            _remove(entry)
    for name, entry in wanted.items():
        copy = target / name
        if entry.is_dir() and not entry.is_symlink():
            if copy.is_symlink() or copy.is_file():
                copy.unlink()
            mirror(entry, copy)
        else:
            if copy.is_dir() and not copy.is_symlink():
                shutil.rmtree(copy)
            shutil.copy2(entry, copy, follow_symlinks=False)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _must_be_ours(folder: Path, advice: str) -> None:
    facts = folder.lstat()
    if folder.is_symlink() or facts.st_uid != os.geteuid():
        raise StepError(f"{folder} belongs to the user with the id {facts.st_uid}, not to us: {advice}.")
